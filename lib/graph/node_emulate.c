// SPDX-License-Identifier: BSD-2-Clause
/* The task emulator of Gallenmüller et al. (ANCS 2015, sections 5.2.2 and 5.4): stands in for an
 * application that spends so many cycles on a packet, or looks something up in a table of so many
 * bytes. With both, the lookup comes first and the cycles are added to what it takes.
 *
 * Cycles are the clock's (TSC), spent a batch at a time. What a batch spends too many, the next one
 * spends less, so that the average is right even for few cycles.
 *
 * The list is one random cycle through cache lines, one step a packet. Each step's address is known
 * only when the step before is loaded, so neither prefetching nor reordering hides its cost. It is
 * on 2 MiB pages where the kernel has some, as a large table would be. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "graph/nodes.h"
#include "measure/rng.h"

#define LIST_MIN   128u
#define LIST_MAX   (1u << 30)
#define CYCLES_MAX 1000000000u
#define HUGE_BYTES (2u << 20)
/* Cycles that are carried over to the next batch at most: a few readings of the clock. More: after
 * an interrupt, packets would cost nothing for a while. */
#define CARRY_MAX  200

struct line {
	struct line *next;
	uint8_t rest[SHUNT_CACHELINE - sizeof(struct line *)];
};

struct emulate {
	struct line *at; /* NULL: no list */
	struct line *lines;
	uint64_t cycles; /* a packet */
	int64_t owed;	 /* cycles still to spend; negative: spent too many */
};

struct settings {
	uint64_t cycles;
	uint64_t list_bytes;
};

static void walk(struct emulate *emulate, unsigned cnt)
{
	struct line *at = emulate->at;

	while (cnt--)
		at = at->next;
	/* keeps the compiler from leaving the walk out */
	__asm__ volatile("" : "+r"(at));
	emulate->at = at;
}

/* Waits for the last step: without it the clock would be read before the step is done. */
static inline void arrive(void)
{
#if defined(__x86_64__)
	__builtin_ia32_lfence();
#elif defined(__aarch64__)
	__asm__ volatile("dsb ld; isb" : : : "memory");
#endif
}

static void spend(struct emulate *emulate, unsigned cnt)
{
	const uint64_t start = shunt_clock_cycles();
	const int64_t due = emulate->owed + (int64_t)(emulate->cycles * cnt);
	int64_t spent = 0;

	while (spent < due)
		spent = (int64_t)(shunt_clock_cycles() - start);
	emulate->owed = SHUNT_MAX(due - spent, -CARRY_MAX);
}

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	struct emulate *emulate = node->priv;

	(void)next;
	if (emulate->at) {
		walk(emulate, cnt);
		arrive();
	}
	if (emulate->cycles)
		spend(emulate, cnt);
	return shunt_graph_follow(node, pkts);
}

/* --- parameters ------------------------------------------------------------------------------- */

/* "64", "64K", "64M" up to max, into *value. */
static int parse_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;
	unsigned shift = 0;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &end, 10);
	if (*end == 'K' || *end == 'M' || *end == 'G')
		shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 30;
	end += !!shift;
	if (*end || errno || *value > max >> shift)
		return -EINVAL;
	*value <<= shift;
	return 0;
}

static int parse_word(const char *word, struct settings *settings, struct shunt_err *err)
{
	if (!strncmp(word, "cycles=", 7)) {
		if (!parse_number(word + 7, CYCLES_MAX, &settings->cycles))
			return 0;
		return shunt_err_set(err, EINVAL, "node emulate: '%.40s', expected 0 to %u cycles",
				     word, CYCLES_MAX);
	}
	if (!strncmp(word, "list=", 5)) {
		if (!parse_number(word + 5, LIST_MAX, &settings->list_bytes) &&
		    settings->list_bytes >= LIST_MIN)
			return 0;
		return shunt_err_set(err, EINVAL,
				     "node emulate: '%.40s', expected %u to %u bytes, also 64K, 8M",
				     word, LIST_MIN, LIST_MAX);
	}
	return shunt_err_set(err, EINVAL,
			     "node emulate: '%.40s', expected cycles=NUMBER or list=BYTES", word);
}

static int parse(const char *text, struct settings *settings, struct shunt_err *err)
{
	char copy[SHUNT_NODE_TEXT_MAX], *word, *save;
	int ret = 0;

	memset(settings, 0, sizeof(*settings));
	snprintf(copy, sizeof(copy), "%s", text ? text : "");
	word = strtok_r(copy, ",", &save);
	if (!word)
		return shunt_err_set(err, EINVAL,
				     "node emulate: what is it to do? expected cycles=NUMBER, "
				     "list=BYTES or both, as emulate,cycles=100");
	for (; word && !ret; word = strtok_r(NULL, ",", &save))
		ret = parse_word(word, settings, err);
	return ret;
}

static int check(const char *text, struct shunt_err *err)
{
	struct settings settings;

	return parse(text, &settings, err);
}

/* --- the list --------------------------------------------------------------------------------- */

/* One cycle through all lines (Sattolo's shuffle), as next pointers. */
static void link_lines(struct line *lines, uint32_t *order, uint32_t cnt)
{
	uint64_t rng = 1;
	uint32_t i, k, swap;

	for (i = 0; i < cnt; i++)
		order[i] = i;
	for (i = cnt; i-- > 1;) {
		k = (uint32_t)shunt_rng_below(&rng, i);
		swap = order[i];
		order[i] = order[k];
		order[k] = swap;
	}
	for (i = 0; i < cnt; i++)
		lines[i].next = &lines[order[i]];
}

static int make_list(struct emulate *emulate, uint64_t bytes, struct shunt_err *err)
{
	const size_t align = bytes < HUGE_BYTES ? 4096 : HUGE_BYTES;
	const uint32_t cnt = (uint32_t)(bytes / sizeof(struct line));
	uint32_t *order = calloc(cnt, sizeof(*order));
	struct line *lines = aligned_alloc(align, (bytes + align - 1) & ~(align - 1));

	if (!order || !lines) {
		free(order);
		free(lines);
		return shunt_err_set(err, ENOMEM,
				     "node emulate: not enough memory for a list of "
				     "%llu bytes",
				     (unsigned long long)bytes);
	}
	if (align == HUGE_BYTES)
		madvise(lines, bytes, MADV_HUGEPAGE); /* without them it is only slower */
	link_lines(lines, order, cnt);
	free(order);
	emulate->lines = emulate->at = lines;
	return 0;
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	struct settings settings;
	struct emulate *emulate;
	int ret = parse(params, &settings, err);

	if (ret)
		return ret;
	emulate = calloc(1, sizeof(*emulate));
	if (!emulate)
		return shunt_err_set(err, ENOMEM, "node emulate: not enough memory");
	node->priv = emulate;
	emulate->cycles = settings.cycles;
	return settings.list_bytes ? make_list(emulate, settings.list_bytes, err) : 0;
}

static void fini(struct shunt_node *node)
{
	struct emulate *emulate = node->priv;

	if (emulate)
		free(emulate->lines);
	free(emulate);
}

const struct shunt_node_type shunt_node_emulate = {
	.name = "emulate",
	.help = "spends cycles=N on a packet, or a step through a random list=BYTES",
	.fn = run,
	.is_front = true,
	.check = check,
	.init = init,
	.fini = fini,
};
