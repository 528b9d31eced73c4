// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "gen.h"

static const char usage[] =
	"Usage: shunt-gen send DEV [OPTIONS]   send tagged frames\n"
	"       shunt-gen sink DEV [OPTIONS]   count, time and drop them\n"
	"       shunt-gen run --tx [NS/]DEV --rx [NS/]DEV [OPTIONS of both]\n"
	"                                      do both; NS is a network namespace or its path\n"
	"\n"
	"Defaults are in parentheses. RANGE is FIRST-LAST, for addresses also ADDRESS/LENGTH.\n"
	"\n"
	"send, frames:\n"
	"  --size SIZES          bytes without FCS, 60 to 1514: N, a list with or without weights\n"
	"                        (60,590:4), a range (60-1514), imix (60, 590, 1514 as 7:4:1),\n"
	"                        imix-csit (60, 566, 1514 as 28:16:1), imix-csit4 (28:16:4)\n"
	"                        (the shortest: 60; UDP over IPv6 80; TCP 72, over IPv6 92)\n"
	"  --proto udp|tcp-syn   (udp)\n"
	"  --ipv6                IPv6 instead of IPv4\n"
	"  --src-ip ADDRESS      an address, a RANGE counted through flow by flow, or random:RANGE\n"
	"                        (198.18.0.1; IPv6 2001:2:0:1::1)\n"
	"  --dst-ip ADDRESS      the same (198.19.0.1; IPv6 2001:2:0:2::1)\n"
	"  --sport PORT          a port, a RANGE or random:RANGE (1024)\n"
	"  --dport PORT          the same (9)\n"
	"  --src-mac MAC         (the device's own)\n"
	"  --dst-mac MAC         (02:00:00:00:01:01, the lab's dut)\n"
	"  --ttl N               TTL or hop limit (64)\n"
	"  --pcap FILE           the frames of a capture instead, unchanged\n"
	"  --loop N              send the capture N times (once)\n"
	"send, flows:\n"
	"  --flows N             1 to 1048576 (the longest range; with random: 1048576)\n"
	"  --flow-order count|random|zipf[:S]   which flow is next (count; S 1)\n"
	"  --seed N              of all that is random (1)\n"
	"send, times:\n"
	"  --rate RATE           frames a second (20k, 1.5M), bits a second with FCS (2Gbit),\n"
	"                        per cent of the line (50%), or max (max)\n"
	"  --line BITS           bits a second of the line, where the device does not tell (10G)\n"
	"  --arrival constant|burst:FRAMES|poisson|compound[:PSI,NU]\n"
	"                        burst: so many at once; compound: a Poisson process of batches of\n"
	"                        1 to PSI frames, by Zipf's law with exponent NU (constant; 20,0.701)\n"
	"  --duration SEC        stop after SEC seconds (10, unless --count is given)\n"
	"  --count N             stop after N frames\n"
	"  --strict              exit with 1 if the rate was missed by more than 1 %\n"
	"send, how:\n"
	"  --way xdp|xsk|packet  xdp: fastest on a veth; xsk: AF_XDP, exact times; packet: AF_PACKET,\n"
	"                        sleeps between frames (up to 2000 a second packet; on a veth xdp;\n"
	"                        else xsk)\n"
	"  --copy-mode auto|copy|zerocopy         xsk: (auto)\n"
	"  --checksum software|offload|auto       xsk: what computes checksums of UDP and TCP:\n"
	"                        shunt-gen; the driver or the kernel; the driver if it can (software)\n"
	"  --queue N             xsk: queue of the first thread (0)\n"
	"  --threads N           threads, each with a part of the rate (1)\n"
	"  --cpu N[,N...]        CPU of each thread (any)\n"
	"  --no-stamp            no time stamps in the frames\n"
	"  --progress            a line a second on stderr (on a terminal)\n"
	"\n"
	"sink:\n"
	"  --count-only          count, and measure nothing else: for the highest rates; the next four\n"
	"                        options behind it switch on again:\n"
	"  --order               loss, order and duplicates\n"
	"  --latency             time on the way\n"
	"  --gaps                time between frames\n"
	"  --verify              damage\n"
	"  --duration SEC        stop after SEC seconds (on SIGINT, SIGTERM, SIGHUP)\n"
	"  --count N             stop after N frames\n"
	"  --idle SEC            stop after SEC seconds without a frame, once one came\n"
	"  --interval SEC        seconds between two reports, 0: only the total (1)\n"
	"  --drop                drop other frames too, instead of passing them to the kernel\n"
	"  --histogram           draw latency and gaps in characters\n"
	"  --plot FILE           draw them by gnuplot: FILE.svg or FILE.png\n"
	"  --generic             for devices without native XDP\n"
	"  --cpu N               CPU of the reporting; in run: --rx-cpu (any)\n"
	"\n"
	"all:\n"
	"  -j, --json            one JSON object at the end\n"
	"  -V, --version; -h, --help\n"
	"\n"
	"Examples:\n"
	"  shunt-gen send eth1 --rate 100k --dst-mac 02:00:00:00:02:02\n"
	"  shunt-gen run --tx shunt-default-gen/eth1 --rx shunt-default-sink/eth1 --rate 50% --line 10G\n"
	"\n"
	"Exit status: 0 done, 1 failed or not confirmed, 2 wrong usage. See shunt-gen(1).\n";

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
	if (rc < 0)
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
	opts.progress |= isatty(STDERR_FILENO);
	return finish(gen_send(&opts, opts.json ? stdout : NULL, &err), &err);
}

static int run_sink(int argc, char **argv)
{
	struct gen_sink_opts opts;
	struct shunt_err err;
	int rc = gen_parse_sink(&opts, argc, argv, &err);

	if (rc)
		return rc < 0 ? bad_usage(&err) : help();
	return finish(gen_sink(&opts, opts.json ? stdout : NULL, &err), &err);
}

static int run_both(int argc, char **argv)
{
	struct gen_run_opts opts;
	struct shunt_err err;
	int rc = gen_parse_run(&opts, argc, argv, &err);

	if (rc)
		return rc < 0 ? bad_usage(&err) : help();
	opts.send.progress |= isatty(STDERR_FILENO);
	return finish(gen_run(&opts, &err), &err);
}

/* What the disk or the pipe did not take is not a result. */
static int check_written(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fputs("shunt-gen: standard output cannot be written: the result is lost\n", stderr);
	return status ? status : 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int, char **);
	} commands[] = {{"send", run_send}, {"tx", run_send},  {"sink", run_sink},
			{"rx", run_sink},   {"run", run_both}, {}};
	struct shunt_err err;

	libbpf_set_print(quiet);
	for (unsigned i = 0; argc >= 2 && commands[i].name; i++)
		if (!strcmp(argv[1], commands[i].name))
			return check_written(commands[i].run(argc - 1, argv + 1));
	if (argc >= 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")))
		return help();
	if (argc >= 2 && (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version"))) {
		puts("shunt-gen " SHUNT_VERSION);
		return 0;
	}
	shunt_err_set(&err, 0,
		      argc < 2 ? "a command is wanted: send, sink or run"
			       : "'%s' is none of send, sink, run",
		      argc < 2 ? "" : argv[1]);
	return bad_usage(&err);
}
