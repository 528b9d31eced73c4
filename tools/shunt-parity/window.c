// SPDX-License-Identifier: BSD-2-Clause
/* A run: a window of frames into both labs, then sentinels, which follow the frames on every
 * way that a frame can take; when they are all out, so is everything before them. No sleeps,
 * and no ring overflows.
 *
 * The ways from a port: by the worker to each other port; punted by the worker (back out of
 * the port that it came in on, for which the kernel redirects); never given to the worker
 * (IP options). Bytes follow them, which lane xdp leaves to the worker where rules judge.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"

#define WAYS	     (PARITY_PORTS + 1) /* from one port: to each, and with options */
#define ALL_WAYS     ((1u << (PARITY_PORTS * WAYS)) - 1)
#define MAGIC_LEN    8u
#define WAIT_MS	     200
#define TRIES	     25
/* Windows that a frame may be late by, and how long a run waits for later ones in all. */
#define AGE	     2u
#define LATE_MS	     2000u
#define ETH	     14u
#define DISCARD_PORT 9u /* RFC 863 */
#define TRAILER_LEN  4u

static const uint8_t magic_word[MAGIC_LEN] = {'p', 'a', 'r', 'i', 't', 'y', '.', '.'};

struct sentinel_wait {
	struct parity_run *run;
	unsigned lab, seen;
};

/* Sentinels go both ways between two addresses, so that rules that want an answer first see one. */
static void make_sentinel(const struct parity_run *run, struct parity_frame *frame, unsigned bit)
{
	const unsigned port = bit / WAYS, way = bit % WAYS;
	const uint32_t epoch = run->epoch;
	unsigned options = way == PARITY_PORTS ? 4 : 0,
		 to = options ? (port + 1) % PARITY_PORTS : way;
	const bool is_back = port > to || (port == to && epoch & 1);
	const unsigned vrf = parity_vrf_of_port(run->src.world, port);
	const uint8_t src_net = (uint8_t)(18 + parity_net_of(vrf, port)),
		      dst_net = (uint8_t)(18 + parity_net_of(vrf, to));
	uint8_t *ip = frame->data + ETH, *udp = ip + 20 + options;
	uint16_t sum;

	memset(frame->data, 0, sizeof(frame->data));
	frame->port = (uint8_t)port;
	frame->vrf = (uint8_t)vrf;
	frame->len = (uint16_t)(ETH + 20 + options + 8 + MAGIC_LEN + 8 + TRAILER_LEN);
	parity_put_mac(frame->data, port + 1, 1);
	parity_put_mac(frame->data + 6, port + 1, 2);
	if (run->src.world == PARITY_ROUTER)
		frame->data[9] = frame->vrf;
	frame->data[12] = 8;
	ip[0] = (uint8_t)(0x45 + options / 4);
	ip[3] = (uint8_t)(frame->len - ETH - TRAILER_LEN);
	ip[8] = 64;
	ip[9] = 17;
	/* of each VRF its own, since connection tracking does not know them apart */
	memcpy(ip + 12, (const uint8_t[]){198, src_net, (uint8_t)(255 - vrf), 253 + !is_back}, 4);
	memcpy(ip + 16, (const uint8_t[]){198, dst_net, (uint8_t)(255 - vrf), 253 + is_back}, 4);
	memset(ip + 20, 1, options); /* no operation */
	sum = parity_sum(ip, 20 + options, 0);
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
	udp[1] = udp[3] = DISCARD_PORT;
	udp[5] = 8 + MAGIC_LEN + 8;
	memcpy(udp + 8, magic_word, MAGIC_LEN);
	memcpy(udp + 8 + MAGIC_LEN, &epoch, sizeof(epoch));
	udp[8 + MAGIC_LEN + 4] = (uint8_t)bit;
	parity_devices_in(&run->src, NULL, frame);
}

static int send_sentinels(struct parity_run *run, unsigned lab, unsigned seen,
			  struct shunt_err *err)
{
	static struct parity_frame frames[PARITY_PORTS * WAYS];
	unsigned bit, n = 0;
	int rc = 0;

	for (bit = 0; bit < PARITY_PORTS * WAYS; bit++)
		if (!(seen & 1u << bit))
			make_sentinel(run, &frames[n++], bit);
	for (bit = 0; run->is_explained && bit < n && rc >= 0; bit++)
		rc = parity_explain(run, &frames[bit], false, err);
	return rc < 0 ? rc : parity_lab_send(&run->lab[lab], frames, n, err);
}

static void take(void *arg, unsigned port, const uint8_t *data, unsigned len)
{
	struct sentinel_wait *wait = arg;
	const uint8_t *magic = data + ETH + (len > ETH ? (data[ETH] & 15) * 4 : 0) + 8;
	uint32_t epoch;

	if (magic + MAGIC_LEN + 5 > data + len || memcmp(magic, magic_word, MAGIC_LEN)) {
		if (!wait->run->is_deaf)
			parity_match_add(&wait->run->match, wait->lab, port, data, len);
		return;
	}
	memcpy(&epoch, magic + MAGIC_LEN, sizeof(epoch));
	if (epoch == wait->run->epoch)
		wait->seen |= 1u << magic[MAGIC_LEN + 4];
}

static int await(struct parity_run *run, unsigned lab, struct shunt_err *err)
{
	struct sentinel_wait wait = {run, lab, 0};
	unsigned tries = 0;
	int rc = send_sentinels(run, lab, 0, err);

	while (!rc && wait.seen != ALL_WAYS) {
		if (parity_lab_receive(&run->lab[lab], WAIT_MS, take, &wait))
			continue;
		if (++tries > TRIES)
			return shunt_err_set(err, ETIMEDOUT,
					     "lab %s: sentinels lost: %03x of %03x came out",
					     run->lab[lab].name, wait.seen, ALL_WAYS);
		run->resent++;
		rc = send_sentinels(run, lab, wait.seen, err);
	}
	while (!rc && parity_lab_receive(&run->lab[lab], 0, take, &wait))
		;
	return rc;
}

static int exchange_with_shunt(struct parity_run *run, const struct parity_frame *frames,
			       unsigned cnt, struct shunt_err *err)
{
	int rc;

	run->epoch++;
	rc = parity_lab_send(&run->lab[1], frames, cnt, err);
	return rc ?: await(run, 1, err);
}

/* First those that shunt sends or drops, of which nothing else comes out; then the kernel's, of
 * which no more is known than that shunt sends none. */
static int exchange_explained(struct parity_run *run, const struct parity_frame *frames,
			      unsigned cnt, struct shunt_err *err)
{
	static struct parity_frame by[2][PARITY_WINDOW]; /* by whose they are */
	unsigned cnts[2] = {0}, i;
	int rc = 0;

	for (i = 0; i < cnt && rc >= 0; i++) {
		rc = parity_explain(run, &frames[i], true, err);
		if (rc >= 0)
			by[rc][cnts[rc]++] = frames[i];
	}
	if (rc >= 0)
		rc = exchange_with_shunt(run, by[1], cnts[1], err);
	if (rc)
		return rc;
	run->left += cnts[0];
	run->is_deaf = true;
	rc = exchange_with_shunt(run, by[0], cnts[0], err);
	run->is_deaf = false;
	return rc;
}

static int exchange(struct parity_run *run, const struct parity_frame *frames, unsigned cnt,
		    struct shunt_err *err)
{
	unsigned lab, i;
	int rc = 0;

	if (run->is_explained)
		return exchange_explained(run, frames, cnt, err);
	run->epoch++;
	for (i = 0; i < cnt; i++)
		parity_match_sent(&run->match, &frames[i]);
	for (lab = PARITY_LABS; lab-- && !rc;) /* shunt first: it works while the kernel does */
		rc = parity_lab_send(&run->lab[lab], frames, cnt, err);
	for (lab = 0; lab < PARITY_LABS && !rc; lab++)
		rc = await(run, lab, err);
	return rc;
}

static void print_out(const struct parity_run *run, const struct parity_out *out)
{
	printf("    only %s, ", run->lab[out->lab].name);
	parity_wire_print(stdout, run->src.world, out->port);
	printf(": ");
	parity_decode(stdout, out->data, out->len);
}

/* Whether a packet is a frame's, or an error about it, by what nobody changes on the way: IPv4's
 * identification, most of IPv6's flow label. */
static bool is_of(const struct parity_frame *frame, const struct parity_out *out)
{
	const unsigned tags = parity_tags_len(frame->data, frame->len);
	const bool v6 = out->data[12] == 0x86;
	const unsigned at = v6 ? ETH + 2 : ETH + 4, len = v6 ? 40 : 20;
	bool is_error;

	if (out->len < at + len + 8 + 2 || memcmp(frame->data + 12 + tags, out->data + 12, 2))
		return false;
	is_error = out->data[ETH + (v6 ? 6 : 9)] == (v6 ? 58 : 1);
	return !memcmp(frame->data + tags + at, out->data + at + (is_error ? len + 8 : 0), 2);
}

/* Connections cannot be sent again, as a window of other frames can. */
static void print_connection(const struct parity_run *run, const struct parity_out *out)
{
	const uint64_t first = out->window * PARITY_WINDOW;
	struct parity_frame frame;
	unsigned i;

	for (i = 0; i < PARITY_WINDOW; i++) {
		parity_frame_make(&run->src, first + i, &frame);
		if (!is_of(&frame, out))
			continue;
		printf("    frame %lu, ", (unsigned long)(first + i));
		parity_talk_describe(stdout, &run->src, first + i);
		printf(", into eth%u", frame.port + frame.member * PARITY_PORTS + 1);
		if (parity_has_vrfs(run->src.world))
			printf(" (%s)", parity_vrf_name(frame.vrf));
		printf(": ");
		parity_decode(stdout, frame.data, frame.len);
	}
}

/* Whether a packet is a frame's, forwarded: what begins with the addresses is as it was. */
static bool is_carried(const struct parity_frame *frame, const struct parity_out *out)
{
	const unsigned tags = parity_tags_len(frame->data, frame->len);
	const unsigned at = ETH + (out->data[12] == 0x86 ? 8 : 12);

	return out->len >= at + 8 && frame->len >= out->len + tags &&
	       !memcmp(frame->data + 12 + tags, out->data + 12, 2) &&
	       !memcmp(frame->data + at + tags, out->data + at, out->len - at);
}

/* Whether shunt alone sent it, into another VRF than it came in by; it may be a window late. */
static bool is_leak(const struct parity_run *run, const struct parity_out *out)
{
	const uint64_t end = (out->window + 1) * PARITY_WINDOW;
	uint64_t idx = out->window ? end - 2ul * PARITY_WINDOW : 0;
	struct parity_frame frame;

	if (!parity_has_vrfs(run->src.world) || out->lab != 1)
		return false;
	for (; idx < end && idx < run->src.cnt; idx++) {
		parity_frame_make(&run->src, idx, &frame);
		if (is_carried(&frame, out) || (run->src.rules && is_of(&frame, out)))
			return parity_vrf_in(run->src.world, &frame) != out->vrf;
	}
	return false;
}

static void suspect(void *arg, const struct parity_out *out)
{
	struct parity_run *run = arg;
	const bool is_leaked = is_leak(run, out);
	unsigned i;

	run->leaked[parity_wire_of(run->src.world, out->port)] += is_leaked;
	if (run->difference_cnt++ < run->show) {
		printf("%s in window %lu:\n", is_leaked ? "leak" : "difference",
		       (unsigned long)out->window);
		print_out(run, out);
		if (run->src.rules)
			print_connection(run, out);
	}
	for (i = run->suspect_cnt; i--;)
		if (run->suspects[i] == out->window)
			return;
	if (run->suspect_cnt < run->suspect_cap)
		run->suspects[run->suspect_cnt++] = out->window;
}

static unsigned make_window(const struct parity_run *run, uint64_t first,
			    struct parity_frame *frames)
{
	unsigned n;

	for (n = 0; n < PARITY_WINDOW && first + n < run->src.cnt; n++)
		parity_frame_make(&run->src, first + n, &frames[n]);
	return n;
}

/* No sentinel follows what lane xdp leaves to a worker where no rules judge, and that may get no
 * CPU for some windows. */
static void await_late(struct parity_run *run, unsigned *left_ms)
{
	struct sentinel_wait wait = {.run = run};

	for (; *left_ms && parity_match_is_due(&run->match, AGE); --*left_ms)
		for (wait.lab = 0; wait.lab < PARITY_LABS; wait.lab++)
			parity_lab_receive(&run->lab[wait.lab], (int)wait.lab, take, &wait);
}

int parity_run_all(struct parity_run *run, struct shunt_err *err)
{
	static struct parity_frame frames[PARITY_WINDOW];
	unsigned cnt, i, left_ms = LATE_MS;
	int rc = 0;

	run->suspect_cap = run->show;
	run->suspects = calloc(run->suspect_cap + 1, sizeof(*run->suspects));
	if (!run->suspects)
		return shunt_err_set(err, ENOMEM, "not enough memory");
	while (!rc && run->sent < run->src.cnt) {
		cnt = make_window(run, run->sent, frames);
		rc = exchange(run, frames, cnt, err);
		run->sent += cnt;
		await_late(run, &left_ms);
		parity_match_settle(&run->match, AGE, suspect, run);
		run->match.window++;
	}
	for (i = 0; !rc && i < AGE; i++)
		rc = exchange(run, frames, 0, err);
	await_late(run, &left_ms);
	parity_match_settle(&run->match, 0, suspect, run);
	return rc;
}

struct blame {
	const struct parity_run *run;
	const struct parity_frame *frame;
	uint64_t idx;
	bool is_told;
};

static void accuse(void *arg, const struct parity_out *out)
{
	struct blame *blame = arg;

	if (!blame->is_told) {
		printf("frame %lu, into eth%u", (unsigned long)blame->idx,
		       blame->frame->port + blame->frame->member * PARITY_PORTS + 1);
		if (parity_has_vrfs(blame->run->src.world))
			printf(" (%s)",
			       parity_vrf_name(parity_vrf_in(blame->run->src.world, blame->frame)));
		printf(": ");
		parity_decode(stdout, blame->frame->data, blame->frame->len);
	}
	blame->is_told = true;
	print_out(blame->run, out);
}

static int blame_window(struct parity_run *run, uint64_t window, struct shunt_err *err)
{
	static struct parity_frame frames[PARITY_WINDOW];
	unsigned cnt = make_window(run, window * PARITY_WINDOW, frames), i, found = 0;
	int rc = 0;

	for (i = 0; i < cnt && !rc; i++) {
		struct blame blame = {run, &frames[i], window * PARITY_WINDOW + i, false};

		rc = exchange(run, &frames[i], 1, err);
		found += !rc && parity_match_settle(&run->match, 0, accuse, &blame);
	}
	if (!found)
		run->unattributed++;
	return rc;
}

int parity_run_blame(struct parity_run *run, struct shunt_err *err)
{
	unsigned i;
	int rc = 0;

	for (i = 0; i < run->suspect_cnt && !rc; i++)
		rc = blame_window(run, run->suspects[i], err);
	return rc;
}
