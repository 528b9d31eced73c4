// SPDX-License-Identifier: BSD-2-Clause
#include "xdp/flow_count.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/bytes.h"
#include "xdp/private.h"

#define LIMIT_UNKNOWN (1u << 18)

struct shunt_xdp_flow_counts {
	int fd;
	unsigned cpu_cnt;
	struct shunt_count *by_cpu; /* as the kernel copies them */
};

unsigned shunt_xdp_flow_limit(unsigned max)
{
	FILE *file = fopen("/proc/sys/net/netfilter/nf_conntrack_max", "re");
	unsigned cnt;

	if (!file || fscanf(file, "%u", &cnt) != 1 || !cnt)
		cnt = LIMIT_UNKNOWN;
	if (file)
		fclose(file);
	return SHUNT_MIN(cnt, max);
}

int shunt_xdp_flow_counts_create(struct shunt_xdp_flow_counts **out, unsigned cnt,
				 struct shunt_err *err)
{
	const int cpu_cnt = libbpf_num_possible_cpus();
	struct shunt_xdp_flow_counts *counts = calloc(1, sizeof(*counts));
	int ret;

	*out = NULL;
	if (!counts || cpu_cnt < 1)
		goto no_memory;
	counts->cpu_cnt = (unsigned)cpu_cnt;
	counts->by_cpu = calloc(counts->cpu_cnt, sizeof(*counts->by_cpu));
	if (!counts->by_cpu)
		goto no_memory;
	counts->fd = bpf_map_create(BPF_MAP_TYPE_LRU_PERCPU_HASH, "shunt_flow_cnt",
				    sizeof(struct shunt_flow_key), sizeof(struct shunt_count), cnt,
				    NULL);
	if (counts->fd >= 0) {
		*out = counts;
		return 0;
	}
	ret = shunt_err_set(err, errno,
			    "flow_counts: the kernel gives no table of %u connections: %s; leave "
			    "flow_counts out, or lower net.netfilter.nf_conntrack_max",
			    cnt / 2, strerror(errno));
	free(counts->by_cpu);
	free(counts);
	return ret;
no_memory:
	free(counts);
	return shunt_err_set(err, ENOMEM, "flow_counts: not enough memory");
}

void shunt_xdp_flow_counts_destroy(struct shunt_xdp_flow_counts *counts)
{
	if (!counts)
		return;
	close(counts->fd);
	free(counts->by_cpu);
	free(counts);
}

int shunt_xdp_flow_counts_share(const struct shunt_xdp_flow_counts *counts, struct bpf_object *obj)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, "shunt_flow_cnt");

	return map && counts ? bpf_map__reuse_fd(map, counts->fd) : 0;
}

struct shunt_count shunt_xdp_flow_counts_read(const struct shunt_xdp_flow_counts *counts,
					      const struct shunt_flow_key *key)
{
	struct shunt_count all = {0};
	unsigned i;

	if (bpf_map_lookup_elem(counts->fd, key, counts->by_cpu))
		return all;
	for (i = 0; i < counts->cpu_cnt; i++) {
		all.packets += counts->by_cpu[i].packets;
		all.bytes += counts->by_cpu[i].bytes;
	}
	return all;
}
