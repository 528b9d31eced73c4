/* SPDX-License-Identifier: GPL-2.0-only */
/* Part of shunt_steer.bpf.c: what the driver knows of a packet, written before the frame for the
 * worker. Nothing of it where the object is not shunt_steer_meta. */
#ifdef SHUNT_STEER_WITH_META
#include "shunt_steer_meta.h"

#ifdef SHUNT_STEER_WITHOUT_DRIVER
static __always_inline __u32 ask_driver(struct xdp_md *ctx, __u32 *hash, __u64 *device_ns)
{
	return 0;
}
#else
/* Of the kernel's enum xdp_rss_hash_type: the hash covers layer 4. */
enum xdp_rss_hash_type { RSS_L4 = 8 };

extern int bpf_xdp_metadata_rx_timestamp(const struct xdp_md *ctx, __u64 *timestamp) __ksym __weak;
extern int bpf_xdp_metadata_rx_hash(const struct xdp_md *ctx, __u32 *hash,
				    enum xdp_rss_hash_type *rss_type) __ksym __weak;

/* Constants when the program is loaded: what is not wanted is not there. */
const volatile struct shunt_steer_want shunt_want SEC(".rodata.shunt_want");

/* Room for the program to grow in while it is verified, instructions that the verifier never sees
 * and takes out first. A program that outgrows its pages is moved, and Linux (6.3 to 7.3) does not
 * tell the list of what is bound to a device (bpf_prog_realloc, offload->prog): when the device
 * goes with the program on it, the kernel follows the list to what has been freed.
 * lib/xdp/meta.c looks whether the room sufficed. */
static __noinline void leave_room(void)
{
	asm volatile(".rept 2048\n\tr0 = 0\n\t.endr" ::: "r0");
}

static __always_inline __u32 ask_driver(struct xdp_md *ctx, __u32 *hash, __u64 *device_ns)
{
	enum xdp_rss_hash_type type = 0;
	__u32 bits = 0;

	if (shunt_want.never)
		leave_room();
	if (shunt_want.hash && !bpf_xdp_metadata_rx_hash(ctx, hash, &type) && type & RSS_L4)
		bits |= SHUNT_STEER_META_HASH;
	/* veth says 0: nobody has written a time */
	if (shunt_want.time && !bpf_xdp_metadata_rx_timestamp(ctx, device_ns) && *device_ns)
		bits |= SHUNT_STEER_META_TIME;
	return bits;
}
#endif

/* To be called when the packet's bytes are not looked at any more. Where the driver leaves no room
 * nothing is written, and the worker finds no mark. */
static __always_inline void put_meta(struct xdp_md *ctx)
{
	struct shunt_packet_meta *meta;
	__u64 device_ns = 0;
	__u32 hash = 0, bits;

	bits = ask_driver(ctx, &hash, &device_ns);
	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*meta)))
		return;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) > (void *)(long)ctx->data)
		return;
	meta->device_ns = device_ns;
	meta->ns = bpf_ktime_get_ns();
	meta->hash = hash;
	meta->mark = SHUNT_STEER_META_MARK | bits;
}
#else
static __always_inline void put_meta(struct xdp_md *ctx)
{
	(void)ctx;
}
#endif
