# SPDX-License-Identifier: BSD-2-Clause
"""Where the nanoseconds of the copying lane `user` go on veth: samples of both CPUs' stacks while
shuntd forwards as fast as it can, told apart by the functions on the stack. Runs inside the lab:

    tools/lab run --static-neigh python3 tests/bench/profile_veth.py [MODE [OPTION...]]

MODE is xconnect, static3 or route, OPTIONs are shuntd's (--poll spin --batch 64). Needs perf
(linux-perf). Nanoseconds are CPU time by packet forwarded; sampling itself costs some per cent."""
import collections
import os
import subprocess
import sys
import tempfile

import veth

HERTZ = 4999
SECONDS = 4

# In this order, the first that a stack has a function of; where: what else must be on the stack.
CAUSES = (
    ("peer", "the far host's program", ("bpf_prog_*shunt_sink",), "veth_poll"),
    ("peer", "skb made fit for the far host's XDP (copied into a page)",
     ("skb_pp_cow_data", "skb_cow_data_for_xdp", "veth_convert_skb_to_xdp_buff"), "veth_poll"),
    ("peer", "the far host's NAPI, skb freed there", ("veth_poll",), "__xsk_generic_xmit"),
    ("peer", "softirq raised and run for it", ("handle_softirqs", "do_softirq.part.0"), None),
    ("send", "skb allocated", ("sock_alloc_send_pskb", "sock_alloc_send_skb", "alloc_skb_with_frags",
                               "__alloc_skb"), "__xsk_generic_xmit"),
    ("send", "frame copied into it", ("skb_store_bits", "skb_copy_bits"), "__xsk_generic_xmit"),
    ("send", "handed to the device and its ring, NAPI scheduled",
     ("__dev_direct_xmit", "dev_direct_xmit", "veth_xmit"), None),
    ("send", "the kernel's loop over descriptors, completions", ("__xsk_generic_xmit",), None),
    ("send", "sendto: entry, exit, socket", ("do_syscall_64", "entry_SYSCALL_64_after_hwframe",
                                             "entry_SYSCALL_64", "syscall_return_via_sysret",
                                             "__libc_sendto", "sendto"), None),
)
RECEIVE = (
    ("receive", "steering program", ("bpf_prog_*shunt_steer", "bpf_prog_*xdp_dispatcher"), None),
    ("receive", "frame copied into the UMEM", ("xsk_copy_xdp", "__pi_memcpy", "memcpy"),
     "__xsk_map_redirect"),
    ("receive", "UMEM buffer taken and returned", ("xp_alloc", "xsk_buff_alloc", "xsk_buff_free",
                                                   "xp_free"), "veth_poll"),
    ("receive", "the sender's page freed", ("__xdp_return", "xdp_return_frame",
                                            "page_pool_put_unrefed_netmem", "xdp_return_buff"),
     "__xsk_map_redirect"),
    ("receive", "redirect into the socket, wake-up", ("xdp_do_redirect", "xsk_map_redirect",
                                                      "__xsk_map_redirect", "__xsk_map_flush",
                                                      "xdp_do_flush"), "veth_poll"),
    ("receive", "the port's NAPI", ("veth_poll",), None),
    ("generator", "the generator itself", ("bpf_prog_test_run_xdp",), None),
)


def matches(function, wanted):
    if wanted.startswith("bpf_prog_*"):
        return function.startswith("bpf_prog_") and function.endswith(wanted[10:])
    return function == wanted


def cause_of(causes, stack):
    for group, cause, functions, where in causes:
        if where and where not in stack:
            continue
        if any(matches(f, wanted) for f in stack for wanted in functions):
            return group, cause
    return None


def samples(path):
    """(seconds, command, its functions from the innermost) of every sample."""
    said = subprocess.run(["perf", "script", "-i", path, "-F", "comm,tid,time,ip,sym"],
                          capture_output=True, text=True, check=True).stdout
    for sample in filter(str.strip, said.split("\n\n")):
        lines = sample.strip().split("\n")
        command, _, when = lines[0].rsplit(None, 2)
        yield (float(when.rstrip(":")), command,
               [line.split(None, 1)[1] for line in lines[1:] if len(line.split(None, 1)) > 1])


def count(path):
    """Samples by (group, cause) while the generator sent."""
    taken = list(samples(path))
    sending = [when for when, _, stack in taken if "bpf_prog_test_run_xdp" in stack]
    seen = collections.Counter()
    for when, command, stack in taken:
        if not sending[0] <= when <= sending[-1]:
            continue
        if command.startswith("shunt-gen"):
            found = cause_of(RECEIVE, stack)
        elif command.startswith(("shunt", "worker")):
            found = cause_of(CAUSES, stack) or ("worker", f"shuntd: {stack[0] if stack else '?'}")
        else:
            found = None
        if found:
            seen[found] += 1
    return seen


def show(seen, packets, mpps):
    per_sample = 1e9 / HERTZ / packets
    titles = {"receive": "In the receiving softirq (the generator's CPU 0)",
              "worker": "On CPU 1, in shuntd", "send": "On CPU 1, in the kernel's transmit",
              "peer": "On CPU 1, for the far host",
              "generator": "On CPU 0, to make the frames"}
    print(f"{mpps:.3f} Mpps arrive; ns of CPU time a packet that arrived:")
    for group, title in titles.items():
        rows = [(n, cause) for (g, cause), n in seen.items() if g == group]
        print(f"{sum(n for n, _ in rows) * per_sample:8.1f}  {title}")
        for n, cause in sorted(rows, reverse=True):
            if n * per_sample >= 0.5:
                print(f"{'':10}{n * per_sample:6.1f}  {cause}")


def main(mode="xconnect", *options):
    with tempfile.TemporaryDirectory() as folder, \
         veth.shunt(mode, *(options or ("--poll", "spin", "--batch", "64"))) as made:
        path = os.path.join(folder, "perf.data")
        perf = subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(HERTZ), "-a",
                                 "-g", "-o", path], stderr=subprocess.DEVNULL)
        result = veth.traffic(made["dst_mac"], seconds=SECONDS)
        perf.send_signal(2)
        perf.wait(timeout=30)
        show(count(path), result["mpps"] * 1e6 * SECONDS, result["mpps"])


if __name__ == "__main__":
    main(*sys.argv[1:])
