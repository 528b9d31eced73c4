// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "xdp/private.h"

#define MAPS_MAX 24
#define SLOTS_SZ (sizeof(struct shunt_steer_slot) * SHUNT_STEER_QUEUES_MAX)

void shunt_xdp_maps_init(struct shunt_xdp *x)
{
	x->xsks_fd = x->ports_fd = x->flood_fd = x->macs_fd = x->tables_fd = -1;
	x->local4_fd = x->local6_fd = x->slots_fd = x->ctl_fd = -1;
	x->ctl = NULL;
	x->slots = NULL;
	x->is_counted = false;
	x->rule_counts = NULL;
	pthread_mutex_init(&x->open_lock, NULL);
}

static void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void shunt_xdp_maps_close(struct shunt_xdp *x)
{
	if (x->ctl)
		munmap(x->ctl, sizeof(*x->ctl));
	if (x->slots)
		munmap(x->slots, SLOTS_SZ);
	x->ctl = NULL;
	x->slots = NULL;
	shunt_xdp_rules_unmap(x);
	fd_close(&x->xsks_fd);
	fd_close(&x->ports_fd);
	fd_close(&x->flood_fd);
	fd_close(&x->macs_fd);
	fd_close(&x->tables_fd);
	fd_close(&x->local4_fd);
	fd_close(&x->local6_fd);
	fd_close(&x->slots_fd);
	fd_close(&x->ctl_fd);
}

/* The map outlives its descriptor while it is mapped. */
static int global_map(int fd, const struct bpf_map_info *info, size_t size, void **out)
{
	void *at;

	if (info->type != BPF_MAP_TYPE_ARRAY || info->value_size != size ||
	    !(info->map_flags & BPF_F_MMAPABLE))
		return -EPROTO;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	*out = at;
	return 0;
}

static int map_take(struct shunt_xdp *x, int fd, const struct bpf_map_info *info)
{
	const struct {
		const char *name;
		enum bpf_map_type type;
		unsigned key_size, value_size, max_entries;
		int *fd;
	} plain[] = {
		{"shunt_xsks", BPF_MAP_TYPE_XSKMAP, 4, 4, SHUNT_STEER_SOCKETS_MAX, &x->xsks_fd},
		{"shunt_ports", BPF_MAP_TYPE_DEVMAP, 4, 4, SHUNT_STEER_PORTS_MAX, &x->ports_fd},
		{"shunt_ports_sg", BPF_MAP_TYPE_DEVMAP, 4, 4, SHUNT_STEER_PORTS_MAX, &x->ports_fd},
		{"shunt_flood", BPF_MAP_TYPE_DEVMAP, 4, 4, SHUNT_STEER_PORTS_MAX, &x->flood_fd},
		{"shunt_flood_sg", BPF_MAP_TYPE_DEVMAP, 4, 4, SHUNT_STEER_PORTS_MAX, &x->flood_fd},
		{"shunt_macs", BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, 1, &x->macs_fd},
		{"shunt_tables", BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, SHUNT_TABLES_CHUNKS_MAX,
		 &x->tables_fd},
		{"shunt_local4", BPF_MAP_TYPE_HASH, 4, 1, 2 * SHUNT_STEER_LOCALS_MAX,
		 &x->local4_fd},
		{"shunt_local6", BPF_MAP_TYPE_HASH, 16, 1, 2 * SHUNT_STEER_LOCALS_MAX,
		 &x->local6_fd},
	};
	int rc = 0;

	if (strcmp(info->name, ".data.shunt_cfg") == 0) {
		rc = global_map(fd, info, sizeof(*x->ctl), (void **)&x->ctl);
		if (!rc && x->ctl_fd < 0) { /* for the program that watches the daemon */
			x->ctl_fd = fd;
			return 0;
		}
	} else if (strcmp(info->name, ".data.shunt_cnt") == 0) {
		rc = global_map(fd, info, SLOTS_SZ, (void **)&x->slots);
		if (!rc && x->slots_fd < 0) { /* for the watch */
			x->slots_fd = fd;
			return 0;
		}
	} else if (strcmp(info->name, "shunt_rule_cnt") == 0) {
		rc = shunt_xdp_rules_map(x, fd, info);
	} else {
		for (size_t i = 0; i < SHUNT_ARRAY_LEN(plain); i++) {
			if (strcmp(info->name, plain[i].name) == 0 && info->type == plain[i].type &&
			    info->key_size == plain[i].key_size &&
			    info->value_size == plain[i].value_size &&
			    info->max_entries == plain[i].max_entries && *plain[i].fd < 0) {
				*plain[i].fd = fd;
				return 0;
			}
		}
	}
	close(fd);
	return rc;
}

/* x owns the descriptor from here on. */
static int fd_take(struct shunt_xdp *x, int fd)
{
	struct bpf_map_info map = {0};
	uint32_t len = sizeof(map);
	int rc;

	if (fd < 0)
		return -errno;
	if (!bpf_obj_get_info_by_fd(fd, &map, &len))
		return map_take(x, fd, &map);
	rc = -errno;
	close(fd);
	return rc;
}

static bool has_all(const struct shunt_xdp *x)
{
	return x->ctl && x->slots && x->xsks_fd >= 0 && x->ports_fd >= 0 && x->flood_fd >= 0 &&
	       x->macs_fd >= 0 && x->tables_fd >= 0 && x->local4_fd >= 0 && x->local6_fd >= 0 &&
	       (x->rule_counts || !x->is_counted);
}

static int maps_find(struct shunt_xdp *x, int prog_fd)
{
	uint32_t ids[MAPS_MAX] = {0};
	struct bpf_prog_info prog = {.nr_map_ids = MAPS_MAX, .map_ids = (uintptr_t)ids};
	uint32_t len = sizeof(prog);
	int rc = 0;

	if (bpf_obj_get_info_by_fd(prog_fd, &prog, &len))
		return -errno;
	for (unsigned i = 0; i < prog.nr_map_ids && i < MAPS_MAX && !rc; i++)
		rc = fd_take(x, bpf_map_get_fd_by_id(ids[i]));
	return rc || has_all(x) ? rc : -EPROTO;
}

static int maps_dup(struct shunt_xdp *x, const struct bpf_object *obj)
{
	struct bpf_map *map;
	int rc = 0;

	bpf_object__for_each_map (map, obj) {
		if (!rc && bpf_map__fd(map) >= 0)
			rc = fd_take(x, fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 3));
	}
	return rc;
}

int shunt_xdp_maps_take(struct shunt_xdp *x, const struct bpf_object *obj, struct shunt_err *err)
{
	int rc = maps_dup(x, obj);

	if (!rc)
		return 0;
	shunt_xdp_maps_close(x);
	return shunt_err_set(err, -rc, "%s: cannot reach the steering program's maps: %s",
			     x->ifname, strerror(-rc));
}

int shunt_xdp_maps_open(struct shunt_xdp *x, int prog_fd, struct shunt_err *err)
{
	int rc = maps_find(x, prog_fd);

	if (!rc)
		return 0;
	shunt_xdp_maps_close(x);
	if (rc == -EPROTO)
		return shunt_err_set(err, EPROTO,
				     "%s: the steering program on the device has other maps than "
				     "this version of shunt; attach this version's "
				     "shunt_steer.bpf.o",
				     x->ifname);
	return shunt_err_set(err, -rc, "%s: cannot reach the steering program's maps: %s",
			     x->ifname, strerror(-rc));
}

/* ---- configuration -------------------------------------------------------------------------- */

void shunt_xdp_quiesce(void)
{
	/* Longer than one poll of a NAPI (64 frames). For kernels (nohz_full) and seccomp filters
	 * that refuse the call. */
	const struct timespec poll_and_more = {.tv_nsec = 2 * 1000 * 1000};

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		nanosleep(&poll_and_more, NULL);
}

void shunt_xdp_live_set(struct shunt_steer_ctl *ctl, uint32_t live, uint64_t quick)
{
	__atomic_store_n(&ctl->live, live, __ATOMIC_RELEASE);
	__atomic_store_n(&ctl->quick, quick, __ATOMIC_RELEASE);
}

/* Of a port that is left to the kernel, rules that lead elsewhere say what its lane says. */
static void weaken_rules(struct shunt_steer_half *half)
{
	const unsigned cnt = half->rule_cnt & (SHUNT_STEER_RULES_COUNTED - 1);
	unsigned i;

	for (i = 0; i < cnt; i++)
		if (half->rules[i].lane == SHUNT_LANE_USER || half->rules[i].lane == SHUNT_LANE_XDP)
			half->rules[i].lane = SHUNT_STEER_RULE_AUTO;
}

/* Puts the shadow into the half that is not in force, then makes that half live. The store of
 * `live` pairs with the program's one load of it. */
void shunt_xdp_publish(struct shunt_xdp *x)
{
	if (x->has_published)
		shunt_xdp_quiesce();
	x->half ^= 1;
	x->ctl->half[x->half] = x->shadow;
	if (x->rule_counts && x->shadow.rule_cnt)
		x->ctl->half[x->half].rule_cnt |= SHUNT_STEER_RULES_COUNTED;
	if (x->is_left)
		weaken_rules(&x->ctl->half[x->half]);
	x->has_published = true;
	shunt_xdp_set_open(x, x->is_open);
}

/* With the lock. */
static void follow_open(const struct shunt_xdp *x)
{
	const bool is_open = x->is_open && !x->is_barred;

	shunt_xdp_live_set(x->ctl,
			   is_open ? SHUNT_STEER_LIVE_HALF(x->half) : SHUNT_STEER_LIVE_CLOSED,
			   is_open ? shunt_steer_quick_of(&x->shadow, x->half) : 0);
}

void shunt_xdp_set_open(struct shunt_xdp *x, bool is_open)
{
	if (!x->is_configured)
		return;
	pthread_mutex_lock(&x->open_lock);
	x->is_open = is_open;
	follow_open(x);
	pthread_mutex_unlock(&x->open_lock);
}

bool shunt_xdp_bar(struct shunt_xdp *x, bool is_barred)
{
	bool was_barred;

	pthread_mutex_lock(&x->open_lock);
	was_barred = x->is_barred;
	x->is_barred = is_barred;
	if (is_barred != was_barred && x->is_open)
		follow_open(x);
	pthread_mutex_unlock(&x->open_lock);
	return was_barred;
}

void shunt_xdp_cross(struct shunt_xdp *x)
{
	const bool crosses = x->is_configured && x->is_open && !x->is_barred;

	if (crosses)
		x->ctl->handover_until_ns = shunt_clock_ns() + SHUNT_STEER_HANDOVER_NS;
	shunt_xdp_live_set(x->ctl,
			   crosses ? SHUNT_STEER_LIVE_HANDOVER(x->half) : SHUNT_STEER_LIVE_OFF, 0);
}

int shunt_xdp_set_config(struct shunt_xdp *x, const struct shunt_steer_cfg *cfg,
			 struct shunt_err *err)
{
	uint64_t mac_and_two = 0, mac2_and_two = 0;

	if (cfg->mode >= SHUNT_STEER_MODE_CNT)
		return shunt_err_set(err, EINVAL, "%s: steering mode %u does not exist", x->ifname,
				     cfg->mode);
	memcpy(&mac_and_two, cfg->mac, sizeof(cfg->mac));
	x->shadow.mode = cfg->mode;
	memcpy(&mac2_and_two, cfg->mac2, sizeof(cfg->mac2));
	x->shadow.mac_word = shunt_steer_mac_word(mac_and_two);
	x->shadow.mac2_word = shunt_steer_mac_word(mac2_and_two);
	x->shadow.len_max = cfg->len_max;
	x->shadow.lane = cfg->lane;
	x->shadow.out_port = cfg->out_port;
	x->shadow.in_port = cfg->bridge ? cfg->in_port : cfg->hop_mtu;
	x->shadow.bridge = cfg->bridge;
	x->shadow.switches = cfg->switches;
	x->is_left = cfg->is_left;
	x->ctl->crosses = cfg->crosses;
	x->ctl->restores = cfg->restores;
	x->shadow.user_below = cfg->user_below;
	x->shadow.xdp_below = cfg->xdp_below;
	memcpy(&x->shadow.hop, cfg->hop, 8);
	memcpy(&x->shadow.hop_rest, cfg->hop + 8, 4);
	x->ctl->finishes = cfg->finishes;
	shunt_xdp_sample_ask(x);
	x->is_configured = true;
	pthread_mutex_lock(&x->open_lock);
	x->is_open = true;
	pthread_mutex_unlock(&x->open_lock);
	shunt_xdp_publish(x);
	return 0;
}

/* ---- the other ports ------------------------------------------------------------------------ */

static int slot_set(int fd, uint32_t slot, unsigned ifindex)
{
	if (!ifindex)
		return bpf_map_delete_elem(fd, &slot) && errno != ENOENT ? -errno : 0;
	return bpf_map_update_elem(fd, &slot, &ifindex, BPF_ANY) ? -errno : 0;
}

int shunt_xdp_set_port(struct shunt_xdp *x, uint32_t slot, unsigned ifindex)
{
	return slot_set(x->ports_fd, slot, ifindex);
}

int shunt_xdp_set_flood(struct shunt_xdp *x, uint32_t slot, unsigned ifindex)
{
	return slot_set(x->flood_fd, slot, ifindex);
}

/* ---- read ----------------------------------------------------------------------------------- */

int shunt_xdp_xsks_fd(const struct shunt_xdp *x)
{
	return x->xsks_fd;
}

struct shunt_steer_gate *shunt_xdp_gate(const struct shunt_xdp *x, unsigned queue)
{
	return &x->slots[SHUNT_MIN(queue, SHUNT_STEER_QUEUES_MAX - 1u)].gate;
}

void shunt_xdp_beat(const struct shunt_xdp *x, uint64_t current_ns)
{
	__atomic_store_n(&x->slots[0].gate.keeper_ns, current_ns, __ATOMIC_RELAXED);
}

int shunt_xdp_read_counters(const struct shunt_xdp *x, unsigned queue,
			    struct shunt_steer_counters *out)
{
	const struct shunt_steer_counters *c =
		&x->slots[SHUNT_MIN(queue, SHUNT_STEER_QUEUES_MAX - 1u)].counters;
	const uint64_t *from = (const uint64_t *)c;
	uint64_t *to = (uint64_t *)out;

	for (size_t i = 0; i < sizeof(*c) / sizeof(*from); i++)
		to[i] = shunt_counter_read(&from[i]);
	return 0;
}

void shunt_xdp_sample_ask(struct shunt_xdp *x)
{
	const struct shunt_steer_sample asked = {
		.due = SHUNT_STEER_SAMPLES,
		.csum_due = x->ctl->finishes ? SHUNT_STEER_CSUM_LOOKS : 0,
	};

	for (unsigned i = 0; i < SHUNT_STEER_QUEUES_MAX; i++)
		__atomic_store_n(&x->slots[i].sample.looks, asked.looks, __ATOMIC_RELAXED);
}

const struct shunt_steer_sample *shunt_xdp_sample(const struct shunt_xdp *x, unsigned queue)
{
	return &x->slots[SHUNT_MIN(queue, SHUNT_STEER_QUEUES_MAX - 1u)].sample;
}
