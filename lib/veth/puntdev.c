// SPDX-License-Identifier: BSD-2-Clause
/* The device: the veth pair and its program. The queue is in puntdev_queue.c. */
#include "veth/puntdev.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "veth/puntdev_private.h"
#include "veth/veth.h"
#include "shunt_punt.skel.h"

#define PREFIX	    "shunt-p"
#define PEER_PREFIX "shunt-q"
/* Above every port's MTU: nothing but shunt sends on the device. */
#define MTU	    65535

static void peer_name(const char *name, char *peer)
{
	snprintf(peer, IFNAMSIZ, PEER_PREFIX "%.8s", name + strlen(PREFIX));
}

void shunt_puntdev_name(char *name)
{
	snprintf(name, IFNAMSIZ, PREFIX "%d", getpid());
}

bool shunt_puntdev_is_name(const char *name)
{
	return !strncmp(name, PREFIX, strlen(PREFIX)) ||
	       !strncmp(name, PEER_PREFIX, strlen(PEER_PREFIX));
}

/* clsact goes with the device, so there is nothing to detach. */
static int attach(const struct shunt_puntdev *dev, struct shunt_err *err)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = dev->ifindex, .attach_point = BPF_TC_EGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .priority = 1);
	struct shunt_punt *skel = shunt_punt__open_and_load();
	int ret;

	if (!skel)
		return shunt_err_set(err, errno, "%s: the kernel refused the punt program: %s",
				     dev->name, strerror(errno));
	opts.prog_fd = bpf_program__fd(skel->progs.shunt_punt);
	ret = bpf_tc_hook_create(&hook);
	if (!ret)
		ret = bpf_tc_attach(&hook, &opts);
	shunt_punt__destroy(skel); /* the hook holds the program */
	if (ret)
		return shunt_err_set(err, -ret, "%s: cannot attach the punt program by tc: %s%s",
				     dev->name, strerror(-ret),
				     ret == -ENOENT || ret == -EOPNOTSUPP
					     ? "; the kernel needs CONFIG_NET_CLS_ACT and "
					       "CONFIG_NET_CLS_BPF"
					     : "");
	return 0;
}

int shunt_puntdev_open(struct shunt_puntdev **out, const char *name, struct shunt_err *err)
{
	struct shunt_puntdev *dev = calloc(1, sizeof(*dev));
	char peer[IFNAMSIZ];
	int ret;

	if (!dev)
		return shunt_err_set(err, ENOMEM, "%s: not enough memory", name);
	snprintf(dev->name, sizeof(dev->name), "%s", name);
	peer_name(name, peer);
	ret = shunt_veth_create(name, peer, MTU, 1, err);
	dev->ifindex = ret;
	if (ret > 0)
		ret = attach(dev, err);
	if (!ret) {
		*out = dev;
		return 0;
	}
	if (dev->ifindex > 0)
		shunt_veth_delete(name, NULL);
	free(dev);
	return ret;
}

void shunt_puntdev_close(struct shunt_puntdev *dev)
{
	if (!dev)
		return;
	shunt_veth_delete(dev->name, NULL);
	free(dev);
}

int shunt_puntdev_clean(const char *name, struct shunt_err *err)
{
	int ret;

	if (strncmp(name, PREFIX, strlen(PREFIX)))
		return 0;
	ret = shunt_veth_delete(name, err);
	return ret == -ENODEV ? 0 : ret ? ret : 1;
}
