// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../user/shuntd/args.h"
#include "../../user/shuntd/args_option.h"
#include "base/bytes.h"

#define WORD_MAX 32

/* Splits a line at blanks; "_" stands for a blank inside a word. */
static int parse(const char *line, struct shuntd_args *args, struct shunt_err *err)
{
	char buf[256], *words[WORD_MAX] = {"shuntd"}, *rest = buf, *p;
	int cnt = 1;

	snprintf(buf, sizeof(buf), "%s", line);
	while (*line && (p = strsep(&rest, " ")) && cnt < WORD_MAX - 1)
		words[cnt++] = p;
	for (p = buf; p < buf + sizeof(buf); p++)
		if (*p == '_' && p > buf && p[-1] != 't') /* not that of next_hop */
			*p = ' ';
	words[cnt] = NULL;
	return shuntd_args_parse(cnt, words, args, err);
}

static const struct {
	const char *line, *sentence;
} bad[] = {
	{"", "no ports are given, expected shuntd xconnect PORT PORT or shuntd -c FILE, see shuntd "
	     "--help"},
	{"hub a b",
	 "the first word is 'hub', expected xconnect, macrewrite, static3, route, bridge or mix"},
	{"xconnect", "xconnect has 0 ports, expected pairs of two"},
	{"xconnect a", "xconnect has 1 ports, expected pairs of two"},
	{"xconnect a b c", "xconnect has 3 ports, expected pairs of two"},
	{"xconnect a a", "port a is named twice, expected once"},
	{"xconnect a b --batch", "option --batch needs a value, see shuntd --help"},
	{"xconnect a b -b", "option -b needs a value, see shuntd --help"},
	{"xconnect a b --frob", "unknown option --frob, see shuntd --help"},
	{"xconnect a b -x", "unknown option -x, see shuntd --help"},
	{"xconnect a b -b 0", "batch is 0, expected 1 to 256"},
	{"xconnect a b -b 257", "batch is 257, expected 1 to 256"},
	{"xconnect a b -b 6x", "--batch is '6x', expected a whole number"},
	{"xconnect a b -b -1", "--batch is '-1', expected a whole number"},
	{"xconnect a b -b 010", "--batch is '010', expected a whole number"},
	{"xconnect a b --lane sky", "--lane is 'sky', expected auto, user, xdp or kernel"},
	{"xconnect a b -q 257", "port a: queues is 257, expected 1 to 256, or 0 for all"},
	{"xconnect a,spread=2 b", "port a: spread is '2', expected true or false"},
	{"xconnect a,kind=x b", "port a: kind is 'x', expected xsk, mem or pcap"},
	{"xconnect a,name=c b",
	 "port a has an unknown key 'name', expected one of kind, next_hop or "
	 "those of its kind, see shuntd.yaml(5)"},
	{"xconnect a b -p fast", "--poll is 'fast', expected spin, busy, adaptive or interrupt"},
	{"xconnect a b --cpu 1-", "--cpu is '1-', expected CPU numbers as 1,3 or 2-5, at most 64"},
	{"xconnect a b --cpu 0-64",
	 "--cpu is '0-64', expected CPU numbers as 1,3 or 2-5, at most 64"},
	{"xconnect a b --cpu 5-2",
	 "--cpu is '5-2', expected CPU numbers as 1,3 or 2-5, at most 64"},
	{"xconnect a b --cpu 1,1", "CPU 1 is given to two workers, expected one"},
	{"xconnect a b --driver-mode hw", "--driver-mode is 'hw', expected native or generic"},
	{"xconnect a b --copy-mode none", "--copy-mode is 'none', expected auto, zerocopy or copy"},
	{"xconnect a b --require speed", "--require is 'speed', expected zerocopy"},
	{"xconnect a,kind=mem b,kind=mem --require speed",
	 "--require is 'speed', expected zerocopy"},
	{"xconnect a b --attach me", "--attach is 'me', expected external"},
	{"xconnect a b --attach external --replace",
	 "external and replace are both given, expected only one: external leaves the device's "
	 "program there"},
	{"xconnect a b --ring-size 3000", "ring_size is 3000, expected a power of two from 64 to "
					  "16384: the nearest is 2048"},
	{"xconnect a b --require zerocopy --copy-mode copy",
	 "port a requires zero-copy and has copy_mode copy, expected auto or zerocopy"},
	{"static3 a b", "mode static3 has no next hop behind port a, expected its MAC address "
			"in next_hop"},
	{"static3 a,next_hop=02:00:00:00:00:1 b,next_hop=2",
	 "port b: next_hop is '2', expected a MAC address as 02:00:00:00:00:01"},
	{"xconnect a,next_hop=02:00:00:00:00:01 b",
	 "port a has a next_hop, expected with macrewrite and static3 only"},
	{"xconnect a,size=64 b", "port a is of kind xsk and has a key of another kind"},
	{"xconnect a,size b", "port a has 'size', expected KEY=VALUE"},
	{"xconnect a,sise=2 b",
	 "port a has an unknown key 'sise', expected one of kind, next_hop or "
	 "those of its kind, see shuntd.yaml(5)"},
	{"xconnect ,kind=mem b", "port name '' has 0 characters, expected 1 to 63"},
	{"static3 a,next_hop=02:00:00:00:00:01 b,next_hop=02:00:00:00:00:02 --transparent",
	 "transparent is given for mode static3, expected with xconnect only: the other modes "
	 "read frames"},
	{"route a b --transparent", "transparent is given for mode route, expected with xconnect "
				    "only: the other modes read frames"},
	{"xconnect a b --control relative",
	 "control is 'relative', expected a path that starts with /, or none"},
	{"-c /nonexistent extra",
	 "/nonexistent: cannot open the configuration file: No such file or directory"},
};

Test(args, wrong_lines_end_with_one_sentence)
{
	struct shuntd_args args;
	struct shunt_err err;
	unsigned i;
	int ret;

	for (i = 0; i < SHUNT_ARRAY_LEN(bad); i++) {
		memset(&err, 0, sizeof(err));
		ret = parse(bad[i].line, &args, &err);
		cr_expect_lt(ret, 0, "accepted: %s", bad[i].line);
		cr_expect_str_eq(err.msg, bad[i].sentence, "for: %s\ngot:  %s\nwant: %s",
				 bad[i].line, err.msg, bad[i].sentence);
		cr_expect_eq(shuntd_args_exit_code(ret), ret == -ENOENT ? 1 : 2);
		shunt_config_fini(&args.config);
	}
}

Test(args, transparent_is_of_every_pair)
{
	struct shuntd_args args;
	struct shunt_err err = {""};

	cr_assert_eq(parse("xconnect a b c d --transparent", &args, &err), 0, "%s", err.msg);
	cr_expect(args.config.pairs[0].is_transparent && args.config.pairs[1].is_transparent);
	cr_expect(shunt_config_is_transparent(&args.config, 3));
	shunt_config_fini(&args.config);
}

Test(args, the_shortest_line)
{
	struct shuntd_args args;
	struct shunt_err err = {""};

	cr_assert_eq(parse("xconnect eth1 eth2", &args, &err), 0, "%s", err.msg);
	cr_expect_eq(args.config.port_cnt, 2);
	cr_expect_str_eq(args.config.ports[1].name, "eth2");
	cr_expect_eq(args.config.pair_cnt, 1);
	cr_expect_eq(args.config.pairs[0].mode, SHUNT_FORWARD_XCONNECT);
	cr_expect_eq(args.config.batch, 64);
	cr_expect_eq(args.config.poll, SHUNT_POLL_adaptive);
	cr_expect_eq(args.config.worker_cnt, 1);
	cr_expect_eq(args.config.worker_cpus[0], -1);
	cr_expect_not(args.daemonise || args.check_only || args.verbose);
	shunt_config_fini(&args.config);
}

Test(args, options_count_wherever_they_stand)
{
	struct shuntd_args args;
	struct shunt_err err = {""};
	const struct shunt_config *c = &args.config;

	cr_assert_eq(parse("-b 1 -q2 xconnect a --copy-mode=copy b,queues=9 -p spin --cpu 0,2-3 "
			   "--rule lane_user -dv --pidfile /run/x",
			   &args, &err),
		     0, "%s", err.msg);
	cr_expect_eq(c->batch, 1);
	cr_expect_eq(c->poll, SHUNT_POLL_spin);
	cr_expect_eq(c->ports[0].queues, 2);
	cr_expect_eq(c->ports[1].queues, 2);
	cr_expect_eq(c->ports[0].copy_mode, SHUNT_COPY_COPY);
	cr_assert_eq(c->worker_cnt, 3);
	cr_expect_eq(c->worker_cpus[2], 3);
	cr_assert_eq(c->rule_cnt, 1);
	cr_expect_eq(c->rules[0].lane, SHUNT_LANE_USER);
	cr_expect(args.daemonise && args.verbose);
	cr_expect_str_eq(args.pidfile, "/run/x");
	shunt_config_fini(&args.config);
}

Test(args, four_ports_are_two_pairs)
{
	static const uint8_t mac[] = {2, 0, 0, 0, 0, 4};
	struct shuntd_args args;
	struct shunt_err err = {""};
	const struct shunt_pair_config *p;

	cr_assert_eq(parse("static3 a,next_hop=02:00:00:00:00:01 b,next_hop=02:00:00:00:00:02 "
			   "c,next_hop=02:00:00:00:00:03,kind=mem d,kind=mem,next_hop=2:0:0:0:0:4",
			   &args, &err),
		     0, "%s", err.msg);
	cr_assert_eq(args.config.pair_cnt, 2);
	p = &args.config.pairs[1];
	cr_expect_eq(p->port[0], 2);
	cr_expect_eq(p->port[1], 3);
	cr_expect_arr_eq(p->next_hop[1], mac, 6);
	cr_expect_eq(args.config.ports[3].kind, SHUNT_PORT_MEM);
	shunt_config_fini(&args.config);
}

Test(args, options_change_what_the_file_says)
{
	struct shuntd_args args;
	struct shunt_err err = {""};

	cr_assert_eq(parse("-b 8 --check-config -c user/shuntd.yaml --control none", &args, &err),
		     0, "%s", err.msg);
	cr_expect(args.check_only);
	cr_expect_eq(args.config.batch, 8);
	cr_expect_str_eq(args.config.control_path, "");
	cr_expect_str_eq(args.config.ports[0].name, "eth1");
	shunt_config_fini(&args.config);
	cr_expect_eq(parse("xconnect a b -c user/shuntd.yaml", &args, &err), -EINVAL);
	shunt_config_fini(&args.config);
}

/* Every option of a key is known, listed once, and takes an argument where the key says so. */
Test(args, every_key_has_its_option)
{
	static const struct shunt_key *const tables[] = {shunt_config_keys, shunt_workers_keys,
							 shunt_port_keys, shunt_forward_keys};
	const struct shunt_key *key;
	struct shuntd_options o;
	unsigned i, k, found;

	shuntd_options_init(&o);
	cr_assert_lt(o.cnt, SHUNTD_OPTION_MAX);
	for (i = 0; i < SHUNT_ARRAY_LEN(tables); i++)
		for (key = tables[i]; key->name; key++) {
			for (k = found = 0; key->option && o.longs[k].name; k++)
				found += !strcmp(o.longs[k].name, key->option) &&
					 o.longs[k].has_arg == !!key->arg && o.of[k].key == key;
			cr_expect_eq(found, !!key->option, "%s", key->name);
		}
}

/* A value is read alike from a file and from the line. */
Test(args, hexadecimal_and_yes)
{
	struct shuntd_args args;
	struct shunt_err err = {""};

	cr_assert_eq(parse("xconnect a,spread=yes b,kind=mem,size=0x40 -b 0x10", &args, &err), 0,
		     "%s", err.msg);
	cr_expect(args.config.ports[0].spread);
	cr_expect_eq(args.config.ports[1].mem_frame_bytes, 64);
	cr_expect_eq(args.config.batch, 16);
	shunt_config_fini(&args.config);
}

Test(args, help_and_version_are_all, .init = cr_redirect_stdout)
{
	struct shuntd_args args;
	struct shunt_err err = {""};

	cr_expect_eq(parse("--help", &args, &err), 1);
	shunt_config_fini(&args.config);
	cr_expect_eq(parse("-V nonsense", &args, &err), 1);
	shunt_config_fini(&args.config);
}
