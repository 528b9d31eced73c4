// SPDX-License-Identifier: BSD-2-Clause
/* shunt-devmap DEV1 DEV2 [look|fib]: forwards between two devices by a bare XDP redirect, with look
 * after a look at the destination address, or routes between them by bpf_fib_lookup, until SIGINT
 * or SIGTERM. A baseline for measurements, not a forwarder: the hosts behind the devices no longer
 * reach this one. The programs hang on BPF links and are gone when the process is. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shunt_devmap.skel.h"
#include "tools/shunt_fibfwd.skel.h"

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* Frames of `from` leave by `to`. */
static struct bpf_link *redirect(const char *from, const char *to, bool looks)
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
	link = bpf_program__attach_xdp(looks ? skel->progs.shunt_devmap_look
					     : skel->progs.shunt_devmap,
				       (int)if_nametoindex(from));
	if (!link)
		fprintf(stderr, "shunt-devmap: %s: cannot attach the program: %s\n", from,
			strerror(errno));
	return link;
}

static struct bpf_link *bare(const char *from, const char *to)
{
	return redirect(from, to, false);
}

static struct bpf_link *look(const char *from, const char *to)
{
	return redirect(from, to, true);
}

/* Packets of `from` leave by whichever of the two the kernel's routes say. */
static struct bpf_link *route(const char *from, const char *to)
{
	struct shunt_fibfwd *skel = shunt_fibfwd__open_and_load();
	unsigned index[] = {if_nametoindex(from), if_nametoindex(to)};
	struct bpf_link *link;

	for (unsigned i = 0; i < 2; i++) {
		if (skel && !bpf_map_update_elem(bpf_map__fd(skel->maps.shunt_fib_ports), &index[i],
						 &index[i], 0))
			continue;
		fprintf(stderr, "shunt-devmap: %s: cannot load the program: %s\n", from,
			strerror(errno));
		return NULL;
	}
	link = bpf_program__attach_xdp(skel->progs.shunt_fibfwd, (int)index[0]);
	if (!link)
		fprintf(stderr, "shunt-devmap: %s: cannot attach the program: %s\n", from,
			strerror(errno));
	return link;
}

int main(int argc, char **argv)
{
	struct bpf_link *(*forward)(const char *, const char *) = bare;
	struct bpf_link *links[2];
	sigset_t set;
	int sig;

	if (argc == 4 && !strcmp(argv[3], "fib"))
		forward = route;
	else if (argc == 4 && !strcmp(argv[3], "look"))
		forward = look;
	else if (argc != 3)
		argc = 0;
	if (!argc || !if_nametoindex(argv[1]) || !if_nametoindex(argv[2])) {
		fprintf(stderr, "usage: shunt-devmap DEV1 DEV2 [look|fib] (both must exist)\n");
		return 2;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	libbpf_set_print(quiet);
	links[0] = forward(argv[1], argv[2]);
	links[1] = links[0] ? forward(argv[2], argv[1]) : NULL;
	if (!links[1])
		return EXIT_FAILURE;
	printf("redirecting between %s and %s\n", argv[1], argv[2]);
	fflush(stdout);
	sigwait(&set, &sig);
	bpf_link__destroy(links[0]);
	bpf_link__destroy(links[1]);
	return EXIT_SUCCESS;
}
