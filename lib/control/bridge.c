// SPDX-License-Identifier: BSD-2-Clause
#include "control/bridge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/bridge_table.h"
#include "control/brlink.h"

/* Messages a service takes from each worker: some milliseconds' work. */
#define TAKE_MAX      SHUNT_LEARN_LEN

/* The kernel's bridge hears of a station three times in an ageing time. */
#define TELLS_PER_AGE 3u

/* --- what the kernel's bridge says ------------------------------------------------------------ */

static int port_of(const struct shunt_bridge *b, uint32_t ifindex)
{
	unsigned i;

	for (i = 0; i < b->engine->port_cnt; i++)
		if (b->engine->ports[i].xdp && b->engine->ports[i].netdev.ifindex == ifindex)
			return (int)i;
	return -1;
}

static int bridge_over(const struct shunt_bridge *b, uint32_t ifindex)
{
	unsigned i;

	for (i = 0; i < b->bridge_cnt; i++)
		if (b->bridges[i].ifindex && b->bridges[i].ifindex == ifindex)
			return (int)i;
	return -1;
}

static void set_bit(uint64_t *word, unsigned bit, bool on)
{
	uint64_t mask = 1ULL << bit;

	__atomic_store_n(word, on ? *word | mask : *word & ~mask, __ATOMIC_RELAXED);
}

static void remove_entry(struct shunt_bridge *b, uint64_t key, unsigned port)
{
	struct shunt_mac_entry now;

	if (!shunt_mac_get(b->macs, key, &now) && now.port == port)
		shunt_mac_del(b->macs, key);
}

/* A station behind a port that is the kernel's alone is the host's for us: punted. */
static void follow_entry(void *arg, const struct shunt_fdb_entry *entry, bool is_gone)
{
	struct shunt_bridge *b = arg;
	int bridge = bridge_over(b, entry->bridge), at = port_of(b, entry->ifindex);
	unsigned port = at < 0 || entry->kind == SHUNT_FDB_LOCAL ? SHUNT_MAC_HOST : (unsigned)at;
	struct shunt_mac_entry now;
	uint64_t key;

	if (bridge < 0)
		return;
	key = shunt_mac_key(entry->mac, (unsigned)bridge);
	if (is_gone) {
		remove_entry(b, key, port);
		return;
	}
	if (entry->kind != SHUNT_FDB_DYNAMIC) {
		b->full += shunt_mac_set(b->macs, key, port, entry->kind != SHUNT_FDB_STATIC) ==
			   SHUNT_MAC_FULL;
		return;
	}
	if (!shunt_mac_get(b->macs, key, &now) && now.is_static)
		shunt_mac_del(b->macs, key); /* it was static in the kernel as well, until now */
	b->full += shunt_mac_learn(b->macs, key, port) == SHUNT_MAC_FULL;
}

static void follow_foreign(struct shunt_bridge *b, const struct shunt_fdb_port *port)
{
	int bridge = bridge_over(b, port->bridge);
	uint64_t mask = 0;
	unsigned i;

	for (i = 0; i < b->foreign_cnt; i++)
		if (b->foreign[i].ifindex == port->ifindex)
			b->foreign[i--] = b->foreign[--b->foreign_cnt];
	if (bridge >= 0 && b->foreign_cnt < SHUNT_BRIDGE_FOREIGN_MAX) {
		b->foreign[b->foreign_cnt].ifindex = port->ifindex;
		b->foreign[b->foreign_cnt++].bridge = (unsigned)bridge;
	}
	for (i = 0; i < b->foreign_cnt; i++)
		mask |= 1ULL << b->foreign[i].bridge;
	__atomic_store_n(&b->ways.foreign, mask, __ATOMIC_RELAXED);
}

const char *shunt_bridge_leaves(const struct shunt_bridge *b, unsigned port)
{
	const struct shunt_bridge_one *one = &b->bridges[b->bridge_of[port]];

	if (!one->ifindex || !(one->members >> port & 1))
		return NULL;
	if (one->filters_vlans)
		return "is a port of a bridge that filters VLANs";
	return one->age_s ? b->special[port] : "is a port of a bridge without an ageing time";
}

static void set_kernels(struct shunt_bridge *b)
{
	unsigned i;

	for (i = 0; i < b->engine->port_cnt; i++)
		set_bit(&b->ways.kernels, i, shunt_bridge_leaves(b, i));
	shunt_bridge_share(b);
}

/* The shortest of all bridges'. */
static void set_age(struct shunt_bridge *b)
{
	uint32_t age_s = UINT32_MAX;
	unsigned i;

	for (i = 0; i < b->bridge_cnt; i++)
		age_s = SHUNT_MIN(age_s, b->bridges[i].ifindex ? SHUNT_MAX(b->bridges[i].age_s, 1u)
							       : SHUNT_MAC_AGE_S_DEFAULT);
	if (age_s == b->age_s)
		return;
	b->age_s = age_s;
	b->age_due_ns = shunt_clock_ns() + age_s * SHUNT_NS_PER_SEC / SHUNT_MAC_AGE_TICKS;
	b->tell_due_ns = shunt_clock_ns() + age_s * SHUNT_NS_PER_SEC / TELLS_PER_AGE;
}

static void follow_bridge(void *arg, const struct shunt_brlink *bridge)
{
	struct shunt_bridge *b = arg;
	int at = bridge_over(b, bridge->ifindex);

	if (at < 0)
		return;
	b->bridges[at].filters_vlans = bridge->filters_vlans;
	b->bridges[at].age_s = bridge->age_s;
	set_age(b);
	set_kernels(b);
}

static void follow_port(void *arg, const struct shunt_fdb_port *port)
{
	struct shunt_bridge *b = arg;
	int at = port_of(b, port->ifindex);
	bool is_member;

	if (bridge_over(b, port->ifindex) >= 0)
		return; /* the bridge speaks of itself */
	if (at < 0) {
		follow_foreign(b, port);
		return;
	}
	is_member = bridge_over(b, port->bridge) == b->bridge_of[at];
	set_bit(&b->ways.forwarding, (unsigned)at, is_member && port->forwards);
	set_bit(&b->ways.learning, (unsigned)at, is_member && port->learns);
	set_bit(&b->ways.flooding, (unsigned)at, is_member && port->floods);
	b->special[at] = port->special;
	set_kernels(b);
	/* Of the stations of a port that may not forward the kernel tells, where it forgets them.
	 */
	if (!is_member)
		shunt_mac_flush(b->macs, b->bridge_of[at], (unsigned)at);
}

static const struct shunt_fdb_ops fdb_ops = {
	.entry = follow_entry, .port = follow_port, .bridge = follow_bridge};

/* --- what workers say ------------------------------------------------------------------------- */

static void tell_kernel(struct shunt_bridge *b, uint64_t key, unsigned port)
{
	uint8_t mac[6];

	if (!b->fdb || !b->bridges[shunt_mac_key_bridge(key)].ifindex || port >= SHUNT_PORT_MAX)
		return;
	shunt_mac_key_mac(key, mac);
	shunt_fdb_tell(b->fdb, b->engine->ports[port].netdev.ifindex, mac);
}

static void learn(struct shunt_bridge *b, const struct shunt_told *told)
{
	enum shunt_mac_result result = shunt_mac_learn(b->macs, told->key, told->port);

	b->learned += result == SHUNT_MAC_NEW;
	b->moved += result == SHUNT_MAC_MOVED;
	b->full += result == SHUNT_MAC_FULL;
	b->pinned += result == SHUNT_MAC_STATIC;
	if (result == SHUNT_MAC_NEW || result == SHUNT_MAC_MOVED)
		tell_kernel(b, told->key, told->port);
}

void shunt_bridge_service(struct shunt_bridge *b)
{
	struct shunt_told told;
	unsigned i, n;

	b->is_behind = false;
	for (i = 0; i < b->learn_cnt; i++) {
		shunt_learn_hush(&b->learns[i]);
		for (n = 0; n < TAKE_MAX && shunt_learn_take(&b->learns[i], &told); n++)
			learn(b, &told);
		b->is_behind |= n == TAKE_MAX;
	}
	if (!b->fdb)
		return;
	shunt_fdb_tell_now(b->fdb);
	shunt_fdb_service(b->fdb);
}

int shunt_bridge_fd(const struct shunt_bridge *b)
{
	return b->epoll_fd;
}

static void tell_all(struct shunt_bridge *b)
{
	struct shunt_mac_entry entry;
	uint64_t at = 0;

	while (shunt_mac_next(b->macs, &at, &entry))
		if (!entry.is_static && entry.age_ticks <= SHUNT_MAC_AGE_TICKS / TELLS_PER_AGE)
			tell_kernel(b, entry.key, entry.port);
	shunt_fdb_tell_now(b->fdb);
}

void shunt_bridge_tick(struct shunt_bridge *b)
{
	const uint64_t age_ns = b->age_s * SHUNT_NS_PER_SEC;
	uint64_t now = shunt_clock_ns();

	for (; now >= b->age_due_ns; b->age_due_ns += age_ns / SHUNT_MAC_AGE_TICKS)
		b->aged += shunt_mac_age(b->macs, NULL, NULL);
	shunt_bridge_share(b);
	if (!b->fdb || now < b->tell_due_ns)
		return;
	b->tell_due_ns = now + age_ns / TELLS_PER_AGE;
	tell_all(b);
}

/* --- for the engine --------------------------------------------------------------------------- */

void shunt_bridge_params(struct shunt_bridge *b, unsigned worker, struct shunt_bridge_params *out)
{
	unsigned i;

	*out = (struct shunt_bridge_params){
		.macs = b->macs, .ways = &b->ways, .learn = &b->learns[worker]};
	memcpy(out->bridge, b->bridge_of, sizeof(out->bridge));
	for (i = 0; i < b->bridge_cnt; i++)
		out->members[i] = b->bridges[i].members;
}

void shunt_bridge_steer(const struct shunt_bridge *b, unsigned port, struct shunt_steer_cfg *cfg)
{
	const struct shunt_bridge_one *one = &b->bridges[b->bridge_of[port]];

	cfg->in_port = port;
	cfg->bridge = b->bridge_of[port] + 1u;
	if (shunt_config_mode(b->engine->config, port) == SHUNT_FORWARD_MIX) {
		cfg->mode = SHUNT_STEER_MODE_MIX;
	} else if (one->ifindex) {
		cfg->mode = SHUNT_STEER_MODE_BRIDGE;
		memcpy(cfg->mac2, one->mac, 6);
	} else {
		cfg->mode = SHUNT_STEER_MODE_XCONNECT;
	}
}

unsigned shunt_bridge_warn(const struct shunt_bridge *b, struct shunt_err *out, unsigned max)
{
	unsigned i, cnt = 0;

	for (i = 0; i < b->bridge_cnt && cnt < max; i++) {
		const struct shunt_engine *engine = b->engine;
		const char *name;

		if (b->bridges[i].ifindex || !b->bridges[i].members)
			continue;
		name = engine->ports[__builtin_ctzll(b->bridges[i].members)].name;
		shunt_err_set(
			&out[cnt++], ENOENT,
			"no kernel bridge lies beneath %s and the ports bridged with it: when "
			"shuntd ends, nothing bridges them; make one (ip link add br0 type "
			"bridge; ip link set %s master br0 ...) and run shuntd bridge br0",
			name, name);
	}
	return cnt;
}

/* --- made and unmade -------------------------------------------------------------------------- */

static int set_beneath(struct shunt_bridge *b, struct shunt_bridge_one *one,
		       const struct shunt_brlink *kernel, const struct shunt_group_config *group,
		       struct shunt_err *err)
{
	if (group->mode == SHUNT_FORWARD_MIX)
		return shunt_err_set(err, EINVAL,
				     "mode mix: %s is a port of the kernel's bridge %s, which "
				     "routes nothing that comes in there; ip link set %s nomaster",
				     b->engine->ports[group->port[0]].name, kernel->name,
				     b->engine->ports[group->port[0]].name);
	if (kernel->filters_vlans)
		return shunt_err_set(
			err, EOPNOTSUPP,
			"bridge %s filters VLANs, which shunt does not do yet; ip link "
			"set %s type bridge vlan_filtering 0",
			kernel->name, kernel->name);
	one->ifindex = kernel->ifindex;
	memcpy(one->mac, kernel->mac, 6);
	memcpy(one->name, kernel->name, sizeof(one->name));
	one->age_s = kernel->age_s;
	return 0;
}

/* All ports of the group are ports of one bridge of the kernel's, or none is. */
static int look_beneath(struct shunt_bridge *b, struct shunt_bridge_one *one,
			const struct shunt_brlinks *links, const struct shunt_group_config *group,
			struct shunt_err *err)
{
	const struct shunt_brlink *first = NULL;
	unsigned i;

	for (i = 0; i < group->port_cnt; i++) {
		const struct shunt_port *port = &b->engine->ports[group->port[i]];
		const struct shunt_brlink *link = shunt_brlinks_at(links, port->netdev.ifindex);
		const struct shunt_brlink *master =
			link ? shunt_brlinks_at(links, link->master) : NULL;

		first = i ? first : master;
		if (master != first)
			return shunt_err_set(err, EINVAL,
					     "%s belongs to %s and %s to %s, expected the ports of "
					     "one bridge or of none; see ip link set DEVICE master",
					     port->name, master ? master->name : "no bridge",
					     b->engine->ports[group->port[0]].name,
					     first ? first->name : "no bridge");
	}
	return first && first->is_bridge ? set_beneath(b, one, first, group, err) : 0;
}

static int add_groups(struct shunt_bridge *b, const struct shunt_brlinks *links,
		      struct shunt_err *err)
{
	const struct shunt_config *config = b->engine->config;
	unsigned i, k;
	int ret = 0;

	for (i = 0; i < config->group_cnt && !ret; i++) {
		const struct shunt_group_config *group = &config->groups[i];
		struct shunt_bridge_one *one = &b->bridges[b->bridge_cnt];

		if (group->mode == SHUNT_FORWARD_ROUTE)
			continue;
		if (b->bridge_cnt == SHUNT_BRIDGE_MAX)
			return shunt_err_set(err, E2BIG, "more than %d bridges", SHUNT_BRIDGE_MAX);
		for (k = 0; k < group->port_cnt; k++) {
			one->members |= 1ULL << group->port[k];
			b->bridge_of[group->port[k]] = (uint8_t)b->bridge_cnt;
		}
		ret = look_beneath(b, one, links, group, err);
		b->bridge_cnt++;
	}
	return ret;
}

/* Without a kernel's bridge, every port does all. */
static void open_ways(struct shunt_bridge *b)
{
	unsigned i;

	for (i = 0; i < b->bridge_cnt; i++)
		if (!b->bridges[i].ifindex)
			b->ways.forwarding |= b->bridges[i].members;
	b->ways.learning = b->ways.flooding = b->ways.forwarding;
}

static bool has_beneath(const struct shunt_bridge *b)
{
	unsigned i;

	for (i = 0; i < b->bridge_cnt; i++)
		if (b->bridges[i].ifindex)
			return true;
	return false;
}

static int open_kernel(struct shunt_bridge *b, struct shunt_err *err)
{
	char name[IFNAMSIZ];
	int ret = shunt_fdb_create(&b->fdb, &fdb_ops, b, err);

	if (ret || shunt_engine_routes(b->engine))
		return ret;
	shunt_puntdev_name(name);
	return shunt_puntdev_open(&b->puntdev, name, err);
}

static int watch(struct shunt_bridge *b, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(b->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int open_events(struct shunt_bridge *b, struct shunt_err *err)
{
	unsigned cnt = b->engine->config->worker_cnt;
	int ret = 0;

	b->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	b->learns = aligned_alloc(SHUNT_CACHELINE, cnt * sizeof(*b->learns));
	if (!b->learns || b->epoll_fd < 0)
		return shunt_err_set(err, ENOMEM, "bridge: not enough memory");
	for (; b->learn_cnt < cnt && !ret; b->learn_cnt++) {
		ret = shunt_learn_init(&b->learns[b->learn_cnt], err);
		if (!ret && watch(b, b->learns[b->learn_cnt].fd))
			ret = shunt_err_set(err, errno, "bridge: epoll_ctl: %s", strerror(errno));
	}
	if (!ret && b->fdb && watch(b, shunt_fdb_fd(b->fdb)))
		ret = shunt_err_set(err, errno, "bridge: epoll_ctl: %s", strerror(errno));
	return ret;
}

static int open_all(struct shunt_bridge *b, struct shunt_err *err)
{
	uint64_t seed = shunt_clock_ns(), now = seed;
	struct shunt_brlinks links;
	int ret = shunt_brlinks_query(&links, err);

	if (ret)
		return ret;
	ret = add_groups(b, &links, err);
	shunt_brlinks_fini(&links);
	open_ways(b);
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed = now;
	set_age(b);
	if (!ret)
		ret = shunt_bridge_open_table(b, seed, err);
	if (!ret && has_beneath(b))
		ret = open_kernel(b, err);
	return ret ? ret : open_events(b, err);
}

int shunt_bridge_create(struct shunt_bridge **out, const struct shunt_engine *engine,
			struct shunt_err *err)
{
	struct shunt_bridge *b = calloc(1, sizeof(*b));
	int ret;

	*out = NULL;
	if (!b)
		return shunt_err_set(err, ENOMEM, "bridge: not enough memory");
	b->engine = engine;
	b->epoll_fd = -1;
	ret = open_all(b, err);
	if (ret) {
		shunt_bridge_destroy(b);
		return ret;
	}
	*out = b;
	return 0;
}

void shunt_bridge_destroy(struct shunt_bridge *b)
{
	if (!b)
		return;
	while (b->learn_cnt)
		shunt_learn_fini(&b->learns[--b->learn_cnt]);
	if (b->epoll_fd >= 0)
		close(b->epoll_fd);
	free(b->learns);
	shunt_fdb_destroy(b->fdb);
	shunt_puntdev_close(b->puntdev);
	shunt_mac_destroy(b->macs);
	shunt_xdp_macs_close(b->shared);
	free(b);
}
