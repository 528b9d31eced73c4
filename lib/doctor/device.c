// SPDX-License-Identifier: BSD-2-Clause
/* What a device's facts mean. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "device/driver.h"
#include "doctor/facts.h"
#include "port/jumbo.h"
#include "io/queue.h"
#include "shunt_steer.h"
#include "xdp/xdp.h"

static bool has(const struct doctor_device_facts *f, uint32_t feature)
{
	return f->xdp.features & feature;
}

/* --- the driver and its XDP ------------------------------------------------------------------- */

static const char *driver_of(const struct doctor_device_facts *f)
{
	return *f->netdev.driver ? f->netdev.driver : *f->kind ? f->kind : "unknown";
}

static void judge_driver(struct shunt_doctor *d, const struct doctor_device_facts *f,
			 const struct shunt_doctor_opts *opts)
{
	struct shunt_finding *finding;
	char names[192];

	if (!f->xdp.is_known) {
		shunt_doctor_add(d, SHUNT_DOCTOR_note, f->ifname, "driver",
				 "driver %s; this kernel cannot be asked for its XDP features "
				 "(since %s): attaching will tell",
				 driver_of(f), shunt_kernel_since(SHUNT_KERNEL_xdp_features));
		return;
	}
	shunt_netdev_xdp_print(&f->xdp, names, sizeof(names));
	if (has(f, SHUNT_NETDEV_XDP_basic) && has(f, SHUNT_NETDEV_XDP_redirect)) {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, f->ifname, "driver",
				 "driver %s, XDP in the driver: %s", driver_of(f), names);
		return;
	}
	finding = shunt_doctor_add(
		d, opts->generic ? SHUNT_DOCTOR_warning : SHUNT_DOCTOR_error, f->ifname, "driver",
		"driver %s has no XDP that redirects (features: %s): only generic "
		"mode works, behind the stack's own receive path",
		driver_of(f), names);
	shunt_doctor_remedy(finding, "shuntd ... --driver-mode generic, or another device");
}

/* --- zero-copy -------------------------------------------------------------------------------- */

/* The version in which the driver got zero-copy, if this kernel is an older one; else NULL. */
static const unsigned *too_old_for(const struct doctor_device_facts *f)
{
	const unsigned *since = shunt_driver_of(driver_of(f))->zerocopy_since;

	return shunt_kernel_is_before(&f->kernel, since[0], since[1]) ? since : NULL;
}

bool shunt_doctor_zerocopy(const struct doctor_device_facts *f, char *why, unsigned len)
{
	why[0] = 0;
	if (shunt_driver_of(driver_of(f))->is_pair)
		snprintf(why, len, "veth never has zero-copy: its frames are socket buffers");
	else if (!has(f, SHUNT_NETDEV_XDP_xsk_zerocopy) && too_old_for(f))
		snprintf(why, len, "%s has zero-copy since Linux %u.%u, and this is %u.%u",
			 driver_of(f), too_old_for(f)[0], too_old_for(f)[1], f->kernel.major,
			 f->kernel.minor);
	else if (!f->xdp.is_known)
		snprintf(
			why, len,
			"this kernel does not tell whether the driver %s has zero-copy (since %s): "
			"only a try will",
			driver_of(f), shunt_kernel_since(SHUNT_KERNEL_xdp_features));
	else if (!has(f, SHUNT_NETDEV_XDP_xsk_zerocopy))
		snprintf(why, len, "the driver %s has no AF_XDP zero-copy on this kernel",
			 driver_of(f));
	else if (f->virtio_dma == 0)
		snprintf(why, len,
			 "the virtual device bypasses DMA mapping, which zero-copy needs "
			 "(VIRTIO_F_ACCESS_PLATFORM is off)");
	else
		return true;
	/* Here only a try tells. */
	return !f->xdp.is_known && !shunt_driver_of(driver_of(f))->is_pair && !too_old_for(f);
}

static void judge_zerocopy(struct shunt_doctor *d, const struct doctor_device_facts *f,
			   const struct shunt_doctor_opts *opts)
{
	struct shunt_finding *finding;
	char why[192];
	bool is_likely = shunt_doctor_zerocopy(f, why, sizeof(why));

	if (opts->generic) {
		is_likely = false;
		snprintf(why, sizeof(why), "generic mode always copies");
	}
	if (is_likely) {
		finding = shunt_doctor_add(d, *why ? SHUNT_DOCTOR_note : SHUNT_DOCTOR_ok, f->ifname,
					   "zerocopy", "%s",
					   *why ? why : "the driver has AF_XDP zero-copy");
		if (*why)
			shunt_doctor_remedy(finding,
					    "shuntd ... --require zerocopy starts where it "
					    "works and else refuses");
		return;
	}
	finding = shunt_doctor_add(
		d, opts->require_zerocopy ? SHUNT_DOCTOR_error : SHUNT_DOCTOR_warning, f->ifname,
		"zerocopy", "frames will be copied: %s", why);
	if (f->virtio_dma == 0)
		shunt_doctor_remedy(finding,
				    "give the guest's NIC iommu_platform=on,disable-legacy=on");
	else if (shunt_driver_of(driver_of(f))->is_virtio || too_old_for(f))
		shunt_doctor_remedy(finding, "a newer kernel");
	else
		shunt_doctor_remedy(finding, "none with this driver; leave out --require zerocopy");
}

/* --- sizes and queues ------------------------------------------------------------------------- */

static bool may_zerocopy(const struct doctor_device_facts *f)
{
	char why[192];

	return shunt_doctor_zerocopy(f, why, sizeof(why));
}

static void judge_mtu(struct shunt_doctor *d, const struct doctor_device_facts *f,
		      const struct shunt_doctor_opts *opts)
{
	const struct shunt_jumbo jumbo = {
		.ifname = f->ifname,
		.driver = driver_of(f),
		.mtu = f->netdev.mtu,
		.is_generic = opts->generic,
		/* Without zero-copy no MTU helps, and judge_zerocopy has said so. */
		.needs_zerocopy = opts->require_zerocopy && !opts->generic && may_zerocopy(f),
		.xdp = f->xdp,
		.kernel = f->kernel,
	};
	/* With 0 shuntd takes the larger one where it must. */
	const uint32_t size = opts->frame_size ? opts->frame_size
			      : shunt_jumbo_frames(&jumbo, SHUNT_FRAME_SIZE_MIN) == 1
				      ? SHUNT_FRAME_SIZE_MIN
				      : SHUNT_FRAME_SIZE_MAX;
	const uint32_t needed = shunt_jumbo_packet(&jumbo), room = shunt_jumbo_room(&jumbo, size);
	const uint32_t frames = shunt_jumbo_frames(&jumbo, size);
	const bool is_size = shunt_jumbo_frames(&jumbo, SHUNT_FRAME_SIZE_MAX) == 1;
	struct shunt_finding *finding;
	char why[160] = "";

	if (frames == 1) {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, f->ifname, "mtu",
				 "MTU %u fits: frames of %u bytes in %u (frame size %u)",
				 f->netdev.mtu, needed, room, size);
		return;
	}
	if (!is_size && shunt_jumbo_works(&jumbo, size, why, sizeof(why))) {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, f->ifname, "mtu",
				 "MTU %u fits: a packet of %u bytes takes %u frames of %u%s",
				 f->netdev.mtu, needed, frames, size,
				 f->xdp.zc_max_segs == 1 ? ", and is copied: the driver has no "
							   "zero-copy for more than one"
							 : "");
		return;
	}
	finding =
		shunt_doctor_add(d, SHUNT_DOCTOR_error, f->ifname, "mtu",
				 "MTU %u makes packets of %u bytes and a frame of %u holds %u%s%s",
				 f->netdev.mtu, needed, size, room, *why ? ", and " : "", why);
	if (is_size)
		shunt_doctor_remedy(finding, "shuntd ... --frame-size 4096");
	else
		shunt_doctor_remedy(finding, "ip link set dev %s mtu %u", f->ifname,
				    shunt_jumbo_mtu_max(&jumbo, size));
}

static void judge_queues(struct shunt_doctor *d, const struct doctor_device_facts *f,
			 const struct shunt_doctor_opts *opts)
{
	const unsigned queues = f->netdev.queue_cnt;
	struct shunt_finding *finding;
	char command[64];

	shunt_netdev_channels_print(&f->netdev, f->ifname, opts->worker_cnt, command,
				    sizeof(command));

	if (f->netdev.queue_max && shunt_driver_of(f->netdev.driver)->wants_half_free &&
	    2 * queues > f->netdev.queue_max) {
		finding = shunt_doctor_add(
			d, SHUNT_DOCTOR_error, f->ifname, "queues",
			"%s needs as many free queues as are in use before it takes an XDP "
			"program: %u of %u are in use",
			f->netdev.driver, queues, f->netdev.queue_max);
		shunt_doctor_remedy(finding, "ethtool -L %s combined %u", f->ifname,
				    f->netdev.queue_max / 2);
		return;
	}
	if (queues < opts->worker_cnt) {
		finding = shunt_doctor_add(d, SHUNT_DOCTOR_error, f->ifname, "queues",
					   "%u workers and %u queue%s (at most %u): every worker "
					   "needs a queue of every port",
					   opts->worker_cnt, queues, queues > 1 ? "s" : "",
					   SHUNT_MAX(f->netdev.queue_max, queues));
		if (f->netdev.queue_max >= opts->worker_cnt)
			shunt_doctor_remedy(finding, "%s", command);
		else
			shunt_doctor_remedy(finding, "no more workers than queues: %u", queues);
		return;
	}
	finding = shunt_doctor_add(
		d, queues > opts->worker_cnt ? SHUNT_DOCTOR_note : SHUNT_DOCTOR_ok, f->ifname,
		"queues", "%u queue%s in use, at most %u, for %u worker%s", queues,
		queues > 1 ? "s" : "", SHUNT_MAX(f->netdev.queue_max, queues), opts->worker_cnt,
		opts->worker_cnt > 1 ? "s" : "");
	/* A veth must not have fewer queues than its peer sends on. */
	if (queues > opts->worker_cnt && !f->netdev.is_split)
		shunt_doctor_remedy(finding, "a queue for each worker is least work: %s", command);
}

/* Frames that are given to a queue lie in the NIC's ring or in the socket's. Of ring_size frames
 * the socket's ring can hold half. With a NIC's ring above the other half, a late worker leaves the
 * driver without frames. */
static void judge_ring(struct shunt_doctor *d, const struct doctor_device_facts *f,
		       const struct shunt_doctor_opts *opts)
{
	struct shunt_finding *finding;
	char why[192];

	if (!f->ring || opts->generic || !shunt_doctor_zerocopy(f, why, sizeof(why)))
		return;
	if (f->ring <= opts->ring_size / 2) {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, f->ifname, "ring",
				 "a receive ring of %u, and ring_size %u gives it frames enough",
				 f->ring, opts->ring_size);
		return;
	}
	finding = shunt_doctor_add(d, SHUNT_DOCTOR_warning, f->ifname, "ring",
				   "a receive ring of %u is more than half of ring_size %u: when a "
				   "worker is late the driver finds no frames to receive into, "
				   "which some (igb) answer with frames delivered twice",
				   f->ring, opts->ring_size);
	shunt_doctor_remedy(finding, "ethtool -G %s rx %u, or a larger ring_size in the file",
			    f->ifname, opts->ring_size / 2);
}

static void judge_ntuple(struct shunt_doctor *d, const struct doctor_device_facts *f)
{
	if (f->ntuple_cnt < 0)
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, f->ifname, "ntuple",
				 "no ntuple filters in the driver %s: the device alone chooses the "
				 "queue of a flow, and ntuple: in shuntd.yaml(5) would be refused",
				 driver_of(f));
	else
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, f->ifname, "ntuple",
				 "the driver has ntuple filters, %d of %u in use: ntuple: of "
				 "shuntd.yaml(5) chooses a flow's queue",
				 f->ntuple_cnt, f->ntuple_size);
}

/* --- offloads --------------------------------------------------------------------------------- */

static void judge_offload(struct shunt_doctor *d, const char *object, bool is_on,
			  const char *sentence, const char *dev, const char *feature)
{
	if (is_on)
		shunt_doctor_remedy(shunt_doctor_add(d, SHUNT_DOCTOR_warning, object, "offload",
						     "%s", sentence),
				    "ethtool -K %s %s off", dev, feature);
}

/* shuntd switches them off (journal/tags.h). */
static void judge_tags(struct shunt_doctor *d, const struct doctor_device_facts *f)
{
	const struct doctor_offloads *o = &f->offloads;
	struct shunt_finding *finding;

	if (o->takes_tags_for_good) {
		finding = shunt_doctor_add(
			d, SHUNT_DOCTOR_warning, f->ifname, "offload",
			"the NIC takes VLAN tags off before XDP sees the frame (%s), and its "
			"driver does not let that be switched off: its frames are the kernel's, "
			"and a cross-connect is refused",
			o->rx_vlan ? "rxvlan" : SHUNT_FEATURE_RX_STAG);
		shunt_doctor_remedy(finding, "a NIC whose driver lets it be (ethtool -K)");
	} else if (o->rx_vlan || o->rx_stag) {
		shunt_doctor_add(d, SHUNT_DOCTOR_note, f->ifname, "offload",
				 "the NIC takes VLAN tags off before XDP sees the frame (%s): "
				 "shuntd switches that off for as long as it runs",
				 o->rx_vlan ? "rxvlan" : SHUNT_FEATURE_RX_STAG);
	}
}

/* A veth's driver is asked for tags that come beside frames: see lib/xdp/xdp.h. */
static bool reads_tags(const struct doctor_device_facts *f, const struct shunt_doctor_opts *opts)
{
	const char *name = f->program.name;

	if (opts->in_use)
		return !strcmp(name, SHUNT_STEER_PROG_TAG) || !strcmp(name, SHUNT_STEER_PROG_SGT);
	return shunt_kernel_has(&f->kernel, SHUNT_KERNEL_tag_beside) && !opts->generic &&
	       strcmp(name, SHUNT_XDP_DISPATCHER) != 0;
}

static void judge_offloads(struct shunt_doctor *d, const struct doctor_device_facts *f,
			   const struct shunt_doctor_opts *opts)
{
	const struct doctor_offloads *o = &f->offloads;
	const unsigned before = d->cnt;
	/* A veth has these features, and parses and merges nothing. */
	const bool is_veth = shunt_driver_of(driver_of(f))->is_pair;

	if (!is_veth)
		judge_tags(d, f);
	judge_offload(d, f->ifname, o->lro,
		      "the NIC merges received packets (LRO): what was merged cannot be forwarded",
		      f->ifname, "lro");
	judge_offload(d, f->ifname, o->gro_hw,
		      "the NIC merges received packets (rx-gro-hw): what was merged cannot be "
		      "forwarded",
		      f->ifname, "rx-gro-hw");
	judge_offload(d, f->ifname, o->gro && opts->generic,
		      "the stack merges received packets (GRO) before generic XDP sees them",
		      f->ifname, "gro");
	if (f->peer_ifindex) {
		if (f->peer_offloads.tx_checksum)
			shunt_doctor_remedy(
				shunt_doctor_add(
					d, SHUNT_DOCTOR_note, f->ifname, "offload",
					"the other end leaves TCP and UDP checksums to a "
					"device: shunt finishes them, at some cost, before "
					"packets leave by lane user or xdp"),
				"ethtool -K %s tx off", f->peer);
		judge_offload(d, f->ifname, f->peer_offloads.tso,
			      "the other end hands over TCP in pieces longer than the MTU", f->peer,
			      "tso");
		if ((f->peer_offloads.tx_vlan || f->peer_offloads.tx_stag) && !reads_tags(f, opts))
			shunt_doctor_remedy(
				shunt_doctor_add(d, SHUNT_DOCTOR_note, f->ifname, "offload",
						 "the other end hands over what its VLAN devices "
						 "send with the tag beside the frame (txvlan), "
						 "where XDP does not see it: it would be lost"),
				"ethtool -K %s txvlan off tx-vlan-stag-hw-insert off", f->peer);
		if (f->xdp.is_known && !has(f, SHUNT_NETDEV_XDP_ndo_xmit))
			shunt_doctor_remedy(
				shunt_doctor_add(d, SHUNT_DOCTOR_note, f->ifname, "offload",
						 "the other end takes frames of lane xdp without a "
						 "detour only with its GRO or an XDP program on"),
				"ethtool -K %s gro on", f->peer);
	} else if (is_veth) {
		shunt_doctor_remedy(
			shunt_doctor_add(
				d, SHUNT_DOCTOR_note, f->ifname, "offload",
				"the other end is in another network namespace: lane xdp reaches "
				"it without a detour only with its GRO or an XDP program on%s",
				reads_tags(f, opts) ? ""
						    : ", and unless its txvlan is off what its "
						      "VLAN devices send loses the tag"),
			"there: ethtool -K PEER gro on%s",
			reads_tags(f, opts) ? "" : " txvlan off tx-vlan-stag-hw-insert off");
	}
	if (d->cnt == before)
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, f->ifname, "offload",
				 "no offload merges or strips packets before XDP%s",
				 o->gro ? " (GRO works behind it)" : "");
}

/* --- all of it ------------------------------------------------------------------------------- */

static void judge_link(struct shunt_doctor *d, const struct doctor_device_facts *f)
{
	struct shunt_finding *finding;

	if (!f->netdev.is_up) {
		finding = shunt_doctor_add(d, SHUNT_DOCTOR_error, f->ifname, "link",
					   "the device is down");
		shunt_doctor_remedy(finding, "ip link set dev %s up", f->ifname);
	} else if (!f->is_running) {
		finding = shunt_doctor_add(d, SHUNT_DOCTOR_warning, f->ifname, "link",
					   "the device has no carrier");
		shunt_doctor_remedy(finding, "look at the cable and the other end: ethtool %s",
				    f->ifname);
	} else {
		shunt_doctor_add(d, SHUNT_DOCTOR_ok, f->ifname, "link", "up, with a carrier");
	}
}

static void judge_port(struct shunt_doctor *d, const struct doctor_device_facts *f,
		       const struct shunt_doctor_opts *opts)
{
	judge_driver(d, f, opts);
	judge_zerocopy(d, f, opts);
	judge_mtu(d, f, opts);
	judge_queues(d, f, opts);
	judge_ring(d, f, opts);
	judge_ntuple(d, f);
	judge_offloads(d, f, opts);
}

void shunt_doctor_judge_device(struct shunt_doctor *d, const struct doctor_device_facts *facts,
			       const struct shunt_doctor_opts *opts)
{
	judge_link(d, facts);
	if (!shunt_doctor_is_master(facts))
		judge_port(d, facts, opts);
	shunt_doctor_judge_place(d, facts, opts);
}
