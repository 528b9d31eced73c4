// SPDX-License-Identifier: BSD-2-Clause
#include "engine/follower.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "bridge/bridge.h"
#include "engine/state.h"
#include "firewall/firewall.h"
#include "lane/judged.h"
#include "router/router.h"

/* Between two beats. The sum with SHUNT_STEER_STALE_NS and a tick of the watch stays below 200 ms.
 * Less would wake an idle machine more often. */
#define BEAT_MS	       20

/* It is silent when it gave no sign of life for SILENT, and did not after it was suspected. */
#define SILENT_MIN_NS  SHUNT_NS_PER_SEC
#define SUSPECT_MIN_NS (SHUNT_NS_PER_SEC / 2)

/* What it follows, and what ends it: each a bit of what is ready. */
enum source { ROUTER, BRIDGE, FIREWALL, STOP, SOURCES };

struct shunt_follower {
	struct shunt_engine *engine;
	pthread_t thread;
	bool is_running;
	int epoll_fd, stop_fd, news_fd;
	int router_fd;	    /* the one that is watched; the mirror may get another */
	unsigned *followed; /* [ports.cnt]: what the port goes by, a bit each; 0: nothing */
	uint64_t current_ns[SOURCES]; /* until when it has followed that source */
	uint64_t tick_ns;	      /* when the next look at what no message tells of is due */
	uint64_t turn_ns; /* of the latest turn; read by control, which orders nothing by it */
	struct shunt_follower_news news; /* with the guard */
	/* control's */
	uint64_t suspected_turn_ns, suspected_ns;
};

/* --- descriptors ------------------------------------------------------------------------------ */

static int watch(const struct shunt_follower *f, int fd, enum source source)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = source};

	return fd < 0 || !epoll_ctl(f->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? 0 : -errno;
}

/* The old one left the set when it was closed. */
static void watch_router(struct shunt_follower *f)
{
	const int fd = f->engine->router ? shunt_router_fd(f->engine->router) : -1;

	if (fd != f->router_fd && !watch(f, fd, ROUTER))
		f->router_fd = fd;
}

/* Which sources have something, a bit each. */
static unsigned look(const struct shunt_follower *f, int timeout_ms)
{
	struct epoll_event events[SOURCES];
	const int cnt = epoll_wait(f->epoll_fd, events, SOURCES, timeout_ms);
	unsigned ready = 0;
	int i;

	for (i = 0; i < cnt; i++)
		ready |= 1u << events[i].data.u32;
	return ready;
}

static void wake_control(const struct shunt_follower *f)
{
	const uint64_t one = 1;

	if (write(f->news_fd, &one, sizeof(one)) < 0)
		return; /* the counter is at its limit: it is being woken already */
}

/* --- a turn ----------------------------------------------------------------------------------- */

/* Asks without the guard: that takes longer than control may wait. */
static void follow_firewall(struct shunt_follower *f, unsigned ready)
{
	struct shunt_engine *engine = f->engine;
	const unsigned parts = ready >> FIREWALL & 1 ? shunt_firewall_take(engine->firewall) : 0;

	if (!parts)
		return;
	shunt_firewall_ask(engine->firewall, SHUNT_FIREWALL_FOLLOWS, parts);
	shunt_guard_enter(engine->ports.guard);
	shunt_lanes_forget_flows(&engine->lanes);
	if (shunt_firewall_put(engine->firewall, SHUNT_FIREWALL_FOLLOWS)) {
		shunt_lanes_bar_judged(&engine->lanes);
		f->news.are_lanes_due = true;
	}
	shunt_guard_leave(engine->ports.guard);
}

static void note_error(struct shunt_follower *f, int ret, const struct shunt_err *err)
{
	if (ret >= 0)
		return;
	f->news.error = ret;
	f->news.err = *err;
}

static void follow_router(struct shunt_follower *f, unsigned ready, uint64_t now_ns)
{
	struct shunt_router *router = f->engine->router;
	bool was_following, is_idle;
	uint64_t foreign, diverted, spaced;
	struct shunt_err err;

	if (!router)
		return;
	was_following = router->is_following;
	foreign = router->foreign;
	diverted = router->diverted;
	spaced = router->spaced;
	is_idle = !(ready >> ROUTER & 1) && shunt_router_timeout_ms(router) != 0;
	if (!is_idle)
		note_error(f, shunt_router_service(router, &err), &err);
	watch_router(f);
	f->current_ns[ROUTER] = shunt_router_current_ns(router, now_ns, is_idle);
	f->news.are_addrs_new |= shunt_router_take_addrs_new(router);
	f->news.are_lanes_due |= router->is_following != was_following ||
				 router->foreign != foreign || router->diverted != diverted ||
				 router->spaced != spaced;
}

static void follow_bridge(struct shunt_follower *f, unsigned ready, uint64_t now_ns)
{
	struct shunt_bridge *bridge = f->engine->bridge;
	bool is_idle;

	if (!bridge)
		return;
	is_idle = !(ready >> BRIDGE & 1) && !shunt_bridge_is_behind(bridge);
	if (!is_idle)
		shunt_bridge_service(bridge);
	f->current_ns[BRIDGE] = shunt_bridge_current_ns(bridge, now_ns, is_idle);
	f->news.are_tells = shunt_bridge_has_tells(bridge);
}

static void tick(struct shunt_follower *f, uint64_t now_ns)
{
	struct shunt_engine *engine = f->engine;
	struct shunt_err err;

	if (now_ns < f->tick_ns)
		return;
	f->tick_ns = now_ns + SHUNT_NS_PER_SEC;
	if (engine->bridge)
		shunt_bridge_tick(engine->bridge);
	if (engine->router)
		note_error(f, shunt_router_tick(engine->router, &err), &err);
	watch_router(f);
}

/* The least of what the port goes by. */
static uint64_t current_of(const struct shunt_follower *f, unsigned followed)
{
	uint64_t current_ns = UINT64_MAX;
	unsigned i;

	for (i = 0; i < SOURCES; i++)
		if (followed >> i & 1)
			current_ns = SHUNT_MIN(current_ns, f->current_ns[i]);
	return current_ns;
}

static void beat(const struct shunt_follower *f)
{
	const struct shunt_ports *ports = &f->engine->ports;
	unsigned i;

	for (i = 0; i < ports->cnt; i++)
		if (f->followed[i])
			shunt_xdp_beat(ports->at[i].xdp, current_of(f, f->followed[i]));
}

/* The time is read before it is asked what is there: whatever stops the thread in between, no later
 * time than that is claimed. */
static unsigned turn(struct shunt_follower *f)
{
	const uint64_t now_ns = shunt_clock_ns();
	const unsigned ready = look(f, 0);
	bool are_news;

	follow_firewall(f, ready);
	f->current_ns[FIREWALL] = now_ns;
	shunt_guard_enter(f->engine->ports.guard);
	follow_router(f, ready, now_ns);
	follow_bridge(f, ready, now_ns);
	tick(f, now_ns);
	are_news = f->news.are_addrs_new || f->news.are_lanes_due || f->news.are_tells ||
		   f->news.error;
	shunt_guard_leave(f->engine->ports.guard);
	beat(f);
	__atomic_store_n(&f->turn_ns, shunt_clock_ns(), __ATOMIC_RELAXED);
	if (are_news)
		wake_control(f);
	return ready;
}

static int timeout_ms(const struct shunt_follower *f)
{
	const struct shunt_engine *engine = f->engine;
	const int router_ms = engine->router ? shunt_router_timeout_ms(engine->router) : -1;

	if (engine->bridge && engine->bridge->is_behind)
		return 0;
	return router_ms < 0 ? BEAT_MS : SHUNT_MIN(router_ms, BEAT_MS);
}

static void *run(void *arg)
{
	struct shunt_follower *f = arg;
	unsigned ready = 0;

	prctl(PR_SET_NAME, "shunt-follow");
	while (!(ready >> STOP & 1)) {
		ready = turn(f);
		if (!(ready >> STOP & 1))
			look(f, timeout_ms(f));
	}
	return NULL;
}

/* --- life ------------------------------------------------------------------------------------- */

static void note_followed(struct shunt_follower *f)
{
	const struct shunt_engine *engine = f->engine;
	unsigned i, followed;

	for (i = 0; i < engine->ports.cnt; i++) {
		if (!engine->ports.at[i].xdp)
			continue;
		/* An external program's may be that of a daemon before. */
		shunt_xdp_beat(engine->ports.at[i].xdp, 0);
		if (!shunt_lanes_follows(&engine->lanes, i))
			continue;
		followed = engine->firewall ? 1u << FIREWALL : 0;
		if (shunt_ports_routes(&engine->ports, i))
			followed |= 1u << ROUTER;
		if (engine->bridge && shunt_bridge_is_over(engine->bridge, i))
			followed |= 1u << BRIDGE;
		f->followed[i] = followed;
	}
}

static int open_fds(struct shunt_follower *f)
{
	const struct shunt_engine *engine = f->engine;
	int ret;

	f->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	f->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->epoll_fd < 0 || f->stop_fd < 0 || f->news_fd < 0)
		return -errno;
	watch_router(f);
	ret = watch(f, f->stop_fd, STOP);
	if (!ret && engine->bridge)
		ret = watch(f, shunt_bridge_fd(engine->bridge), BRIDGE);
	if (!ret && engine->firewall)
		ret = watch(f, shunt_firewall_fd(engine->firewall), FIREWALL);
	return ret;
}

int shunt_follower_create(struct shunt_follower **out, struct shunt_engine *engine,
			  struct shunt_err *err)
{
	struct shunt_follower *f = calloc(1, sizeof(*f));
	int ret = -ENOMEM;

	*out = NULL;
	if (!f)
		return shunt_err_set(err, ENOMEM, "follower: not enough memory");
	f->engine = engine;
	f->epoll_fd = f->stop_fd = f->news_fd = f->router_fd = -1;
	f->followed = calloc(engine->ports.cnt, sizeof(*f->followed));
	if (f->followed)
		ret = open_fds(f);
	if (ret) {
		shunt_follower_destroy(f);
		return shunt_err_set(err, -ret, "follower: no descriptors or memory for it: %s",
				     strerror(-ret));
	}
	note_followed(f);
	*out = f;
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void shunt_follower_destroy(struct shunt_follower *f)
{
	if (!f)
		return;
	close_fd(f->epoll_fd);
	close_fd(f->stop_fd);
	close_fd(f->news_fd);
	free(f->followed);
	free(f);
}

int shunt_follower_start(struct shunt_follower *f, struct shunt_err *err)
{
	unsigned i;
	int ret;

	/* The tables are loaded. What the kernel has told since lies in the sockets, for the first
	 * turn: a thread that never comes to it is as stale as one that stopped later. */
	f->turn_ns = shunt_clock_ns();
	for (i = 0; i < SOURCES; i++)
		f->current_ns[i] = f->turn_ns;
	beat(f);
	ret = pthread_create(&f->thread, NULL, run, f);
	if (ret)
		return shunt_err_set(err, ret, "follower: pthread_create: %s", strerror(ret));
	f->is_running = true;
	return 0;
}

int shunt_follower_stop(struct shunt_follower *f, unsigned limit_ms)
{
	const uint64_t until_ns = shunt_clock_ns() + limit_ms * 1000000ULL, one = 1;
	const struct timespec until = {.tv_sec = (time_t)(until_ns / SHUNT_NS_PER_SEC),
				       .tv_nsec = (long)(until_ns % SHUNT_NS_PER_SEC)};

	if (!f || !f->is_running)
		return 0;
	if (write(f->stop_fd, &one, sizeof(one)) < 0 ||
	    pthread_clockjoin_np(f->thread, NULL, CLOCK_MONOTONIC, &until))
		return -ETIMEDOUT;
	f->is_running = false;
	return 0;
}

/* --- for control ------------------------------------------------------------------------------ */

int shunt_follower_fd(const struct shunt_follower *f)
{
	return f->news_fd;
}

void shunt_follower_take(struct shunt_follower *f, struct shunt_follower_news *out)
{
	uint64_t drained;

	*out = (struct shunt_follower_news){.error = 0};
	if (read(f->news_fd, &drained, sizeof(drained)) < 0 ||
	    !shunt_guard_try(f->engine->ports.guard))
		return;
	*out = f->news;
	f->news = (struct shunt_follower_news){.error = 0};
	shunt_guard_leave(f->engine->ports.guard);
}

uint64_t shunt_follower_silent_ns(struct shunt_follower *f)
{
	const uint64_t turn_ns = __atomic_load_n(&f->turn_ns, __ATOMIC_RELAXED);
	const uint64_t now_ns = shunt_clock_ns();

	if (!f->is_running || now_ns <= turn_ns ||
	    now_ns - turn_ns <= SILENT_MIN_NS * f->engine->config->patience)
		return 0;
	if (turn_ns != f->suspected_turn_ns) {
		f->suspected_turn_ns = turn_ns;
		f->suspected_ns = now_ns;
	}
	return now_ns - f->suspected_ns < SUSPECT_MIN_NS ? 0 : now_ns - turn_ns;
}
