// SPDX-License-Identifier: BSD-2-Clause
#include "bridge/bridge.h"
#include "show/show.h"
#include "base/json.h"

/* Rows that are made with the guard held at a time: a millisecond's work. */
#define CHUNK 256u

static json_t *mac_json(const struct shunt_bridge *b, const struct shunt_mac_entry *entry)
{
	unsigned bridge = shunt_mac_key_bridge(entry->key);
	const unsigned vid = shunt_mac_key_vid(entry->key);
	json_t *row = json_object();
	uint8_t mac[6];

	shunt_mac_key_mac(entry->key, mac);
	json_object_set_new(row, "mac", shunt_show_mac(mac));
	set_u64(row, "bridge", bridge);
	json_object_set_new(row, "vlan", vid ? json_integer(vid) : json_null());
	set_text(row, "kernel_bridge", b->bridges[bridge].ifindex ? b->bridges[bridge].name : NULL);
	set_text(row, "port",
		 entry->port < b->ports->cnt ? b->ports->at[entry->port].name : "kernel");
	json_object_set_new(row, "static", json_boolean(entry->is_static));
	json_object_set_new(row, "age_s",
			    entry->is_static ? json_null()
					     : json_integer((json_int_t)entry->age_ticks *
							    b->age_s / SHUNT_MAC_AGE_TICKS));
	return row;
}

static json_t *counters_json(const struct shunt_bridge *b)
{
	json_t *sums = json_object();
	uint64_t sum;
	unsigned i;

#define X(name, help) set_u64(sums, #name, b->name);
	SHUNT_BRIDGE_COUNTERS(X)
#undef X
#define X(name, help)                                                \
	for (sum = 0, i = 0; i < b->learn_cnt; i++)                  \
		sum += shunt_counter_read(&b->learns[i].stats.name); \
	set_u64(sums, #name, sum);
	SHUNT_LEARN_COUNTERS(X)
#undef X
	return sums;
}

static json_t *kernel_json(const struct shunt_bridge *b)
{
	struct shunt_fdb_stats stats;

	if (!b->fdb)
		return json_null();
	shunt_fdb_stats(b->fdb, &stats);
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "messages", (json_int_t)stats.messages,
			 "overruns", (json_int_t)stats.overruns, "repeated",
			 (json_int_t)stats.repeated, "told", (json_int_t)stats.told, "refused",
			 (json_int_t)stats.refused);
}

/* Some stations, from *at on. Returns whether there are more. */
static bool add_macs(const struct shunt_bridge *b, uint64_t *at, json_t *rows)
{
	struct shunt_mac_entry entry;
	unsigned left = CHUNK;

	while (left--) {
		if (!shunt_mac_next(b->macs, at, &entry))
			return false;
		json_array_append_new(rows, mac_json(b, &entry));
	}
	return true;
}

static void set_counts(const struct shunt_bridge *b, json_t *result)
{
	struct shunt_mac_counts counts;

	shunt_mac_counts(b->macs, &counts);
	set_u64(result, "entries", counts.entries);
	set_u64(result, "max", counts.max);
	set_u64(result, "bytes", counts.bytes);
	set_u64(result, "ageing_s", b->age_s);
	json_object_set_new(result, "counters", counters_json(b));
	json_object_set_new(result, "kernel", kernel_json(b));
}

json_t *shunt_show_macs(const struct shunt_show *show)
{
	const struct shunt_engine *engine = show->engine;
	const struct shunt_bridge *b = engine->bridge;
	json_t *rows = json_array(), *result = timed("macs", rows);
	bool are_more = b;
	uint64_t at = 0;

	while (are_more) {
		if (!shunt_guard_try(engine->ports.guard)) {
			json_decref(result);
			return NULL;
		}
		are_more = add_macs(b, &at, rows);
		if (!are_more)
			set_counts(b, result);
		shunt_guard_leave(engine->ports.guard);
	}
	return result;
}

/* The VLAN that a frame is of in its port's bridge; 0: the bridge keeps none apart. */
static unsigned vid_of(const struct shunt_bridge *b, unsigned port, const uint8_t *frame)
{
	const unsigned tci = frame[14] << 8 | frame[15];

	if (!(b->masks.filters >> port & 1) || !b->vlans.told)
		return 0;
	return frame[12] == 0x81 && frame[13] == 0 && tci & 0xfff ? tci & 0xfff
								  : b->vlans.told->pvids[port];
}

json_t *shunt_show_station(const struct shunt_engine *engine, unsigned port, const uint8_t *frame)
{
	const struct shunt_bridge *b = engine->bridge;
	unsigned at, vid;
	json_t *row;

	if (!b || !shunt_bridge_has(b, port, port) || frame[0] & 1)
		return json_null();
	vid = vid_of(b, port, frame);
	at = shunt_mac_lookup(
		b->macs,
		shunt_mac_hash(b->macs,
			       shunt_mac_key(frame, shunt_mac_group(b->bridge_of[port], vid))));
	row = json_object();
	json_object_set_new(row, "mac", shunt_show_mac(frame));
	set_text(row, "port",
		 at < b->ports->cnt	? b->ports->at[at].name
		 : at == SHUNT_MAC_HOST ? "kernel"
					: NULL);
	return row;
}
