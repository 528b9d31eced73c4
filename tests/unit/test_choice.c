// SPDX-License-Identifier: BSD-2-Clause
/* The choice of a lane: a row for every reason, and every pair of reasons whose causes can be there
 * at once. A cause is a function that puts it into the facts of two ports that forward to each
 * other; the list's order says which of two decides. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/bytes.h"
#include "choice/choice.h"

/* Port 0 is looked at, port 1 is what its frames leave by. */
enum { NEAR, FAR, PORTS };

typedef void (*cause)(struct shunt_lane_facts *f);

/* Two devices without zero-copy that take frames from XDP, a kernel that forwards, lane auto. */
static void healthy(struct shunt_lane_facts *f)
{
	unsigned i;

	memset(f, 0, PORTS * sizeof(*f));
	for (i = 0; i < PORTS; i++) {
		f[i].far = 1u << !i;
		f[i].is_device = f[i].takes = f[i].is_confirmed = f[i].has_fallback = true;
		f[i].sends_bare = true;
		f[i].before = SHUNT_LANE_XDP;
	}
}

#define CAUSE(name, ...)                                   \
	static void put_##name(struct shunt_lane_facts *f) \
	{                                                  \
		__VA_ARGS__;                               \
	}

CAUSE(gone, f[NEAR].is_gone = f[NEAR].is_suspended = true)
CAUSE(gone_with_program, f[NEAR].is_gone = true)
CAUSE(taken_off, f[NEAR].is_taken_off = true)
CAUSE(blocked, f[NEAR].is_suspended = f[NEAR].is_blocked = true)
CAUSE(refused, f[NEAR].is_suspended = f[NEAR].is_refused = true)
CAUSE(isolated, f[NEAR].left = SHUNT_LANE_REASON_isolated)
CAUSE(locked, f[NEAR].left = SHUNT_LANE_REASON_locked)
CAUSE(hairpin, f[NEAR].left = SHUNT_LANE_REASON_hairpin)
CAUSE(not_member, f[NEAR].left = SHUNT_LANE_REASON_not_member)
CAUSE(backup_port, f[NEAR].left = SHUNT_LANE_REASON_backup_port)
CAUSE(vlan_filtering, f[NEAR].left = SHUNT_LANE_REASON_vlan_filtering)
CAUSE(unaged, f[NEAR].left = SHUNT_LANE_REASON_unaged)
CAUSE(tags_in_vain, f[NEAR].left = SHUNT_LANE_REASON_tags; f[NEAR].has_fallback = false)
CAUSE(tags, f[NEAR].left = SHUNT_LANE_REASON_tags)
CAUSE(unfollowed, f[NEAR].left = SHUNT_LANE_REASON_unfollowed)
CAUSE(firewall_in_vain, f[NEAR].left = SHUNT_LANE_REASON_firewall; f[NEAR].has_fallback = false)
CAUSE(firewall, f[NEAR].left = SHUNT_LANE_REASON_firewall)
CAUSE(policy_routing, f[NEAR].left = SHUNT_LANE_REASON_policy_routing)
CAUSE(master, f[NEAR].left = SHUNT_LANE_REASON_master)
CAUSE(no_devices, f[FAR].is_device = f[FAR].takes = false)
CAUSE(nodes, f[NEAR].has_nodes = true)
CAUSE(zerocopy, f[NEAR].is_zerocopy = f[FAR].is_zerocopy = true)
CAUSE(no_tables, f[NEAR].lacks_tables = true)
CAUSE(generic, f[NEAR].is_generic = f[NEAR].is_generic_dear = true)
CAUSE(bulk, f[NEAR].is_bulk = true)
CAUSE(xdp, f[FAR].takes = true)
CAUSE(xdp_partly, f[NEAR].far |= 1u << NEAR; f[NEAR].takes = false)
CAUSE(alone, f[NEAR].far = 0)
CAUSE(fallback, f[FAR].takes = false)
CAUSE(detour, f[FAR].takes = f[NEAR].has_fallback = false; f[FAR].can_detour = true)
CAUSE(no_detour, f[FAR].takes = f[NEAR].has_fallback = false; f[FAR].has_no_detour = true)
CAUSE(no_fallback, f[FAR].takes = f[NEAR].has_fallback = false)
CAUSE(asked_in_vain, f[NEAR].requested = SHUNT_REQUEST_KERNEL; f[NEAR].has_fallback = false)
CAUSE(asked_detour, f[NEAR].requested = SHUNT_REQUEST_XDP; put_detour(f))
CAUSE(asked_partly, f[NEAR].requested = SHUNT_REQUEST_XDP; f[FAR].takes = false)
CAUSE(asked, f[NEAR].requested = SHUNT_REQUEST_USER)

#define KERNEL SHUNT_LANE_KERNEL
#define USER   SHUNT_LANE_USER
#define XDP    SHUNT_LANE_XDP

/* By reason: its cause, the lane, and the lane wanted if the program could be there. */
static const struct row {
	enum shunt_lane_reason reason;
	cause put;
	enum shunt_lane lane, wanted;
	bool has_program, has_detour;
} rows[] = {
#define ROW(name, ...)                                            \
	{                                                         \
		SHUNT_LANE_REASON_##name, put_##name, __VA_ARGS__ \
	}
	ROW(gone, XDP, XDP, true, false),
	ROW(gone_with_program, XDP, XDP, true, false),
	ROW(taken_off, KERNEL, XDP, true, false),
	ROW(blocked, KERNEL, XDP, true, false),
	ROW(refused, KERNEL, XDP, true, false),
	ROW(isolated, KERNEL, KERNEL, false, false),
	ROW(locked, KERNEL, KERNEL, false, false),
	ROW(hairpin, KERNEL, KERNEL, false, false),
	ROW(not_member, KERNEL, KERNEL, false, false),
	ROW(backup_port, KERNEL, KERNEL, false, false),
	ROW(vlan_filtering, KERNEL, KERNEL, false, false),
	ROW(unaged, KERNEL, KERNEL, false, false),
	ROW(tags_in_vain, KERNEL, KERNEL, false, false),
	ROW(tags, KERNEL, KERNEL, false, false),
	ROW(unfollowed, KERNEL, KERNEL, true, false),
	ROW(firewall_in_vain, KERNEL, KERNEL, false, false),
	ROW(firewall, KERNEL, KERNEL, false, false),
	ROW(policy_routing, KERNEL, KERNEL, false, false),
	ROW(master, KERNEL, KERNEL, false, false),
	ROW(no_devices, USER, USER, true, false),
	ROW(nodes, USER, USER, true, false),
	ROW(zerocopy, USER, USER, true, false),
	ROW(no_tables, USER, USER, true, false),
	ROW(generic, KERNEL, KERNEL, false, false),
	ROW(bulk, KERNEL, KERNEL, false, false),
	ROW(xdp, XDP, XDP, true, false),
	ROW(xdp_partly, XDP, XDP, true, false),
	ROW(alone, KERNEL, KERNEL, false, false),
	ROW(fallback, KERNEL, KERNEL, false, false),
	ROW(detour, XDP, XDP, true, true),
	ROW(no_detour, USER, USER, true, false),
	ROW(no_fallback, USER, USER, true, false),
	ROW(asked_in_vain, KERNEL, KERNEL, true, false),
	ROW(asked_detour, XDP, XDP, true, true),
	ROW(asked_partly, XDP, XDP, true, false),
	ROW(asked, USER, USER, true, false),
};

static struct shunt_lane_choice choose(const struct shunt_lane_facts *f, bool *has_detour)
{
	struct shunt_lane_choice out[PORTS];

	shunt_lane_choose(f, PORTS, out);
	*has_detour = out[FAR].has_detour;
	return out[NEAR];
}

Test(choice, every_reason)
{
	struct shunt_lane_facts f[PORTS];
	unsigned i;

	/* but none, and share, which is shown and never chosen */
	cr_assert_eq(SHUNT_ARRAY_LEN(rows), SHUNT_LANE_REASON_CNT - 2);
	for (i = 0; i < SHUNT_ARRAY_LEN(rows); i++) {
		const char *name = shunt_lane_reason_name(rows[i].reason);
		struct shunt_lane_choice got;
		bool has_detour;

		healthy(f);
		rows[i].put(f);
		got = choose(f, &has_detour);
		cr_expect_eq(got.reason, rows[i].reason, "%s: the reason is %s", name,
			     shunt_lane_reason_name(got.reason));
		cr_expect_eq(got.lane, rows[i].lane, "%s: lane %d", name, got.lane);
		cr_expect_eq(got.wanted, rows[i].wanted, "%s: wanted %d", name, got.wanted);
		cr_expect_eq(got.has_program, rows[i].has_program, "%s: program", name);
		cr_expect_eq(has_detour, rows[i].has_detour, "%s: detour", name);
	}
}

/* A wire that goes on without its worker has a way to the far port in lane user, too. */
Test(choice, detour_of_a_wire_that_crosses)
{
	struct shunt_lane_facts f[PORTS];
	bool has_detour;

	healthy(f);
	put_asked(f);
	put_detour(f);
	cr_assert_eq(choose(f, &has_detour).lane, USER);
	cr_expect_not(has_detour, "it does not cross");
	f[NEAR].crosses = true;
	cr_assert_eq(choose(f, &has_detour).lane, USER);
	cr_expect(has_detour);
	f[FAR].takes = true;
	choose(f, &has_detour);
	cr_expect_not(has_detour, "the far port takes frames");
	f[FAR].lacks_headroom = f[NEAR].is_zerocopy = true;
	choose(f, &has_detour);
	cr_expect(has_detour, "of no zero-copy ring's");
	f[NEAR].requested = SHUNT_REQUEST_KERNEL;
	choose(f, &has_detour);
	cr_expect_not(has_detour, "in lane kernel nothing crosses");
}

static bool is_left(const struct row *row)
{
	return row->reason >= SHUNT_LANE_REASON_isolated && row->reason <= SHUNT_LANE_REASON_master;
}

/* Where the other cause also says that nobody else would forward. */
static enum shunt_lane_reason in_vain(enum shunt_lane_reason reason, const struct row *other)
{
	struct shunt_lane_facts f[PORTS];

	healthy(f);
	other->put(f);
	if (f[NEAR].has_fallback)
		return reason;
	return reason == SHUNT_LANE_REASON_firewall ? SHUNT_LANE_REASON_firewall_in_vain
	       : reason == SHUNT_LANE_REASON_tags   ? SHUNT_LANE_REASON_tags_in_vain
						    : reason;
}

/* The reason that decides where the causes of a row and of a later one are both there. The earlier
 * one, but where the later cause takes away what the earlier is about. */
static enum shunt_lane_reason decides(const struct row *first, const struct row *second)
{
	static const struct {
		enum shunt_lane_reason first, second, decides;
	} others[] = {
#define OTHER(a, b, c) {SHUNT_LANE_REASON_##a, SHUNT_LANE_REASON_##b, SHUNT_LANE_REASON_##c}
		/* a device that is suspended is gone without its program */
		OTHER(gone_with_program, blocked, gone),
		OTHER(gone_with_program, refused, gone),
		/* no far port, so none that is no device, dear, in bulk, taking or refusing */
		OTHER(no_devices, alone, alone),
		OTHER(generic, alone, alone),
		OTHER(bulk, alone, alone),
		OTHER(xdp, alone, alone),
		OTHER(xdp_partly, alone, alone),
		/* a generic program's redirect needs nothing of the far device */
		OTHER(generic, detour, xdp),
		OTHER(generic, no_detour, xdp),
		OTHER(generic, no_fallback, xdp),
		/* the far port takes frames or does not, and the kernel forwards or does not */
		OTHER(xdp, xdp_partly, xdp_partly),
		OTHER(xdp, fallback, fallback),
		OTHER(xdp, detour, detour),
		OTHER(xdp, no_detour, no_detour),
		OTHER(xdp, no_fallback, no_fallback),
		OTHER(xdp_partly, fallback, fallback),
		OTHER(xdp_partly, detour, detour),
		OTHER(xdp_partly, no_detour, no_detour),
		OTHER(xdp_partly, no_fallback, no_fallback),
		OTHER(fallback, detour, detour),
		OTHER(fallback, no_detour, no_detour),
		OTHER(fallback, no_fallback, no_fallback),
	};
	unsigned i;

	/* one reason at a time leaves frames to the kernel: the later call's */
	if (is_left(first) && is_left(second))
		return in_vain(second->reason, first);
	for (i = 0; i < SHUNT_ARRAY_LEN(others); i++)
		if (others[i].first == first->reason && others[i].second == second->reason)
			return others[i].decides;
	return in_vain(first->reason, second);
}

static bool is_asked(const struct row *row)
{
	return row->reason >= SHUNT_LANE_REASON_asked_in_vain;
}

static bool is_auto(const struct row *row)
{
	return row->reason > SHUNT_LANE_REASON_master && !is_asked(row);
}

Test(choice, every_pair_of_reasons)
{
	struct shunt_lane_facts f[PORTS];
	unsigned i, k, cnt = 0;

	for (i = 0; i < SHUNT_ARRAY_LEN(rows); i++)
		for (k = i + 1; k < SHUNT_ARRAY_LEN(rows); k++) {
			struct shunt_lane_choice got;
			enum shunt_lane_reason wanted = decides(&rows[i], &rows[k]);
			bool has_detour;

			/* either auto or a lane is asked for */
			if (is_asked(&rows[k]) && (is_auto(&rows[i]) || is_asked(&rows[i])))
				continue;
			healthy(f);
			rows[i].put(f);
			rows[k].put(f);
			got = choose(f, &has_detour);
			cr_expect_eq(got.reason, wanted, "%s and %s: %s, expected %s",
				     shunt_lane_reason_name(rows[i].reason),
				     shunt_lane_reason_name(rows[k].reason),
				     shunt_lane_reason_name(got.reason),
				     shunt_lane_reason_name(wanted));
			cnt++;
		}
	cr_expect_gt(cnt, 300);
}

Test(choice, who_takes_frames)
{
	struct shunt_lane_facts f[PORTS];

	healthy(f);
	cr_expect(shunt_lane_takes(&f[NEAR], &f[FAR]));
	cr_expect(shunt_lane_takes(&f[NEAR], &f[NEAR]), "a port to itself");
	f[FAR].lacks_headroom = true;
	cr_expect(shunt_lane_takes(&f[NEAR], &f[FAR]), "from a ring that copies");
	f[NEAR].is_zerocopy = true;
	cr_expect_not(shunt_lane_takes(&f[NEAR], &f[FAR]), "from a zero-copy ring");
	f[NEAR].is_generic = true;
	cr_expect(shunt_lane_takes(&f[NEAR], &f[FAR]), "a generic program's");
	f[FAR].is_device = false;
	cr_expect_not(shunt_lane_takes(&f[NEAR], &f[FAR]), "no device");
}

/* The program of a port that steers nothing goes, but where somebody else needs it there. */
Test(choice, who_needs_a_program)
{
	struct shunt_lane_facts f[PORTS];
	struct shunt_lane_choice out[PORTS];

	healthy(f);
	put_bulk(f);
	shunt_lane_choose(f, PORTS, out);
	cr_expect_not(out[NEAR].has_program, "nothing is steered");
	f[NEAR].is_pinned = true;
	shunt_lane_choose(f, PORTS, out);
	cr_expect(out[NEAR].has_program, "a rule, a share or an external program");
	f[NEAR].is_pinned = false;
	f[NEAR].sends_bare = false;
	shunt_lane_choose(f, PORTS, out);
	cr_expect(out[NEAR].has_program, "the far port steers to a driver that wants a program");
	f[FAR].is_generic = true;
	shunt_lane_choose(f, PORTS, out);
	cr_expect_not(out[NEAR].has_program, "which a generic program does not ask for");
	f[NEAR].restarts = true;
	shunt_lane_choose(f, PORTS, out);
	cr_expect(out[NEAR].has_program, "taking it off would start the device anew");
}

Test(choice, sentences)
{
	const struct shunt_lane_words words = {.port = "eth1",
					       .far = "eth2",
					       .refusal = "is gone",
					       .slow = "eth3",
					       .driver = "igb",
					       .mode = "bridge",
					       .detail = "why"};
	char text[256], cut[8];
	unsigned i;

	for (i = SHUNT_LANE_REASON_none + 1; i < SHUNT_LANE_REASON_CNT; i++) {
		shunt_lane_reason_print((enum shunt_lane_reason)i, &words, text, sizeof(text));
		cr_expect(*text && !strpbrk(text, "{}?"), "%s: %s",
			  shunt_lane_reason_name((enum shunt_lane_reason)i), text);
	}
	shunt_lane_reason_print(SHUNT_LANE_REASON_no_fallback, &words, text, sizeof(text));
	cr_expect_str_eq(text, "eth2 is gone, and the kernel knows nothing of a bridge");
	shunt_lane_reason_print(SHUNT_LANE_REASON_no_fallback, &words, cut, sizeof(cut));
	cr_expect_str_eq(cut, "eth2 is");
	cr_expect_str_eq(shunt_lane_reason_name(SHUNT_LANE_REASON_CNT), "?");
}
