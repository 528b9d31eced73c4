// SPDX-License-Identifier: BSD-2-Clause
/* The steering program on real devices, in a network namespace of the test's own:
 * attach, configure while frames arrive, detach, and every refusal. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <linux/if_link.h>

#include "base/bytes.h"
#include "shunt_tables.h"
#include "shunt_steer.h"
#include "shunt_steer.skel.h"
#include "steer/rule.h"
#include "steer/steer.h"
#include "xdp/tap_opts.h"
#include "xdp_rig.h"

/* Whether it asks for tags where this kernel has such programs: what grows beyond its pages is
 * refused by shunt_xdp_bound_load, and shuntd goes on without, see bpf/steer/bound.bpf.h. */
static void expect_bound(bool multi_buffer)
{
	static const struct shunt_xdp_tap_opts tap = {
		.opts = {.ports = 1, .snap_len = 64, .is_own = 1, .is_asked = 1},
		.ring_bytes = 65536};
	struct shunt_xdp *x = xdp_rig_attach(
		(struct shunt_xdp_opts){.asks_tags = true, .multi_buffer = multi_buffer});
	struct shunt_xdp_info info;
	int ring;

	cr_expect_eq(shunt_xdp_info(x, &info, &xdp_rig_err), 0);
	cr_expect(info.reads_tags, "the plain program, buffers: %d", multi_buffer);
	ring = shunt_xdp_tap(x, &tap, &xdp_rig_err);
	cr_expect_geq(ring, 0, "the tapped program, buffers: %d: %s", multi_buffer,
		      xdp_rig_err.msg);
	cr_expect_eq(shunt_xdp_info(x, &info, &xdp_rig_err), 0);
	cr_expect(info.reads_tags, "the tapped program, buffers: %d", multi_buffer);
	close(ring);
	shunt_xdp_detach(x);
}

Test(xdp, bound_programs_stay_where_they_lie)
{
	xdp_rig_start();
	expect_bound(false);
	expect_bound(true);
}

Test(xdp, attach_configure_detach)
{
	struct shunt_steer_cfg cfg = {.mode = SHUNT_STEER_MODE_LAYER3, .mac = FRAME_OWN_MAC};
	struct shunt_steer_rule compiled;
	struct shunt_rule rule;
	struct in6_addr ip6;
	struct shunt_xdp_info info;
	struct shunt_xdp *x;
	uint32_t ip4_be = inet_addr("203.0.113.9");
	struct frame f;

	xdp_rig_start();
	x = xdp_rig_attach((struct shunt_xdp_opts){0});
	cr_expect_eq(shunt_xdp_info(x, &info, &xdp_rig_err), 0);
	cr_expect_eq(info.in_use, SHUNT_XDP_NATIVE);
	frame_good4(&f);
	xdp_rig_expect(x, &f, SHUNT_STEER_OFF);
	shunt_xdp_set_open(x, true);
	xdp_rig_expect(x, &f, SHUNT_STEER_OFF);
	cr_expect_eq(shunt_xdp_set_config(x, &cfg, &xdp_rig_err), 0);
	xdp_rig_expect(x, &f, SHUNT_STEER_NO_SOCKET);
	cr_expect_eq(shunt_xdp_set_locals(x, &ip4_be, 1, NULL, 0, &xdp_rig_err), 0);
	xdp_rig_expect(x, &f, SHUNT_STEER_LOCAL_ADDRESS);
	shunt_rule_parse("proto udp lane drop", &rule, NULL);
	shunt_rule_compile(&rule, &compiled);
	cr_expect_eq(shunt_xdp_set_rules(x, &compiled, 1, &xdp_rig_err), 0);
	xdp_rig_expect(x, &f, SHUNT_STEER_RULE_DROP);
	shunt_xdp_set_open(x, false);
	xdp_rig_expect(x, &f, SHUNT_STEER_CLOSED);
	cr_expect_eq(shunt_xdp_set_rules(x, NULL, 0, &xdp_rig_err), 0);
	xdp_rig_expect(x, &f, SHUNT_STEER_CLOSED); /* rules do not open it */
	shunt_xdp_set_open(x, true);
	xdp_rig_expect(x, &f, SHUNT_STEER_LOCAL_ADDRESS);
	cr_expect_not(shunt_xdp_bar(x, true));
	xdp_rig_expect(x, &f, SHUNT_STEER_CLOSED);
	shunt_xdp_set_open(x, true);
	cr_expect_eq(shunt_xdp_set_config(x, &cfg, &xdp_rig_err), 0);
	xdp_rig_expect(x, &f, SHUNT_STEER_CLOSED); /* nothing opens it but this */
	cr_expect(shunt_xdp_bar(x, false));
	xdp_rig_expect(x, &f, SHUNT_STEER_LOCAL_ADDRESS);
	inet_pton(AF_INET6, "2001:db8:2::9", &ip6);
	cr_expect_eq(shunt_xdp_set_locals(x, NULL, 0, &ip6, 1, &xdp_rig_err), 0);
	xdp_rig_expect(x, &f, SHUNT_STEER_NO_SOCKET);
	frame_good6(&f);
	xdp_rig_expect(x, &f, SHUNT_STEER_LOCAL_ADDRESS);
	shunt_xdp_detach(x);
	cr_expect_eq(xdp_rig_prog_on("va"), 0);
	shunt_xdp_detach(NULL);
}

static void set_rules(struct shunt_xdp *x, const char *const *texts, unsigned cnt)
{
	struct shunt_steer_rule compiled[SHUNT_STEER_RULES_MAX];
	struct shunt_rule rule;

	for (unsigned i = 0; i < cnt; i++) {
		cr_assert_eq(shunt_rule_parse(texts[i], &rule, &xdp_rig_err), 0);
		shunt_rule_compile(&rule, &compiled[i]);
	}
	cr_assert_eq(shunt_xdp_set_rules(x, compiled, cnt, &xdp_rig_err), 0);
}

static void expect_count(struct shunt_xdp *x, unsigned rule, uint64_t packets, size_t len)
{
	struct shunt_count got;

	cr_assert(shunt_xdp_rule_count(x, rule, &got));
	cr_expect_eq(got.packets, packets, "rule %u: %llu packets, not %lu", rule, got.packets,
		     packets);
	cr_expect_eq(got.bytes, packets * len);
}

/* A rule that stays keeps its count, wherever it stands; a new one begins with nothing. */
Test(xdp, rules_keep_their_counts)
{
	static const char *const first[] = {"proto tcp lane kernel", "proto udp lane drop"},
				 *const second[] = {"proto udp lane drop", "proto udp lane drop",
						    "proto tcp lane user"},
				 *const third[] = {"proto udp dport 0-65535 lane kernel"};
	struct shunt_steer_cfg cfg = {.mode = SHUNT_STEER_MODE_LAYER3, .mac = FRAME_OWN_MAC};
	struct shunt_count none;
	struct shunt_xdp *x;
	struct frame f;

	xdp_rig_start();
	x = xdp_rig_attach((struct shunt_xdp_opts){.counts = true});
	frame_good4(&f);
	set_rules(x, first, 2);
	cr_expect_eq(shunt_xdp_set_config(x, &cfg, &xdp_rig_err), 0);
	xdp_rig_expect(x, &f, SHUNT_STEER_RULE_DROP);
	expect_count(x, 0, 0, f.len);
	expect_count(x, 1, 1, f.len);
	cr_expect_not(shunt_xdp_rule_count(x, 2, &none));
	set_rules(x, second, 3);
	expect_count(x, 0, 1, f.len);
	xdp_rig_expect(x, &f, SHUNT_STEER_RULE_DROP);
	expect_count(x, 0, 2, f.len);
	expect_count(x, 1, 0, f.len);
	expect_count(x, 2, 0, f.len);
	for (int i = 0; i < 3; i++) { /* counters of before are used again */
		set_rules(x, third, 1);
		expect_count(x, 0, 0, f.len);
		set_rules(x, first, 2);
		expect_count(x, 1, 0, f.len);
		xdp_rig_expect(x, &f, SHUNT_STEER_RULE_DROP);
		expect_count(x, 1, 1, f.len);
	}
	shunt_xdp_detach(x);
	x = xdp_rig_attach((struct shunt_xdp_opts){0});
	set_rules(x, first, 2);
	cr_expect_not(shunt_xdp_rule_count(x, 0, &none));
	shunt_xdp_detach(x);
}

Test(xdp, generic_mode_where_asked_for)
{
	struct shunt_xdp_info info;
	struct shunt_xdp *x;

	xdp_rig_start();
	x = xdp_rig_attach((struct shunt_xdp_opts){.requested = SHUNT_XDP_GENERIC});
	cr_expect_eq(shunt_xdp_info(x, &info, &xdp_rig_err), 0);
	cr_expect_eq(info.in_use, SHUNT_XDP_GENERIC);
	cr_expect_eq(info.requested, SHUNT_XDP_GENERIC);
	shunt_xdp_detach(x);
	cr_expect_eq(xdp_rig_attach_fails((struct shunt_xdp_opts){.ifname = "lo"}), -EOPNOTSUPP);
	cr_expect(strstr(xdp_rig_err.msg, "--driver-mode generic"), "%s", xdp_rig_err.msg);
	cr_expect_eq(xdp_rig_prog_on("lo"), 0);
}

Test(xdp, refuses_limits)
{
	struct shunt_steer_cfg cfg = {.mode = 99};
	struct shunt_steer_rule *rules = calloc(SHUNT_STEER_RULES_MAX + 1, sizeof(*rules));
	struct shunt_xdp *x;

	xdp_rig_start();
	x = xdp_rig_attach((struct shunt_xdp_opts){0});
	cr_expect_eq(shunt_xdp_set_config(x, &cfg, &xdp_rig_err), -EINVAL);
	cr_expect_eq(shunt_xdp_set_rules(x, rules, SHUNT_STEER_RULES_MAX + 1, &xdp_rig_err),
		     -E2BIG);
	rules[3].lane = SHUNT_STEER_RULE_AUTO + 1;
	cr_expect_eq(shunt_xdp_set_rules(x, rules, 4, &xdp_rig_err), -EINVAL);
	cr_expect(strstr(xdp_rig_err.msg, "rule 4"), "%s", xdp_rig_err.msg);
	cr_expect_eq(
		shunt_xdp_set_locals(x, NULL, SHUNT_STEER_LOCALS_MAX + 1, NULL, 0, &xdp_rig_err),
		-E2BIG);
	shunt_xdp_detach(x);
	free(rules);
}

Test(xdp, no_such_device)
{
	xdp_rig_start();
	cr_expect_eq(xdp_rig_attach_fails((struct shunt_xdp_opts){.ifname = "nix"}), -ENODEV);
	cr_expect_eq(shunt_xdp_clean(0, &xdp_rig_err), -ENODEV);
}

Test(xdp, another_program_stays)
{
	uint32_t id;

	xdp_rig_start();
	id = xdp_rig_put("somebody", XDP_FLAGS_DRV_MODE);
	cr_expect_eq(xdp_rig_attach_fails((struct shunt_xdp_opts){0}), -EBUSY);
	cr_expect(strstr(xdp_rig_err.msg, "'somebody'") && strstr(xdp_rig_err.msg, "--replace"),
		  "%s", xdp_rig_err.msg);
	cr_expect_eq(shunt_xdp_clean(if_nametoindex("va"), &xdp_rig_err), 0);
	cr_expect_eq(xdp_rig_attach_fails((struct shunt_xdp_opts){.external = true}), -ENOENT);
	cr_expect_eq(xdp_rig_prog_on("va"), id);
}

Test(xdp, another_program_is_replaced_when_told_to)
{
	struct shunt_xdp_info info;
	struct shunt_xdp *x;
	uint32_t id;

	xdp_rig_start();
	id = xdp_rig_put("somebody", XDP_FLAGS_SKB_MODE);
	x = xdp_rig_attach((struct shunt_xdp_opts){.replace = true});
	cr_expect_neq(xdp_rig_prog_on("va"), id);
	/* Somebody takes it off and puts on another: detach leaves that alone. */
	cr_assert_eq(bpf_xdp_attach(if_nametoindex("va"), -1, XDP_FLAGS_DRV_MODE, NULL), 0);
	cr_expect_eq(shunt_xdp_info(x, &info, &xdp_rig_err), -ENOENT);
	id = xdp_rig_put("somebody", XDP_FLAGS_DRV_MODE);
	shunt_xdp_detach(x);
	cr_expect_eq(xdp_rig_prog_on("va"), id);
}

Test(xdp, refusal_by_mtu_quotes_the_driver_and_restores)
{
	uint32_t id;

	xdp_rig_start();
	xdp_rig_shell("ip link set va mtu 9000 && ip link set vb mtu 9000");
	cr_expect_eq(xdp_rig_attach_fails((struct shunt_xdp_opts){0}), -ERANGE);
	cr_expect(strstr(xdp_rig_err.msg, "\"veth: Peer MTU is too large"), "%s", xdp_rig_err.msg);
	cr_expect(strstr(xdp_rig_err.msg, "lower it"), "%s", xdp_rig_err.msg);
	cr_expect_eq(xdp_rig_prog_on("va"), 0);
	id = xdp_rig_put("somebody", XDP_FLAGS_SKB_MODE);
	cr_expect_eq(xdp_rig_attach_fails((struct shunt_xdp_opts){.replace = true}), -ERANGE);
	cr_expect_eq(xdp_rig_prog_on("va"), id);
}

Test(xdp, missing_right_is_named)
{
	xdp_rig_start();
	cr_assert_eq(setresuid(65534, 65534, 65534), 0);
	cr_expect_eq(xdp_rig_attach_fails((struct shunt_xdp_opts){0}), -EPERM);
	cr_expect(strstr(xdp_rig_err.msg, "CAP_NET_ADMIN and CAP_SYS_ADMIN"), "%s",
		  xdp_rig_err.msg);
}

Test(xdp, leftover_of_a_killed_daemon_is_cleaned)
{
	struct shunt_xdp *x;
	uint32_t id;

	xdp_rig_start();
	xdp_rig_attach_and_die((struct shunt_xdp_opts){0});
	cr_expect_neq(xdp_rig_prog_on("va"), 0);
	cr_expect_eq(shunt_xdp_clean(if_nametoindex("va"), &xdp_rig_err), 1, "%s", xdp_rig_err.msg);
	cr_expect_eq(xdp_rig_prog_on("va"), 0);
	cr_expect_eq(shunt_xdp_clean(if_nametoindex("va"), &xdp_rig_err), 0);
	xdp_rig_attach_and_die((struct shunt_xdp_opts){0});
	id = xdp_rig_prog_on("va");
	x = xdp_rig_attach((struct shunt_xdp_opts){0});
	cr_expect_neq(xdp_rig_prog_on("va"), id);
	shunt_xdp_detach(x);
}

Test(xdp, device_in_use_by_a_living_owner_is_refused)
{
	struct shunt_xdp *x;
	uint32_t id;

	xdp_rig_start();
	x = xdp_rig_attach((struct shunt_xdp_opts){0});
	id = xdp_rig_prog_on("va");
	cr_expect_eq(xdp_rig_attach_fails((struct shunt_xdp_opts){0}), -EBUSY);
	cr_expect(strstr(xdp_rig_err.msg, "runs shunt on the device already"), "%s",
		  xdp_rig_err.msg);
	cr_expect_eq(xdp_rig_attach_fails((struct shunt_xdp_opts){.external = true}), -EBUSY);
	cr_expect_eq(shunt_xdp_clean(if_nametoindex("va"), &xdp_rig_err), -EBUSY);
	cr_expect_eq(xdp_rig_prog_on("va"), id);
	shunt_xdp_detach(x);
}

Test(xdp, external_program_serves_and_stays)
{
	struct shunt_steer_cfg cfg = {.mode = SHUNT_STEER_MODE_LAYER3, .mac = FRAME_OWN_MAC};
	struct shunt_xdp_info info;
	struct shunt_xdp *x;
	struct frame f;
	uint32_t id;

	xdp_rig_start();
	xdp_rig_attach_and_die((struct shunt_xdp_opts){
		0}); /* by hand or left behind: the kernel sees no difference */
	id = xdp_rig_prog_on("va");
	for (int round = 0; round < 2; round++) {
		x = xdp_rig_attach((struct shunt_xdp_opts){.external = true});
		frame_good4(&f);
		cr_expect_eq(shunt_xdp_set_config(x, &cfg, &xdp_rig_err), 0);
		xdp_rig_expect(x, &f, SHUNT_STEER_NO_SOCKET);
		cr_expect_eq(shunt_xdp_info(x, &info, &xdp_rig_err), 0);
		/* Under a dispatcher the device's program is that. */
		cr_expect(info.external && (info.prog_id == id || info.dispatcher));
		shunt_xdp_detach(x);
		cr_expect_eq(xdp_rig_prog_on("va"), id);
	}
}

/* The steering program with one of its maps made otherwise, on va. */
static void attach_with(const char *map_name, int type, unsigned max_entries)
{
	struct shunt_steer *skel = shunt_steer__open();
	struct bpf_map *map = bpf_object__find_map_by_name(skel->obj, map_name);
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, skel->obj)
		bpf_program__set_autoload(prog, prog == skel->progs.shunt_steer);
	if (type)
		bpf_map__set_type(map, (enum bpf_map_type)type);
	if (max_entries)
		bpf_map__set_max_entries(map, max_entries);
	bpf_map__set_map_flags(map, 0);
	cr_assert_eq(shunt_steer__load(skel), 0);
	cr_assert_eq(bpf_xdp_attach(if_nametoindex("va"), bpf_program__fd(skel->progs.shunt_steer),
				    XDP_FLAGS_DRV_MODE, NULL),
		     0);
	shunt_steer__destroy(skel);
}

Test(xdp, external_program_with_other_maps_is_refused)
{
	static const struct {
		const char *name;
		int type;
		unsigned max_entries;
	} cases[] = {
		{"shunt_local4", BPF_MAP_TYPE_LRU_HASH, 0},
		{"shunt_xsks", 0, 4},
	};
	unsigned i;

	xdp_rig_start();
	for (i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		attach_with(cases[i].name, cases[i].type, cases[i].max_entries);
		cr_expect_eq(xdp_rig_attach_fails((struct shunt_xdp_opts){.external = true}),
			     -EPROTO);
		cr_expect(strstr(xdp_rig_err.msg, "has other maps"), "%s", xdp_rig_err.msg);
		bpf_xdp_detach((int)if_nametoindex("va"), XDP_FLAGS_DRV_MODE, NULL);
	}
	attach_with("shunt_xsks", 0, SHUNT_STEER_SOCKETS_MAX);
	shunt_xdp_detach(xdp_rig_attach((struct shunt_xdp_opts){.external = true}));
}

/* Runs what is on the device on a frame from one of its queues. */
static void run_on_queue(unsigned queue, unsigned ifindex, uint32_t prog_id)
{
	struct xdp_md md = {.ingress_ifindex = ifindex, .rx_queue_index = queue};
	int fd = bpf_prog_get_fd_by_id(prog_id);
	struct frame f;

	frame_good4(&f);
	md.data_end = f.len;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f.data, .data_size_in = f.len,
		    .ctx_in = &md, .ctx_size_in = sizeof(md), .repeat = 1);
	cr_assert_eq(bpf_prog_test_run_opts(fd, &opts), 0, "queue %u: %s", queue, strerror(errno));
	close(fd);
}

Test(xdp, counts_by_queue_and_late_queues_in_the_last_slot)
{
	struct shunt_steer_counters c;
	struct shunt_xdp *x;
	unsigned ifindex;

	xdp_rig_start();
	xdp_rig_shell(
		"ip link add vm numrxqueues 70 numtxqueues 70 type veth peer name vn numrxqueues 70 "
		"numtxqueues 70 && ip link set vm up && ip link set vn up");
	ifindex = if_nametoindex("vm");
	x = xdp_rig_attach((struct shunt_xdp_opts){.ifname = "vm"});
	run_on_queue(5, ifindex, xdp_rig_prog_on("vm"));
	run_on_queue(62, ifindex, xdp_rig_prog_on("vm"));
	run_on_queue(63, ifindex, xdp_rig_prog_on("vm"));
	run_on_queue(69, ifindex, xdp_rig_prog_on("vm"));
	shunt_xdp_read_counters(x, 5, &c);
	cr_expect_eq(c.packets[SHUNT_STEER_OFF], 1);
	shunt_xdp_read_counters(x, 62, &c);
	cr_expect_eq(c.packets[SHUNT_STEER_OFF], 1);
	shunt_xdp_read_counters(x, 63, &c);
	cr_expect_eq(c.packets[SHUNT_STEER_OFF], 2);
	cr_expect_eq(c.bytes[SHUNT_LANE_KERNEL], 120);
	shunt_xdp_read_counters(x, 1000, &c);
	cr_expect_eq(c.packets[SHUNT_STEER_OFF], 2);
	shunt_xdp_read_counters(x, 4, &c);
	cr_expect_eq(c.packets[SHUNT_STEER_OFF], 0);
	shunt_xdp_detach(x);
}
