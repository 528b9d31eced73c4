// SPDX-License-Identifier: BSD-2-Clause
/* What the host's facts mean. */
#include <inttypes.h>
#include <net/if.h>
#include <string.h>

#include "base/bytes.h"
#include "doctor/facts.h"

#define HOST		 "host"

/* Frames that a worker's rings take with two ports of one queue and the default ring size. It gives
 * the order of magnitude of the memory. */
#define FRAMES_OF_WORKER 8192u

static void judge_kernel(struct shunt_doctor *d, const struct doctor_host_facts *f)
{
	struct shunt_finding *finding;

	if (!shunt_kernel_has(&f->kernel, SHUNT_KERNEL_load_bytes))
		shunt_doctor_add(d, SHUNT_DOCTOR_error, HOST, "kernel",
				 "Linux %s: the steering program needs bpf_xdp_load_bytes, which "
				 "came with %s",
				 f->kernel.release, shunt_kernel_since(SHUNT_KERNEL_load_bytes));
	else if (!shunt_kernel_has(&f->kernel, SHUNT_KERNEL_xdp_features))
		shunt_doctor_add(d, SHUNT_DOCTOR_note, HOST, "kernel",
				 "Linux %s: drivers cannot be asked for their XDP features (since "
				 "%s)",
				 f->kernel.release, shunt_kernel_since(SHUNT_KERNEL_xdp_features));
	else
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, HOST, "kernel", "Linux %s", f->kernel.release);
	if (f->jit == 0) {
		finding = shunt_doctor_add(d, SHUNT_DOCTOR_warning, HOST, "kernel",
					   "the BPF JIT is off: every frame is steered by the "
					   "interpreter");
		shunt_doctor_remedy(finding, "sysctl -w net.core.bpf_jit_enable=1");
	}
}

static void judge_rights(struct shunt_doctor *d, const struct doctor_host_facts *f)
{
	struct shunt_finding *finding;

	if (!*f->missing && f->is_in_userns) {
		finding = shunt_doctor_add(d, SHUNT_DOCTOR_error, HOST, "rights",
					   "this is a user namespace, as of an unprivileged "
					   "container: the kernel loads no XDP program by the "
					   "capabilities that it gives");
		shunt_doctor_remedy(finding, "run shuntd outside of it; the network namespace may "
					     "stay: nsenter --net=/proc/PID/ns/net shuntd ...");
		return;
	}
	if (!*f->missing) {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, HOST, "rights",
				 "CAP_NET_ADMIN, CAP_NET_RAW and CAP_SYS_ADMIN are there");
		return;
	}
	finding = shunt_doctor_add(d, SHUNT_DOCTOR_error, HOST, "rights",
				   "this user has no %s, which shuntd needs to start", f->missing);
	shunt_doctor_remedy(finding, "sudo shuntd ... (it drops what it needs no longer; --user)");
}

static void judge_memory(struct shunt_doctor *d, const struct doctor_host_facts *f,
			 const struct shunt_doctor_opts *opts)
{
	const uint64_t needed = (uint64_t)opts->worker_cnt * FRAMES_OF_WORKER *
				(opts->frame_size ? opts->frame_size : 4096);
	struct shunt_finding *finding;

	if (!f->has_ipc_lock && f->memlock_bytes < needed) {
		finding = shunt_doctor_add(d, SHUNT_DOCTOR_error, HOST, "memory",
					   "%" PRIu64
					   " MiB of frames are to be locked in memory, the "
					   "limit is %" PRIu64 " KiB and CAP_IPC_LOCK is missing",
					   needed >> 20, f->memlock_bytes >> 10);
		shunt_doctor_remedy(finding, "ulimit -l unlimited");
	} else {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, HOST, "memory",
				 "frames may be locked in memory%s",
				 f->has_ipc_lock ? " (CAP_IPC_LOCK)" : "");
	}
	if (f->hugepages_free * f->hugepages_kb * 1024 >= needed) {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, HOST, "hugepages",
				 "%" PRIu64 " huge pages of %" PRIu64 " KiB are free: enough for "
				 "%u worker%s",
				 f->hugepages_free, f->hugepages_kb, opts->worker_cnt,
				 opts->worker_cnt > 1 ? "s" : "");
		return;
	}
	finding = shunt_doctor_add(
		d, !strcmp(f->thp, "never") || !*f->thp ? SHUNT_DOCTOR_warning : SHUNT_DOCTOR_note,
		HOST, "hugepages",
		"%" PRIu64 " huge pages are free; transparent ones are '%s', which %s",
		f->hugepages_free, *f->thp ? f->thp : "absent",
		!strcmp(f->thp, "never") || !*f->thp ? "leaves 4 KiB pages: a TLB miss a frame"
						     : "the kernel may grant or not");
	shunt_doctor_remedy(finding, "sysctl -w vm.nr_hugepages=%" PRIu64,
			    needed / 1024 / SHUNT_MAX(f->hugepages_kb, 1ul) + 1);
}

static void judge_fallback(struct shunt_doctor *d, const struct doctor_host_facts *f)
{
	struct shunt_finding *finding;

	if (f->has_ip_forward && f->has_ip6_forward) {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, HOST, "fallback",
				 "the kernel routes IPv4 and IPv6 by itself");
		return;
	}
	finding =
		shunt_doctor_add(d, SHUNT_DOCTOR_note, HOST, "fallback",
				 "the kernel does not route %s: for routed ports it is no fallback",
				 !f->has_ip_forward && !f->has_ip6_forward ? "IPv4 and IPv6"
				 : f->has_ip_forward			   ? "IPv6"
									   : "IPv4");
	shunt_doctor_remedy(finding, "sysctl -w net.ipv4.ip_forward=1 "
				     "net.ipv6.conf.all.forwarding=1");
}

/* "nftables inet filter forward, tc filter ingress on eth1", cut off where it gets long. */
static void list_judges(const struct shunt_judges *judges, char *out, unsigned len)
{
	char judge[128], device[IF_NAMESIZE];
	unsigned i, used = 0;

	for (i = 0; i < judges->cnt && used < len; i++) {
		const int ifindex = judges->at[i].ifindex;
		const bool is_named = ifindex && if_indextoname((unsigned)ifindex, device);

		shunt_judge_print(&judges->at[i], judge, sizeof(judge));
		used += (unsigned)snprintf(out + used, len - used, "%s%s%s%s", i ? ", " : "", judge,
					   is_named ? " on " : "", is_named ? device : "");
	}
}

static void judge_filters(struct shunt_doctor *d, const struct doctor_host_facts *f)
{
	const struct shunt_judge *against;
	struct shunt_finding *finding;
	char judges[200] = "";
	bool is_untold = true;
	unsigned i;

	for (i = 0; i < f->judges.cnt; i++)
		is_untold &= f->judges.at[i].kind == SHUNT_JUDGE_untold;
	if (!f->judges.cnt) {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, HOST, "filters",
				 "nothing of this host judges or changes what it forwards: no "
				 "packet filter, translation, tc or IPsec policy");
		return;
	}
	list_judges(&f->judges, judges, sizeof(judges));
	finding = shunt_doctor_add(d, is_untold ? SHUNT_DOCTOR_note : SHUNT_DOCTOR_warning, HOST,
				   "filters",
				   "what is forwarded is judged by %s: such ports are "
				   "the kernel's in modes route, bridge and mix",
				   judges);
	if (is_untold)
		shunt_doctor_remedy(finding, "ask as root");
	else if (!f->judges.flowtable_cnt && shunt_judges_want_table(&f->judges, &against))
		shunt_doctor_remedy(
			finding,
			"to have shunt forward, in mode route, connections that these rules let "
			"through: shuntd ... --firewall manage, or in a table of yours: flowtable "
			"ft { hook ingress priority filter; devices = { PORT, PORT }; } and first "
			"in chain forward: meta l4proto { tcp, udp } flow add @ft; to bypass all: "
			"--firewall ignore");
	else if (!f->judges.flowtable_cnt)
		shunt_doctor_remedy(
			finding,
			"to have shunt forward, in mode route, the connections that "
			"nftables lets through: a flowtable over both ports, see "
			"shuntd(8), FIREWALL; to bypass all: shuntd ... --firewall ignore");
	else
		shunt_doctor_remedy(finding, "mode route forwards what the flowtable has; to "
					     "bypass all: shuntd ... --firewall ignore");
}

void shunt_doctor_judge_host(struct shunt_doctor *d, const struct doctor_host_facts *facts,
			     const struct shunt_doctor_opts *opts)
{
	struct shunt_finding *finding;

	judge_kernel(d, facts);
	judge_rights(d, facts);
	judge_memory(d, facts, opts);
	judge_fallback(d, facts);
	judge_filters(d, facts);
	if (*facts->tunnels)
		shunt_doctor_add(d, SHUNT_DOCTOR_note, HOST, "tunnels",
				 "what is routed out of %s, and what arrives for them, is the "
				 "kernel's, at the kernel's rate",
				 facts->tunnels);
	if (opts->worker_cnt > facts->cpu_cnt) {
		finding =
			shunt_doctor_add(d, SHUNT_DOCTOR_warning, HOST, "cpus",
					 "%u workers and %u CPUs: workers will wait for each other",
					 opts->worker_cnt, facts->cpu_cnt);
		shunt_doctor_remedy(finding, "fewer workers");
	}
}
