// SPDX-License-Identifier: BSD-2-Clause
/* What the doctor makes of devices and hosts that are not at hand. */
#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "doctor/facts.h"

TestSuite(doctor, .timeout = 120);

#define BASIC (SHUNT_NETDEV_XDP_basic | SHUNT_NETDEV_XDP_redirect)
#define ZC    SHUNT_NETDEV_XDP_xsk_zerocopy

static struct doctor_device_facts healthy(void)
{
	struct doctor_device_facts f = {
		.ifname = "eth1",
		.netdev = {.ifindex = 7,
			   .mtu = 1500,
			   .is_up = true,
			   .queue_cnt = 1,
			   .queue_max = 8,
			   .driver = "ice"},
		.xdp = {.is_known = true, .features = BASIC | ZC},
		.is_running = true,
		.ntuple_cnt = -1,
		.numa_node = -1,
		.virtio_dma = -1,
		.is_forwarding = true,
		.kernel = {6, 12},
	};

	return f;
}

static const struct shunt_doctor_opts wanted = {
	.frame_size = 2048, .worker_cnt = 1, .ring_size = 2048};

static const struct shunt_finding *find(const struct shunt_doctor *d, const char *topic)
{
	unsigned i;

	for (i = 0; i < d->cnt; i++)
		if (!strcmp(d->findings[i].topic, topic))
			return &d->findings[i];
	cr_assert(false, "no finding about %s", topic);
	return NULL;
}

/* The first finding about topic has the level, and its texts contain the words. */
static void expect(const struct doctor_device_facts *f, const struct shunt_doctor_opts *opts,
		   const char *topic, enum shunt_doctor_level level, const char *word,
		   const char *remedy)
{
	struct shunt_doctor d = {0};
	const struct shunt_finding *found;

	shunt_doctor_judge_device(&d, f, opts);
	found = find(&d, topic);
	cr_expect_eq(found->level, level, "%s: level %s: %s", topic,
		     shunt_doctor_level_name(found->level), found->sentence);
	cr_expect(strstr(found->sentence, word), "no '%s' in: %s", word, found->sentence);
	cr_expect(strstr(found->remedy, remedy), "no '%s' in: %s", remedy, found->remedy);
	cr_expect_str_eq(found->object, "eth1");
	shunt_doctor_fini(&d);
}

Test(doctor, nothing_is_wrong_with_a_healthy_device)
{
	struct doctor_device_facts f = healthy();
	struct shunt_doctor d = {0};
	unsigned i;

	shunt_doctor_judge_device(&d, &f, &wanted);
	for (i = 0; i < d.cnt; i++)
		cr_expect_eq(d.findings[i].level, SHUNT_DOCTOR_ok, "%s: %s", d.findings[i].topic,
			     d.findings[i].sentence);
	cr_expect_eq(shunt_doctor_count(&d, SHUNT_DOCTOR_ok), d.cnt);
	shunt_doctor_fini(&d);
}

Test(doctor, says_whether_zerocopy_will_work_and_why_not)
{
	static const struct {
		const char *driver;
		uint64_t features;
		int virtio_dma;
		struct shunt_kernel kernel;
		bool is_known, works;
		const char *why;
	} cases[] = {
		{"ice", BASIC | ZC, -1, {6, 12}, true, true, ""},
		{"ena", BASIC, -1, {6, 12}, true, false, "the driver ena has no AF_XDP zero-copy"},
		{"veth", BASIC, -1, {6, 18}, true, false, "veth never"},
		{"veth", 0, -1, {6, 1}, false, false, "veth never"},
		{"ice", 0, -1, {6, 1}, false, true, "only a try will"},
		{"virtio_net", 0, 1, {6, 1}, false, false, "since Linux 6.13, and this is 6.1"},
		{"igb", 0, -1, {6, 1}, false, false, "since Linux 6.14, and this is 6.1"},
		{"igb", BASIC, -1, {6, 12}, true, false, "since Linux 6.14, and this is 6.12"},
		{"virtio_net",
		 BASIC,
		 1,
		 {6, 12},
		 true,
		 false,
		 "since Linux 6.13, and this is 6.12"},
		{"virtio_net", BASIC | ZC, 0, {7, 2}, true, false, "VIRTIO_F_ACCESS_PLATFORM"},
		{"virtio_net", BASIC | ZC, 1, {6, 12}, true, true, ""},
		{"virtio_net", BASIC | ZC, 1, {7, 2}, true, true, ""},
	};
	struct doctor_device_facts f = healthy();
	char why[192];
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		snprintf(f.netdev.driver, sizeof(f.netdev.driver), "%s", cases[i].driver);
		f.xdp.features = cases[i].features;
		f.xdp.is_known = cases[i].is_known;
		f.virtio_dma = cases[i].virtio_dma;
		f.kernel = cases[i].kernel;
		cr_expect_eq(shunt_doctor_zerocopy(&f, why, sizeof(why)), cases[i].works,
			     "case %u: %s", i, why);
		cr_expect(*cases[i].why ? !!strstr(why, cases[i].why) : !*why, "case %u: %s", i,
			  why);
	}
}

Test(doctor, zerocopy_is_an_error_only_when_required)
{
	struct shunt_doctor_opts require = wanted, generic = wanted;
	struct doctor_device_facts f = healthy();

	generic.generic = true;
	expect(&f, &generic, "zerocopy", SHUNT_DOCTOR_warning, "generic mode", "");
	f.xdp.features = BASIC;
	require.require_zerocopy = true;
	expect(&f, &wanted, "zerocopy", SHUNT_DOCTOR_warning, "copied", "--require");
	expect(&f, &require, "zerocopy", SHUNT_DOCTOR_error, "copied", "--require");
}

Test(doctor, a_bridge_is_served_by_its_ports)
{
	struct doctor_device_facts f = healthy();

	f.xdp.features = 0;
	strcpy(f.kind, "bridge");
	expect(&f, &wanted, "bridge", SHUNT_DOCTOR_error, "no ports", "master eth1");
	strcpy(f.ports, "eth2 eth3");
	expect(&f, &wanted, "bridge", SHUNT_DOCTOR_note, "shuntd bridge eth1",
	       "shuntctl doctor eth2 eth3");
	f.filters_stags = true;
	expect(&f, &wanted, "bridge", SHUNT_DOCTOR_note, "802.1ad", "vlan_protocol 802.1Q");
}

Test(doctor, mtu_against_the_frame)
{
	static const struct {
		uint32_t mtu, frame_size;
		enum shunt_doctor_level level;
		const char *remedy;
	} cases[] = {
		{1746, 2048, SHUNT_DOCTOR_ok, ""},
		{1747, 2048, SHUNT_DOCTOR_error, "--frame-size 4096"},
		{3794, 2048, SHUNT_DOCTOR_error, "--frame-size 4096"},
		{3794, 4096, SHUNT_DOCTOR_ok, ""},
		{3795, 4096, SHUNT_DOCTOR_error, "ip link set dev eth1 mtu 3794"},
		{9000, 2048, SHUNT_DOCTOR_error, "ip link set dev eth1 mtu 1746"},
	};
	struct shunt_doctor_opts opts = wanted;
	struct doctor_device_facts f = healthy();
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		f.netdev.mtu = cases[i].mtu;
		opts.frame_size = cases[i].frame_size;
		expect(&f, &opts, "mtu", cases[i].level, "MTU", cases[i].remedy);
	}
	f.kernel.minor = 18;
	f.xdp.features |= SHUNT_NETDEV_XDP_rx_sg;
	opts.require_zerocopy = true;
	expect(&f, &opts, "mtu", SHUNT_DOCTOR_error, "zero-copy is required",
	       "ip link set dev eth1 mtu 1746");
	f.xdp.features &= ~(uint64_t)ZC;
	expect(&f, &opts, "mtu", SHUNT_DOCTOR_ok, "takes 6 frames", "");
}

Test(doctor, queues)
{
	struct shunt_doctor_opts four = wanted;
	struct doctor_device_facts f = healthy();

	four.worker_cnt = 4;
	expect(&f, &four, "queues", SHUNT_DOCTOR_error, "4 workers and 1 queue",
	       "ethtool -L eth1 combined 4");
	f.netdev.queue_max = 2;
	expect(&f, &four, "queues", SHUNT_DOCTOR_error, "at most 2",
	       "no more workers than queues: 1");
	f.netdev.queue_cnt = f.netdev.queue_max = 8;
	expect(&f, &wanted, "queues", SHUNT_DOCTOR_note, "8 queues", "combined 1");
	snprintf(f.netdev.driver, sizeof(f.netdev.driver), "ena");
	f.netdev.queue_cnt = 5;
	expect(&f, &four, "queues", SHUNT_DOCTOR_error, "5 of 8", "ethtool -L eth1 combined 4");
	f.netdev.queue_cnt = 4;
	expect(&f, &four, "queues", SHUNT_DOCTOR_ok, "4 queues", "");
}

Test(doctor, rings)
{
	struct doctor_device_facts f = healthy();

	f.ring = 1024;
	expect(&f, &wanted, "ring", SHUNT_DOCTOR_ok, "ring of 1024", "");
	f.ring = 4096;
	expect(&f, &wanted, "ring", SHUNT_DOCTOR_warning,
	       "4096 is more than half of ring_size 2048", "ethtool -G eth1 rx 1024");
}

Test(doctor, says_whether_there_are_ntuple_filters)
{
	struct doctor_device_facts f = healthy();

	expect(&f, &wanted, "ntuple", SHUNT_DOCTOR_ok, "no ntuple filters in the driver ice", "");
	f.ntuple_cnt = 3;
	f.ntuple_size = 16;
	expect(&f, &wanted, "ntuple", SHUNT_DOCTOR_ok, "3 of 16 in use", "");
}

Test(doctor, offloads_in_the_way)
{
	struct shunt_doctor_opts generic = wanted, in_use = wanted;
	struct doctor_device_facts f;

#define CASE(field, remedy) \
	f = healthy();      \
	f.field = true;     \
	expect(&f, &wanted, "offload", SHUNT_DOCTOR_warning, "", remedy)

	CASE(offloads.lro, "ethtool -K eth1 lro off");
	CASE(offloads.gro_hw, "ethtool -K eth1 rx-gro-hw off");
#undef CASE
	f = healthy();
	f.offloads.rx_stag = true;
	expect(&f, &wanted, "offload", SHUNT_DOCTOR_note, "(rx-vlan-stag-hw-parse): shuntd", "");
	f.offloads.rx_vlan = true;
	expect(&f, &wanted, "offload", SHUNT_DOCTOR_note, "(rxvlan): shuntd switches", "");
	f.offloads.takes_tags_for_good = true;
	expect(&f, &wanted, "offload", SHUNT_DOCTOR_warning, "does not let", "lets it be");
	f = healthy();
	f.offloads.gro = true;
	expect(&f, &wanted, "offload", SHUNT_DOCTOR_ok, "GRO works behind", "");
	generic.generic = true;
	expect(&f, &generic, "offload", SHUNT_DOCTOR_warning, "GRO", "ethtool -K eth1 gro off");
	f = healthy();
	snprintf(f.netdev.driver, sizeof(f.netdev.driver), "veth");
	expect(&f, &wanted, "offload", SHUNT_DOCTOR_note, "another network namespace", "gro on");
	f.kernel.minor = 7;
	expect(&f, &wanted, "offload", SHUNT_DOCTOR_note, "VLAN devices send loses", "txvlan off");
	f.kernel.minor = 12;
	f.peer_ifindex = 8;
	f.peer_offloads.tx_checksum = true;
	snprintf(f.peer, sizeof(f.peer), "eth9");
	expect(&f, &wanted, "offload", SHUNT_DOCTOR_note, "checksums to a device",
	       "ethtool -K eth9 tx off");
	f.peer_offloads.tx_checksum = false;
	f.peer_offloads.tx_vlan = true;
	expect(&f, &wanted, "offload", SHUNT_DOCTOR_note, "takes frames of lane xdp", "gro on");
	snprintf(f.program.name, sizeof(f.program.name), "xdp_dispatcher");
	expect(&f, &wanted, "offload", SHUNT_DOCTOR_note, "tag beside the frame",
	       "ethtool -K eth9 txvlan off");
	f.program.name[0] = 0;
	in_use.in_use = true;
	expect(&f, &in_use, "offload", SHUNT_DOCTOR_note, "tag beside the frame", "txvlan off");
	snprintf(f.program.name, sizeof(f.program.name), "shunt_steer_tag");
	expect(&f, &in_use, "offload", SHUNT_DOCTOR_note, "takes frames of lane xdp", "gro on");
}

Test(doctor, programs)
{
	struct shunt_doctor_opts in_use = wanted, generic = wanted;
	struct doctor_device_facts f = healthy();

	in_use.in_use = true;
	generic.generic = true;
	expect(&f, &in_use, "program", SHUNT_DOCTOR_error, "took it off", "");
	f.program = (struct doctor_program){.id = 42, .name = "xdp_filter"};
	expect(&f, &wanted, "program", SHUNT_DOCTOR_error, "'xdp_filter' (id 42, native)",
	       "--replace");
	expect(&f, &in_use, "program", SHUNT_DOCTOR_error, "in the place of the daemon's",
	       "restart");
	f.program = (struct doctor_program){.id = 42, .name = "xdp_dispatcher"};
	expect(&f, &wanted, "program", SHUNT_DOCTOR_note, "dispatcher", "xdp-loader");
	expect(&f, &generic, "program", SHUNT_DOCTOR_error, "only in the same mode", "xdp-loader");
	expect(&f, &in_use, "program", SHUNT_DOCTOR_error, "does not run the daemon's program",
	       "xdp-loader");
	f.program.is_ours = 1;
	expect(&f, &wanted, "program", SHUNT_DOCTOR_warning, "under libxdp's dispatcher (id 42",
	       "xdp-loader");
	expect(&f, &in_use, "program", SHUNT_DOCTOR_ok, "runs the daemon's program", "xdp-loader");
	/* without the right to look */
	f.program = (struct doctor_program){.id = 42, .is_ours = -EPERM};
	expect(&f, &wanted, "program", SHUNT_DOCTOR_note, "takes CAP_SYS_ADMIN", "as root");
	expect(&f, &in_use, "program", SHUNT_DOCTOR_note, "takes CAP_SYS_ADMIN", "as root");
	f.program = (struct doctor_program){.id = 42, .name = "shunt_steer", .is_generic = true};
	expect(&f, &wanted, "program", SHUNT_DOCTOR_warning, "(id 42, generic)", "xdpgeneric off");
	expect(&f, &in_use, "program", SHUNT_DOCTOR_ok, "daemon's", "");
}

Test(doctor, links_and_places)
{
	struct doctor_device_facts f = healthy();

	f.netdev.is_up = false;
	expect(&f, &wanted, "link", SHUNT_DOCTOR_error, "down", "ip link set dev eth1 up");
	f.netdev.is_up = true;
	f.is_running = false;
	expect(&f, &wanted, "link", SHUNT_DOCTOR_warning, "no carrier", "ethtool eth1");
	f.is_forwarding = false;
	expect(&f, &wanted, "fallback", SHUNT_DOCTOR_note, "nothing forwards", "sysctl");
	snprintf(f.master, sizeof(f.master), "br0");
	snprintf(f.master_kind, sizeof(f.master_kind), "bridge");
	expect(&f, &wanted, "fallback", SHUNT_DOCTOR_ok, "bridge br0", "");
	snprintf(f.kind, sizeof(f.kind), "bond");
	snprintf(f.kind, sizeof(f.kind), "team");
	expect(&f, &wanted, "place", SHUNT_DOCTOR_error, "team", "bond");
	snprintf(f.kind, sizeof(f.kind), "bond");
	expect(&f, &wanted, "bond", SHUNT_DOCTOR_error, "no ports", "ip link set dev PORT master");
	snprintf(f.ports, sizeof(f.ports), "eth5 eth6");
	expect(&f, &wanted, "bond", SHUNT_DOCTOR_note, "shuntd route eth1", "doctor eth5 eth6");
}

Test(doctor, host)
{
	struct doctor_host_facts f = {.kernel = {6, 12, "6.12.9"},
				      .missing = "CAP_SYS_ADMIN",
				      .memlock_bytes = 8192,
				      .hugepages_kb = 2048,
				      .thp = "never",
				      .jit = 0,
				      .cpu_cnt = 1};
	struct shunt_doctor_opts two = wanted;
	struct shunt_doctor d = {0};

	two.worker_cnt = 2;
	shunt_doctor_judge_host(&d, &f, &two);
	cr_expect_eq(find(&d, "rights")->level, SHUNT_DOCTOR_error);
	cr_expect(strstr(find(&d, "rights")->sentence, "no CAP_SYS_ADMIN"));
	cr_expect_eq(find(&d, "memory")->level, SHUNT_DOCTOR_error);
	cr_expect(strstr(find(&d, "memory")->remedy, "ulimit -l"));
	cr_expect_eq(find(&d, "hugepages")->level, SHUNT_DOCTOR_warning);
	cr_expect_str_eq(find(&d, "hugepages")->remedy, "sysctl -w vm.nr_hugepages=17");
	cr_expect_eq(find(&d, "cpus")->level, SHUNT_DOCTOR_warning);
	cr_expect_eq(find(&d, "fallback")->level, SHUNT_DOCTOR_note);
	cr_expect_eq(shunt_doctor_count(&d, SHUNT_DOCTOR_warning), 3, "with the JIT");
	cr_expect_eq(find(&d, "filters")->level, SHUNT_DOCTOR_ok);
	shunt_doctor_fini(&d);
	snprintf(f.tunnels, sizeof(f.tunnels), "wg0 (wireguard)");
	shunt_judges_add(&f.judges, SHUNT_JUDGE_untold, SHUNT_JUDGE_IP, 0, "nftables: EPERM");
	shunt_doctor_judge_host(&d, &f, &two);
	cr_expect_eq(find(&d, "filters")->level, SHUNT_DOCTOR_note);
	cr_expect_eq(find(&d, "tunnels")->level, SHUNT_DOCTOR_note);
	cr_expect(strstr(find(&d, "tunnels")->sentence, "wg0 (wireguard)"));
	shunt_doctor_fini(&d);
	shunt_judges_add(&f.judges, SHUNT_JUDGE_iptables, SHUNT_JUDGE_IP, 0, "iptables -t nat");
	shunt_doctor_judge_host(&d, &f, &two);
	cr_expect_eq(find(&d, "filters")->level, SHUNT_DOCTOR_warning);
	shunt_doctor_fini(&d);
	f = (struct doctor_host_facts){.kernel = {5, 16}, .has_ipc_lock = true, .jit = 1};
	shunt_doctor_judge_host(&d, &f, &wanted);
	cr_expect_eq(find(&d, "kernel")->level, SHUNT_DOCTOR_error);
	cr_expect_eq(find(&d, "memory")->level, SHUNT_DOCTOR_ok);
	shunt_doctor_fini(&d);
}

Test(doctor, asked_for_and_in_use)
{
	static const char text[] =
		"{'ports': [{'name': 'eth1', 'kind': 'xsk', 'queues_served': 1,"
		" 'queues_of_device': 2, 'requested': {'driver_mode': 'native', 'copy_mode':"
		" 'zerocopy'}, 'in_use': {'driver_mode': 'native', 'copy_mode': 'copy'},"
		" 'program': {'id': null, 'error': 'gone'}}, {'name': 'm', 'kind': 'mem'}]}";
	struct shunt_doctor d = {0};
	char quoted[sizeof(text)];
	json_t *ports, *report;
	unsigned i;

	for (i = 0; i < sizeof(text); i++)
		quoted[i] = text[i] == '\'' ? '"' : text[i];
	ports = json_loads(quoted, 0, NULL);
	cr_assert(ports);
	cr_expect_eq(shunt_doctor_in_use(&d, ports, "eth2"), 0);
	cr_expect_eq(shunt_doctor_in_use(&d, ports, NULL), 1);
	cr_expect_eq(shunt_doctor_count(&d, SHUNT_DOCTOR_error), 2, "copy mode, program");
	cr_expect_eq(shunt_doctor_count(&d, SHUNT_DOCTOR_warning), 1, "queues");
	report = shunt_doctor_json(&d);
	cr_expect_eq(json_array_size(json_object_get(report, "findings")), d.cnt);
	cr_expect_eq(
		json_integer_value(json_object_get(json_object_get(report, "levels"), "error")), 2);
	json_decref(report);
	json_decref(ports);
	shunt_doctor_fini(&d);
}
