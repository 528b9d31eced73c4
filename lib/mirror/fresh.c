// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/fresh.h"

void shunt_mirror_fresh_begin(struct shunt_mirror_fresh *fresh, uint64_t now_ns)
{
	/* The first part is made when it is asked for. */
	fresh->reads_ns[0] = now_ns;
	fresh->read_cnt = 1;
	fresh->part_cnt = 0;
	fresh->is_lost = false;
}

void shunt_mirror_fresh_read(struct shunt_mirror_fresh *fresh, uint64_t now_ns)
{
	if (fresh->read_cnt - fresh->part_cnt >= SHUNT_MIRROR_READS_MAX) {
		fresh->is_lost = true;
		return;
	}
	fresh->reads_ns[fresh->read_cnt++ % SHUNT_MIRROR_READS_MAX] = now_ns;
}

void shunt_mirror_fresh_part(struct shunt_mirror_fresh *fresh)
{
	uint64_t asked_ns;

	if (fresh->is_lost || fresh->part_cnt == fresh->read_cnt)
		return;
	asked_ns = fresh->reads_ns[fresh->part_cnt++ % SHUNT_MIRROR_READS_MAX];
	if (asked_ns > fresh->heard_ns)
		fresh->heard_ns = asked_ns;
}

void shunt_mirror_fresh_empty(struct shunt_mirror_fresh *fresh, uint64_t now_ns)
{
	fresh->heard_ns = now_ns;
}
