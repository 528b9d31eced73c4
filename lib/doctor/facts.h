/* SPDX-License-Identifier: BSD-2-Clause */
/* What the doctor judges. link.c, system.c and tunnels.c gather the facts; device.c, place.c and
 * host.c judge them and ask nothing. For this folder, the engine's refusals and tests. */
#ifndef SHUNT_DOCTOR_FACTS_H
#define SHUNT_DOCTOR_FACTS_H

#include <net/if.h>
#include <string.h>

#include "doctor/doctor.h"
#include "firewall/judge.h"
#include "device/features.h"
#include "device/kernel.h"
#include "device/netdev.h"
#include "device/netdev_xdp.h"

/* Offloads by ethtool's own names (`ethtool -k`, the kernel's strings). */
#define DOCTOR_OFFLOADS(X)                       \
	X(rx_vlan, SHUNT_FEATURE_RX_VLAN)        \
	X(rx_stag, SHUNT_FEATURE_RX_STAG)        \
	X(tx_vlan, SHUNT_FEATURE_TX_VLAN)        \
	X(tx_stag, SHUNT_FEATURE_TX_STAG)        \
	X(lro, "rx-lro")                         \
	X(gro, "rx-gro")                         \
	X(gro_hw, "rx-gro-hw")                   \
	X(tx_checksum, "tx-checksum-ip-generic") \
	X(tso, "tx-tcp-segmentation")

struct doctor_offloads {
#define X(name, string) bool name;
	DOCTOR_OFFLOADS(X)
#undef X
	bool takes_tags_for_good; /* rx_vlan or rx_stag, and the driver does not let it change */
};

struct doctor_program {
	uint32_t id; /* 0: none */
	bool is_generic;
	char name[16]; /* "" where it may not be asked */
	int is_ours;   /* it, or one under it, is a steering program: 1, 0; negative: unknown */
};

struct doctor_device_facts {
	char ifname[IFNAMSIZ];
	struct shunt_netdev netdev;
	struct shunt_netdev_xdp xdp;
	struct doctor_program program;
	struct doctor_offloads offloads;
	bool is_running;       /* has a carrier */
	char kind[16];	       /* bridge, bond, veth ...; "" for hardware */
	char master[IFNAMSIZ]; /* "" without */
	char master_kind[16];
	char ports[160];       /* of a bridge or a bond, separated by spaces; "" without */
	bool filters_stags;    /* a bridge filters VLANs, by tags of 802.1ad */
	unsigned peer_ifindex; /* of a veth: its other end, if that is in this namespace; 0 */
	char peer[IFNAMSIZ];
	struct doctor_offloads peer_offloads;
	unsigned ring;	/* descriptors of a receive ring; 0: not told */
	int ntuple_cnt; /* filters that are set; -1: the driver has none */
	uint32_t ntuple_size;
	int numa_node; /* -1: none or one */
	char local_cpus[64];
	int virtio_dma;	    /* VIRTIO_F_ACCESS_PLATFORM: 0, 1; -1 not a virtio device */
	bool is_forwarding; /* net.ipv4.conf.DEV.forwarding */
	struct shunt_kernel kernel;
};

/* A bridge or a bond: no port, but what stands for its ports. */
static inline bool shunt_doctor_is_master(const struct doctor_device_facts *facts)
{
	return !strcmp(facts->kind, "bridge") || !strcmp(facts->kind, "bond");
}

struct doctor_host_facts {
	struct shunt_kernel kernel;
	char missing[96];  /* names of capabilities that shuntd needs and this process lacks */
	bool is_in_userns; /* for capabilities there the kernel loads no programs */
	bool has_ipc_lock;
	uint64_t memlock_bytes; /* UINT64_MAX: no limit */
	uint64_t hugepages_free, hugepages_kb;
	char thp[16]; /* always, madvise, never; "" not told */
	int jit;      /* net.core.bpf_jit_enable, -1: not told */
	bool has_ip_forward, has_ip6_forward;
	struct shunt_judges judges; /* of what is forwarded, by any device */
	char tunnels[160];	    /* that are up: "wg0 (wireguard), gre1 (gre)"; "": none */
	unsigned cpu_cnt;
};

/* shunt_doctor_device_facts fills out; what the device does not tell stays 0 or "".
 * Returns 0, or -errno with err set where there is no such Ethernet device.
 * shunt_doctor_host_facts cannot fail. Thread: control. */
int shunt_doctor_device_facts(const char *ifname, struct doctor_device_facts *out,
			      struct shunt_err *err);
void shunt_doctor_host_facts(struct doctor_host_facts *out);

/* shunt_doctor_read_text reads the first line of a file into buf, "" if it cannot.
 * Thread: control. */
void shunt_doctor_read_text(const char *path, char *buf, unsigned len);

/* shunt_doctor_list_tunnels names tunnels and the like that are up, as many as len bytes hold; ""
 * for none, and where the kernel does not tell. Thread: control. Cost: a dump of links. */
void shunt_doctor_list_tunnels(char *out, unsigned len);

/* shunt_doctor_judge_device and _host turn facts into findings; _place those about what is on a
 * device and around it, for _device. Thread: any. */
void shunt_doctor_judge_device(struct shunt_doctor *d, const struct doctor_device_facts *facts,
			       const struct shunt_doctor_opts *opts);
void shunt_doctor_judge_place(struct shunt_doctor *d, const struct doctor_device_facts *facts,
			      const struct shunt_doctor_opts *opts);
void shunt_doctor_judge_host(struct shunt_doctor *d, const struct doctor_host_facts *facts,
			     const struct shunt_doctor_opts *opts);

/* shunt_doctor_zerocopy says whether a socket of the device will be zero-copy:
 * returns true, or false with the reason in why, a clause without a full stop.
 * Where only an attempt tells, true with a reason ("" otherwise). Thread: any. */
bool shunt_doctor_zerocopy(const struct doctor_device_facts *facts, char *why, unsigned len);

#endif
