// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/path.h"

#include <stdlib.h>

struct query {
	const struct shunt_mirror_path_key *key;
	const struct shunt_mirror_hop *hops;
};

static size_t hops_bytes(const struct shunt_mirror_path_key *key)
{
	return key->hop_cnt * sizeof(struct shunt_mirror_hop);
}

static bool eq(const void *obj, const void *arg)
{
	const struct shunt_mirror_path *path = obj;
	const struct query *query = arg;

	return !memcmp(&path->key, query->key, sizeof(path->key)) &&
	       !memcmp(path->hops, query->hops, hops_bytes(&path->key));
}

static uint32_t hash_of(const struct query *query)
{
	uint32_t hash = shunt_mirror_hash(query->key, sizeof(*query->key), 0);

	return shunt_mirror_hash(query->hops, hops_bytes(query->key), hash);
}

uint32_t shunt_mirror_path_find(const struct shunt_mirror_table *table,
				const struct shunt_mirror_path_key *key,
				const struct shunt_mirror_hop *hops)
{
	struct query query = {key, hops};

	return shunt_mirror_store_find(&table->paths, hash_of(&query), eq, &query);
}

static uint32_t make(struct shunt_mirror_table *table, const struct query *query, uint32_t hash)
{
	uint32_t idx = shunt_mirror_store_alloc(&table->paths);
	struct shunt_mirror_path *path;

	if (!idx)
		return 0;
	path = shunt_mirror_path_at(table, idx);
	path->hops = malloc(hops_bytes(query->key) + 1);
	if (!path->hops) {
		shunt_mirror_store_free(&table->paths, idx);
		return 0;
	}
	memcpy(path->hops, query->hops, hops_bytes(query->key));
	path->key = *query->key;
	path->hash = hash;
	table->idle_cnt++;
	shunt_mirror_store_link(&table->paths, hash, idx);
	return idx;
}

uint32_t shunt_mirror_path_get(struct shunt_mirror_table *table,
			       const struct shunt_mirror_path_key *key,
			       const struct shunt_mirror_hop *hops)
{
	struct query query = {key, hops};
	uint32_t hash = hash_of(&query), idx;
	struct shunt_mirror_path *path;

	idx = shunt_mirror_store_find(&table->paths, hash, eq, &query);
	if (idx && shunt_mirror_path_at(table, idx)->is_doomed) {
		/* The old routes must not live on by the new one's path. */
		shunt_mirror_table_settle(table);
		shunt_mirror_path_at(table, idx)->is_doomed = false;
	}
	if (!idx)
		idx = make(table, &query, hash);
	if (!idx)
		return 0;
	path = shunt_mirror_path_at(table, idx);
	if (!path->refs++)
		table->idle_cnt--;
	return idx;
}

void shunt_mirror_path_put(struct shunt_mirror_table *table, uint32_t idx)
{
	if (!--shunt_mirror_path_at(table, idx)->refs)
		table->idle_cnt++;
}

void shunt_mirror_path_reap(struct shunt_mirror_table *table)
{
	struct shunt_mirror_path *path;
	uint32_t idx = 0;

	if (!table->idle_cnt)
		return;
	while ((idx = shunt_mirror_store_next(&table->paths, idx))) {
		path = shunt_mirror_path_at(table, idx);
		if (path->refs)
			continue;
		if (table->watch.path_free)
			table->watch.path_free(table->watch.ctx, idx);
		shunt_mirror_store_unlink(&table->paths, path->hash, idx);
		free(path->hops);
		shunt_mirror_store_free(&table->paths, idx);
	}
	table->idle_cnt = 0;
}

bool shunt_mirror_path_uses(const struct shunt_mirror_table *table,
			    const struct shunt_mirror_path *path, uint32_t ifindex)
{
	unsigned i;

	if (path->key.nhid)
		return shunt_mirror_nexthop_uses(table, path->key.nhid, ifindex);
	for (i = 0; i < path->key.hop_cnt; i++) {
		if (path->hops[i].ifindex == ifindex)
			return true;
	}
	return false;
}

void shunt_mirror_path_doom(struct shunt_mirror_table *table, struct shunt_mirror_path *path)
{
	if (path->refs && !path->is_doomed) {
		path->is_doomed = true;
		table->doomed_cnt++;
	}
}
