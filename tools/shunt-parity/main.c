// SPDX-License-Identifier: BSD-2-Clause
/* shunt-parity: what tools/parity runs, in two labs that it has built. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "parity.h"

static const char usage[] =
	"Usage: shunt-parity world VARIANT [WORLD]\n"
	"           prints the links and routes of dut, for `ip -batch`\n"
	"       shunt-parity rules RULES [WORLD]\n"
	"           prints rules of dut, for `nft -f`\n"
	"       shunt-parity run KERNEL SHUNT [OPTIONS]\n"
	"           compares two labs; KERNEL and SHUNT are the network namespaces of their hosts gen\n"
	"       shunt-parity explained SOCKET SHUNT [OPTIONS]\n"
	"           compares shunt's lab with what the daemon on SOCKET says before of each frame\n"
	"\n"
	"tools/parity builds the labs and runs this program. Defaults are in parentheses.\n"
	"\n"
	"  --frames N    number of frames (20000; with --pcap each once on every port)\n"
	"  --seed S      seed of the frames (1)\n"
	"  --from N      begin with frame N (0)\n"
	"  --pcap FILE   frames of a capture instead; repeatable\n"
	"  --world WORLD what dut's addresses are on: vlan, bond, vrf,\n"
	"                bridge_vlan, router (its ports)\n"
	"  --rules RULES connections that these rules judge instead: filter, nat (filter and translate)\n"
	"  --show N      print at most N differences (20)\n"
	"\n"
	"Exit status: 0 no difference, 1 differences or failed, 2 wrong usage.\n";

static int complain(const char *what)
{
	fprintf(stderr, "shunt-parity: %s\n%s", what, usage);
	return 2;
}

static enum parity_rules rules_of(const char *word)
{
	if (!strcmp(word, "nat"))
		return PARITY_NAT;
	return strcmp(word, "filter") ? PARITY_NO_RULES : PARITY_FILTER;
}

static enum parity_world world_of(const char *word)
{
	if (!strcmp(word, "bond"))
		return PARITY_BOND;
	if (!strcmp(word, "vrf"))
		return PARITY_VRF;
	if (!strcmp(word, "bridge_vlan"))
		return PARITY_BRIDGE_VLAN;
	if (!strcmp(word, "router"))
		return PARITY_ROUTER;
	return strcmp(word, "vlan") ? PARITY_PLAIN : PARITY_VLAN;
}

/* A run begins with a whole window; with connections, where all of them begin. */
static int set_range(struct parity_run *run, struct shunt_err *err)
{
	struct parity_source *src = &run->src;
	const uint64_t whole = src->rules ? PARITY_TALK_ROUND : PARITY_WINDOW;

	if (!src->cnt)
		src->cnt = src->pcap ? src->pcap_cnt * PARITY_PORTS : 20000;
	src->cnt += run->sent;
	run->sent -= run->sent % whole;
	run->match.window = run->sent / PARITY_WINDOW;
	if (src->rules && src->cnt - run->sent > PARITY_TALKS_MAX * PARITY_TALK_STEPS)
		return shunt_err_set(err, EINVAL, "at most %u frames with --rules",
				     PARITY_TALKS_MAX * PARITY_TALK_STEPS);
	return 0;
}

static int parse(struct parity_run *run, int argc, char **argv, struct shunt_err *err)
{
	static const struct option options[] = {
		{"frames", required_argument, NULL, 'n'}, {"seed", required_argument, NULL, 's'},
		{"from", required_argument, NULL, 'f'},	  {"pcap", required_argument, NULL, 'p'},
		{"show", required_argument, NULL, 'w'},	  {"rules", required_argument, NULL, 'r'},
		{"world", required_argument, NULL, 'o'},  {0},
	};
	int option;

	run->src.seed = 1;
	run->show = 20;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == '?')
			return -1;
		if (option == 'n')
			run->src.cnt = strtoull(optarg, NULL, 10);
		else if (option == 's')
			run->src.seed = strtoull(optarg, NULL, 10);
		else if (option == 'f')
			run->sent = strtoull(optarg, NULL, 10);
		else if (option == 'w')
			run->show = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 'o' && world_of(optarg))
			run->src.world = world_of(optarg);
		else if (option == 'o')
			return shunt_err_set(err, EINVAL,
					     "--world is '%s', expected vlan, bond, vrf, "
					     "bridge_vlan or router",
					     optarg);
		else if (option == 'r' && rules_of(optarg))
			run->src.rules = rules_of(optarg);
		else if (option == 'r')
			return shunt_err_set(err, EINVAL, "--rules is '%s', expected filter or nat",
					     optarg);
		else if (parity_pcap_add(&run->src, optarg, err))
			return -1;
	}
	if (set_range(run, err))
		return -1;
	return argc - optind == 2 ? 0 : -1;
}

/* Of those that dut has heard of, *anew are shunt's alone: it has the kernel ask for those that it
 * may send to before they are stale for long (lib/router/neigh_use.h). */
static unsigned print_asked(const struct parity_match *match, unsigned *anew)
{
	char addr[INET6_ADDRSTRLEN];
	unsigned i, cnt = 0;

	*anew = 0;
	for (i = 0; i < PARITY_ASKED_MAX; i++) {
		const struct parity_asked *asked = &match->asked[i];

		if (asked->by[0] == asked->by[1])
			continue;
		if (asked->by[1] && asked->spoke) {
			++*anew;
			continue;
		}
		inet_ntop(asked->v6 ? AF_INET6 : AF_INET, asked->addr, addr, sizeof(addr));
		printf("difference: only dut of lab %s asked for the neighbour %s, out of eth%u",
		       asked->by[0] ? "kernel" : "shunt", addr, asked->port);
		if (parity_has_vrfs(match->world))
			printf(" (%s)", parity_vrf_name(asked->vrf));
		printf("\n");
		cnt++;
	}
	return cnt;
}

static void print_allowed(const struct parity_match *match, unsigned anew)
{
	printf("explained              %u neighbours that had spoken were asked anew\n", anew);
	printf("explained              %lu took another of a route's next hops\n",
	       (unsigned long)match->multipath);
	printf("explained              %lu looked as if a device should finish their checksums\n",
	       (unsigned long)match->finished);
	printf("explained              %lu without what followed them, which a flowtable sends along\n",
	       (unsigned long)match->cut);
}

/* Of each port what came out in each VRF, of the kernel and of shunt, and what of that leaked. */
static void print_vrfs(const struct parity_run *run)
{
	unsigned wire, vrf;

	for (wire = 0; wire < PARITY_WIRES; wire++) {
		const uint64_t(*cnts)[PARITY_LABS] = run->match.by_vrf[wire];

		if (wire / PARITY_PORTS >= parity_member_cnt(run->src.world, wire % PARITY_PORTS))
			continue;
		printf("came out of eth%u       ", wire + 1);
		for (vrf = 0; vrf < PARITY_VRFS; vrf++)
			printf("%s: %lu and %lu, ", parity_vrf_name(vrf),
			       (unsigned long)cnts[vrf][0], (unsigned long)cnts[vrf][1]);
		printf("leaked by shunt: %lu\n", (unsigned long)run->leaked[wire]);
	}
}

static uint64_t print_summary(const struct parity_run *run, uint64_t sent, double seconds)
{
	static const char *const texts[] = {
#define X(name, text) text,
		PARITY_KINDS(X)
#undef X
	};
	const struct parity_match *match = &run->match;
	uint64_t differences = run->difference_cnt;
	unsigned i, anew = 0;

	if (!run->is_explained)
		differences += print_asked(match, &anew);

	printf("sent to each lab       %lu frames in %.1f s, seed %lu\n", (unsigned long)sent,
	       seconds, (unsigned long)run->src.seed);
	printf("came out               %lu of %s, %lu of shunt\n",
	       (unsigned long)match->kinds[PARITY_FRAME][0], run->lab[0].name,
	       (unsigned long)match->kinds[PARITY_FRAME][1]);
	if (parity_has_vrfs(match->world))
		print_vrfs(run);
	printf("identical              %lu\n", (unsigned long)match->identical);
	if (!run->is_explained)
		print_allowed(match, anew);
	for (i = 1; i < PARITY_KIND_CNT; i++)
		printf("not compared           %lu and %lu %s\n", (unsigned long)match->kinds[i][0],
		       (unsigned long)match->kinds[i][1], texts[i]);
	if (run->is_explained)
		printf("the kernel's           %lu by their explanations\n",
		       (unsigned long)run->left);
	printf("sentinels sent again   %lu times\n", (unsigned long)run->resent);
	printf("unexplained            %lu\n", (unsigned long)differences);
	return differences;
}

/* What shunt counted as sent is what was promised, the sentinels too. */
static int check_promised(struct parity_run *run, uint64_t before, struct shunt_err *err)
{
	uint64_t after;

	if (parity_explain_sent(run, &after, err))
		return -EPROTO;
	after -= before;
	printf("counted as sent        %lu of %lu promised\n", (unsigned long)after,
	       (unsigned long)run->promised);
	/* of what was lost and sent again it is not known how far it came */
	run->difference_cnt += after != run->promised && !run->resent;
	return 0;
}

static int open_labs(struct parity_run *run, char **names, struct shunt_err *err)
{
	unsigned lab;
	int rc = run->is_explained ? parity_explain_open(run, names[0], err) : 0;

	run->lab[0].name = run->is_explained ? "the explanations" : "kernel";
	run->lab[1].name = "shunt";
	run->match.is_exact = run->is_explained;
	run->match.is_tracked = run->src.rules != PARITY_NO_RULES;
	run->match.world = run->src.world;
	for (lab = 0; lab < PARITY_LABS; lab++)
		run->lab[lab].world = run->src.world;
	for (lab = run->is_explained; lab < PARITY_LABS && !rc; lab++)
		rc = parity_lab_open(&run->lab[lab], names[lab], err);
	return rc;
}

static int run_labs(struct parity_run *run, char **names, struct shunt_err *err)
{
	uint64_t first = run->sent, differences = 0, counted = 0;
	struct timespec from, to;
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &from);
	rc = open_labs(run, names, err);
	if (!rc && run->is_explained)
		rc = parity_explain_sent(run, &counted, err);
	if (rc)
		return rc;
	rc = parity_run_all(run, err);
	if (!rc && run->is_explained)
		rc = check_promised(run, counted, err);
	clock_gettime(CLOCK_MONOTONIC, &to);
	differences = print_summary(run, run->sent - first,
				    (double)(to.tv_sec - from.tv_sec) +
					    1e-9 * (double)(to.tv_nsec - from.tv_nsec));
	if (!rc && differences && !run->src.rules) {
		printf("\neach frame of a window with differences, sent alone:\n");
		rc = parity_run_blame(run, err);
		printf("windows of which no single frame made the difference: %lu\n",
		       (unsigned long)run->unattributed);
	}
	return rc ? rc : differences != 0;
}

int main(int argc, char **argv)
{
	static struct parity_run run;
	struct shunt_err err = {0};
	unsigned lab;
	int rc;

	if ((argc == 3 || (argc == 4 && world_of(argv[3]))) && !strcmp(argv[1], "world")) {
		parity_world_print(stdout, argc == 4 ? world_of(argv[3]) : PARITY_PLAIN,
				   (unsigned)strtoul(argv[2], NULL, 10));
		return 0;
	}
	if ((argc == 3 || (argc == 4 && world_of(argv[3]))) && !strcmp(argv[1], "rules") &&
	    rules_of(argv[2])) {
		parity_rules_print(stdout, rules_of(argv[2]),
				   argc == 4 ? world_of(argv[3]) : PARITY_PLAIN);
		return 0;
	}
	if (argc < 2 || (strcmp(argv[1], "run") != 0 && strcmp(argv[1], "explained") != 0))
		return complain("a command is missing");
	run.daemon_fd = -1;
	for (lab = 0; lab < PARITY_LABS; lab++)
		memset(run.lab[lab].fd, -1, sizeof(run.lab[lab].fd));
	if (parse(&run, argc - 1, argv + 1, &err))
		return complain(err.msg[0] ? err.msg : "wrong arguments");
	run.is_explained = !strcmp(argv[1], "explained");
	rc = run_labs(&run, argv + 1 + optind, &err);
	if (rc < 0)
		fprintf(stderr, "shunt-parity: %s\n", err.msg);
	for (lab = 0; lab < PARITY_LABS; lab++)
		parity_lab_close(&run.lab[lab]);
	if (run.daemon_fd >= 0)
		close(run.daemon_fd);
	parity_match_fini(&run.match);
	free(run.suspects);
	return rc != 0;
}
