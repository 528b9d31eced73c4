// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "gen.h"

static const char usage[] =
	"Usage: shunt-gen send DEV [options]   send tagged frames\n"
	"       shunt-gen sink DEV [options]   count, time and drop them (native XDP)\n"
	"       shunt-gen run --tx [NS/]DEV --rx [NS/]DEV [options of both]\n"
	"                                      both ends; NS is a network namespace or its path\n"
	"\n"
	"send, what:\n"
	"  --size SIZES         frames without FCS, 60 to 1514 bytes: N; a list, with weights or\n"
	"                       without (60,590:4); a range (60-1514); imix (60, 590, 1514 as 7:4:1);\n"
	"                       imix-csit (60, 566, 1514 as 28:16:1), imix-csit4 (28:16:4).\n"
	"                       Default the shortest: 60, IPv6 80, TCP 72 and 92\n"
	"  --proto udp|tcp-syn  (default udp)\n"
	"  --ipv6               default addresses 2001:2:0:1::1 to 2001:2:0:2::1\n"
	"  --src-ip, --dst-ip A   (default 198.18.0.1 to 198.19.0.1); FIRST-LAST or ADDR/LEN counts\n"
	"                       through them flow by flow, random:RANGE picks one for each flow\n"
	"  --sport, --dport N   (default 1024, 9); FIRST-LAST and random:RANGE as above\n"
	"  --flows N            1 to 1048576 (default as many as the fields make); when no field\n"
	"                       varies, told apart by source port, beyond 16384 by source address\n"
	"  --flow-order count|random|zipf[:S]   which flow is next (default count; S 1)\n"
	"  --src-mac, --dst-mac MAC   (default the device's own; 02:00:00:00:01:01, the lab's dut)\n"
	"  --ttl N              TTL or hop limit (default 64)\n"
	"  --pcap FILE          the frames of a capture as they are, at its own pace or at --rate\n"
	"  --loop N             the capture N times (default once, or for --duration, --count)\n"
	"send, when:\n"
	"  --rate RATE          frames a second (20k, 1.5M), bits (2Gbit, with FCS), percent of the\n"
	"                       line (50%), or max (default)\n"
	"  --line BITS          the line's rate, where the device does not tell (10G)\n"
	"  --arrival constant|poisson|compound[:PSI,NU]   compound: batches of 1 to PSI frames by\n"
	"                       Zipf's law with exponent NU, as a Poisson process (default 20,0.701)\n"
	"  --seed N             for all that is random (default 1)\n"
	"  --duration SEC       (default 10 when there is no --count)\n"
	"  --count N            stop after N frames\n"
	"  --strict             exit 1 when the rate was missed by more than 1 %\n"
	"send, how:\n"
	"  --way xdp|xsk|packet XDP live frames; AF_XDP, which keeps the time best; AF_PACKET, which\n"
	"                       sleeps in between (default packet up to 2000 a second, xdp on a veth,\n"
	"                       else xsk; xsk with the next two)\n"
	"  --copy-mode auto|copy|zerocopy, --queue N   of xsk: the first thread's queue (default 0)\n"
	"  --checksum software|offload|auto   of xsk: who computes UDP's and TCP's (default software);\n"
	"                       offload is the driver, or with copies the kernel; auto the driver\n"
	"                       where it can\n"
	"  --threads N          each with an Nth of the rate, and a queue of its own (default 1)\n"
	"  --cpu N[,N...]       run there, thread by thread (default anywhere)\n"
	"  --no-stamp           no time stamps in the frames\n"
	"  --progress           a line a second on stderr (default on a terminal)\n"
	"\n"
	"sink:\n"
	"  --duration SEC       stop after so long (default: on SIGINT, SIGTERM, SIGHUP)\n"
	"  --count N            stop after N frames\n"
	"  --idle SEC           stop when no frame came for so long after the first\n"
	"  --interval SEC       report so often (default 1; 0: only the total)\n"
	"  --drop               drop the other frames too, instead of passing them to the kernel\n"
	"  --count-only         count, and look at nothing else: for the highest rates. After it:\n"
	"  --order, --latency, --gaps, --verify   look at these again: loss and order, time on the\n"
	"                       way, time between frames, damage\n"
	"  --histogram          draw latency and gaps in characters\n"
	"  --plot FILE          have gnuplot draw them, FILE.svg or FILE.png\n"
	"  --generic            on devices without native XDP\n"
	"  --cpu N              where the reporting runs (run: --rx-cpu)\n"
	"\n"
	"all:\n"
	"  -j, --json           one JSON object at the end\n"
	"  -h, --help   -V, --version\n"
	"\n"
	"Exit status: 0 done, 1 failed or not confirmed, 2 usage.\n";

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
