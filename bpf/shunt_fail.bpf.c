// SPDX-License-Identifier: GPL-2.0-only
/* Failed redirects, seen. An XDP program hears nothing of what becomes of a frame that it
 * redirected: the far driver may have no transmit for it, be down, or be full, and the kernel
 * frees the frame. Its tracepoints tell; these programs count what they tell of our ports.
 *
 * xdp_redirect_err fires for a frame that was refused, xdp_devmap_xmit for a batch handed to a
 * driver, which may have sent a part of it. The latter fires when all is well too: then it costs
 * the call and one comparison for up to 16 frames. A frame that an AF_XDP socket refused is not
 * counted here, the socket does that.
 *
 * Raw tracepoints: of typed ones Linux 6.1 lets no program read an argument that is a void pointer.
 */
#include <linux/bpf.h>
#include <linux/errno.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "shunt_fail.h"
#include "shunt_netdev.bpf.h"

struct bpf_prog;

/* Written by userspace before the programs are attached, but for the counters. */
struct shunt_fail_ports shunt_fail_ports SEC(".data.shunt_fail");

/* Where in the list a device is, SHUNT_FAIL_PORTS_MAX for none. Not static: the verifier looks at
 * such a function once, and not on each way to its two calls. */
__noinline __u32 shunt_fail_find(__u32 ifindex)
{
	for (__u32 i = 0; i < SHUNT_FAIL_PORTS_MAX; i++) {
		if (i >= shunt_fail_ports.cnt)
			break;
		if (shunt_fail_ports.ports[i].ifindex == ifindex ||
		    (ifindex && shunt_fail_ports.ports[i].detour == ifindex))
			return i;
	}
	return SHUNT_FAIL_PORTS_MAX;
}

/* The far port's, if that is one of ours too: it is where the remedy is. */
static __always_inline int count(const struct net_device *from, __u32 to_ifindex,
				 enum shunt_fail_reason reason, __u64 packets)
{
	__u32 near, far;

	if (netns_of(from) != shunt_fail_ports.netns)
		return 0;
	near = shunt_fail_find(BPF_CORE_READ(from, ifindex));
	if (near >= SHUNT_FAIL_PORTS_MAX)
		return 0;
	far = shunt_fail_find(to_ifindex);
	if (far >= SHUNT_FAIL_PORTS_MAX)
		far = near;
	__sync_fetch_and_add(&shunt_fail_ports.ports[far].packets[reason], packets);
	return 0;
}

/* What the kernel's xdp_ok_fwd_dev, __xdp_enqueue and the drivers' ndo_xdp_xmit return. */
static __always_inline enum shunt_fail_reason reason_of(int err)
{
	switch (-err) {
	case EOPNOTSUPP:
	case ENXIO:
		return SHUNT_FAIL_no_transmit;
	case ENETDOWN:
		return SHUNT_FAIL_down;
	case EMSGSIZE:
		return SHUNT_FAIL_too_big;
	case 0: /* a part was sent */
	case ENOSPC:
	case ENOBUFS:
	case EBUSY:
		return SHUNT_FAIL_queue_full;
	default:
		return SHUNT_FAIL_other;
	}
}

SEC("raw_tp/xdp_redirect_err")
int BPF_PROG(shunt_fail_err, const struct net_device *dev, const struct bpf_prog *prog,
	     const void *target, int err, __u32 map_type, __u32 map_id, __u32 index)
{
	struct net_device *to = NULL;
	__u32 ifindex = 0;

	if (map_type == BPF_MAP_TYPE_XSKMAP || map_type == BPF_MAP_TYPE_CPUMAP)
		return 0;
	/* struct bpf_dtab_netdev begins with the device, as the kernel promises its tracepoints. */
	if ((map_type == BPF_MAP_TYPE_DEVMAP || map_type == BPF_MAP_TYPE_DEVMAP_HASH) && target &&
	    !bpf_probe_read_kernel(&to, sizeof(to), target))
		ifindex = BPF_CORE_READ(to, ifindex);
	return count(dev, ifindex, reason_of(err), 1);
}

SEC("raw_tp/xdp_devmap_xmit")
int BPF_PROG(shunt_fail_xmit, const struct net_device *from, const struct net_device *to, int sent,
	     int drops, int err)
{
	if (drops <= 0)
		return 0;
	return count(from, BPF_CORE_READ(to, ifindex), reason_of(err), drops);
}

/* Drivers tell of a failed redirect here as well (igb, mlx5): that is counted above. */
SEC("raw_tp/xdp_exception")
int BPF_PROG(shunt_fail_exception, const struct net_device *dev, const struct bpf_prog *prog,
	     __u32 act)
{
	if (act == XDP_REDIRECT)
		return 0;
	return count(dev, BPF_CORE_READ(dev, ifindex),
		     act == XDP_TX ? SHUNT_FAIL_tx_failed : SHUNT_FAIL_aborted, 1);
}

char _license[] SEC("license") = "GPL";
