// SPDX-License-Identifier: BSD-2-Clause
#include "choice/choice.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

/* --- what the list's conditions are made of --------------------------------------------------- */

/* The ports that a port's frames leave by, and what is known of them together. */
struct far {
	unsigned cnt, taking_cnt;
	bool are_devices; /* the port itself included */
	int slow;	  /* the first without zero-copy, the port itself included; -1 */
	int refusing;	  /* the last that takes no frames from this port; -1 */
	/* of that one */
	bool can_detour, has_no_detour;
};

#define asks(f, lane) ((f)->requested == SHUNT_REQUEST_##lane)

static bool is_auto(const struct shunt_lane_facts *f)
{
	return asks(f, AUTO);
}

static enum shunt_lane asked_lane(const struct shunt_lane_facts *f)
{
	return asks(f, USER) ? SHUNT_LANE_USER : asks(f, XDP) ? SHUNT_LANE_XDP : SHUNT_LANE_KERNEL;
}

bool shunt_lane_takes(const struct shunt_lane_facts *from, const struct shunt_lane_facts *to)
{
	if (!from->is_device || !to->is_device)
		return false;
	/* A generic program's redirect goes through the device's ordinary transmit. */
	if (from->is_generic)
		return true;
	return to->takes && !(to->lacks_headroom && from->is_zerocopy);
}

static struct far far_of(const struct shunt_lane_facts *facts, unsigned cnt, unsigned port)
{
	const struct shunt_lane_facts *f = &facts[port];
	struct far far = {.are_devices = f->is_device,
			  .slow = f->is_zerocopy ? -1 : (int)port,
			  .refusing = -1};
	unsigned i;

	for (i = 0; i < cnt; i++) {
		const bool takes = shunt_lane_takes(f, &facts[i]);

		if (!(f->far >> i & 1))
			continue;
		far.cnt++;
		far.taking_cnt += takes;
		far.are_devices &= facts[i].is_device;
		if (!facts[i].is_zerocopy && far.slow < 0)
			far.slow = (int)i;
		if (!takes)
			far.refusing = (int)i;
	}
	if (far.refusing >= 0) {
		far.can_detour = facts[far.refusing].can_detour;
		far.has_no_detour = facts[far.refusing].has_no_detour;
	}
	return far;
}

/* --- the lane --------------------------------------------------------------------------------- */

struct verdict {
	enum shunt_lane lane;
	enum shunt_lane_reason reason;
};

/* The first reason behind `after` that holds. */
static struct verdict judge(const struct shunt_lane_facts *f, const struct far *far,
			    enum shunt_lane_reason after)
{
#define X(name, lane, condition, sentence)                   \
	if (SHUNT_LANE_REASON_##name > after && (condition)) \
		return (struct verdict){lane, SHUNT_LANE_REASON_##name};
	SHUNT_LANE_REASONS(X)
#undef X
	return (struct verdict){f->before, SHUNT_LANE_REASON_none};
}

static struct shunt_lane_choice choose(const struct shunt_lane_facts *facts, unsigned cnt,
				       unsigned port)
{
	const struct far far = far_of(facts, cnt, port);
	const struct verdict verdict = judge(&facts[port], &far, SHUNT_LANE_REASON_none);

	return (struct shunt_lane_choice){
		.lane = verdict.lane,
		.wanted = judge(&facts[port], &far, SHUNT_LANE_REASON_refused).lane,
		.reason = verdict.reason,
		.far = (int8_t)far.refusing,
		.slow = (int8_t)far.slow,
	};
}

/* --- program and detour ----------------------------------------------------------------------- */

/* Nothing that comes in on it is to be steered, and the program may go. Not only until the kernel
 * is followed again: a driver may restart its device for a program. */
static bool is_idle(const struct shunt_lane_facts *f, const struct shunt_lane_choice *choice)
{
	return f->is_device && is_auto(f) && !f->is_pinned && !f->is_gone && !f->is_taken_off &&
	       choice->wanted == SHUNT_LANE_KERNEL &&
	       (choice->reason != SHUNT_LANE_REASON_unfollowed || f->is_suspended);
}

/* What `from` sends to the port goes there whether or not that has a program. */
static bool sends_bare(const struct shunt_lane_facts *from, const struct shunt_lane_facts *to)
{
	return from->is_generic || (to->sends_bare && !to->is_zerocopy);
}

static bool needs_program(const struct shunt_lane_facts *facts, unsigned cnt,
			  const struct shunt_lane_choice *choices, unsigned port)
{
	unsigned i;

	if (!is_idle(&facts[port], &choices[port]))
		return true;
	for (i = 0; i < cnt; i++)
		if (facts[i].far >> port & 1 && !is_idle(&facts[i], &choices[i]) &&
		    !sends_bare(&facts[i], &facts[port]))
			return true;
	return facts[port].restarts;
}

/* Its program may have to send frames to other ports: now, or when its worker has died. */
static bool may_redirect(const struct shunt_lane_facts *f, const struct shunt_lane_choice *choice)
{
	return choice->lane == SHUNT_LANE_XDP || (f->crosses && choice->lane == SHUNT_LANE_USER);
}

static bool needs_detour(const struct shunt_lane_facts *facts, unsigned cnt,
			 const struct shunt_lane_choice *choices, unsigned port)
{
	unsigned i;

	for (i = 0; i < cnt && facts[port].can_detour; i++)
		if (may_redirect(&facts[i], &choices[i]) &&
		    shunt_lane_wants_detour(&facts[i], port) &&
		    !shunt_lane_takes(&facts[i], &facts[port]))
			return true;
	return false;
}

bool shunt_lane_wants_detour(const struct shunt_lane_facts *from, unsigned to)
{
	return from->is_device && !from->has_fallback && from->far >> to & 1;
}

void shunt_lane_choose(const struct shunt_lane_facts *facts, unsigned cnt,
		       struct shunt_lane_choice *out)
{
	unsigned i;

	for (i = 0; i < cnt; i++)
		out[i] = choose(facts, cnt, i);
	for (i = 0; i < cnt; i++) {
		out[i].has_program = needs_program(facts, cnt, out, i);
		out[i].has_detour = needs_detour(facts, cnt, out, i);
	}
}

bool shunt_lane_is_same(const struct shunt_lane_choice *a, const struct shunt_lane_choice *b)
{
	return a->lane == b->lane && a->reason == b->reason && a->far == b->far &&
	       a->slow == b->slow;
}

bool shunt_lane_is_overruled(enum shunt_lane_reason reason)
{
	return reason <= SHUNT_LANE_REASON_policy_routing;
}

/* --- words ------------------------------------------------------------------------------------ */

const char *shunt_lane_reason_name(enum shunt_lane_reason reason)
{
	static const char *const names[] = {"none",
#define X(name, lane, condition, sentence) #name,
					    SHUNT_LANE_REASONS(X)
#undef X
	};

	return reason < SHUNT_ARRAY_LEN(names) ? names[reason] : "?";
}

static const char *word_of(const struct shunt_lane_words *w, const char *at, size_t len)
{
	const struct {
		const char *name, *word;
	} words[] = {
		{"port", w->port},     {"far", w->far},	      {"refusal", w->refusal},
		{"slow", w->slow},     {"driver", w->driver}, {"mode", w->mode},
		{"detail", w->detail},
	};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(words); i++)
		if (strlen(words[i].name) == len && !memcmp(words[i].name, at, len))
			return words[i].word ? words[i].word : "?";
	return "?";
}

void shunt_lane_reason_print(enum shunt_lane_reason reason, const struct shunt_lane_words *words,
			     char *out, unsigned len)
{
	static const char *const sentences[] = {"",
#define X(name, lane, condition, sentence) sentence,
						SHUNT_LANE_REASONS(X)
#undef X
	};
	const char *at = reason < SHUNT_ARRAY_LEN(sentences) ? sentences[reason] : "";
	unsigned used = 0;

	*out = '\0';
	while (*at && used < len) {
		const size_t plain = strcspn(at, "{"),
			     name = at[plain] ? strcspn(at + plain, "}") : 0;

		used += (unsigned)snprintf(out + used, len - used, "%.*s%s", (int)plain, at,
					   name ? word_of(words, at + plain + 1, name - 1) : "");
		at += plain + (name ? name + 1 : 0);
	}
}
