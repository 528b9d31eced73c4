/* SPDX-License-Identifier: BSD-2-Clause */
/* The families of metrics: X(name behind shunt_, type, help), in the order in which they are
 * written. */
#ifndef SHUNTCTL_METRICS_FAMILIES_H
#define SHUNTCTL_METRICS_FAMILIES_H

#define METRICS_FAMILIES(X)                                                                       \
	X(port_info, gauge, "modes in use on a port, as the kernel confirmed them; always 1")     \
	X(lane_info, gauge, "lane asked for and in use on a port; always 1")                      \
	X(notice_info, gauge, "a notice that stands (shuntctl show notices); always 1")           \
	X(rx_packets_total, counter, "packets received by the workers")                           \
	X(rx_bytes_total, counter, "bytes received by the workers, without FCS")                  \
	X(tx_packets_total, counter, "packets given to transmit rings by the workers")            \
	X(tx_bytes_total, counter, "bytes given to transmit rings by the workers, without FCS")   \
	X(tx_completed_total, counter, "packets whose transmission the driver reported as done")  \
	X(kicks_total, counter, "system calls that woke the kernel to receive or transmit")       \
	X(kick_errors_total, counter, "wake-ups that failed")                                     \
	X(fill_starved_total, counter,                                                            \
	  "times that a fill ring could not be filled for want of frames")                        \
	X(lane_packets_total, counter, "packets received on a port, by lane")                     \
	X(lane_bytes_total, counter, "bytes received on a port, by lane")                         \
	X(csum_finished_total, counter, "packets whose unfinished checksum shunt finished")       \
	X(lane_latency_seconds, gauge, "time of a frame inside shunt, mean of the latest second") \
	X(lane_cpu_seconds_per_packet, gauge, "CPU time of a packet, mean of the latest second")  \
	X(to_kernel_packets_total, counter, "packets that the kernel got instead, by reason")     \
	X(drops_total, counter,                                                                   \
	  "frames lost, by place and reason; some are counted in two places")                     \
	X(rule_packets_total, counter, "packets that a rule matched, where `count` is on")        \
	X(rule_bytes_total, counter, "their bytes, without FCS")                                  \
	X(route_packets_total, counter,                                                           \
	  "packets forwarded by a route, where `count` is on; of the first 4096 routes")          \
	X(route_bytes_total, counter, "their bytes, without FCS")                                 \
	X(neighbour_packets_total, counter, "packets sent to a neighbour, where `count` is on")   \
	X(neighbour_bytes_total, counter, "their bytes, without FCS")                             \
	X(ring_events_total, counter, "a ring of a socket found empty; nothing is lost by it")    \
	X(worker_running, gauge, "1 while a worker's thread runs")                                \
	X(worker_heartbeat_age_seconds, gauge, "time since a worker was last known to be alive")  \
	X(worker_hangs_total, counter,                                                            \
	  "times that a worker was taken for hung, and the kernel had its frames")                \
	X(worker_turns_total, counter, "turns of a worker's loop")                                \
	X(worker_empty_turns_total, counter, "turns that found nothing to do")                    \
	X(worker_sleeps_total, counter, "times that a worker slept")                              \
	X(worker_packets_total, counter, "packets that a worker took in")                         \
	X(worker_cycles_total, counter,                                                           \
	  "cycles of the constant-rate counter, by what they went to")                            \
	X(cycles_per_packet, gauge, "c_io, c_task and c_busy since start: cycles of a packet")    \
	X(batch_packets, histogram, "packets that one receive brought")                           \
	X(umem_frames, gauge, "frames of a worker's UMEM, by where they are")                     \
	X(umem_balanced, gauge, "1 if every frame of a worker's UMEM is accounted for")           \
	X(device_followed, gauge,                                                                 \
	  "1 while a VLAN device above a port is followed; else state says why not")              \
	X(mirror_following, gauge, "1 while the kernel's tables are followed and up to date")     \
	X(mirror_objects, gauge, "objects of the kernel's that are mirrored, by kind")            \
	X(mirror_events_total, counter, "what happened in following the kernel's tables")

#endif
