// SPDX-License-Identifier: BSD-2-Clause
/* Starts the watch (bpf/shunt_watch.bpf.c) beside a steering program. */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "device/ethtool.h"
#include "xdp/btf.h"
#include "xdp/private.h"
#include "shunt_watch.skel.h"

/* As many as the device can have queues: `ethtool -L` makes others than there are now. All slots
 * where the driver does not tell. */
static uint32_t slots_of(const char *ifname)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t max = 0;

	if (fd >= 0 && !shunt_ethtool(fd, ifname, &channels))
		max = channels.max_rx + channels.max_combined;
	if (fd >= 0)
		close(fd);
	return max && max < SHUNT_STEER_QUEUES_MAX ? max : SHUNT_STEER_QUEUES_MAX;
}

/* The watch uses the steering program's map of the slots, not its own. */
static int load(struct bpf_object *obj, int slots_fd, const struct shunt_steer_watch *opts)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, ".data.shunt_cnt");
	struct bpf_map *constants = bpf_object__find_map_by_name(obj, ".rodata");
	int rc;

	if (!map || !constants)
		return -ENOENT;
	rc = bpf_map__reuse_fd(map, slots_fd);
	if (!rc)
		rc = bpf_map__set_initial_value(constants, opts, sizeof(*opts));
	return rc ? rc : bpf_object__load(obj);
}

static int start_timer(const struct bpf_object *obj)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, "shunt_watch");
	char frame[ETH_HLEN] = {0}; /* a test run wants one */
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = sizeof(frame),
		    .repeat = 1);
	int rc = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);

	if (rc)
		return rc;
	return opts.retval ? -EIO : 0;
}

int shunt_xdp_watch_start(struct shunt_xdp *x)
{
	struct shunt_xdp_btf btf;
	DECLARE_LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "shunt_watch",
			    .btf_custom_path = shunt_xdp_btf_open(&btf));
	const struct shunt_steer_watch watch = {slots_of(x->ifname), x->patience};
	const void *elf;
	size_t len;
	int rc;

	elf = shunt_watch__elf_bytes(&len);
	x->watch = bpf_object__open_mem(elf, len, &opts);
	rc = x->watch ? load(x->watch, x->slots_fd, &watch) : -errno;
	shunt_xdp_btf_close(&btf);
	if (!rc)
		rc = start_timer(x->watch);
	if (rc)
		shunt_xdp_watch_stop(x);
	return rc;
}

void shunt_xdp_watch_worker(const struct shunt_xdp *x, unsigned first, unsigned step)
{
	struct __sk_buff skb = {.mark = first, .priority = step};
	char frame[ETH_HLEN] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = sizeof(frame),
		    .ctx_in = &skb, .ctx_size_in = sizeof(skb), .repeat = 1);

	/* A kernel that refuses: then the age of the beat is all that the watch knows. */
	if (x->watch)
		bpf_prog_test_run_opts(bpf_program__fd(bpf_object__find_program_by_name(
					       x->watch, "shunt_watch_worker")),
				       &opts);
}

void shunt_xdp_watch_stop(struct shunt_xdp *x)
{
	/* The timer ends with the last descriptor of its map. */
	bpf_object__close(x->watch);
	x->watch = NULL;
}
