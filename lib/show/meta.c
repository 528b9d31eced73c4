// SPDX-License-Identifier: BSD-2-Clause
/* A port's packet metadata: what the driver has, and what is in use. */
#include "show/show.h"
#include "base/json.h"
#include "graph/meta.h"

/* The sums over a port's queues. */
struct sums {
#define X(name, help) uint64_t name;
	SHUNT_META_COUNTERS(X)
#undef X
	uint64_t flows;
	struct shunt_hist latency;
};

static void add(struct sums *s, const struct shunt_meta *m)
{
	unsigned i;

#define X(name, help) s->name += shunt_counter_read(&m->name);
	SHUNT_META_COUNTERS(X)
#undef X
	s->flows += m->flow_cnt;
	for (i = 0; i < SHUNT_HIST_BUCKETS; i++)
		s->latency.bucket[i] += shunt_counter_read(&m->latency.bucket[i]);
}

/* What most packets had. */
static void set_source(json_t *row, bool driver_has, uint64_t of_driver, uint64_t other,
		       const char *other_name)
{
	json_object_set_new(row, "driver", json_boolean(driver_has));
	set_text(row, "in_use",
		 !(of_driver + other) ? NULL
		 : of_driver >= other ? "driver"
				      : other_name);
	set_u64(row, "driver_packets", of_driver);
	set_u64(row, "other_packets", other);
}

static json_t *latency_json(const struct shunt_hist *hist)
{
	json_t *row = json_object();

	set_u64(row, "count", shunt_hist_count(hist));
	set_u64(row, "p50", shunt_hist_quantile(hist, 0.5));
	set_u64(row, "p99", shunt_hist_quantile(hist, 0.99));
	set_u64(row, "p999", shunt_hist_quantile(hist, 0.999));
	return row;
}

json_t *shunt_show_metadata(const struct shunt_port *port)
{
	json_t *all = json_object(), *hash = json_object(), *time = json_object();
	const struct shunt_netdev_xdp *x = &port->offers;
	const char *why = NULL;
	struct sums s = {0};
	bool is_on = port->xdp && shunt_xdp_has_meta(port->xdp, &why);
	unsigned q;

	for (q = 0; q < port->queue_cnt; q++)
		if (port->queues[q]->meta)
			add(&s, port->queues[q]->meta);
	set_source(hash, x->rx_metadata & SHUNT_NETDEV_XDP_MD_rx_hash, s.hash_driver,
		   s.hash_software, "software");
	set_source(time, x->rx_metadata & SHUNT_NETDEV_XDP_MD_rx_timestamp, s.time_device,
		   s.time_program, "program");
	json_object_set_new(all, "in_use", json_boolean(is_on));
	json_object_set_new(all, "rx_hash", hash);
	json_object_set_new(all, "rx_timestamp", time);
	/* checksums change by what a hop changes; none is computed whole */
	json_object_set_new(all, "tx_checksum",
			    json_pack("{s:b, s:s}", "driver",
				      !!(x->xsk_features & SHUNT_NETDEV_XSK_tx_checksum), "in_use",
				      "software"));
	set_u64(all, "missing", s.missing);
	json_object_set_new(all, "flows", is_on ? json_integer((json_int_t)s.flows) : json_null());
	json_object_set_new(all, "latency_ns", is_on ? latency_json(&s.latency) : json_null());
	return all;
}
