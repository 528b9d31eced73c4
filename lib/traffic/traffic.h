/* SPDX-License-Identifier: BSD-2-Clause */
/* A fixed set of frames for in-memory ports: UDP over IPv4 with right checksums,
 * one frame a flow, source and destination addresses from the benchmarking
 * range 198.18.0.0/15 (RFC 2544, appendix C.2.2). */
#ifndef SHUNT_TRAFFIC_TRAFFIC_H
#define SHUNT_TRAFFIC_TRAFFIC_H

#include <stdint.h>

struct shunt_traffic {
	uint8_t **frames;
	uint32_t *lens;
	unsigned frame_cnt;
};

/* shunt_traffic_init makes flow_cnt frames of frame_bytes (60..1514, without
 * FCS). Returns 0, -EINVAL or -ENOMEM. Thread: any. */
int shunt_traffic_init(struct shunt_traffic *traffic, uint32_t frame_bytes, uint32_t flow_cnt);

/* shunt_traffic_fini frees the frames; legal on a zeroed struct. Thread: any. */
void shunt_traffic_fini(struct shunt_traffic *traffic);

#endif
