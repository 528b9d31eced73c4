// SPDX-License-Identifier: BSD-2-Clause
#include "pcapng.h"

#include <errno.h>
#include <string.h>

/* Block types and options by their sections in the draft. */
enum {
	SECTION = 0x0a0d0d0a, /* 4.1 */
	INTERFACE = 1,	      /* 4.2 */
	STATISTICS = 5,	      /* 4.6 */
	PACKET = 6,	      /* 4.3 */
};

enum {
	OPT_END = 0,
	OPT_COMMENT = 1, /* 3.5 */
	SHB_USERAPPL = 4,
	IF_NAME = 2,
	IF_TSRESOL = 9,
	EPB_FLAGS = 2,
	EPB_QUEUE = 6,
	EPB_VERDICT = 7,
	ISB_IFRECV = 4,
	ISB_IFDROP = 5,
};

#define VERDICT_XDP 2 /* epb_verdict's first byte */
#define ETHERNET    1 /* LINKTYPE_ETHERNET */
#define OPTIONS_MAX 512

/* Options of a block, put together before it is written: its length comes first. */
struct options {
	uint8_t bytes[OPTIONS_MAX];
	uint32_t len;
};

static uint32_t padded(uint32_t len)
{
	return (len + 3) & ~3u;
}

static void add(struct options *o, uint16_t code, const void *value, size_t len)
{
	const uint16_t head[2] = {code, (uint16_t)len};
	const uint32_t room = padded((uint32_t)len);

	if (o->len + sizeof(head) + room + 4 > sizeof(o->bytes))
		return;
	memcpy(o->bytes + o->len, head, sizeof(head));
	memset(o->bytes + o->len + sizeof(head), 0, room);
	memcpy(o->bytes + o->len + sizeof(head), value, len);
	o->len += (uint32_t)sizeof(head) + room;
}

static void add_text(struct options *o, uint16_t code, const char *text)
{
	add(o, code, text, strlen(text));
}

/* Without a lock for each: shuntctl has one thread. */
static bool put(FILE *file, const void *bytes, size_t len)
{
	return !len || fwrite_unlocked(bytes, len, 1, file) == 1;
}

/* A block: its fields, then bytes that are padded (or NULL), then options. */
static int write_block(FILE *file, uint32_t type, const void *fields, uint32_t fields_len,
		       const void *bytes, uint32_t bytes_len, struct options *o)
{
	static const uint8_t zeros[4];
	const uint32_t pad = padded(bytes_len) - bytes_len;
	uint32_t head[2] = {type, 0};

	if (o->len)
		add(o, OPT_END, "", 0);
	head[1] = 12 + fields_len + padded(bytes_len) + o->len;
	if (!put(file, head, sizeof(head)) || !put(file, fields, fields_len) ||
	    !put(file, bytes, bytes_len) || !put(file, zeros, pad) ||
	    !put(file, o->bytes, o->len) || !put(file, &head[1], sizeof(head[1])))
		return errno ? -errno : -EIO;
	return (int)head[1];
}

int pcapng_begin(FILE *file, const char *program)
{
	const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t len[2]; /* of the section: unknown */
	} section = {0x1a2b3c4d, 1, 0, {UINT32_MAX, UINT32_MAX}};
	struct options o = {.len = 0};

	add_text(&o, SHB_USERAPPL, program);
	return write_block(file, SECTION, &section, sizeof(section), NULL, 0, &o);
}

int pcapng_add_interface(FILE *file, const char *name, uint32_t snap_len)
{
	const struct {
		uint16_t link_type, reserved;
		uint32_t snap_len;
	} interface = {ETHERNET, 0, snap_len};
	const uint8_t nanoseconds = 9;
	struct options o = {.len = 0};

	add_text(&o, IF_NAME, name);
	add(&o, IF_TSRESOL, &nanoseconds, sizeof(nanoseconds));
	return write_block(file, INTERFACE, &interface, sizeof(interface), NULL, 0, &o);
}

int pcapng_write(FILE *file, const struct pcapng_packet *p)
{
	const uint32_t fields[5] = {p->interface, (uint32_t)(p->time_ns >> 32),
				    (uint32_t)p->time_ns, p->cap_len, p->len};
	const uint32_t flags = p->direction, queue = (uint32_t)p->queue;
	uint8_t verdict[9] = {VERDICT_XDP};
	struct options o;

	o.len = 0; /* and not the bytes behind it: this is for each packet */
	if (p->comment)
		add_text(&o, OPT_COMMENT, p->comment);
	add(&o, EPB_FLAGS, &flags, sizeof(flags));
	if (p->queue >= 0)
		add(&o, EPB_QUEUE, &queue, sizeof(queue));
	if (p->verdict >= 0) {
		const uint64_t value = (uint64_t)p->verdict;

		memcpy(verdict + 1, &value, sizeof(value));
		add(&o, EPB_VERDICT, verdict, sizeof(verdict));
	}
	return write_block(file, PACKET, fields, sizeof(fields), p->bytes, p->cap_len, &o);
}

int pcapng_end_interface(FILE *file, uint32_t interface, uint64_t time_ns, uint64_t captured,
			 uint64_t lost)
{
	const uint32_t fields[3] = {interface, (uint32_t)(time_ns >> 32), (uint32_t)time_ns};
	const uint64_t received = captured + lost;
	struct options o = {.len = 0};

	add(&o, ISB_IFRECV, &received, sizeof(received));
	add(&o, ISB_IFDROP, &lost, sizeof(lost));
	return write_block(file, STATISTICS, fields, sizeof(fields), NULL, 0, &o);
}
