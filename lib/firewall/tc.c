// SPDX-License-Identifier: BSD-2-Clause
/* tc on the ports: filters where frames come in or leave, BPF programs there (tcx, Linux 6.6), and
 * queueing disciplines that do more than queue. */
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/bytes.h"
#include "base/netlink.h"
#include "firewall/ask.h"
#include "firewall/take.h"

/* BPF_TCX_INGRESS and _EGRESS of Linux 6.6's headers, which are enumerators. */
#define TCX_INGRESS ((enum bpf_attach_type)46)
#define TCX_EGRESS  ((enum bpf_attach_type)47)

/* What only queues: order and drops of a full queue are all that it decides. */
static const char *const queues[] = {
	"noqueue",  "pfifo",  "bfifo",	 "pfifo_fast", "pfifo_head_drop",
	"mq",	    "mqprio", "multiq",	 "prio",       "fq",
	"fq_codel", "fq_pie", "codel",	 "pie",	       "sfq",
	"drr",	    "ets",    "skbprio", "hhf",	       "qfq",
	"sfb",
};

/* --- queueing disciplines --------------------------------------------------------------------- */

static int take_kind(const struct nlattr *attr, void *arg)
{
	const char **kind = arg;

	if (mnl_attr_get_type(attr) == TCA_KIND)
		*kind = shunt_netlink_str(attr);
	return MNL_CB_OK;
}

static struct shunt_firewall_device *device_of(const struct shunt_firewall_devices *devices,
					       int ifindex)
{
	unsigned i;

	for (i = 0; i < devices->cnt; i++)
		if (devices->at[i].ifindex == ifindex)
			return &devices->at[i];
	return NULL;
}

static bool only_queues(const char *kind)
{
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(queues); i++)
		if (!strcmp(kind, queues[i]))
			return true;
	return false;
}

int shunt_firewall_take_qdisc(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tcm = shunt_netlink_head(nlh, sizeof(*tcm));
	const struct shunt_firewall_devices *devices = arg;
	struct shunt_firewall_device *device = tcm ? device_of(devices, tcm->tcm_ifindex) : NULL;
	const char *kind = "";

	if (nlh->nlmsg_type != RTM_NEWQDISC || !device)
		return MNL_CB_OK;
	mnl_attr_parse(nlh, sizeof(*tcm), take_kind, &kind);
	if (!strcmp(kind, "clsact") || !strcmp(kind, "ingress"))
		device->has_entrance = true;
	else if (!only_queues(kind))
		shunt_judges_add(devices->judges, SHUNT_JUDGE_tc, SHUNT_JUDGE_OUT, device->ifindex,
				 "qdisc %.24s", kind);
	else if (tcm->tcm_handle)
		device->has_classes = true;
	return MNL_CB_OK;
}

static void forget_qdiscs(void *arg)
{
	struct shunt_firewall_devices *devices = arg;
	unsigned i;

	devices->judges->cnt = devices->judge_cnt_before;
	for (i = 0; i < devices->cnt; i++)
		devices->at[i] = (struct shunt_firewall_device){.ifindex = devices->at[i].ifindex};
}

static int ask_qdiscs(struct shunt_firewall_devices *devices)
{
	char buf[MNL_NLMSG_HDRLEN + MNL_ALIGN(sizeof(struct tcmsg))];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = RTM_GETQDISC;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct tcmsg));
	return shunt_netlink_dump(&(struct shunt_netlink_dump){.bus = NETLINK_ROUTE,
							       .request = nlh,
							       .take = shunt_firewall_take_qdisc,
							       .forget = forget_qdiscs,
							       .arg = devices});
}

/* --- filters ---------------------------------------------------------------------------------- */

static int take_filter(const struct nlmsghdr *nlh, void *arg)
{
	bool *has_filter = arg;

	*has_filter |= nlh->nlmsg_type == RTM_NEWTFILTER;
	return MNL_CB_OK;
}

static void forget_filter(void *arg)
{
	*(bool *)arg = false;
}

/* What has no filters, or is gone, answers with an empty list. */
static bool has_filter(int ifindex, uint32_t parent, int *ret)
{
	char buf[MNL_NLMSG_HDRLEN + MNL_ALIGN(sizeof(struct tcmsg))];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tcm;
	bool has = false;
	int done;

	nlh->nlmsg_type = RTM_GETTFILTER;
	tcm = mnl_nlmsg_put_extra_header(nlh, sizeof(*tcm));
	tcm->tcm_ifindex = ifindex;
	tcm->tcm_parent = parent;
	done = shunt_netlink_dump(&(struct shunt_netlink_dump){.bus = NETLINK_ROUTE,
							       .request = nlh,
							       .take = take_filter,
							       .forget = forget_filter,
							       .arg = &has});
	if (done)
		*ret = done;
	return has;
}

static void ask_filters(const struct shunt_firewall_device *device, struct shunt_judges *judges,
			int *ret)
{
	const uint32_t in = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS),
		       out = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS);

	if (device->has_entrance && has_filter(device->ifindex, in, ret))
		shunt_judges_add(judges, SHUNT_JUDGE_tc, SHUNT_JUDGE_IN, device->ifindex,
				 "filter ingress");
	if (device->has_entrance && has_filter(device->ifindex, out, ret))
		shunt_judges_add(judges, SHUNT_JUDGE_tc, SHUNT_JUDGE_OUT, device->ifindex,
				 "filter egress");
	if (device->has_classes && has_filter(device->ifindex, 0, ret))
		shunt_judges_add(judges, SHUNT_JUDGE_tc, SHUNT_JUDGE_OUT, device->ifindex,
				 "filter of the root qdisc");
}

/* --- tcx -------------------------------------------------------------------------------------- */

/* EINVAL: a kernel that has none. ENODEV: the device is gone. */
static void ask_tcx(int ifindex, enum bpf_attach_type at, enum shunt_judge_place place,
		    struct shunt_judges *judges)
{
	LIBBPF_OPTS(bpf_prog_query_opts, opts);
	const int ret = bpf_prog_query_opts(ifindex, at, &opts);

	if (!ret && opts.prog_cnt)
		shunt_judges_add(judges, SHUNT_JUDGE_tc, place, ifindex, "program (tcx %s)",
				 place == SHUNT_JUDGE_IN ? "ingress" : "egress");
	else if (ret == -EPERM)
		shunt_judges_add(judges, SHUNT_JUDGE_untold, place, ifindex,
				 "tcx without CAP_NET_ADMIN");
	else if (ret && ret != -EINVAL && ret != -ENODEV)
		shunt_judges_add(judges, SHUNT_JUDGE_untold, place, ifindex, "tcx: %s",
				 strerror(-ret));
}

void shunt_firewall_ask_tc(const int *ifindexes, unsigned cnt, struct shunt_judges *judges)
{
	struct shunt_firewall_devices devices = {.judges = judges, .judge_cnt_before = judges->cnt};
	unsigned i;
	int ret = -ENOMEM;

	devices.at = calloc(cnt + 1, sizeof(*devices.at));
	for (i = 0; i < cnt && devices.at; i++)
		devices.at[devices.cnt++].ifindex = ifindexes[i];
	if (devices.at)
		ret = ask_qdiscs(&devices);
	for (i = 0; i < devices.cnt && !ret; i++) {
		ask_filters(&devices.at[i], judges, &ret);
		ask_tcx(ifindexes[i], TCX_INGRESS, SHUNT_JUDGE_IN, judges);
		ask_tcx(ifindexes[i], TCX_EGRESS, SHUNT_JUDGE_OUT, judges);
	}
	free(devices.at);
	if (ret)
		shunt_judges_add(judges, SHUNT_JUDGE_untold, SHUNT_JUDGE_IN, 0, "tc: %s",
				 strerror(-ret));
}
