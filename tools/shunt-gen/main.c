// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "gen.h"

static const char usage[] =
	"Usage: shunt-gen send DEV [options]   send tagged UDP frames\n"
	"       shunt-gen sink DEV [options]   count and drop them (native XDP)\n"
	"\n"
	"send:\n"
	"  --rate PPS|max       frames a second, also 20k, 1.5M (default max)\n"
	"  --size BYTES         Ethernet frame without FCS, 60 to 1514 (default 60; IPv6 from 80)\n"
	"  --flows N            in turn, told apart by source port, beyond 16384 by source address\n"
	"                       too; 1 to 1048576 (default 1)\n"
	"  --duration SEC       (default 10 when there is no --count)\n"
	"  --count N            stop after N frames\n"
	"  --src-mac, --dst-mac MAC   (default the device's own; 02:00:00:00:01:01, the lab's dut)\n"
	"  --src-ip, --dst-ip ADDR    (default 198.18.0.1 to 198.19.0.1)\n"
	"  --ipv6               default addresses 2001:2:0:1::1 to 2001:2:0:2::1\n"
	"  --sport, --dport N   source port of the first flow, at most 49152 (default 1024);\n"
	"                       destination port (default 9)\n"
	"  --ttl N              TTL or hop limit (default 64)\n"
	"  --way xdp|packet     how to send: XDP live frames, which takes a whole CPU, or AF_PACKET\n"
	"                       (default packet up to 2000 a second, else xdp)\n"
	"  --cpu N              run there (default anywhere)\n"
	"\n"
	"sink:\n"
	"  --duration SEC       stop after so long (default: on SIGINT, SIGTERM, SIGHUP)\n"
	"  --count N            stop after N frames\n"
	"  --idle SEC           stop when no frame came for so long after the first\n"
	"  --interval SEC       report so often (default 1; 0: only the total)\n"
	"  --drop               drop the other frames too, instead of passing them to the kernel\n"
	"  --gaps               measure the longest time between two frames (costs a clock a frame)\n"
	"  --verify             check the IP and UDP checksum of every frame\n"
	"  --generic            on devices without native XDP\n"
	"  --cpu N              where the reporting runs\n"
	"\n"
	"both:\n"
	"  -j, --json           one JSON object at the end\n"
	"  -h, --help   -V, --version\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage.\n";

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level, (void)fmt, (void)ap;
	return 0;
}

static int bad_usage(const struct shunt_err *err)
{
	fprintf(stderr, "shunt-gen: %s; see `shunt-gen --help`\n", err->msg);
	return 2;
}

static int help(void)
{
	fputs(usage, stdout);
	return 0;
}

static int finish(int rc, const struct shunt_err *err)
{
	if (rc)
		fprintf(stderr, "shunt-gen: %s\n", err->msg);
	return rc ? 1 : 0;
}

static int run_send(int argc, char **argv)
{
	struct gen_send_opts opts;
	struct shunt_err err;
	int rc = gen_parse_send(&opts, argc, argv, &err);

	if (rc)
		return rc < 0 ? bad_usage(&err) : help();
	return finish(gen_send(&opts, &err), &err);
}

static int run_sink(int argc, char **argv)
{
	struct gen_sink_opts opts;
	struct shunt_err err;
	int rc = gen_parse_sink(&opts, argc, argv, &err);

	if (rc)
		return rc < 0 ? bad_usage(&err) : help();
	return finish(gen_sink(&opts, &err), &err);
}

int main(int argc, char **argv)
{
	struct shunt_err err;

	libbpf_set_print(quiet);
	if (argc >= 2 && !strcmp(argv[1], "send"))
		return run_send(argc - 1, argv + 1);
	if (argc >= 2 && !strcmp(argv[1], "sink"))
		return run_sink(argc - 1, argv + 1);
	if (argc >= 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")))
		return help();
	if (argc >= 2 && (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version"))) {
		puts("shunt-gen " SHUNT_VERSION);
		return 0;
	}
	shunt_err_set(&err, 0, argc < 2 ? "send or sink?" : "'%s' is neither send nor sink",
		      argc < 2 ? "" : argv[1]);
	return bad_usage(&err);
}
