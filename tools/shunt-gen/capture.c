// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "gen.h"

/* Of frames, in memory. */
#define BYTES_MAX (1UL << 30)
/* From first to last: what the pace can count goes not much further. */
#define SPAN_DAYS 100

static int grow(struct gen_capture *c, size_t len)
{
	if (c->cnt == c->room) {
		const uint32_t room = c->room ? 2 * c->room : 1024;
		struct gen_record *records = realloc(c->records, room * sizeof(*records));

		if (!records)
			return -ENOMEM;
		c->records = records;
		c->room = room;
	}
	if (c->bytes_len + len > c->bytes_room) {
		const size_t room = c->bytes_room ? 2 * c->bytes_room : 1 << 20;
		uint8_t *bytes = realloc(c->bytes, room);

		if (!bytes)
			return -ENOMEM;
		c->bytes = bytes;
		c->bytes_room = room;
	}
	return 0;
}

/* What a frame wants as its device's MTU. The tag of a VLAN (802.1Q) is on top of that. */
static uint32_t mtu_of(const uint8_t *frame, uint32_t len)
{
	const bool is_tagged =
		len >= ETH_HLEN + GEN_VLAN_LEN && frame[12] == 0x81 && frame[13] == 0x00;

	return len - ETH_HLEN - (is_tagged ? GEN_VLAN_LEN : 0);
}

static int check(const struct gen_capture *c, const struct pcap_pkthdr *hdr, const uint8_t *data,
		 uint64_t time_ns, bool timed, struct shunt_err *err)
{
	const unsigned number = c->cnt + 1;

	/* In nanoseconds, whatever the file has. */
	if (hdr->ts.tv_sec < 0 || hdr->ts.tv_usec < 0 || hdr->ts.tv_usec >= (long)SHUNT_NS_PER_SEC)
		return shunt_err_set(err, EINVAL,
				     "frame %u has no time of day: the capture is damaged", number);
	if (hdr->caplen < hdr->len)
		return shunt_err_set(err, EINVAL,
				     "frame %u has %u of its %u bytes: it was captured with a snap "
				     "length, and cannot be sent as it was",
				     number, hdr->caplen, hdr->len);
	if (hdr->caplen < ETH_HLEN || mtu_of(data, hdr->caplen) > GEN_SIZE_MAX - ETH_HLEN)
		return shunt_err_set(err, EINVAL,
				     "frame %u has %u bytes; %d to %d can be sent, and %d with the "
				     "tag of a VLAN",
				     number, hdr->caplen, ETH_HLEN, GEN_SIZE_MAX,
				     GEN_SIZE_MAX + GEN_VLAN_LEN);
	if (timed && c->cnt && time_ns < c->records[c->cnt - 1].time_ns)
		return shunt_err_set(err, EINVAL,
				     "frame %u is %.6f s older than the one before it: sort the "
				     "capture (reordercap), or give a --rate",
				     number,
				     (double)(c->records[c->cnt - 1].time_ns - time_ns) / 1e9);
	if (timed && c->cnt &&
	    time_ns - c->records[0].time_ns > SPAN_DAYS * 86400ULL * SHUNT_NS_PER_SEC)
		return shunt_err_set(err, EINVAL,
				     "frame %u comes %.0f days after the first, more than the %d "
				     "that can be replayed: give a --rate",
				     number, (double)(time_ns - c->records[0].time_ns) / 86400e9,
				     SPAN_DAYS);
	if (c->bytes_len + hdr->caplen > BYTES_MAX)
		return shunt_err_set(err, EFBIG, "more than %lu MiB of frames", BYTES_MAX >> 20);
	return 0;
}

static int take(struct gen_capture *c, const struct pcap_pkthdr *hdr, const uint8_t *data,
		bool timed, struct shunt_err *err)
{
	/* With nanoseconds asked for, tv_usec counts those. */
	const uint64_t time_ns =
		(uint64_t)hdr->ts.tv_sec * SHUNT_NS_PER_SEC + (uint64_t)hdr->ts.tv_usec;
	int rc = check(c, hdr, data, time_ns, timed, err);

	if (rc)
		return rc;
	if (grow(c, hdr->caplen))
		return shunt_err_set(err, ENOMEM, "not enough memory");
	memcpy(c->bytes + c->bytes_len, data, hdr->caplen);
	c->records[c->cnt++] =
		(struct gen_record){.at = c->bytes_len, .time_ns = time_ns, .len = hdr->caplen};
	c->bytes_len += hdr->caplen;
	c->mtu = SHUNT_MAX(c->mtu, mtu_of(data, hdr->caplen));
	return 0;
}

/* Two links of two kinds, or two snap lengths, are one too many for libpcap. */
static int bad_read(const struct gen_capture *c, const char *why, struct shunt_err *err)
{
	if (strstr(why, "different from"))
		return shunt_err_set(err, EINVAL,
				     "it holds several interfaces that differ (%s): it cannot be "
				     "sent as one; save each interface to a file of its own",
				     why);
	return shunt_err_set(err, EINVAL, "cut short or damaged after %u frames: %s", c->cnt, why);
}

static int bad_link(int type, struct shunt_err *err)
{
	const char *name = pcap_datalink_val_to_description(type);

	if (name)
		return shunt_err_set(err, EINVAL, "captured on %s: only Ethernet can be sent",
				     name);
	return shunt_err_set(err, EINVAL,
			     "captured on a link of type %d, unknown here: only Ethernet can be "
			     "sent",
			     type);
}

static int read_all(struct gen_capture *c, pcap_t *p, bool timed, struct shunt_err *err)
{
	struct pcap_pkthdr *hdr;
	const uint8_t *data;
	int got, rc = 0;

	if (pcap_datalink(p) != DLT_EN10MB)
		return bad_link(pcap_datalink(p), err);
	while (!rc && (got = pcap_next_ex(p, &hdr, &data)) == 1)
		rc = take(c, hdr, data, timed, err);
	if (rc)
		return rc;
	if (got == PCAP_ERROR)
		return bad_read(c, pcap_geterr(p), err);
	if (!c->cnt)
		return shunt_err_set(err, EINVAL, "no frame in it");
	/* 1970: a pcapng's simple packets have none. */
	if (timed && c->cnt > 1 && !c->records[c->cnt - 1].time_ns)
		return shunt_err_set(err, EINVAL, "its frames have no times: give a --rate");
	return 0;
}

int gen_capture_load(struct gen_capture *c, const char *file, bool timed, struct shunt_err *err)
{
	char why[PCAP_ERRBUF_SIZE];
	pcap_t *p = pcap_open_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, why);
	int rc;

	if (!p)
		return shunt_err_set(err, EINVAL, "--pcap: %s%s%s", strstr(why, file) ? "" : file,
				     strstr(why, file) ? "" : ": ", why);
	rc = read_all(c, p, timed, err);
	if (rc)
		shunt_err_prefix(err, "--pcap %s: ", file);
	pcap_close(p);
	return rc;
}

/* From a frame to itself when the capture is gone through again: from its last frame to its first,
 * the mean distance passes. */
static uint64_t period_ns(const struct gen_capture *c)
{
	const uint64_t once = c->records[c->cnt - 1].time_ns - c->records[0].time_ns;

	return c->cnt > 1 ? once + once / (c->cnt - 1) : 0;
}

double gen_capture_pps(const struct gen_capture *c, uint64_t frames)
{
	const struct gen_record *r = c->records;
	uint64_t span_ns;

	if (frames < 2)
		return 0;
	span_ns = (frames - 1) / c->cnt * period_ns(c) + r[(frames - 1) % c->cnt].time_ns -
		  r[0].time_ns;
	return span_ns ? (double)(frames - 1) * 1e9 / (double)span_ns : 0;
}

uint64_t gen_capture_due(const struct gen_capture *c, uint64_t ns)
{
	const struct gen_record *r = c->records;
	const uint64_t period = period_ns(c);
	uint32_t n = 0;

	if (!period)
		return c->cnt;
	while (n < c->cnt && r[n].time_ns - r[0].time_ns <= ns % period)
		n++;
	return ns / period * c->cnt + n;
}

void gen_capture_fini(struct gen_capture *c)
{
	free(c->bytes);
	free(c->records);
	memset(c, 0, sizeof(*c));
}
