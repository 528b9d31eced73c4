// SPDX-License-Identifier: BSD-2-Clause
/* shunt-devmap DEV1 DEV2: forwards between two devices by a bare XDP redirect until SIGINT or
 * SIGTERM. A baseline for measurements, not a forwarder: the hosts behind the devices no longer
 * reach this one. The programs hang on BPF links and are gone when the process is. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shunt_devmap.skel.h"

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* Frames of `from` leave by `to`. */
static struct bpf_link *redirect(const char *from, const char *to)
{
	struct shunt_devmap *skel = shunt_devmap__open_and_load();
	unsigned to_index = if_nametoindex(to), slot = 0;
	struct bpf_link *link;

	if (!skel ||
	    bpf_map_update_elem(bpf_map__fd(skel->maps.shunt_other), &slot, &to_index, 0)) {
		fprintf(stderr, "shunt-devmap: %s: cannot load the program: %s\n", from,
			strerror(errno));
		return NULL;
	}
	link = bpf_program__attach_xdp(skel->progs.shunt_devmap, (int)if_nametoindex(from));
	if (!link)
		fprintf(stderr, "shunt-devmap: %s: cannot attach the program: %s\n", from,
			strerror(errno));
	return link;
}

int main(int argc, char **argv)
{
	struct bpf_link *links[2];
	sigset_t set;
	int sig;

	if (argc != 3 || !if_nametoindex(argv[1]) || !if_nametoindex(argv[2])) {
		fprintf(stderr, "usage: shunt-devmap DEV1 DEV2 (both must exist)\n");
		return 2;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	libbpf_set_print(quiet);
	links[0] = redirect(argv[1], argv[2]);
	links[1] = links[0] ? redirect(argv[2], argv[1]) : NULL;
	if (!links[1])
		return EXIT_FAILURE;
	printf("redirecting between %s and %s\n", argv[1], argv[2]);
	fflush(stdout);
	sigwait(&set, &sig);
	bpf_link__destroy(links[0]);
	bpf_link__destroy(links[1]);
	return EXIT_SUCCESS;
}
