// SPDX-License-Identifier: BSD-2-Clause
#include "choice/bulk.h"

#include "base/bytes.h"
#include "base/clock.h"

/* Packets a second. Below it (58 Mbit/s of segments) there is nothing to gain. */
#define RATE_MIN   5000
#define AGREE_MIN  2
/* Long packets a second that show that there are some. */
#define LONG_MIN   100
#define HOLD_MIN_S 8U
#define HOLD_MAX_S 600U
/* Ethernet header and a VLAN tag, which a device's counters may contain. */
#define L2_MAX	   18

static bool comes_in_segments(uint64_t packets, uint64_t segments)
{
	return segments >= RATE_MIN && segments > packets / 2;
}

/* Where too few packets come to tell, nothing changes. */
static bool comes_in_packets(struct shunt_lane_bulk *bulk, uint64_t packets, uint64_t bytes,
			     uint32_t mtu)
{
	const bool is_long = bytes > packets * (mtu + L2_MAX);

	bulk->is_right |= bulk->has_before && is_long && packets >= LONG_MIN;
	return packets >= RATE_MIN && !is_long;
}

/* After each wrong turn the next is held off longer. */
static void turn(struct shunt_lane_bulk *bulk, uint64_t now_ns)
{
	if (bulk->is_seen) {
		bulk->hold_s = bulk->is_right || !bulk->hold_s
				       ? HOLD_MIN_S
				       : SHUNT_MIN(2 * bulk->hold_s, HOLD_MAX_S);
		bulk->hold_ns = now_ns + bulk->hold_s * SHUNT_NS_PER_SEC;
	}
	bulk->is_seen = !bulk->is_seen;
	bulk->is_right = false;
	bulk->has_before = false; /* other counters from now on */
	bulk->agree_cnt = 0;
}

void shunt_lane_bulk_tick(struct shunt_lane_bulk *bulk, const struct shunt_lane_bulk_counts *now,
			  uint32_t mtu, uint64_t now_ns)
{
	const struct shunt_lane_bulk_counts before = bulk->latest;
	const uint64_t packets = now->packets - before.packets;
	const bool is_other =
		bulk->is_seen ? comes_in_packets(bulk, packets, now->bytes - before.bytes, mtu)
			      : comes_in_segments(packets, now->segments - before.segments);

	bulk->latest = *now;
	bulk->agree_cnt = is_other && bulk->has_before ? bulk->agree_cnt + 1 : 0;
	bulk->has_before = true;
	if (bulk->agree_cnt >= AGREE_MIN && now_ns >= bulk->hold_ns)
		turn(bulk, now_ns);
}
