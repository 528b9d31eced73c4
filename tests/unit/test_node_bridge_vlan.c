// SPDX-License-Identifier: BSD-2-Clause
/* The bridge node of a bridge that keeps VLANs apart, beside a naive one written from what
 * br_allowed_ingress, br_allowed_egress and br_handle_vlan say: by which port a frame leaves, with
 * which bytes, and what is the kernel's. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <net/ethernet.h>
#include <string.h>

#include "base/bytes.h"
#include "fake_port.h"
#include "graph/nodes.h"
#include "graph/tag.h"
#include "measure/rng.h"
#include "shunt_steer_mac.h"

enum { PORTS = 4, FRAMES = 512, STATIONS = 6, BATCH = 32, ROUNDS = 4000, LEN = 64, BRIDGE = 2 };

#define SEED 0x766c616eULL

/* Those that frames are of, and one that no port is a member of. */
static const uint16_t vids[] = {1, 10, 11, 300, 4094, 77};

enum { VIDS = sizeof(vids) / sizeof(vids[0]) };

static struct shunt_pool pool;
static struct fake_port fakes[PORTS];
static struct shunt_queue *queues[SHUNT_PORT_MAX];
static struct shunt_graph graph;
static struct shunt_err err;
static struct shunt_mac_table *macs;
static struct shunt_learn learn;
static struct shunt_bridge_masks masks;
static struct shunt_steer_vlans vlans;
static uint64_t rng;
static const char *const port_names[PORTS] = {"a", "b", "c", "d"};
static const uint32_t max_lens[PORTS] = {1518, 1518, 1518, 1518};

/* What came to the kernel, by the frame's number. */
static bool is_punted[BATCH];

static unsigned punt(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	unsigned i;

	(void)next;
	for (i = 0; i < cnt; i++) {
		cr_assert_eq(pkts[i].reason, SHUNT_PUNT_bridge);
		is_punted[pkts[i].user] = true;
	}
	shunt_graph_set_reason(pkts, cnt, SHUNT_DROP_to_host);
	return node->graph->drop_node;
}

static const struct shunt_node_type punt_type = {
	.name = "punt", .help = "notes what the kernel would get", .fn = punt};

static void start(uint32_t min_len)
{
	struct shunt_bridge_params params = {
		.members = {[BRIDGE] = 0xf}, .over = 1 << BRIDGE, .min_len = min_len};

	memset(params.bridge, BRIDGE, PORTS);
	memset(&vlans, 0, sizeof(vlans));
	rng = SEED;
	cr_assert_eq(shunt_pool_init(&pool, FRAMES, 2048, &err), 0);
	cr_assert_eq(shunt_mac_create(&macs, 1000, SEED, &err), 0);
	cr_assert_eq(shunt_learn_init(&learn, &err), 0);
	masks = (struct shunt_bridge_masks){
		.forwarding = 0xf, .learning = 0xf, .flooding = 0xf, .filters = 0xf};
	params.macs = macs;
	params.learn = &learn;
	params.masks = &masks;
	params.vlans = &vlans;
	fake_ports_init(fakes, queues, PORTS, &pool);
	shunt_graph_init(&graph, &pool, queues, PORTS);
	cr_assert_eq(shunt_graph_add(&graph, &shunt_node_bridge, NULL, &params, &err), 0);
	cr_assert_eq(shunt_graph_add(&graph, &punt_type, NULL, NULL, &err), 1);
	cr_assert_eq(shunt_graph_seal(&graph, port_names, max_lens, &err), 0, "%s", err.msg);
}

static unsigned any(unsigned bound)
{
	return (unsigned)shunt_rng_below(&rng, bound);
}

static void init(void)
{
	start(0);
}

static void fini(void)
{
	shunt_graph_fini(&graph);
	shunt_learn_fini(&learn);
	shunt_mac_destroy(macs);
	shunt_pool_fini(&pool);
}

TestSuite(bridge_vlan_node, .init = init, .fini = fini);

static void member(unsigned port, unsigned vid, bool is_bare, bool is_pvid)
{
	vlans.at[vid].members |= 1ULL << port;
	if (is_bare)
		vlans.at[vid].bare |= 1ULL << port;
	if (is_pvid)
		vlans.pvids[port] = (uint16_t)vid;
}

static void mac_of(unsigned station, uint8_t *mac)
{
	memcpy(mac, ((const uint8_t[]){2, 0, 0, 0, 0, (uint8_t)station}), 6);
}

static uint64_t key_of(unsigned station, unsigned vid)
{
	uint8_t mac[6];

	mac_of(station, mac);
	return shunt_mac_key(mac, shunt_mac_group(BRIDGE, vid));
}

static void put16(uint8_t *at, unsigned v)
{
	at[0] = (uint8_t)(v >> 8);
	at[1] = (uint8_t)v;
}

/* A frame of LEN bytes, with a tag of that type unless type is 0. */
static void make(uint8_t *frame, unsigned dst, unsigned src, unsigned type, unsigned tci)
{
	unsigned i;

	for (i = 0; i < LEN; i++)
		frame[i] = (uint8_t)any(256);
	mac_of(dst, frame);
	mac_of(src, frame + 6);
	put16(frame + 12, type ? type : ETHERTYPE_IP);
	if (type)
		put16(frame + 14, tci);
}

static struct shunt_pkt packet(const uint8_t *frame, unsigned port, unsigned number)
{
	struct shunt_pkt pkt = {.len = LEN, .port = (uint16_t)port, .user = number};
	uint64_t addr = 0;

	cr_assert_eq(shunt_pool_alloc(&pool, &addr, 1), 1);
	pkt.addr = addr + 256;
	memcpy(pool.mem + pkt.addr, frame, LEN);
	return pkt;
}

/* --- the naive bridge ------------------------------------------------------------------------- */

/* What becomes of a frame: it leaves by `port` with these bytes; or else. */
enum { KERNELS = -1, DROPPED = -2 };

struct fate {
	int port;
	uint8_t bytes[LEN + SHUNT_TAG_LEN];
	unsigned len;
};

static unsigned known_at[STATIONS][VIDS]; /* the port + 1; 0: not known */

static unsigned naive_known(unsigned station, unsigned vid)
{
	unsigned i;

	for (i = 0; i < VIDS; i++)
		if (vids[i] == vid)
			return known_at[station][i];
	return 0;
}

static void naive(const uint8_t *frame, unsigned in, struct fate *fate)
{
	const bool has_tag = frame[12] == 0x81 && frame[13] == 0;
	const unsigned tci = frame[14] << 8 | frame[15];
	const unsigned vid = has_tag && tci & 0xfff ? tci & 0xfff : vlans.pvids[in];
	unsigned to;

	fate->port = KERNELS;
	if (!vid || !(vlans.at[vid].members >> in & 1) || frame[0] & 1)
		return;
	to = naive_known(frame[5], vid);
	if (to == in + 1)
		fate->port = DROPPED;
	if (!to || to == in + 1 || !(masks.forwarding & vlans.at[vid].members & 1ULL << (to - 1)))
		return;
	fate->port = (int)to - 1;
	memcpy(fate->bytes, frame, 12);
	fate->len = 12;
	if (!(vlans.at[vid].bare >> fate->port & 1)) {
		put16(fate->bytes + 12, 0x8100);
		put16(fate->bytes + 14, (has_tag ? tci & 0xf000 : 0) | vid);
		fate->len = 16;
	}
	memcpy(fate->bytes + fate->len, frame + (has_tag ? 16 : 12), LEN - (has_tag ? 16 : 12));
	fate->len += LEN - (has_tag ? 16 : 12);
}

/* --- both ------------------------------------------------------------------------------------- */

static void any_world(void)
{
	unsigned port, station, i;

	memset(&vlans, 0, sizeof(vlans));
	for (port = 0; port < PORTS; port++) {
		for (i = 0; i < VIDS - 1; i++)
			if (any(4))
				member(port, vids[i], any(2), false);
		if (any(4))
			vlans.pvids[port] = vids[any(VIDS)];
	}
	for (station = 0; station < STATIONS; station++) {
		for (i = 0; i < VIDS; i++) {
			shunt_mac_del(macs, key_of(station, vids[i]));
			known_at[station][i] = any(PORTS + 1);
			if (known_at[station][i])
				shunt_mac_set(macs, key_of(station, vids[i]),
					      known_at[station][i] - 1, true);
		}
	}
	masks.forwarding = 0xf;
	if (any(2))
		masks.forwarding &= ~(1ULL << any(PORTS));
}

static void any_frame(uint8_t *frame)
{
	static const unsigned types[] = {0, 0x8100, 0x8100, 0x8100, 0x88a8};
	unsigned tci = any(16) << 12;

	if (any(8))
		tci |= vids[any(VIDS)];
	make(frame, any(STATIONS), any(STATIONS), types[any(SHUNT_ARRAY_LEN(types))], tci);
	if (!(any(16)))
		frame[0] |= 1;
}

static const struct fake_sent *find(unsigned number, int *port)
{
	unsigned i;

	for (*port = 0; *port < PORTS; ++*port)
		for (i = 0; i < fakes[*port].sent_cnt; i++)
			if (fakes[*port].sent[i].user == number)
				return &fakes[*port].sent[i];
	return NULL;
}

static void expect(unsigned number, const struct fate *fate)
{
	const struct fake_sent *sent;
	int port;

	sent = find(number, &port);
	cr_assert_eq(!sent, fate->port < 0, "frame %u: expected port %d", number, fate->port);
	cr_assert_eq(is_punted[number], fate->port == KERNELS, "frame %u", number);
	if (!sent)
		return;
	cr_assert_eq(port, fate->port, "frame %u", number);
	cr_assert_eq(sent->len, fate->len, "frame %u", number);
	cr_assert_eq(memcmp(sent->bytes, fate->bytes, SHUNT_MIN(fate->len, (unsigned)FAKE_FRAME)),
		     0, "frame %u", number);
}

Test(bridge_vlan_node, beside_a_naive_one)
{
	static struct fate fates[BATCH];
	struct shunt_pkt pkts[BATCH];
	unsigned round, i, crossed = 0, kernels = 0, in;
	uint8_t frame[LEN];

	for (round = 0; round < ROUNDS; round++) {
		if (round % 8 == 0)
			any_world();
		memset(is_punted, 0, sizeof(is_punted));
		in = any(PORTS);
		for (i = 0; i < PORTS; i++)
			fakes[i].sent_cnt = 0;
		for (i = 0; i < BATCH; i++) {
			any_frame(frame);
			fates[i].port = KERNELS;
			if (masks.forwarding >> in & 1)
				naive(frame, in, &fates[i]);
			pkts[i] = packet(frame, in, i);
		}
		shunt_graph_run(&graph, 0, pkts, BATCH);
		for (i = 0; i < BATCH; i++) {
			expect(i, &fates[i]);
			crossed += fates[i].port >= 0;
			kernels += fates[i].port == KERNELS;
		}
		cr_assert_eq(pool.free_cnt, FRAMES, "a frame is missing");
	}
	cr_expect_gt(crossed, ROUNDS * BATCH / 10);
	cr_expect_gt(kernels, ROUNDS * BATCH / 10);
}

static void send_one(unsigned dst, unsigned src, unsigned port, unsigned type, unsigned tci)
{
	uint8_t frame[LEN];
	struct shunt_pkt pkt;
	unsigned i;

	for (i = 0; i < PORTS; i++)
		fakes[i].sent_cnt = 0;
	is_punted[0] = false;
	make(frame, dst, src, type, tci);
	pkt = packet(frame, port, 0);
	shunt_graph_run(&graph, 0, &pkt, 1);
}

Test(bridge_vlan_node, learns_in_the_vlan)
{
	struct shunt_told told;

	member(0, 10, true, true);
	member(1, 10, false, false);
	shunt_mac_learn(macs, key_of(2, 10), 1);
	send_one(2, 1, 0, 0, 0);
	cr_expect_eq(fakes[1].sent_cnt, 1);
	cr_assert(shunt_learn_take(&learn, &told));
	cr_expect_eq(told.key, key_of(1, 10));
	cr_expect_eq(told.port, 0);
	send_one(2, 3, 0, ETHERTYPE_VLAN, 11);
	cr_expect(is_punted[0], "no member");
	cr_expect_not(shunt_learn_take(&learn, &told), "so nothing is learned");
	masks.learning = 0;
	send_one(2, 4, 0, 0, 0);
	cr_expect_not(shunt_learn_take(&learn, &told));
}

/* What VLAN devices of the port have is the kernel's; what is unknown, too, which floods it. */
Test(bridge_vlan_node, leaves_the_rest)
{
	member(0, 10, false, true);
	member(1, 10, false, false);
	shunt_mac_learn(macs, key_of(2, 10), 1);
	shunt_mac_learn(macs, key_of(1, 10), 0);
	send_one(5, 1, 0, 0, 0);
	cr_expect(is_punted[0], "unknown");
	masks.kernels = masks.untagged = 1;
	send_one(2, 1, 0, ETHERTYPE_VLAN, 10);
	cr_expect(is_punted[0], "tagged");
	send_one(2, 1, 0, 0, 0);
	cr_expect_eq(fakes[1].sent_cnt, 1);
	masks.untagged = 0;
	send_one(2, 1, 0, 0, 0);
	cr_expect(is_punted[0], "all is left");
}

/* Where a driver sends what it is given, what is too short by now is padded. */
Test(bridge_vlan_node, pads, .init = NULL)
{
	static const uint8_t zeros[SHUNT_TAG_LEN];

	start(LEN);
	member(0, 10, false, false);
	member(1, 10, true, false);
	shunt_mac_learn(macs, key_of(2, 10), 1);
	shunt_mac_learn(macs, key_of(1, 10), 0);
	send_one(2, 1, 0, ETHERTYPE_VLAN, 10);
	cr_assert_eq(fakes[1].sent_cnt, 1);
	cr_expect_eq(fakes[1].sent[0].len, LEN);
	cr_expect_eq(memcmp(fakes[1].sent[0].bytes + LEN - SHUNT_TAG_LEN, zeros, SHUNT_TAG_LEN), 0);
}
