// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "config/config.h"
#include "config/key.h"
#include "config/print.h"

/* What every good file needs; most bad ones are wrong behind it, from line 5 on. */
#define PAIR  "ports:\n  - name: a\n  - name: b\nforward: [{mode: xconnect, ports: [a, b]}]\n"
#define PORTS "ports:\n  - name: a\n"
#define TRANSPARENT \
	PORTS "  - name: b\nforward:\n  - mode: xconnect\n    transparent: true\n    ports: [a, b]\n"
#define WIRING "forward: [{mode: xconnect, ports: [a, b]}]\n"

/* Loads text as a file named FILE in a directory of its own. */
static int load(const char *text, struct shunt_config *config, struct shunt_err *err)
{
	char dir[] = "/tmp/shunt-config-XXXXXX";
	int ret;
	FILE *f;

	cr_assert(mkdtemp(dir));
	cr_assert_eq(chdir(dir), 0);
	f = fopen("FILE", "w");
	cr_assert(f);
	fputs(text, f);
	fclose(f);
	ret = shunt_config_load(config, "FILE", err);
	unlink("FILE");
	cr_assert_eq(chdir("/"), 0);
	rmdir(dir);
	return ret;
}

static const struct {
	const char *text, *sentence;
} bad[] = {
	/* not YAML, or not the right shape */
	{"ports:\n\t- name: a\n",
	 "FILE:2: not YAML: found character that cannot start any token (a tab: indent with "
	 "spaces)"},
	{"ports: [\n", "FILE:2: not YAML: did not find expected node content"},
	{PAIR "---\na: b\n", "FILE:6: a second document starts, expected one"},
	{"",
	 "FILE:1: no pair of ports is given, expected at least one: nothing would be forwarded"},
	{"a\n", "FILE:1: the file is 'a', expected a mapping (key: value)"},
	{"[1]\n", "FILE:1: the file is a list, expected a mapping (key: value)"},
	{"? [a]\n: b\n", "FILE:1: a key is not text, expected a word"},
	{PORTS, "FILE:1: the file has no forward, expected one"},
	/* keys */
	{PAIR "batch: 32\nbatch: 64\n",
	 "FILE:6: batch is given twice, expected once (first in line 5)"},
	{"ports:\n  - kind: mem\n" WIRING, "FILE:2: ports[0] has no name, expected one"},
	/* types */
	{"ports: 3\n" WIRING, "FILE:1: ports is '3', expected a list"},
	{"ports:\n" WIRING, "FILE:1: ports is empty, expected a list"},
	{"ports: []\n" WIRING, "FILE:1: ports has 0 entries, expected 1 to 64"},
	{PAIR "batch: many\n",
	 "FILE:5: batch is 'many', expected a whole number from 0 to 4294967295"},
	{PAIR "batch: 64k\n",
	 "FILE:5: batch is '64k', expected a whole number from 0 to 4294967295"},
	{PAIR "batch: 010\n",
	 "FILE:5: batch is '010', expected a whole number from 0 to 4294967295"},
	{PAIR "batch: -1\n", "FILE:5: batch is '-1', expected a whole number from 0 to 4294967295"},
	{PAIR "batch: 4294967296\n",
	 "FILE:5: batch is '4294967296', expected a whole number from 0 to 4294967295"},
	{PAIR "batch: 99999999999999999999\n",
	 "FILE:5: batch is '99999999999999999999', expected a whole number from 0 to 4294967295"},
	{PAIR "batch: [1]\n",
	 "FILE:5: batch is a list, expected a whole number from 0 to 4294967295"},
	{PAIR "replace: maybe\n", "FILE:5: replace is 'maybe', expected true or false"},
	{PAIR "poll: slow\n",
	 "FILE:5: poll is 'slow', expected one of spin, busy, adaptive, interrupt"},
	{PORTS "    kind: tap\n" WIRING,
	 "FILE:3: ports[0].kind is 'tap', expected one of xsk, mem, pcap"},
	{PAIR "rules: [{a: b}]\n",
	 "FILE:5: rules[0] is a mapping, expected text of 1 to 255 characters"},
	{PAIR "workers: {cpus: [x]}\n",
	 "FILE:5: workers.cpus[0] is 'x', expected a whole number from -2147483648 to 2147483647"},
	{PORTS "forward: [{mode: xconnect, ports: [a]}]\n",
	 "FILE:3: mode xconnect has 1 ports, expected two"},
	/* values against each other */
	{PAIR "\nbatch: 257\n", "FILE:6: batch is 257, expected 1 to 256"},
	{PAIR "batch: 0\n", "FILE:5: batch is 0, expected 1 to 256"},
	{PAIR "ring_size: 500\n", "FILE:5: ring_size is 500, expected a power of two from 64 to "
				  "16384: the nearest is 512"},
	{PAIR "ring_size: 511\n", "FILE:5: ring_size is 511, expected a power of two from 64 to "
				  "16384: the nearest is 512"},
	{PAIR "ring_size: 600\n", "FILE:5: ring_size is 600, expected a power of two from 64 to "
				  "16384: the nearest is 512"},
	{PAIR "ring_size: 1\n", "FILE:5: ring_size is 1, expected a power of two from 64 to "
				"16384: the nearest is 64"},
	{PAIR "ring_size: 32768\n", "FILE:5: ring_size is 32768, expected a power of two from 64 "
				    "to 16384: the nearest is 16384"},
	{PAIR "frame_size: 1500\n", "FILE:5: frame_size is 1500, expected 2048 or 4096, or 0 for "
				    "what the ports need"},
	{PAIR "frames: 1\n",
	 "FILE:5: frames is 1, expected 64 to 4194304, or 0 for what the rings need"},
	{PAIR "idle_us: 1000001\n", "FILE:5: idle_us is 1000001, expected 0 to 1000000"},
	{"ports:\n  - name: a\n  - name: a\n" WIRING,
	 "FILE:4: forward names port b, expected one that is listed under ports"},
	{"ports:\n  - name: a\n  - name: b\n  - name: a\n" WIRING,
	 "FILE:4: port a is named twice, expected once"},
	{"ports:\n  - name: a\n  - name: b\n  - name: c\n" WIRING,
	 "FILE:4: port c is in no entry of forward, expected one"},
	{PORTS "  - name: b\n"
	       "forward:\n  - {mode: xconnect, ports: [a, b]}\n"
	       "  - {mode: xconnect, ports: [b, a]}\n",
	 "FILE:6: port b is in two pairs, expected one: its frames can leave by one port only"},
	{PORTS "forward:\n  - mode: xconnect\n    ports: [a, a]\n",
	 "FILE:5: port a is in two pairs, expected one: its frames can leave by one port only"},
	{PORTS "  - name: b\nforward:\n  - mode: static3\n    ports: [a, b]\n",
	 "FILE:5: mode static3 has no next hop behind port a, expected its MAC address in "
	 "next_hop"},
	{PORTS "  - name: b\nforward:\n  - mode: static3\n    ports: [a, b]\n"
	       "    next_hop: ['02:00:00:00:00:01', 'x']\n",
	 "FILE:7: next_hop is 'x', expected a MAC address as 02:00:00:00:00:01"},
	{PORTS "  - name: b\nforward:\n  - mode: macrewrite\n    ports: [a, b]\n"
	       "    next_hop: ['02:00:00:00:00:01', '03:00:00:00:00:01']\n",
	 "FILE:7: next_hop behind port b is a multicast MAC address, expected a unicast one"},
	{PORTS "  - name: b\nforward:\n  - mode: xconnect\n    ports: [a, b]\n"
	       "    next_hop: ['02:00:00:00:00:01', '02:00:00:00:00:02']\n",
	 "FILE:7: next_hop is given for mode xconnect, expected with macrewrite and static3 only"},
	{PORTS
	 "  - name: b\nforward:\n  - mode: bridge\n    transparent: true\n    ports: [a, b]\n",
	 "FILE:6: transparent is given for mode bridge, expected with xconnect only: the other "
	 "modes read frames"},
	{"ports: [{name: a}, {name: b}, {name: c}]\nforward:\n  - {mode: bridge, ports: [a]}\n"
	 "  - {mode: static3, ports: [b, c]}\n",
	 "FILE:4: mode static3 has no next hop behind port b, expected its MAC address in "
	 "next_hop"},
	{"ports: [{name: a}, {name: b, kind: mem}, {name: c}]\nforward:\n"
	 "  - {mode: route, ports: [b]}\n  - {mode: xconnect, ports: [a, c]}\n",
	 "FILE:3: port b is of kind mem, expected a network device: mode route follows the kernel, "
	 "which knows only devices"},
	{TRANSPARENT "rules: [lane user]\n",
	 "FILE:6: a and b are connected transparently and there are rules, expected only one of both: "
	 "rules read frames, a transparent cross-connect reads none"},
	{TRANSPARENT "    lane: kernel\n",
	 "FILE:6: a and b are connected transparently and their lane is kernel, expected auto, user "
	 "or xdp: the kernel forwards nothing between them"},
	{PORTS "    size: 64\n  - name: b\n" WIRING,
	 "FILE:3: port a is of kind xsk and has the key size, which belongs to another kind"},
	{PORTS "    kind: mem\n    size: 59\n  - name: b\n" WIRING,
	 "FILE:4: port a: size is 59, expected 60 to 1518 bytes"},
	{PORTS "    kind: mem\n    flows: 0\n  - name: b\n" WIRING,
	 "FILE:4: port a: flows is 0, expected 1 to 65536"},
	{PORTS "    kind: pcap\n  - name: b\n" WIRING,
	 "FILE:2: port a is of kind pcap and has no file, expected in (to read) or out (to write)"},
	{PORTS "    copy_mode: copy\n    require_zerocopy: true\n  - name: b\n" WIRING,
	 "FILE:3: port a requires zero-copy and has copy_mode copy, expected auto or zerocopy"},
	{PORTS "    driver_mode: generic\n    copy_mode: zerocopy\n  - name: b\n" WIRING,
	 "FILE:3: port a asks for zero-copy and has driver_mode generic, expected native: "
	 "generic has no zero-copy"},
	{"ports:\n  - name: eth1234567890123\n  - name: b\nforward: [{mode: xconnect, "
	 "ports: [eth1234567890123, b]}]\n",
	 "FILE:2: port eth1234567890123 has a name of 16 characters, expected a device name of at "
	 "most 15"},
	{"ports:\n  - name: a/b\n  - name: b\nforward: [{mode: xconnect, ports: [a/b, b]}]\n",
	 "FILE:2: port name is 'a/b', expected one without blank, slash, comma or '='"},
	{PAIR "workers: {count: 2, cpus: [1]}\n",
	 "FILE:5: workers.count is 2 and workers.cpus has 1 entries, expected the same number"},
	{PAIR "workers:\n  cpus:\n    - 1\n    - 1\n",
	 "FILE:8: CPU 1 is given to two workers, expected one"},
	{PAIR "workers: {count: 0}\n", "FILE:5: workers is 0, expected 1 to 64"},
	{PAIR "workers: {cpus: [-2]}\n",
	 "FILE:5: workers.cpus[0] is -2, expected 0 to 1023, or -1 for not pinned"},
	{PAIR "replace: true\nexternal: true\n",
	 "FILE:6: external and replace are both given, expected only one: external leaves the "
	 "device's program there"},
	{PAIR "control: shunt.sock\n",
	 "FILE:5: control is 'shunt.sock', expected a path that starts with /, or none"},
};

Test(config, bad_files_end_with_one_sentence)
{
	struct shunt_config config;
	struct shunt_err err;
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(bad); i++) {
		memset(&err, 0, sizeof(err));
		cr_expect_eq(load(bad[i].text, &config, &err), -EINVAL, "accepted:\n%s",
			     bad[i].text);
		cr_expect_str_eq(err.msg, bad[i].sentence, "for:\n%s\ngot:  %s\nwant: %s",
				 bad[i].text, err.msg, bad[i].sentence);
		cr_expect_eq(config.port_cnt, 0);
		cr_expect_eq(config.batch, 64, "not as after init");
		shunt_config_fini(&config);
	}
}

/* What there is, is said from the list. */
static void expect_unknown(const char *text, const char *begin, const struct shunt_key *keys)
{
	struct shunt_config config;
	struct shunt_err err = {""};
	char want[sizeof(err.msg)];
	int used = snprintf(want, sizeof(want), "%s, expected one of ", begin);

	for (; keys->name; keys++)
		used += snprintf(want + used, sizeof(want) - (size_t)used, "%s%s", keys->name,
				 keys[1].name ? ", " : "");
	cr_expect_eq(load(text, &config, &err), -EINVAL);
	cr_expect_str_eq(err.msg, want, "got:  %s\nwant: %s", err.msg, want);
	shunt_config_fini(&config);
}

Test(config, an_unknown_key_is_told_what_there_is)
{
	expect_unknown(PAIR "batches: 3\n", "FILE:5: unknown key 'batches'", shunt_config_keys);
	expect_unknown(PORTS "    queue: 2\n" WIRING, "FILE:3: unknown key 'queue' in ports[0]",
		       shunt_port_keys);
	expect_unknown(PORTS "forward: [{node: xconnect, ports: [a, b]}]\n",
		       "FILE:3: unknown key 'node' in forward[0]", shunt_forward_keys);
	expect_unknown(PAIR "workers: {cpu: 1}\n", "FILE:5: unknown key 'cpu' in workers",
		       shunt_workers_keys);
}

Test(config, a_bad_rule_is_found_by_its_line)
{
	struct shunt_config config;
	struct shunt_err err = {""};

	cr_assert_eq(load(PAIR "rules:\n  - proto tcp dport 22 lane kernel\n  - lane sky\n",
			  &config, &err),
		     -EINVAL);
	cr_expect_eq(strncmp(err.msg, "FILE:7: ", 8), 0, "%s", err.msg);
	cr_expect(strstr(err.msg, "sky"), "%s", err.msg);
	shunt_config_fini(&config);
}

Test(config, a_file_that_is_not_there_or_too_long)
{
	struct shunt_config config;
	struct shunt_err err = {""};

	cr_expect_eq(shunt_config_load(&config, "/nonexistent/x.yaml", &err), -ENOENT);
	cr_expect_str_eq(err.msg, "/nonexistent/x.yaml: cannot open the configuration file: "
				  "No such file or directory");
	shunt_config_fini(&config);
	cr_expect_eq(shunt_config_load(&config, "/dev/zero", &err), -EFBIG);
	shunt_config_fini(&config);
	cr_expect_eq(shunt_config_load(&config, "/", &err), -EISDIR);
	shunt_config_fini(&config);
}

#define EXAMPLE	    "user/shuntd.yaml"
#define KEY_LETTERS "abcdefghijklmnopqrstuvwxyz_"

/* Every scalar of the table has its default. */
static void expect_defaults(const struct shunt_key *keys, const void *is, const void *defaults)
{
	json_t *a, *b;

	for (; keys->name; keys++) {
		a = shunt_key_json(keys, is);
		b = shunt_key_json(keys, defaults);
		cr_expect(a == b || json_equal(a, b), "%s is not its default", keys->name);
		json_decref(a);
		json_decref(b);
	}
}

Test(config, the_example_is_the_defaults)
{
	struct shunt_config config, defaults;
	struct shunt_err err = {""};

	cr_assert_eq(shunt_config_load(&config, EXAMPLE, &err), 0, "%s", err.msg);
	shunt_config_init(&defaults);
	cr_assert_eq(shunt_config_add_port(&defaults, "eth1", &err), 0);
	expect_defaults(shunt_config_keys, &config, &defaults);
	expect_defaults(shunt_port_keys, &config.ports[0], &defaults.ports[0]);
	cr_expect_eq(config.rule_cnt + config.front_cnt, 0);
	cr_expect_eq(config.worker_cnt, 1);
	cr_expect_eq(config.worker_cpus[0], -1);
	shunt_config_fini(&defaults);
	shunt_config_fini(&config);
}

/* A line of the example without what hides its key: "# key: ..." or "#   key: ...". */
static const char *shown(const char *line)
{
	const char *word = line + 1 + strspn(line + 1, " -");

	if (*line != '#' || line[1] != ' ' || word[strspn(word, KEY_LETTERS)] != ':')
		return line;
	return line + 2;
}

/* Whether the text has the key at a line's begin, behind blanks and a list's dash at most. */
static bool has_key(const char *text, const char *key)
{
	const size_t len = strlen(key);
	const char *word;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		word = text + strspn(text, " -");
		if (!strncmp(word, key, len) && word[len] == ':')
			return true;
	}
	return false;
}

Test(config, the_example_has_every_key_and_every_word)
{
	static const struct shunt_key *const tables[] = {shunt_config_keys, shunt_workers_keys,
							 shunt_port_keys, shunt_forward_keys};
	char line[256], text[8192] = "";
	const struct shunt_key *key;
	struct shunt_config config;
	struct shunt_err err = {""};
	FILE *f = fopen(EXAMPLE, "r");
	unsigned i, k;

	cr_assert(f);
	while (fgets(line, sizeof(line), f))
		strncat(text, shown(line), sizeof(text) - strlen(text) - 1);
	fclose(f);
	for (i = 0; i < SHUNT_ARRAY_LEN(tables); i++)
		for (key = tables[i]; key->name; key++) {
			cr_expect(has_key(text, key->name), "%s is not in the example", key->name);
			for (k = 0; key->words && key->words[k]; k++)
				cr_expect(strstr(text, key->words[k]),
					  "%s, of %s, is not in the example", key->words[k],
					  key->name);
		}
	cr_expect_eq(load(text, &config, &err), 0, "%s in:\n%s", err.msg, text);
	cr_expect_eq(config.port_cnt, 4);
	cr_expect_eq(config.pair_cnt, 2);
	cr_expect_str_eq(config.user, "shunt");
	shunt_config_fini(&config);
}

static const char full[] =
	"ports:\n"
	"  - {name: eth1, driver_mode: generic, copy_mode: copy, queues: 2, spread: true,\n"
	"     ntuple: [ipv4 proto udp dport 53 queue 1, ethertype 0x88f7 queue 0 location 3]}\n"
	"  - {name: null0, kind: mem, size: 128, flows: 16, copy: yes}\n"
	"  - {name: cap, kind: pcap, in: a.pcap, out: 'b c.pcap', repeat: true}\n"
	"  - {name: eth2, require_zerocopy: true}\n"
	"forward:\n"
	"  - {mode: xconnect, ports: [cap, null0], transparent: false}\n"
	"  - {mode: static3, ports: [eth1, eth2], next_hop: "
	"['02:00:00:00:00:0A', '02:00:00:00:00:0b']}\n"
	"rules: ['from 10.0.0.0/8 proto tcp dport 22 lane kernel', lane user]\n"
	"workers: {cpus: [3, -1]}\n"
	"poll: busy\nbatch: 0x20\nidle_us: 0\nring_size: 512\n"
	"frame_size: 4096\nframes: 8192\nexternal: true\ncontrol: none\nuser: nobody\n";

Test(config, a_full_file_is_read)
{
	static const uint8_t mac[] = {2, 0, 0, 0, 0, 10};
	struct shunt_config c;
	struct shunt_err err = {""};

	cr_assert_eq(load(full, &c, &err), 0, "%s", err.msg);
	cr_assert_eq(c.port_cnt, 4);
	cr_expect_eq(c.ports[0].kind, SHUNT_PORT_XSK);
	cr_expect_eq(c.ports[0].driver_mode, SHUNT_DRIVER_GENERIC);
	cr_expect_eq(c.ports[0].copy_mode, SHUNT_COPY_COPY);
	cr_expect_eq(c.ports[0].queues, 2);
	cr_expect(c.ports[0].spread);
	cr_assert_eq(c.ports[0].filter_cnt, 2);
	cr_expect_eq(c.ports[0].filters[0].queue, 1);
	cr_expect_eq(c.ports[0].filters[1].location, 3);
	cr_expect_str_eq(c.user, "nobody");
	cr_expect_eq(c.ports[1].kind, SHUNT_PORT_MEM);
	cr_expect_eq(c.ports[1].mem_frame_bytes, 128);
	cr_expect_eq(c.ports[1].mem_flows, 16);
	cr_expect(c.ports[1].mem_copy);
	cr_expect_str_eq(c.ports[2].pcap_in, "a.pcap");
	cr_expect_str_eq(c.ports[2].pcap_out, "b c.pcap");
	cr_expect(c.ports[2].pcap_repeat);
	cr_expect(c.ports[3].require_zerocopy);
	cr_assert_eq(c.pair_cnt, 2);
	cr_expect_eq(c.pairs[0].port[0], 2);
	cr_expect_eq(c.pairs[0].port[1], 1);
	cr_expect_not(c.pairs[0].is_transparent);
	cr_expect_eq(c.pairs[1].mode, SHUNT_FORWARD_STATIC3);
	cr_expect_arr_eq(c.pairs[1].next_hop[0], mac, 6);
	cr_assert_eq(c.rule_cnt, 2);
	cr_expect_eq(c.rules[1].lane, SHUNT_LANE_USER);
	cr_assert_eq(c.worker_cnt, 2);
	cr_expect_eq(c.worker_cpus[0], 3);
	cr_expect_eq(c.worker_cpus[1], -1);
	cr_expect_eq(c.poll, SHUNT_POLL_busy);
	cr_expect_eq(c.batch, 32);
	cr_expect_eq(c.frames, 8192);
	cr_expect(c.external);
	cr_expect_str_eq(c.control_path, "");
	shunt_config_fini(&c);
}

static char *printed(const struct shunt_config *config)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	cr_assert(f);
	cr_assert_eq(shunt_config_print(config, f), 0);
	fclose(f);
	return text;
}

/* Printed as YAML and as JSON, which is YAML too, it loads as the same. */
Test(config, what_is_printed_loads_again)
{
	struct shunt_config first, second, third;
	struct shunt_err err = {""};
	char *yaml, *again, *json;
	json_t *value;

	cr_assert_eq(load(full, &first, &err), 0, "%s", err.msg);
	yaml = printed(&first);
	cr_assert_eq(load(yaml, &second, &err), 0, "%s in:\n%s", err.msg, yaml);
	again = printed(&second);
	cr_expect_str_eq(yaml, again);
	free(again);
	value = shunt_config_json(&second);
	json = json_dumps(value, JSON_INDENT(2));
	json_decref(value);
	cr_assert_eq(load(json, &third, &err), 0, "%s in:\n%s", err.msg, json);
	again = printed(&third);
	cr_expect_str_eq(yaml, again);
	free(again);
	free(json);
	free(yaml);
	shunt_config_fini(&first);
	shunt_config_fini(&second);
	shunt_config_fini(&third);
}

/* Names that YAML would read as something else must come back as they are. */
Test(config, awkward_texts_survive_printing)
{
	static const char *const names[] = {"yes", "null", "1", "~",  "a:b",
					    "#x",  "-",	   "é", "\"", "'"};
	struct shunt_pair_config pair = {.port = {0, 1}};
	struct shunt_config first, second;
	struct shunt_err err = {""};
	unsigned i;
	char *yaml;

	for (i = 0; i < SHUNT_ARRAY_LEN(names); i++) {
		shunt_config_init(&first);
		cr_assert_eq(shunt_config_add_port(&first, names[i], &err), 0);
		cr_assert_eq(shunt_config_add_port(&first, "other", &err), 1);
		cr_assert_eq(shunt_config_add_pair(&first, &pair, &err), 0);
		yaml = printed(&first);
		cr_assert_eq(load(yaml, &second, &err), 0, "%s in:\n%s", err.msg, yaml);
		cr_expect_str_eq(second.ports[0].name, names[i]);
		free(yaml);
		shunt_config_fini(&first);
		shunt_config_fini(&second);
	}
}

/* Cut anywhere, the file is refused or read, never more than that. */
Test(config, truncated_anywhere)
{
	struct shunt_config config;
	struct shunt_err err;
	char text[sizeof(full)];
	size_t len;
	int ret;

	for (len = 0; len < sizeof(full); len += 3) {
		snprintf(text, sizeof(text), "%.*s", (int)len, full);
		ret = load(text, &config, &err);
		cr_expect(ret == 0 || (ret == -EINVAL && strncmp(err.msg, "FILE:", 5) == 0),
			  "%zu: %d %s", len, ret, err.msg);
		shunt_config_fini(&config);
	}
}

/* A few bytes changed, doubled or lost, by a seed that is printed. Nothing is
 * expected but an answer; the sanitizers expect more. */
Test(config, mutated_anywhere)
{
	static const char bytes[] = " :-[]{}&*'\"#\n\t,0x~|>!%\x80";
	unsigned seed = (unsigned)time(NULL), state = seed;
	struct shunt_config config;
	char text[sizeof(full)];
	struct shunt_err err;
	unsigned i, k;
	int ret;

	for (i = 0; i < 1000; i++) {
		memcpy(text, full, sizeof(full));
		for (k = 0; k <= i % 4; k++) {
			size_t at = (size_t)rand_r(&state) % (sizeof(full) - 2);
			size_t from = (size_t)rand_r(&state) % (sizeof(full) - 2);

			if (rand_r(&state) % 2)
				text[at] = bytes[(unsigned)rand_r(&state) % (sizeof(bytes) - 1)];
			else
				memmove(text + at, text + from,
					sizeof(full) - 1 - SHUNT_MAX(at, from));
		}
		ret = load(text, &config, &err);
		cr_expect(ret == 0 || ret == -EINVAL, "seed %u: %d for\n%s", seed, ret, text);
		shunt_config_fini(&config);
	}
}

Test(config, aliases_do_not_run_away)
{
	struct shunt_config config;
	struct shunt_err err = {""};

	cr_expect_eq(load("ports: &p\n  - name: a\n    in: *p\n" WIRING, &config, &err), -EINVAL);
	shunt_config_fini(&config);
	cr_expect_eq(load("&a ports: [*a, *a]\n", &config, &err), -EINVAL);
	shunt_config_fini(&config);
}
