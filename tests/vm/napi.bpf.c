// SPDX-License-Identifier: GPL-2.0-only
/* Times every NAPI poll of the lab's devices: ns, which with --icount are instructions, and counts
 * polls. What a device did outside its polls (a transmit call) is not in it. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define DEVICES 64

struct net_device {
	const unsigned char *dev_addr;
} __attribute__((preserve_access_index));

struct napi_struct {
	struct net_device *dev;
} __attribute__((preserve_access_index));

/* By the last digits of the link's and of the device's number: 0x11 is eth1 of dut. */
struct {
	__u64 spent_ns, polls;
} devices[DEVICES] SEC(".data.devices");

/* Of all of them, what ran in the time of this process. */
struct {
	__u64 pid, spent_ns;
} process SEC(".data.process");

__u64 entered_ns; /* one CPU, and a poll is not entered in a poll */

static __always_inline int enter(void)
{
	entered_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int leave(const struct napi_struct *napi)
{
	__u64 took_ns = bpf_ktime_get_ns() - entered_ns;
	__u8 addr[2];
	unsigned at;

	/* Linux 6.12 lets a program follow the pointer no other way */
	if (bpf_probe_read_kernel(addr, sizeof(addr), napi->dev->dev_addr + 4))
		return 0;
	at = (addr[0] << 4 | addr[1]) & (DEVICES - 1);
	devices[at].spent_ns += took_ns;
	devices[at].polls++;
	if (bpf_get_current_pid_tgid() >> 32 == process.pid)
		process.spent_ns += took_ns;
	return 0;
}

#define TIMED(function)                                              \
	SEC("fentry/" #function)                                     \
	int BPF_PROG(function##_in, struct napi_struct *napi)        \
	{                                                            \
		return enter();                                      \
	}                                                            \
	SEC("fexit/" #function)                                      \
	int BPF_PROG(function##_out, const struct napi_struct *napi) \
	{                                                            \
		return leave(napi);                                  \
	}

TIMED(virtnet_poll)
TIMED(virtnet_poll_tx)
TIMED(igb_poll)

char _license[] SEC("license") = "GPL";
