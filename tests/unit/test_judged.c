// SPDX-License-Identifier: BSD-2-Clause
/* Whose rules a port's frames meet, asked of the kernel, and asked where it cannot be: no file can
 * be opened, so no socket. */
#include <criterion/criterion.h>
#include <errno.h>
#include <net/if.h>
#include <sys/resource.h>

#include "device/link.h"
#include "firewall/firewall.h"
#include "lane/judged.h"
#include "mirror_rig.h"

static struct shunt_group_config group = {
	.mode = SHUNT_FORWARD_BRIDGE, .port_cnt = 2, .port = {0, 1}};
static struct shunt_config config = {.groups = &group, .group_cnt = 1};
static struct shunt_port ports_at[2];
static struct shunt_ports ports = {.config = &config, .at = ports_at, .cnt = 2};
static struct shunt_lanes lanes = {.ports = &ports};

/* The first port, va, is one of a bridge's. */
static struct shunt_port *start(void)
{
	rig_start();
	rig_shell("ip link add br0 type bridge && ip link set va master br0 && "
		  "sysctl -qw net.bridge.bridge-nf-call-iptables=0 "
		  "net.bridge.bridge-nf-call-ip6tables=0 net.bridge.bridge-nf-call-arptables=0; "
		  "ip link set br0 type bridge nf_call_iptables 1");
	ports_at[0].netdev.ifindex = if_nametoindex("va");
	return &ports_at[0];
}

static void open_nothing(void)
{
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 4096}), 0);
}

static void open_again(void)
{
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){1024, 4096}), 0);
}

Test(judged, a_question_that_fails_is_no_answer)
{
	const struct shunt_port *port = start();
	struct shunt_firewall_calls calls;
	int master;

	cr_expect_eq(shunt_link_master(port->netdev.ifindex, &master), 0);
	cr_expect_eq(master, (int)if_nametoindex("br0"));
	cr_expect_eq(shunt_firewall_calls_ask(master, &calls), 0);
	cr_expect(calls.ip && !calls.arp);
	open_nothing();
	cr_expect_eq(shunt_firewall_calls_ask(master, &calls), -EMFILE);
	cr_expect_eq(shunt_link_master(port->netdev.ifindex, &master), -EMFILE);
	open_again();
	cr_expect_eq(shunt_link_master(4711, &master), -ENODEV);
}

Test(judged, the_answer_before_stands)
{
	struct shunt_port *port = start();
	struct shunt_judged judged;

	open_nothing();
	shunt_lane_judged_ask(&lanes, port, &judged);
	cr_expect(judged.is_untold, "there was none before");
	port->lane.judged = judged;
	shunt_lane_judged_ask(&lanes, port, &port->lane.judged);
	cr_expect(port->lane.judged.is_untold, "nor now");
	open_again();
	shunt_lane_judged_ask(&lanes, port, &port->lane.judged);
	cr_expect_not(port->lane.judged.is_untold);
	cr_expect(port->lane.judged.is_bridged && port->lane.judged.calls_ip);
	open_nothing();
	shunt_lane_judged_ask(&lanes, port, &port->lane.judged);
	open_again();
	cr_expect_eq(port->lane.judged.master, (int)if_nametoindex("br0"));
	cr_expect(port->lane.judged.is_bridged && port->lane.judged.calls_ip);
	cr_expect_not(port->lane.judged.is_untold);
}

Test(judged, a_device_that_is_gone_has_no_bridge)
{
	struct shunt_port *port = start();

	shunt_lane_judged_ask(&lanes, port, &port->lane.judged);
	rig_shell("ip link del va");
	shunt_lane_judged_ask(&lanes, port, &port->lane.judged);
	cr_expect_not(port->lane.judged.is_bridged);
	cr_expect_not(port->lane.judged.is_untold);
}
