/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for the MAC table of the bridging ports: a BPF map that is mapped into this process. The
 * table of lib/fib/mac.h lies in its buckets. The steering programs are given the map, and look
 * stations up in it.
 *
 *	shunt_xdp_macs_open(&macs, &err);
 *	shunt_mac_create_in(&table, macs->buckets, SHUNT_XDP_MACS_BYTES, ...);
 *	shunt_xdp_set_macs(x, macs, &err);			each port
 *	shunt_xdp_macs_close(macs);				after the table
 */
#ifndef SHUNT_XDP_MACS_H
#define SHUNT_XDP_MACS_H

#include "xdp/xdp.h"
#include "shunt_steer_mac.h"

#define SHUNT_XDP_MACS_BYTES (SHUNT_STEER_MAC_BUCKETS * sizeof(struct shunt_steer_mac_bucket))

struct shunt_xdp_macs {
	int fd;
	struct shunt_steer_mac_bucket *buckets;
	/* the owner of the table writes these */
	struct shunt_steer_bridge *bridge;
	struct shunt_steer_vlans *vlans;
};

/* shunt_xdp_macs_open makes an empty map. Returns 0 with *out set, or -errno with err set.
 * shunt_xdp_macs_close gives it back; NULL is legal. Thread: control. Cost: setup. */
int shunt_xdp_macs_open(struct shunt_xdp_macs **out, struct shunt_err *err);
void shunt_xdp_macs_close(struct shunt_xdp_macs *macs);

/* shunt_xdp_forget_stations has the port's program look again for each station that it heard, since
 * the table, or what else is known of the bridge, has changed. Thread: any. */
void shunt_xdp_forget_stations(struct shunt_xdp *x);

/* shunt_xdp_set_macs lets a port's program use the map. Returns 0 or -errno with err set.
 * Thread: control. */
int shunt_xdp_set_macs(struct shunt_xdp *x, const struct shunt_xdp_macs *macs,
		       struct shunt_err *err);

#endif
