// SPDX-License-Identifier: BSD-2-Clause
#include "xdp/macs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "xdp/private.h"

/* Whole pages: maps are mapped so. */
static size_t map_len(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t len = SHUNT_STEER_MAC_ELEMENTS * sizeof(struct shunt_steer_mac_bucket);

	return (len + page - 1) / page * page;
}

static int open_map(struct shunt_xdp_macs *macs, struct shunt_err *err)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	void *mem;

	macs->fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "shunt_mac_table", sizeof(uint32_t),
				  sizeof(struct shunt_steer_mac_bucket), SHUNT_STEER_MAC_ELEMENTS,
				  &opts);
	if (macs->fd < 0)
		return shunt_err_set(err, -macs->fd,
				     "MAC table: the kernel creates no map for it: %s",
				     strerror(-macs->fd));
	mem = mmap(NULL, map_len(), PROT_READ | PROT_WRITE, MAP_SHARED, macs->fd, 0);
	if (mem == MAP_FAILED)
		return shunt_err_set(err, errno, "MAC table: cannot map its memory: %s",
				     strerror(errno));
	macs->buckets = mem;
	macs->bridge = (void *)&macs->buckets[SHUNT_STEER_MAC_BUCKETS];
	macs->vlans = (void *)&macs->buckets[SHUNT_STEER_PVIDS_ELEMENT];
	return 0;
}

int shunt_xdp_macs_open(struct shunt_xdp_macs **out, struct shunt_err *err)
{
	struct shunt_xdp_macs *macs = calloc(1, sizeof(*macs));
	int ret;

	if (!macs)
		return shunt_err_set(err, ENOMEM, "MAC table: not enough memory");
	ret = open_map(macs, err);
	if (ret) {
		shunt_xdp_macs_close(macs);
		return ret;
	}
	*out = macs;
	return 0;
}

void shunt_xdp_macs_close(struct shunt_xdp_macs *macs)
{
	if (!macs)
		return;
	if (macs->buckets)
		munmap(macs->buckets, map_len());
	if (macs->fd >= 0)
		close(macs->fd);
	free(macs);
}

/* A program that is not there yet remembers nothing. */
void shunt_xdp_forget_stations(struct shunt_xdp *x)
{
	if (x->ctl)
		__atomic_fetch_add(&x->ctl->station_epoch, 1, __ATOMIC_RELEASE);
}

int shunt_xdp_set_macs(struct shunt_xdp *x, const struct shunt_xdp_macs *macs,
		       struct shunt_err *err)
{
	uint32_t zero = 0;

	if (!bpf_map_update_elem(x->macs_fd, &zero, &macs->fd, BPF_ANY))
		return 0;
	return shunt_err_set(err, errno, "%s: cannot give lane xdp the MAC table: %s", x->ifname,
			     strerror(errno));
}
