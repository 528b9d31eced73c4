/* SPDX-License-Identifier: BSD-2-Clause */
/* Steering rules as a configuration writes them, in the manner of ip-rule(8):
 *
 *     from 10.0.0.0/8 to 192.0.2.0/24 proto tcp sport 1024-65535 dport 22 lane kernel
 *     from 2001:db8::/32 proto 89 lane kernel
 *     ethertype 0x88cc lane drop
 *     ipv6 lane kernel
 *
 * Words in any order, each at most once; `lane` must be there. What is left out
 * matches anything. `ipv4` and `ipv6` (or an address) name
 * the family. `sport` and `dport` need `proto tcp`, `udp` or `sctp`. Rules are
 * tried in order, the first that matches decides; none: the mode's default.
 *
 * Limits: one prefix, one range, one protocol a rule. VLAN tags (two at most) are
 * looked through, and `ethertype` is the one behind them. A frame that does not
 * show what a rule asks for, as a fragment its ports, is the kernel's.
 *
 *     struct shunt_rule rule;
 *     struct shunt_steer_rule compiled;
 *     if (shunt_rule_parse(text, &rule, &err) == 0)
 *             shunt_rule_compile(&rule, &compiled);
 */
#ifndef SHUNT_STEER_RULE_H
#define SHUNT_STEER_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "shunt_steer.h"

#define SHUNT_RULE_TEXT_MAX 256 /* longest text shunt_rule_print writes, with its zero */

struct shunt_rule_prefix {
	uint8_t addr[16]; /* network order; IPv4 in the first four, zeros behind the prefix */
	uint8_t len;	  /* bits; 0 matches any */
};

struct shunt_rule_ports {
	uint16_t min, max; /* host order, inclusive; 0-65535 matches any */
};

struct shunt_rule {
	uint8_t family; /* 0 any frame, 4 IPv4, 6 IPv6 */
	bool has_proto, has_ethertype;
	uint8_t proto;
	uint16_t ethertype; /* host order */
	struct shunt_rule_prefix src, dst;
	struct shunt_rule_ports sport, dport;
	enum shunt_lane lane; /* or SHUNT_RULE_AUTO: the lane of the port, against later rules */
};

#define SHUNT_RULE_AUTO ((enum shunt_lane)SHUNT_STEER_RULE_AUTO)

/* shunt_rule_parse reads one rule from text, words between blanks. Returns 0 and
 * fills *rule, or -EINVAL with a sentence that quotes the word at fault and says
 * what would be right; *rule is then unspecified. Refused: host bits behind a
 * prefix, two families, ports without tcp, udp or sctp, a range that runs
 * backwards, a word twice, no lane. Thread: control. */
int shunt_rule_parse(const char *text, struct shunt_rule *rule, struct shunt_err *err);

/* shunt_rule_parse_match reads what a rule compares, without a lane, for filters, which match by
 * the same words (steer/filter.h); the sentence does not quote the text. shunt_rule_has_word says
 * whether it knows the word: 0 no, 1 yes, 2 with a value behind it. shunt_rule_print_match writes
 * that part of the text, with a blank at its end, or nothing. Thread: control. */
int shunt_rule_parse_match(const char *text, struct shunt_rule *rule, struct shunt_err *err);
unsigned shunt_rule_has_word(const char *word);
int shunt_rule_print_match(const struct shunt_rule *rule, char *buf, size_t len);

/* shunt_rule_print writes the text from which shunt_rule_parse reads the same rule.
 * Returns the length without its zero, as snprintf does. Thread: any. */
int shunt_rule_print(const struct shunt_rule *rule, char *buf, size_t len);

/* shunt_rule_lane_name returns the rule's lane as text, "auto" included. Thread: any. */
const char *shunt_rule_lane_name(const struct shunt_rule *rule);

/* shunt_rule_compile turns a rule that shunt_rule_parse accepted into the form
 * that the XDP program compares. Thread: any. */
void shunt_rule_compile(const struct shunt_rule *rule, struct shunt_steer_rule *out);

#endif
