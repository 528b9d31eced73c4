// SPDX-License-Identifier: BSD-2-Clause
/* The VLAN devices and bonds above the ports: by which tags, what each forwards, and why not. */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>

#include "base/json.h"
#include "mirror/mirror.h"
#include "router/router.h"
#include "show/show.h"
#include "shunt_tables.h"

/* "802.1ad 30 802.1Q 31": outermost first. */
static void set_tags(json_t *row, const struct shunt_device *device)
{
	char text[64] = "";
	size_t len = 0;
	unsigned i;

	for (i = 0; i < device->tag_cnt; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s802.1%s %u",
					i ? " " : "",
					device->tags[i].type_be == htons(ETH_P_8021AD) ? "ad" : "Q",
					ntohs(device->tags[i].tci_be));
	set_text(row, "tags", text);
}

static const char *source_check(uint32_t flags)
{
	return flags & SHUNT_TABLES_RPF4       ? "rp_filter"
	       : flags & SHUNT_TABLES_NO_LOCAL ? "not_local"
					       : "any";
}

/* The kernel's number of the table by which IPv4 goes; of local and main together, main's. */
static uint32_t table_of(const struct shunt_router *router, uint32_t flags)
{
	const uint32_t space = (flags & SHUNT_TABLES_SPACE4) >> SHUNT_TABLES_SPACE4_SHIFT;

	return space ? shunt_mirror_table(router->mirror)->spaces[space].table : RT_TABLE_MAIN;
}

void shunt_show_members(const struct shunt_engine *engine, const struct shunt_device *device,
			char *out, size_t len)
{
	size_t used = 0;
	unsigned i;

	*out = '\0';
	for (i = 0; i < device->member_cnt && used < len; i++)
		used += (size_t)snprintf(out + used, len - used, "%s%s", i ? " " : "",
					 engine->ports.at[device->members[i]].name);
}

static void add_device(const struct shunt_engine *engine, const struct shunt_mirror_link *link,
		       json_t *rows)
{
	const struct shunt_router *router = engine->router;
	const uint32_t number = shunt_mirror_above(router->mirror, link->info.ifindex);
	struct shunt_device device;
	const enum shunt_above_state state =
		shunt_mirror_above_state(router->mirror, link->info.ifindex, &device);
	const uint32_t flags = number ? shunt_devices_at(router->devices, number)->flags : 0;
	char ports[SHUNT_DEVICE_MEMBERS_MAX * IF_NAMESIZE];
	json_t *row;

	if (state == SHUNT_ABOVE_elsewhere)
		return;
	shunt_show_members(engine, &device, ports, sizeof(ports));
	row = json_object();
	set_text(row, "device", link->info.name);
	set_u64(row, "ifindex", link->info.ifindex);
	set_text(row, "port", ports);
	set_tags(row, &device);
	set_u64(row, "mtu", link->info.mtu);
	set_text(row, "state", shunt_above_state_name(state));
	set_text(row, "meaning", shunt_above_state_help(state));
	json_object_set_new(row, "ip4", json_boolean(flags & SHUNT_TABLES_IP4));
	json_object_set_new(row, "ip6", json_boolean(flags & SHUNT_TABLES_IP6));
	set_text(row, "sources", source_check(flags));
	set_u64(row, "table", table_of(router, flags));
	json_array_append_new(rows, row);
}

json_t *shunt_show_devices(const struct shunt_show *show)
{
	const struct shunt_engine *engine = show->engine;
	const struct shunt_mirror_store *links;
	json_t *rows = json_array();
	uint32_t idx = 0;

	if (!engine->router)
		return timed("devices", rows);
	if (!shunt_guard_try(engine->ports.guard)) {
		json_decref(rows);
		return NULL;
	}
	links = engine->router->mirror ? &shunt_mirror_table(engine->router->mirror)->links : NULL;
	while (links && (idx = shunt_mirror_store_next(links, idx)))
		add_device(engine, shunt_mirror_store_at(links, idx), rows);
	shunt_guard_leave(engine->ports.guard);
	return timed("devices", rows);
}
