// SPDX-License-Identifier: BSD-2-Clause
/* Walks over all routes: they remove what a dump did not name, and the routes of doomed paths. */
#include "mirror/route.h"

bool shunt_mirror_route_sweep(struct shunt_mirror_table *table,
			      struct shunt_mirror_route_sweep *sweep, uint32_t budget,
			      uint64_t *removed)
{
	struct shunt_mirror_store *store = &table->routes[sweep->rib];
	const struct shunt_mirror_route *route;
	uint32_t idx = sweep->pos, left = budget;

	while (left-- && (idx = shunt_mirror_store_next(store, idx))) {
		sweep->pos = idx;
		route = shunt_mirror_store_at(store, idx);
		if (route->seen == table->mark ||
		    !!(route->live & SHUNT_MIRROR_ROUTE_LOCAL) != sweep->is_local)
			continue;
		if (sweep->ifindex &&
		    !shunt_mirror_path_uses(table, shunt_mirror_path_at(table, route->path),
					    sweep->ifindex))
			continue;
		shunt_mirror_route_remove(table, sweep->rib, idx);
		++*removed;
	}
	return !idx;
}

uint32_t shunt_mirror_table_settle(struct shunt_mirror_table *table)
{
	uint32_t rib, idx, cnt = 0;

	if (!table->doomed_cnt)
		return 0;
	for (rib = 0; rib < SHUNT_MIRROR_RIB_CNT; rib++) {
		for (idx = 0; (idx = shunt_mirror_store_next(&table->routes[rib], idx));) {
			if (!shunt_mirror_path_at(table,
						  shunt_mirror_route_at(table, rib, idx)->path)
				     ->is_doomed)
				continue;
			shunt_mirror_route_remove(table, rib, idx);
			cnt++;
		}
	}
	for (idx = 0; (idx = shunt_mirror_store_next(&table->paths, idx));)
		shunt_mirror_path_at(table, idx)->is_doomed = false;
	table->doomed_cnt = 0;
	return cnt;
}
