/* SPDX-License-Identifier: BSD-2-Clause */
/* Every key of the configuration, said once: type, member, default, range, option, help. These
 * lists make the structures' members (config.h) and shuntd's options (user/shuntd/args_option.c).
 * By them a file is loaded (load.c), checked (check.c) and printed (print.c).
 *
 * A row is TYPE(key, member, ..., .field = value, ...) with the fields of struct shunt_key (key.h):
 *     NUMBER(key, member, ...)        uint32_t
 *     FLAG(key, member, ...)          bool, false by default
 *     WORD(key, member, noun, ...)    enum shunt_<noun>, whose words are a list here
 *     TEXT(key, member, size, ...)    char[size], the final zero included
 *     LIST(key, ...)                  no member: load.c and print.c know what it holds
 *
 * To add a key: add a row; read its member where it counts; describe it in shuntd.yaml(5), in the
 * example user/shuntd.yaml and, if it has an option, in shuntd(8). Tests compare manuals and
 * example with the lists. A new word goes into its list. */
#ifndef SHUNT_CONFIG_KEYS_H
#define SHUNT_CONFIG_KEYS_H

/* Words: X(NAME, word). Those of poll and copy_mode are in base/limits.h. */
#define SHUNT_PORT_KINDS(X)                                                   \
	X(XSK, xsk)   /* a network device */                                  \
	X(MEM, mem)   /* replays frames from memory, swallows what is sent */ \
	X(PCAP, pcap) /* replays a capture, writes a capture */

#define SHUNT_DRIVER_MODES(X) X(NATIVE, native) X(GENERIC, generic)

/* The modes that take ports two by two stand before ROUTE. */
#define SHUNT_FORWARD_MODES(X)                                                                    \
	X(XCONNECT, xconnect)                                                                     \
	X(MACREWRITE, macrewrite) /* as xconnect, with both Ethernet addresses rewritten */       \
	X(STATIC3, static3)	  /* one next hop a port; TTL and hop limit go down */            \
	X(ROUTE, route)		  /* IPv4 and IPv6 by the kernel's routes, any number of ports */ \
	X(BRIDGE, bridge)	  /* by learned MAC addresses, any number of ports */             \
	X(MIX, mix) /* what is sent to the port's own MAC address is routed, else bridged */

#define SHUNT_LANE_REQUESTS(X)	 X(AUTO, auto) X(USER, user) X(XDP, xdp) X(KERNEL, kernel)

/* What of the host would judge forwarded packets, and its routing rules: respected, or bypassed at
 * the operator's word. manage respects it, too, with a flowtable of shunt's own where the rules
 * have none. */
#define SHUNT_FIREWALL_MODES(X)	 X(AUTO, auto) X(MANAGE, manage) X(IGNORE, ignore)
#define SHUNT_POLICY_ROUTINGS(X) X(FOLLOW, follow) X(IGNORE, ignore)

/* What becomes of a wire's frames when no worker serves them: the XDP program goes on with them, or
 * the kernel has them. */
#define SHUNT_ON_DEATHS(X)	 X(CROSS, cross) X(KERNEL, kernel)

/* Who may capture what ports receive and send: root, the group as well, or nobody. */
#define SHUNT_CAPTURES(X)	 X(ROOT, root) X(GROUP, group) X(NONE, none)

/* clang-format off */
/* The whole daemon. */
#define SHUNT_CONFIG_KEYS(NUMBER, FLAG, WORD, TEXT, LIST)                                          \
	LIST(ports, .must = true, .min = 1, .max = SHUNT_PORT_MAX)                                 \
	LIST(forward, .must = true, .min = 1, .max = SHUNT_PORT_MAX)                               \
	LIST(rules, .max = SHUNT_STEER_RULES_MAX, .text_max = SHUNT_RULE_TEXT_MAX - 1,             \
	     .option = "rule", .arg = "'TEXT'",                                                    \
	     .help = "a steering rule, behind those of FILE; repeatable")                          \
	LIST(nodes, .max = SHUNT_FRONT_MAX, .text_max = SHUNT_NODE_TEXT_MAX - 1,                   \
	     .option = "node", .arg = "NAME",                                                      \
	     .help = "a node before the mode's own nodes: discard, or "                             \
		     "emulate,cycles=N,list=BYTES; repeatable")                                    \
	LIST(workers, .is_map = true)                                                              \
	WORD(poll, poll, poll_mode, .number = SHUNT_POLL_adaptive,                                 \
	     .letter = 'p', .option = "poll", .arg = "MODE", .help = "how a worker waits")             \
	NUMBER(batch, batch, .number = 64, .min = 1, .max = SHUNT_BATCH_MAX,                       \
	       .letter = 'b', .option = "batch", .arg = "N", .help = "most packets handled together")   \
	/* More than a second without packets is idle in any case. */                              \
	NUMBER(idle_us, idle_us, .number = 50, .max = 1000000,                                     \
	       .option = "idle-us", .arg = "N",                                                    \
	       .help = "adaptive: microseconds without a packet before a worker sleeps")                              \
	NUMBER(ring_size, ring_size, .number = 2048, .min = 64, .max = 16384, .power_of_2 = true,  \
	       .option = "ring-size", .arg = "N", .help = "descriptors of a ring")                 \
	NUMBER(frame_size, frame_size, .min = SHUNT_FRAME_SIZE_MIN, .max = SHUNT_FRAME_SIZE_MAX,   \
	       .power_of_2 = true, .zero = "what the ports need",                                  \
	       .option = "frame-size", .arg = "BYTES", .help = "bytes of a frame")                 \
	/* At most 16 GiB of the larger frames. */                                                 \
	NUMBER(frames, frames, .min = 64, .max = 1u << 22, .zero = "what the rings need",          \
	       .option = "frames", .arg = "N", .help = "frames of each worker")                    \
	NUMBER(punt_rate, punt_rate, .number = 10000, .zero = "no limit",                          \
	       .option = "punt-rate", .arg = "N",                                                  \
	       .help = "packets a second handed back to the kernel, for each reason and worker")   \
	/* bpf/shunt_steer_queue.h has what is usual. */                                           \
	NUMBER(patience, patience, .number = 1, .min = 1, .max = SHUNT_STEER_PATIENCE_MAX,         \
	       .option = "patience", .arg = "N",                                                   \
	       .help = "a thread may be silent for N times as long as usual before it counts as hung")  \
	WORD(firewall, firewall, firewall_mode, .option = "firewall", .arg = "MODE",                \
	     .help = "auto: what the host's firewall judges is the kernel's; manage: but for connections that it let through")                 \
	WORD(capture, capture, capture_right, .option = "capture", .arg = "WHO",                          \
	     .help = "root: root may capture (shuntctl capture); group: --group, too; none: nobody")                     \
	FLAG(count, count, .option = "count",                                                      \
	     .help = "count by rule, route and neighbour")                       \
	FLAG(flow_counts, flow_counts, .option = "flow-counts",                                    \
	     .help = "count by connection that a flowtable has (show flows)")                      \
	WORD(policy_routing, policy_routing, policy_routing, .option = "policy-routing",           \
	     .arg = "MODE", .help = "follow: with routing rules (ip rule) the kernel routes")      \
	FLAG(replace, replace, .option = "replace", .help = "replace another's XDP program until the stop")       \
	FLAG(persist, persist,                                                                     \
	     .option = "persist", .help = "leave the programs on the devices at stop; they pass everything to the kernel")         \
	FLAG(external, external, .option = "attach", .arg = "external",                            \
	     .help = "use the steering program that is attached already")                          \
	/* A UNIX socket's path. */                                                                \
	TEXT(control, control_path, 108, .text = SHUNT_CONTROL_PATH, .none = "none",               \
	     .option = "control", .arg = "PATH", .help = "control socket, or none")                \
	TEXT(group, group, 33,                                                                     \
	     .option = "group", .arg = "NAME", .help = "members of this group may read: show, route, explain")   \
	TEXT(user, user, 33,                                                                       \
	     .option = "user", .arg = "NAME", .help = "become this user once everything is open")

/* workers, a mapping. */
#define SHUNT_WORKERS_KEYS(NUMBER, FLAG, WORD, TEXT, LIST)                                         \
	NUMBER(count, count)                                                                       \
	LIST(cpus, .min = 1, .max = SHUNT_WORKER_MAX, .option = "cpu", .arg = "LIST",              \
	     .help = "one worker for each CPU, pinned: 1,3 or 2-5")

/* A port. .kinds: the kinds of port that have the key. An option holds for all ports. */
#define SHUNT_PORT_KEYS(NUMBER, FLAG, WORD, TEXT, LIST)                                            \
	TEXT(name, name, 64, .must = true)                                                         \
	WORD(kind, kind, port_kind)                                                                \
	WORD(driver_mode, driver_mode, driver_mode, .kinds = 1 << SHUNT_PORT_XSK,                  \
	     .option = "driver-mode", .arg = "MODE", .help = "where the XDP program runs")         \
	WORD(copy_mode, copy_mode, copy_mode, .kinds = 1 << SHUNT_PORT_XSK,                        \
	     .option = "copy-mode", .arg = "MODE")                                                 \
	FLAG(require_zerocopy, require_zerocopy, .kinds = 1 << SHUNT_PORT_XSK,                     \
	     .option = "require", .arg = "zerocopy",                                               \
	     .help = "refuse to start where the kernel would copy")                                \
	NUMBER(queues, queues, .kinds = 1 << SHUNT_PORT_XSK,                                       \
	       .min = 1, .max = SHUNT_STEER_SOCKETS_MAX, .zero = "all",                            \
	       .letter = 'q', .option = "queues", .arg = "N",                                      \
	       .help = "serve N queues of each device")                                            \
	/* The device's RSS table is made to use the served queues only. */                        \
	FLAG(spread, spread, .kinds = 1 << SHUNT_PORT_XSK)                                         \
	LIST(ntuple, .kinds = 1 << SHUNT_PORT_XSK,                                                 \
	     .max = SHUNT_FILTER_MAX, .text_max = SHUNT_RULE_TEXT_MAX - 1)                         \
	NUMBER(size, mem_frame_bytes, .kinds = 1 << SHUNT_PORT_MEM,                                \
	       .number = 64, .min = 60, .max = 1518, .unit = "bytes") /* see io/mem.h */           \
	NUMBER(flows, mem_flows, .kinds = 1 << SHUNT_PORT_MEM,                                     \
	       .number = 1, .min = 1, .max = 65536)                                                \
	FLAG(copy, mem_copy, .kinds = 1 << SHUNT_PORT_MEM)                                         \
	TEXT(in, pcap_in, 256, .kinds = 1 << SHUNT_PORT_PCAP)                                      \
	TEXT(out, pcap_out, 256, .kinds = 1 << SHUNT_PORT_PCAP)                                    \
	FLAG(repeat, pcap_repeat, .kinds = 1 << SHUNT_PORT_PCAP)

/* An entry of forward, a pair or a group. .kinds: the modes that have the key. An option holds for
 * all entries. */
#define SHUNT_FORWARD_KEYS(NUMBER, FLAG, WORD, TEXT, LIST)                                         \
	WORD(mode, mode, forward_mode, .must = true)                                               \
	WORD(lane, lane, lane_request, .option = "lane", .arg = "LANE",                            \
	     .help = "where frames are forwarded")                                                 \
	WORD(on_death, on_death, on_death,                                                         \
	     .kinds = 1 << SHUNT_FORWARD_XCONNECT | 1 << SHUNT_FORWARD_MACREWRITE |                \
		      1 << SHUNT_FORWARD_BRIDGE | 1 << SHUNT_FORWARD_MIX,                          \
	     .option = "on-death", .arg = "WHAT",                                                  \
	     .help = "the XDP program keeps forwarding when the worker dies, or stops. "             \
		     "Of wires: xconnect, macrewrite, a bridge alone")                            \
	LIST(ports, .must = true, .min = 1, .max = SHUNT_PORT_MAX, .text_max = 63)                 \
	FLAG(transparent, is_transparent, .kinds = 1 << SHUNT_FORWARD_XCONNECT,                    \
	     .option = "transparent",                                                              \
	     .help = "xconnect: every frame crosses; this host gets none")                         \
	LIST(next_hop, .kinds = 1 << SHUNT_FORWARD_MACREWRITE | 1 << SHUNT_FORWARD_STATIC3,        \
	     .min = 2, .max = 2, .text_max = 63)
/* clang-format on */

#endif
