// SPDX-License-Identifier: BSD-2-Clause
#include "device/link_stats.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "device/link.h"

struct found {
	struct rtnl_link_stats64 *out;
	bool has_stats;
};

static int read_attr(const struct nlattr *attr, void *data)
{
	struct found *f = data;

	/* Kernels differ in how many counters they know: the others stay 0. */
	if (mnl_attr_get_type(attr) == IFLA_STATS64) {
		memcpy(f->out, mnl_attr_get_payload(attr),
		       SHUNT_MIN(sizeof(*f->out), (size_t)mnl_attr_get_payload_len(attr)));
		f->has_stats = true;
	}
	return MNL_CB_OK;
}

int shunt_link_stats(unsigned ifindex, struct rtnl_link_stats64 *out, struct shunt_err *err)
{
	struct found f = {.out = out};
	int ret;

	memset(out, 0, sizeof(*out));
	ret = shunt_link_ask(ifindex, read_attr, &f);
	if (!ret && !f.has_stats)
		ret = -ENODATA;
	if (ret)
		shunt_err_set(err, -ret, "device with index %u: RTM_GETLINK: %s", ifindex,
			      strerror(-ret));
	return ret;
}
