// SPDX-License-Identifier: BSD-2-Clause
#include "firewall/manager.h"

#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/limits.h"
#include "firewall/above.h"
#include "firewall/own_table.h"

/* Between two transactions: where rules change all the time, connections are approved so long. */
#define REST_MS 20

/* What the table has to be; compared whole, so it is zeroed before it is filled. */
struct order {
	unsigned version; /* with another it is made anew, though all else is the same */
	unsigned cnt;	  /* 0: no table */
	int ifindexes[SHUNT_PORT_MAX];
};

struct shunt_manager {
	struct shunt_own_table *table; /* of the thread that obeys */
	int ifindexes[SHUNT_PORT_MAX];
	unsigned cnt;
	int wake_fd;
	pthread_t thread;
	bool is_running;
	pthread_mutex_t lock; /* held for some microseconds; over all that follows */
	bool is_ending;
	struct order order, done;
	uint64_t legacy;	      /* judges.legacy of the order */
	struct shunt_err why_refused; /* "": it is not */
	struct shunt_err why_failed;  /* the latest transaction; "": it did not */
	unsigned wait_cnt;	      /* orders since then */
	uint64_t change_cnt;
};

/* --- orders ----------------------------------------------------------------------------------- */

/* Ports that a flowtable of the host's own has are its. */
static void order_ports(const struct shunt_manager *manager, const struct shunt_judges *judges,
			struct order *out)
{
	unsigned i;

	for (i = 0; i < manager->cnt; i++)
		if (!shunt_firewall_has(judges->flowtables, judges->flowtable_cnt,
					manager->ifindexes[i]))
			out->ifindexes[out->cnt++] = manager->ifindexes[i];
}

static void print_refusal(const struct shunt_judge *judge, struct shunt_err *out)
{
	char what[sizeof(judge->what) + 40];

	*out = (struct shunt_err){""};
	if (!judge)
		return;
	shunt_judge_print(judge, what, sizeof(what));
	shunt_err_set(
		out, 0,
		"%s would be passed by: it stands behind the chains of hook forward, or judges "
		"connections that a flowtable has",
		what);
}

/* A transaction that failed is tried again after 1, 2, 4 ... 64 orders, which come every second,
 * and then after 64 each: where a module is missing the kernel starts modprobe(8) for each. */
static bool is_time_to_retry(struct shunt_manager *manager)
{
	if (!*manager->why_failed.msg)
		return false;
	manager->wait_cnt++;
	return manager->wait_cnt % 64 == 0 ||
	       (manager->wait_cnt < 64 && !(manager->wait_cnt & (manager->wait_cnt - 1)));
}

void shunt_manager_order(struct shunt_manager *manager, const struct shunt_judges *judges,
			 bool is_changed)
{
	const struct shunt_judge *against;
	const uint64_t one = 1;
	struct order order = {0};
	bool is_new;

	pthread_mutex_lock(&manager->lock);
	order.version = manager->order.version;
	if (is_time_to_retry(manager) || is_changed || judges->legacy != manager->legacy)
		order.version++;
	manager->legacy = judges->legacy;
	if (shunt_judges_want_table(judges, &against))
		order_ports(manager, judges, &order);
	print_refusal(against, &manager->why_refused);
	if (!order.cnt) {
		manager->why_failed = (struct shunt_err){""};
		manager->wait_cnt = 0;
	}
	is_new = memcmp(&order, &manager->order, sizeof(order)) != 0;
	manager->order = order;
	pthread_mutex_unlock(&manager->lock);
	if (is_new && write(manager->wake_fd, &one, sizeof(one)) < 0)
		return; /* the counter is at its limit: it is being woken already */
}

/* --- obeyed ----------------------------------------------------------------------------------- */

/* A device that is gone is left out: it has no frames. */
static unsigned name_ports(const struct order *order, char (*names)[IF_NAMESIZE],
			   struct shunt_own_table_port *out)
{
	unsigned i, cnt = 0;

	for (i = 0; i < order->cnt; i++)
		if (if_indextoname((unsigned)order->ifindexes[i], names[cnt])) {
			out[cnt] = (struct shunt_own_table_port){order->ifindexes[i], names[cnt]};
			cnt++;
		}
	return cnt;
}

static int carry_out(struct shunt_own_table *table, const struct order *order,
		     struct shunt_err *err)
{
	struct shunt_own_table_port ports[SHUNT_PORT_MAX];
	char names[SHUNT_PORT_MAX][IF_NAMESIZE];
	const unsigned cnt = name_ports(order, names, ports);

	return cnt ? shunt_own_table_put(table, ports, cnt, err)
		   : shunt_own_table_remove(table, err);
}

bool shunt_manager_obey(struct shunt_manager *manager)
{
	struct shunt_err err = {""};
	struct order order;
	bool is_due;
	int ret;

	pthread_mutex_lock(&manager->lock);
	order = manager->order;
	is_due = order.cnt != manager->done.cnt ||
		 (order.cnt && memcmp(&order, &manager->done, sizeof(order)));
	pthread_mutex_unlock(&manager->lock);
	if (!is_due)
		return false;
	ret = carry_out(manager->table, &order, &err);
	pthread_mutex_lock(&manager->lock);
	manager->why_failed = err;
	if (!ret) {
		manager->done = order;
		manager->change_cnt++;
		manager->wait_cnt = 0;
	}
	pthread_mutex_unlock(&manager->lock);
	return !ret;
}

static bool is_ending(struct shunt_manager *manager)
{
	bool is;

	pthread_mutex_lock(&manager->lock);
	is = manager->is_ending;
	pthread_mutex_unlock(&manager->lock);
	return is;
}

static void *run(void *arg)
{
	const struct timespec rest = {.tv_nsec = REST_MS * 1000000L};
	struct shunt_manager *manager = arg;
	uint64_t drained;

	prctl(PR_SET_NAME, "shunt-manage");
	while (!is_ending(manager)) {
		if (shunt_manager_obey(manager))
			nanosleep(&rest, NULL);
		else if (read(manager->wake_fd, &drained, sizeof(drained)) < 0 && errno != EINTR)
			break;
	}
	return NULL;
}

/* --- how it stands ---------------------------------------------------------------------------- */

/* With the lock. A port of the table that an order leaves out is out at once. */
static bool has(const struct shunt_manager *manager, int ifindex)
{
	return shunt_firewall_has(manager->done.ifindexes, manager->done.cnt, ifindex) &&
	       shunt_firewall_has(manager->order.ifindexes, manager->order.cnt, ifindex);
}

void shunt_manager_add(struct shunt_manager *manager, struct shunt_judges *judges)
{
	unsigned i;

	pthread_mutex_lock(&manager->lock);
	for (i = 0; i < manager->cnt; i++)
		if (has(manager, manager->ifindexes[i]))
			shunt_judges_add_flowtable(judges, manager->ifindexes[i]);
	pthread_mutex_unlock(&manager->lock);
}

static enum shunt_managed_state state_of(const struct shunt_manager *manager)
{
	if (*manager->why_refused.msg)
		return SHUNT_MANAGED_refused;
	if (*manager->why_failed.msg)
		return SHUNT_MANAGED_failed;
	if (!manager->order.cnt)
		return SHUNT_MANAGED_needless;
	return manager->done.cnt ? SHUNT_MANAGED_active : SHUNT_MANAGED_pending;
}

void shunt_manager_tell(struct shunt_manager *manager, struct shunt_managed *out)
{
	pthread_mutex_lock(&manager->lock);
	*out = (struct shunt_managed){.state = state_of(manager),
				      .change_cnt = manager->change_cnt,
				      .why = *manager->why_refused.msg ? manager->why_refused
								       : manager->why_failed};
	pthread_mutex_unlock(&manager->lock);
}

/* --- life ------------------------------------------------------------------------------------- */

int shunt_manager_create(struct shunt_manager **out, const int *ifindexes, unsigned cnt,
			 struct shunt_err *err)
{
	struct shunt_manager *manager = calloc(1, sizeof(*manager));
	unsigned i;
	int ret;

	*out = NULL;
	if (!manager)
		return shunt_err_set(err, ENOMEM, "own table: not enough memory");
	pthread_mutex_init(&manager->lock, NULL);
	for (i = 0; i < cnt && manager->cnt < SHUNT_PORT_MAX; i++)
		if (!shunt_firewall_has(manager->ifindexes, manager->cnt, ifindexes[i]))
			manager->ifindexes[manager->cnt++] = ifindexes[i];
	manager->wake_fd = eventfd(0, EFD_CLOEXEC);
	ret = manager->wake_fd < 0
		      ? shunt_err_set(err, errno, "own table: eventfd: %s", strerror(errno))
		      : shunt_own_table_open(&manager->table, err);
	if (ret) {
		shunt_manager_destroy(manager);
		return ret;
	}
	*out = manager;
	return 0;
}

void shunt_manager_destroy(struct shunt_manager *manager)
{
	if (!manager)
		return;
	shunt_own_table_close(manager->table);
	if (manager->wake_fd >= 0)
		close(manager->wake_fd);
	pthread_mutex_destroy(&manager->lock);
	free(manager);
}

int shunt_manager_start(struct shunt_manager *manager, struct shunt_err *err)
{
	const int ret = pthread_create(&manager->thread, NULL, run, manager);

	if (ret)
		return shunt_err_set(err, ret, "own table: pthread_create: %s", strerror(ret));
	manager->is_running = true;
	return 0;
}

int shunt_manager_stop(struct shunt_manager *manager, unsigned limit_ms)
{
	const uint64_t until_ns = shunt_clock_ns() + limit_ms * 1000000ULL, one = 1;
	const struct timespec until = {.tv_sec = (time_t)(until_ns / SHUNT_NS_PER_SEC),
				       .tv_nsec = (long)(until_ns % SHUNT_NS_PER_SEC)};

	if (!manager || !manager->is_running)
		return 0;
	pthread_mutex_lock(&manager->lock);
	manager->is_ending = true;
	pthread_mutex_unlock(&manager->lock);
	if (write(manager->wake_fd, &one, sizeof(one)) < 0 ||
	    pthread_clockjoin_np(manager->thread, NULL, CLOCK_MONOTONIC, &until))
		return -ETIMEDOUT;
	manager->is_running = false;
	return 0;
}
