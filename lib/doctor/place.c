// SPDX-License-Identifier: BSD-2-Clause
/* What is on a device and around it: programs, masters, the bridge it may be. */
#include <string.h>

#include "doctor/facts.h"
#include "xdp/xdp.h"

/* To `ip link` a bare xdp is the driver's program. `off` of a program that is not there succeeds.
 */
static const char *xdp_word(const struct doctor_program *p)
{
	return p->is_generic ? "xdpgeneric" : "xdp";
}

/* libxdp's dispatcher, under which shunt's program runs too, and a daemon serves the device. */
static void judge_dispatcher_in_use(struct shunt_doctor *d, const struct doctor_device_facts *f)
{
	const struct doctor_program *p = &f->program;
	const char *mode = p->is_generic ? "generic" : "native";
	struct shunt_finding *finding;

	if (p->is_ours)
		finding = shunt_doctor_add(
			d, SHUNT_DOCTOR_ok, f->ifname, "program",
			"libxdp's dispatcher (id %u, %s) runs the daemon's program "
			"and those of others",
			p->id, mode);
	else
		finding = shunt_doctor_add(
			d, SHUNT_DOCTOR_error, f->ifname, "program",
			"libxdp's dispatcher (id %u, %s) is on the device and does not run the "
			"daemon's program: no frame comes to shunt; restart shuntd",
			p->id, mode);
	shunt_doctor_remedy(finding, "xdp-loader status %s", f->ifname);
}

static void judge_dispatcher(struct shunt_doctor *d, const struct doctor_device_facts *f,
			     const struct shunt_doctor_opts *opts)
{
	const struct doctor_program *p = &f->program;
	const char *mode = p->is_generic ? "generic" : "native";
	struct shunt_finding *finding;

	if (p->is_ours)
		finding = shunt_doctor_add(
			d, SHUNT_DOCTOR_warning, f->ifname, "program",
			"a steering program under libxdp's dispatcher (id %u, %s) is on the "
			"device and no daemon that was asked serves it: left by a killed one, or "
			"another control socket's (-s); the next start clears it",
			p->id, mode);
	else if (p->is_generic != opts->generic)
		finding =
			shunt_doctor_add(d, SHUNT_DOCTOR_error, f->ifname, "program",
					 "libxdp's dispatcher (id %u, %s) is on the device: shunt "
					 "runs behind the programs that are there only in the "
					 "same mode",
					 p->id, mode);
	else
		finding = shunt_doctor_add(d, SHUNT_DOCTOR_note, f->ifname, "program",
					   "libxdp's dispatcher (id %u, %s) is on the device: "
					   "shunt runs behind the programs that are there",
					   p->id, mode);
	shunt_doctor_remedy(finding, "xdp-loader status %s", f->ifname);
}

/* Without CAP_SYS_ADMIN no more can be seen. */
static void judge_unknown_program(struct shunt_doctor *d, const struct doctor_device_facts *f)
{
	const struct doctor_program *p = &f->program;

	shunt_doctor_remedy(shunt_doctor_add(d, SHUNT_DOCTOR_note, f->ifname, "program",
					     "an XDP program (id %u, %s) is on the device; to see "
					     "whether it is shunt's takes CAP_SYS_ADMIN",
					     p->id, p->is_generic ? "generic" : "native"),
			    "shuntctl doctor as root");
}

/* A daemon serves the device, and took its program off. */
static void judge_suspended(struct shunt_doctor *d, const struct doctor_device_facts *f)
{
	const struct doctor_program *p = &f->program;
	struct shunt_finding *finding;

	if (!p->id || p->is_ours > 0 || !strcmp(p->name, SHUNT_XDP_DISPATCHER)) {
		shunt_doctor_add(d, SHUNT_DOCTOR_note, f->ifname, "program",
				 "the daemon's program is off the device while everything is the "
				 "kernel's; shuntctl show lanes says why");
		return;
	}
	finding = shunt_doctor_add(d, SHUNT_DOCTOR_warning, f->ifname, "program",
				   "another's XDP program (id %u) came on the device while "
				   "everything was the kernel's: the daemon's returns when that "
				   "goes",
				   p->id);
	shunt_doctor_remedy(finding, "ip link set dev %s %s off", f->ifname, xdp_word(p));
}

/* A daemon serves the device. */
static void judge_program_in_use(struct shunt_doctor *d, const struct doctor_device_facts *f)
{
	const struct doctor_program *p = &f->program;
	const char *mode = p->is_generic ? "generic" : "native";
	struct shunt_finding *finding;

	if (!p->id) {
		shunt_doctor_add(
			d, SHUNT_DOCTOR_error, f->ifname, "program",
			"no XDP program is on the device, and a daemon serves it: somebody "
			"took it off; restart shuntd");
	} else if (shunt_xdp_is_steering(p->name)) {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, f->ifname, "program",
				 "XDP program '%s' (id %u, %s) is the daemon's", p->name, p->id,
				 mode);
	} else if (!*p->name || p->is_ours < 0) {
		judge_unknown_program(d, f);
	} else if (!strcmp(p->name, SHUNT_XDP_DISPATCHER)) {
		judge_dispatcher_in_use(d, f);
	} else {
		finding = shunt_doctor_add(d, SHUNT_DOCTOR_error, f->ifname, "program",
					   "XDP program '%s' (id %u, %s) is on the device in the "
					   "place of the daemon's: no frame comes to shunt",
					   p->name, p->id, mode);
		shunt_doctor_remedy(finding, "ip link set dev %s %s off, and restart shuntd",
				    f->ifname, xdp_word(p));
	}
}

static void judge_program(struct shunt_doctor *d, const struct doctor_device_facts *f,
			  const struct shunt_doctor_opts *opts)
{
	const struct doctor_program *p = &f->program;
	const char *mode = p->is_generic ? "generic" : "native";
	struct shunt_finding *finding;

	if (!p->id) {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, f->ifname, "program",
				 "no XDP program is on the device");
	} else if (shunt_xdp_is_steering(p->name)) {
		finding =
			shunt_doctor_add(d, SHUNT_DOCTOR_warning, f->ifname, "program",
					 "a steering program (id %u, %s) is on the device and no "
					 "daemon that was asked serves it: left by a killed one or "
					 "by --persist, attached by hand, or another control "
					 "socket's (-s)",
					 p->id, mode);
		shunt_doctor_remedy(
			finding,
			"shuntd ... --attach external serves it, any other start clears "
			"it, and so does ip link set dev %s %s off",
			f->ifname, xdp_word(p));
	} else if (!*p->name || p->is_ours < 0) {
		judge_unknown_program(d, f);
	} else if (!strcmp(p->name, SHUNT_XDP_DISPATCHER)) {
		judge_dispatcher(d, f, opts);
	} else {
		finding = shunt_doctor_add(d, SHUNT_DOCTOR_error, f->ifname, "program",
					   "XDP program '%s' (id %u, %s) is on the device and is "
					   "not shunt's",
					   p->name, p->id, mode);
		shunt_doctor_remedy(finding, "ip link set dev %s %s off, or shuntd ... --replace",
				    f->ifname, xdp_word(p));
	}
}

/* A bridge or a bond is no port: shuntd serves its ports, a bond's in mode route alone. */
static void judge_master(struct shunt_doctor *d, const struct doctor_device_facts *f)
{
	const bool is_bridge = strcmp(f->kind, "bond") != 0;
	struct shunt_finding *finding;

	if (f->filters_stags) {
		finding = shunt_doctor_add(d, SHUNT_DOCTOR_note, f->ifname, "bridge",
					   "the bridge filters VLANs by tags of 802.1ad: mode "
					   "bridge leaves all of it to the kernel");
		shunt_doctor_remedy(finding, "ip link set %s type bridge vlan_protocol 802.1Q",
				    f->ifname);
	}
	if (!*f->ports) {
		finding =
			shunt_doctor_add(d, SHUNT_DOCTOR_error, f->ifname, f->kind,
					 "the %s has no ports: there is nothing to serve", f->kind);
		shunt_doctor_remedy(finding, "ip link set dev PORT master %s", f->ifname);
		return;
	}
	finding = shunt_doctor_add(
		d, SHUNT_DOCTOR_note, f->ifname, f->kind,
		is_bridge
			? "a bridge of the kernel's with the ports %s: `shuntd bridge %s` serves these, "
			  "`shuntd route %s` what they have for its address"
			: "a bond of the kernel's with the ports %s: `shuntd route %s` serves these, and "
			  "no other mode %s",
		f->ports, f->ifname, f->ifname);
	shunt_doctor_remedy(finding, "shuntctl doctor %s", f->ports);
}

static void judge_place(struct shunt_doctor *d, const struct doctor_device_facts *f)
{
	struct shunt_finding *finding;

	if (!strcmp(f->kind, "team")) {
		finding = shunt_doctor_add(d, SHUNT_DOCTOR_error, f->ifname, "place",
					   "a team has no queues of its own, and what it sends by "
					   "is not followed: its ports have");
		shunt_doctor_remedy(finding, "use a bond");
	} else if (!strcmp(f->master_kind, "bridge")) {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, f->ifname, "fallback",
				 "a port of bridge %s, which forwards when shunt does not",
				 f->master);
	} else if (!strcmp(f->master_kind, "vrf")) {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, f->ifname, "place",
				 "in VRF %s, by whose table what comes in is routed", f->master);
	} else if (*f->master) {
		shunt_doctor_add(d, SHUNT_DOCTOR_note, f->ifname, "place",
				 "a member of %s %s: XDP sees frames before that does",
				 *f->master_kind ? f->master_kind : "device", f->master);
	} else if (f->is_forwarding) {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, f->ifname, "fallback",
				 "the kernel routes what comes in here when shunt does not");
	} else {
		finding = shunt_doctor_add(d, SHUNT_DOCTOR_note, f->ifname, "fallback",
					   "nothing forwards when shunt does not: no bridge, and "
					   "the kernel does not route here");
		shunt_doctor_remedy(finding, "sysctl -w net.ipv4.conf.%s.forwarding=1, or a bridge",
				    f->ifname);
	}
	if (f->numa_node >= 0)
		shunt_doctor_remedy(shunt_doctor_add(d, SHUNT_DOCTOR_note, f->ifname, "numa",
						     "the device is at NUMA node %d, CPUs %s",
						     f->numa_node, f->local_cpus),
				    "shuntd ... --cpu with CPUs of that list");
}

void shunt_doctor_judge_place(struct shunt_doctor *d, const struct doctor_device_facts *facts,
			      const struct shunt_doctor_opts *opts)
{
	if (shunt_doctor_is_master(facts)) {
		judge_master(d, facts);
		return;
	}
	if (opts->is_suspended)
		judge_suspended(d, facts);
	else if (opts->in_use)
		judge_program_in_use(d, facts);
	else
		judge_program(d, facts, opts);
	judge_place(d, facts);
}
