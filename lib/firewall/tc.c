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

/* What only queues: order and drops of a full queue are all that it decides, and filters where it
 * takes some. (drr and qfq drop what no filter has classified.) */
static const struct queue_kind {
	const char *name;
	bool takes_filters;
} kinds[] = {
	{"noqueue", false},
	{"pfifo", false},
	{"bfifo", false},
	{"pfifo_fast", false},
	{"pfifo_head_drop", false},
	{"mq", false},
	{"mqprio", false},
	{"fq", false},
	{"codel", false},
	{"pie", false},
	{"hhf", false},
	{"multiq", true},
	{"prio", true},
	{"ets", true},
	{"fq_codel", true},
	{"fq_pie", true},
	{"sfq", true},
	{"sfb", true},
	{"skbprio", true},
};

/* --- queueing disciplines --------------------------------------------------------------------- */

struct qdisc {
	const char *kind;
	const struct nlattr *options;
};

static int take_attr(const struct nlattr *attr, void *arg)
{
	struct qdisc *qdisc = arg;

	if (mnl_attr_get_type(attr) == TCA_KIND)
		qdisc->kind = shunt_netlink_str(attr);
	if (mnl_attr_get_type(attr) == TCA_OPTIONS)
		qdisc->options = attr;
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

static const struct queue_kind *kind_of(const char *name)
{
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(kinds); i++)
		if (!strcmp(name, kinds[i].name))
			return &kinds[i];
	return NULL;
}

/* fq paces the flows of this host's sockets, and with maxrate all flows. */
struct pace {
	uint32_t max_rate;
	bool is_off;
};

static int take_pace(const struct nlattr *attr, void *arg)
{
	struct pace *pace = arg;

	if (mnl_attr_get_type(attr) == TCA_FQ_FLOW_MAX_RATE)
		pace->max_rate = shunt_netlink_u32(attr);
	if (mnl_attr_get_type(attr) == TCA_FQ_RATE_ENABLE)
		pace->is_off = !shunt_netlink_u32(attr);
	return MNL_CB_OK;
}

static int take_shaper(const struct nlattr *attr, void *arg)
{
	if (mnl_attr_get_type(attr) == TCA_MQPRIO_SHAPER)
		*(bool *)arg = shunt_netlink_u16(attr) != TC_MQPRIO_SHAPER_DCB;
	return MNL_CB_OK;
}

/* Whether what mostly only queues has a rate set. */
static bool shapes(const struct qdisc *qdisc)
{
	const unsigned head_len = MNL_ALIGN(sizeof(struct tc_mqprio_qopt));
	struct pace pace = {.max_rate = UINT32_MAX};
	bool has_shaper = false;

	if (!qdisc->options)
		return false;
	if (!strcmp(qdisc->kind, "fq"))
		mnl_attr_parse_nested(qdisc->options, take_pace, &pace);
	if (!strcmp(qdisc->kind, "mqprio") && mnl_attr_get_payload_len(qdisc->options) > head_len)
		mnl_attr_parse_payload((char *)mnl_attr_get_payload(qdisc->options) + head_len,
				       mnl_attr_get_payload_len(qdisc->options) - head_len,
				       take_shaper, &has_shaper);
	return has_shaper || (!pace.is_off && pace.max_rate != UINT32_MAX);
}

/* A child without a handle takes no filters. */
static void add_queue(struct shunt_firewall_devices *devices, const struct tcmsg *tcm)
{
	const bool is_root = tcm->tcm_parent == TC_H_ROOT;
	struct shunt_firewall_queue *p;

	if (!is_root && !tcm->tcm_handle)
		return;
	p = realloc(devices->queues, (devices->queue_cnt + 1) * sizeof(*p));
	if (!p) {
		shunt_judges_add(devices->judges, SHUNT_JUDGE_untold, SHUNT_JUDGE_OUT,
				 tcm->tcm_ifindex, "tc: not enough memory");
		return;
	}
	devices->queues = p;
	devices->queues[devices->queue_cnt++] =
		(struct shunt_firewall_queue){tcm->tcm_ifindex, is_root ? 0 : tcm->tcm_handle};
}

int shunt_firewall_take_qdisc(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tcm = shunt_netlink_head(nlh, sizeof(*tcm));
	struct shunt_firewall_devices *devices = arg;
	struct shunt_firewall_device *device = tcm ? device_of(devices, tcm->tcm_ifindex) : NULL;
	struct qdisc qdisc = {.kind = ""};
	const struct queue_kind *kind;

	if (nlh->nlmsg_type != RTM_NEWQDISC || !device)
		return MNL_CB_OK;
	mnl_attr_parse(nlh, sizeof(*tcm), take_attr, &qdisc);
	kind = kind_of(qdisc.kind);
	if (!strcmp(qdisc.kind, "ingress"))
		device->has_ingress = true;
	else if (!strcmp(qdisc.kind, "clsact"))
		device->has_ingress = device->has_egress = true;
	else if (!kind || shapes(&qdisc))
		shunt_judges_add(devices->judges, SHUNT_JUDGE_tc, SHUNT_JUDGE_OUT, device->ifindex,
				 "qdisc %.24s", qdisc.kind);
	else if (kind->takes_filters)
		add_queue(devices, tcm);
	return MNL_CB_OK;
}

static void forget_qdiscs(void *arg)
{
	struct shunt_firewall_devices *devices = arg;
	unsigned i;

	devices->judges->cnt = devices->judge_cnt_before;
	free(devices->queues);
	devices->queues = NULL;
	devices->queue_cnt = 0;
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

/* ingress answers for its filters whichever side is asked for. */
static void ask_entrances(const struct shunt_firewall_device *device, struct shunt_judges *judges,
			  int *ret)
{
	const uint32_t in = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS),
		       out = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS);

	if (device->has_ingress && has_filter(device->ifindex, in, ret))
		shunt_judges_add(judges, SHUNT_JUDGE_tc, SHUNT_JUDGE_IN, device->ifindex,
				 "filter ingress");
	if (device->has_egress && has_filter(device->ifindex, out, ret))
		shunt_judges_add(judges, SHUNT_JUDGE_tc, SHUNT_JUDGE_OUT, device->ifindex,
				 "filter egress");
}

static void ask_queue(const struct shunt_firewall_queue *queue, struct shunt_judges *judges,
		      int *ret)
{
	if (has_filter(queue->ifindex, queue->parent, ret))
		shunt_judges_add(judges, SHUNT_JUDGE_tc, SHUNT_JUDGE_OUT, queue->ifindex,
				 "filter of qdisc %x:", TC_H_MAJ(queue->parent) >> 16);
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
		ask_entrances(&devices.at[i], judges, &ret);
		ask_tcx(ifindexes[i], TCX_INGRESS, SHUNT_JUDGE_IN, judges);
		ask_tcx(ifindexes[i], TCX_EGRESS, SHUNT_JUDGE_OUT, judges);
	}
	for (i = 0; i < devices.queue_cnt && !ret; i++)
		ask_queue(&devices.queues[i], judges, &ret);
	free(devices.at);
	free(devices.queues);
	if (ret)
		shunt_judges_add(judges, SHUNT_JUDGE_untold, SHUNT_JUDGE_IN, 0, "tc: %s",
				 strerror(-ret));
}
