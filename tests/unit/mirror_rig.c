// SPDX-License-Identifier: BSD-2-Clause
#include "mirror_rig.h"
#include "netns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <criterion/criterion.h>
#include <jansson.h>

#include "wait.h"

/* Both sides as lines of text, sorted. */
struct lines {
	char **line;
	size_t cnt, max;
};

static struct shunt_err err;

void rig_shell(const char *command)
{
	cr_assert_eq(system(command), 0, "%s", command);
}

void rig_start(void)
{
	netns_enter();
	rig_shell(
		"sysctl -qw net.ipv6.conf.default.accept_dad=0 && ip link set lo up && "
		"ip link add va address 02:00:00:00:00:01 type veth "
		"peer name vb address 02:00:00:00:00:02 && "
		"ip link add wa address 02:00:00:00:00:03 type veth "
		"peer name wb address 02:00:00:00:00:04 && "
		"ip link set va up && ip link set vb up && ip link set wa up && ip link set wb up");
}

void rig_service(struct shunt_mirror *mirror)
{
	int ret;

	while ((ret = shunt_mirror_service(mirror, 1000, &err)) > 0)
		;
	cr_assert_eq(ret, 0, "%s", err.msg);
}

void rig_wait(struct shunt_mirror *mirror, int timeout_ms)
{
	struct pollfd fd = {.fd = shunt_mirror_fd(mirror), .events = POLLIN};

	poll(&fd, 1, timeout_ms);
}

struct shunt_mirror *rig_create(const struct shunt_mirror_opts *opts)
{
	struct shunt_mirror_stats stats;
	struct shunt_mirror *mirror;

	cr_assert_eq(shunt_mirror_create(&mirror, opts, &err), 0, "%s", err.msg);
	rig_service(mirror);
	shunt_mirror_stats(mirror, &stats);
	cr_assert_eq(stats.state, SHUNT_MIRROR_following, "state %s",
		     shunt_mirror_state_name(stats.state));
	return mirror;
}

void rig_ip(const char *lines, bool is_forced)
{
	const char *end;
	FILE *ip;

	for (; *lines; lines = end + 2 * !!*end) {
		end = strstr(lines, "\n\n") ?: lines + strlen(lines);
		ip = popen(is_forced ? "ip -force -batch - >/dev/null 2>&1" : "ip -batch -", "w");
		cr_assert(ip);
		fprintf(ip, "%.*s\n", (int)(end - lines), lines);
		if (pclose(ip) && !is_forced)
			cr_assert_fail("ip -batch failed on:\n%.*s", (int)(end - lines), lines);
	}
}

/* --- lines --------------------------------------------------------------------------------- */

static void add_line(struct lines *lines, const char *text)
{
	if (lines->cnt == lines->max) {
		lines->max = lines->max ? lines->max * 2 : 1024;
		lines->line = realloc(lines->line, lines->max * sizeof(*lines->line));
		cr_assert(lines->line);
	}
	lines->line[lines->cnt++] = strdup(text);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(struct lines *lines)
{
	if (lines->cnt)
		qsort(lines->line, lines->cnt, sizeof(*lines->line), compare);
}

static void free_lines(struct lines *lines)
{
	size_t i;

	for (i = 0; i < lines->cnt; i++)
		free(lines->line[i]);
	free(lines->line);
	memset(lines, 0, sizeof(*lines));
}

static const char *address(uint8_t family, const void *addr, char *buf)
{
	if (!family)
		return "-";
	return inet_ntop(family, addr, buf, INET6_ADDRSTRLEN);
}

static const char *dev_name(struct shunt_mirror *mirror, uint32_t ifindex)
{
	const struct shunt_mirror_link *link =
		shunt_mirror_link_get(shunt_mirror_table(mirror), ifindex);

	return link ? link->info.name : "-";
}

/* --- routes -------------------------------------------------------------------------------- */

struct text {
	char buf[8192];
	size_t len;
};

static void add_text(struct text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void add_text(struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text->len += (size_t)vsnprintf(text->buf + text->len, sizeof(text->buf) - text->len, format,
				       args);
	va_end(args);
	cr_assert_lt(text->len, sizeof(text->buf));
}

/* IPv4 routes of one metric count in their order, which `ip` lists: the line has its place. */
static unsigned place(char *last, size_t size, const char *prefix, bool is_local, unsigned *at)
{
	char key[128];

	snprintf(key, sizeof(key), "%d %s", is_local, prefix);
	*at = strcmp(last, key) ? 0 : *at + 1;
	snprintf(last, size, "%s", key);
	return *at;
}

static void mirror_route_line(struct shunt_mirror *mirror, enum shunt_mirror_ip ip,
			      const struct shunt_mirror_route *route, struct text *text)
{
	const struct shunt_mirror_path *path =
		shunt_mirror_path_at(shunt_mirror_table(mirror), route->path);
	uint8_t none[16] = {0};
	char buf[INET6_ADDRSTRLEN];
	unsigned i;

	add_text(text, " tos %u metric %u type %u proto %u scope %u", route->tos, route->metric,
		 path->key.type, path->key.proto, path->key.scope);
	if (memcmp(path->key.prefsrc, none, 16))
		add_text(text, " src %s", address(ip ? AF_INET6 : AF_INET, path->key.prefsrc, buf));
	if (path->key.mtu)
		add_text(text, " mtu %u", path->key.mtu);
	if (path->key.nhid)
		add_text(text, " nhid %u", path->key.nhid);
	for (i = 0; i < path->key.hop_cnt; i++)
		add_text(text, " hop %s %s %u",
			 address(path->hops[i].gw_family, path->hops[i].gw, buf),
			 dev_name(mirror, path->hops[i].ifindex), path->hops[i].weight);
}

static void mirror_routes(struct shunt_mirror *mirror, enum shunt_mirror_ip ip, struct lines *out)
{
	struct shunt_mirror_table *table = shunt_mirror_table(mirror);
	const struct shunt_mirror_route *first, *route;
	char buf[INET6_ADDRSTRLEN], prefix[64], last[128];
	uint32_t idx = 0, next;
	unsigned at = 0;

	while ((idx = shunt_mirror_store_next(&table->routes[ip], idx))) {
		first = shunt_mirror_route_at(table, ip, idx);
		if (shunt_mirror_route_first(table, ip, first->dst, first->len) != idx)
			continue;
		address(ip ? AF_INET6 : AF_INET, first->dst, buf);
		snprintf(prefix, sizeof(prefix), "%s/%u", buf, first->len);
		last[0] = 0;
		for (next = idx; next; next = route->next) {
			struct text text = {.len = 0};
			bool is_local;

			route = shunt_mirror_route_at(table, ip, next);
			is_local = route->live & SHUNT_MIRROR_ROUTE_LOCAL;
			add_text(&text, "%s %s", is_local ? "local" : "main", prefix);
			if (ip == SHUNT_MIRROR_IP4)
				add_text(&text, " #%u",
					 place(last, sizeof(last), prefix, is_local, &at));
			mirror_route_line(mirror, ip, route, &text);
			add_line(out, text.buf);
		}
	}
}

static json_t *ip_json(const char *args)
{
	char command[128];
	json_t *json;
	FILE *ip;

	snprintf(command, sizeof(command), "ip -j -d -N %s 2>/dev/null", args);
	ip = popen(command, "r");
	json = json_loadf(ip, 0, NULL);
	pclose(ip);
	return json ? json : json_array();
}

/* A member's number, whether `ip` wrote it as one or as text. */
static unsigned number(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	if (json_is_string(value))
		return (unsigned)strtoul(json_string_value(value), NULL, 0);
	return (unsigned)json_integer_value(value);
}

static const char *string(const json_t *object, const char *name)
{
	const char *value = json_string_value(json_object_get(object, name));

	return value ? value : "-";
}

static void hop_text(const json_t *hop, struct text *text)
{
	const json_t *via = json_object_get(hop, "via");
	unsigned weight = number(hop, "weight");

	add_text(text, " hop %s %s %u", via ? string(via, "host") : string(hop, "gateway"),
		 string(hop, "dev"), weight ? weight : 1);
}

/* The mirror sorts IPv6 hops; so does this, by device index and address. */
static int hop_order(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	unsigned xi = if_nametoindex(string(x, "dev")), yi = if_nametoindex(string(y, "dev"));
	uint8_t xa[16] = {0}, ya[16] = {0};

	if (xi != yi)
		return xi < yi ? -1 : 1;
	inet_pton(AF_INET6, string(x, "gateway"), xa);
	inet_pton(AF_INET6, string(y, "gateway"), ya);
	return memcmp(xa, ya, 16);
}

static void hops_text(const json_t *route, bool is_v6, struct text *text)
{
	json_t *hops = json_object_get(route, "nexthops"), *sorted[256];
	size_t i, cnt = json_array_size(hops);

	if (!cnt && (json_object_get(route, "dev") || json_object_get(route, "gateway")))
		hop_text(route, text);
	for (i = 0; i < cnt; i++)
		sorted[i] = json_array_get(hops, i);
	if (is_v6 && cnt)
		qsort(sorted, cnt, sizeof(sorted[0]), hop_order);
	for (i = 0; i < cnt; i++)
		hop_text(sorted[i], text);
}

static void ip_prefix(const char *dst, bool is_v6, char *out, size_t size)
{
	if (!strcmp(dst, "default"))
		snprintf(out, size, "%s/0", is_v6 ? "::" : "0.0.0.0");
	else
		snprintf(out, size, "%s%s", dst, strchr(dst, '/') ? "" : is_v6 ? "/128" : "/32");
}

static void ip_route_line(const json_t *route, bool is_v6, struct text *text)
{
	const json_t *metrics = json_array_get(json_object_get(route, "metrics"), 0);
	unsigned nhid = number(route, "nhid");

	add_text(text, " tos %u metric %u type %u proto %u scope %u", number(route, "tos"),
		 number(route, "metric"), nhid ? 1 : number(route, "type"),
		 number(route, "protocol"), number(route, "scope"));
	if (json_object_get(route, "prefsrc"))
		add_text(text, " src %s", string(route, "prefsrc"));
	if (number(metrics, "mtu"))
		add_text(text, " mtu %u", number(metrics, "mtu"));
	if (nhid)
		add_text(text, " nhid %u", nhid);
	else
		hops_text(route, is_v6, text);
}

static void ip_routes(bool is_v6, bool is_local, struct lines *out)
{
	char args[64], prefix[64], last[128] = "";
	unsigned at = 0;
	json_t *routes, *route;
	size_t i;

	snprintf(args, sizeof(args), "-%d route show table %s", is_v6 ? 6 : 4,
		 is_local ? "local" : "main");
	routes = ip_json(args);
	json_array_foreach (routes, i, route) {
		struct text text = {.len = 0};

		ip_prefix(string(route, "dst"), is_v6, prefix, sizeof(prefix));
		add_text(&text, "%s %s", is_local ? "local" : "main", prefix);
		if (!is_v6)
			add_text(&text, " #%u", place(last, sizeof(last), prefix, is_local, &at));
		ip_route_line(route, is_v6, &text);
		add_line(out, text.buf);
	}
	json_decref(routes);
}

/* --- the other objects --------------------------------------------------------------------- */

static void mirror_objects(struct shunt_mirror *mirror, struct lines *out)
{
	struct shunt_mirror_table *table = shunt_mirror_table(mirror);
	char buf[INET6_ADDRSTRLEN], line[256];
	uint32_t idx, i;

	for (idx = 0; (idx = shunt_mirror_store_next(&table->links, idx));) {
		const struct shunt_mirror_link_info *link =
			&((struct shunt_mirror_link *)shunt_mirror_store_at(&table->links, idx))
				 ->info;

		snprintf(line, sizeof(line),
			 "link %u %s mtu %u up %d mac %02x:%02x:%02x:%02x:%02x:%02x", link->ifindex,
			 link->name, link->mtu, !!(link->flags & IFF_UP), link->mac[0],
			 link->mac[1], link->mac[2], link->mac[3], link->mac[4], link->mac[5]);
		add_line(out, line);
	}
	for (idx = 0; (idx = shunt_mirror_store_next(&table->addrs, idx));) {
		const struct shunt_mirror_addr_info *addr =
			&((struct shunt_mirror_addr *)shunt_mirror_store_at(&table->addrs, idx))
				 ->info;

		snprintf(line, sizeof(line), "addr %s %s/%u", dev_name(mirror, addr->ifindex),
			 address(addr->family, addr->local, buf), addr->len);
		add_line(out, line);
	}
	for (idx = 0; (idx = shunt_mirror_store_next(&table->neighs, idx));) {
		const struct shunt_mirror_neigh_info *neigh =
			&((struct shunt_mirror_neigh *)shunt_mirror_store_at(&table->neighs, idx))
				 ->info;

		/* `ip neigh` leaves out NUD_NOARP (0x40). */
		if (neigh->family == AF_BRIDGE || neigh->state == 0x40 || !neigh->state)
			continue;
		snprintf(line, sizeof(line), "neigh %s %s lladdr %u:%02x:%02x",
			 dev_name(mirror, neigh->ifindex), address(neigh->family, neigh->addr, buf),
			 neigh->lladdr_len ? 1 : 0, neigh->lladdr[4], neigh->lladdr[5]);
		add_line(out, line);
	}
	for (idx = 0; (idx = shunt_mirror_store_next(&table->nexthops, idx));) {
		const struct shunt_mirror_nexthop *nh =
			shunt_mirror_store_at(&table->nexthops, idx);
		struct text text = {.len = 0};

		add_text(&text, "nexthop %u %s %s", nh->info.id,
			 address(nh->info.gw_family, nh->info.gw, buf),
			 dev_name(mirror, nh->info.ifindex));
		for (i = 0; i < nh->info.member_cnt; i++)
			add_text(&text, " %u,%u", nh->members[i].id, nh->members[i].weight);
		add_line(out, text.buf);
	}
}

static void ip_links_and_addrs(struct lines *out)
{
	json_t *links = ip_json("addr"), *link, *addr, *flag;
	char line[256];
	size_t i, j;

	json_array_foreach (links, i, link) {
		bool is_up = false;

		json_array_foreach (json_object_get(link, "flags"), j, flag)
			is_up |= !strcmp(json_string_value(flag), "UP");
		snprintf(line, sizeof(line), "link %u %s mtu %u up %d mac %s",
			 number(link, "ifindex"), string(link, "ifname"), number(link, "mtu"),
			 is_up, string(link, "address"));
		add_line(out, line);
		json_array_foreach (json_object_get(link, "addr_info"), j, addr) {
			snprintf(line, sizeof(line), "addr %s %s/%u", string(link, "ifname"),
				 string(addr, "local"), number(addr, "prefixlen"));
			add_line(out, line);
		}
	}
	json_decref(links);
}

static void ip_neighs_and_nexthops(struct lines *out)
{
	json_t *neighs = ip_json("neigh"), *nexthops = ip_json("nexthop"), *object, *member;
	char line[256];
	size_t i, j;

	json_array_foreach (neighs, i, object) {
		const char *mac = string(object, "lladdr");

		snprintf(line, sizeof(line), "neigh %s %s lladdr %d:%s", string(object, "dev"),
			 string(object, "dst"), mac[0] != '-', mac[0] != '-' ? mac + 12 : "00:00");
		add_line(out, line);
	}
	json_array_foreach (nexthops, i, object) {
		struct text text = {.len = 0};
		const json_t *via = json_object_get(object, "via");

		add_text(&text, "nexthop %u %s %s", number(object, "id"),
			 via ? string(via, "host") : string(object, "gateway"),
			 string(object, "dev"));
		json_array_foreach (json_object_get(object, "group"), j, member) {
			unsigned weight = number(member, "weight");

			add_text(&text, " %u,%u", number(member, "id"), weight ? weight : 1);
		}
		add_line(out, text.buf);
	}
	json_decref(neighs);
	json_decref(nexthops);
}

/* --- comparison ---------------------------------------------------------------------------- */

/* Writes up to ten lines that only one side has. Returns how many there are. */
static unsigned difference(const struct lines *ours, const struct lines *theirs, struct text *text)
{
	size_t i = 0, j = 0;
	unsigned cnt = 0;

	text->len = 0;
	text->buf[0] = 0;
	while (i < ours->cnt || j < theirs->cnt) {
		int order = i == ours->cnt     ? 1
			    : j == theirs->cnt ? -1
					       : strcmp(ours->line[i], theirs->line[j]);

		if (order && ++cnt <= 10)
			add_text(text, "  only %s: %s\n", order < 0 ? "mirror" : "kernel",
				 order < 0 ? ours->line[i] : theirs->line[j]);
		i += order <= 0;
		j += order >= 0;
	}
	return cnt;
}

static unsigned compare_all(struct shunt_mirror *mirror, struct text *text)
{
	struct lines ours = {0}, theirs = {0};
	unsigned cnt, i;

	for (i = 0; i < 4; i++)
		ip_routes(i & 1, i & 2, &theirs);
	ip_links_and_addrs(&theirs);
	ip_neighs_and_nexthops(&theirs);
	rig_service(mirror);
	mirror_routes(mirror, SHUNT_MIRROR_IP4, &ours);
	mirror_routes(mirror, SHUNT_MIRROR_IP6, &ours);
	mirror_objects(mirror, &ours);
	sort_lines(&ours);
	sort_lines(&theirs);
	cnt = difference(&ours, &theirs, text);
	free_lines(&ours);
	free_lines(&theirs);
	return cnt;
}

void rig_expect_same(struct shunt_mirror *mirror, const char *what)
{
	uint64_t until_ns = 0;
	struct text text;
	unsigned cnt;

	while ((cnt = compare_all(mirror, &text)) && wait_a_moment(&until_ns))
		rig_wait(mirror, 50);
	cr_assert_eq(cnt, 0, "%s: %u differences:\n%s", what, cnt, text.buf);
}
