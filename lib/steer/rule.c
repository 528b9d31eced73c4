// SPDX-License-Identifier: BSD-2-Clause
#include "steer/rule.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "steer/names.h"
#include "steer/steer.h"

#define TEXT_MAX      512 /* longer than any rule that says everything once */
#define PORT_MAX      65535
#define ETHERTYPE_MIN 0x600 /* below it the field is a length (IEEE 802.3, 3.2.6) */

/* One rule being read: what was named already, and where the reader is. */
struct reader {
	char text[TEXT_MAX];
	char *rest;
	unsigned seen; /* bit per keyword */
	bool is_match; /* what a rule compares, without its lane */
	struct shunt_rule *rule;
	struct shunt_err *err;
};

static int family_set(struct reader *r, unsigned family, const char *word)
{
	if (r->rule->family && r->rule->family != family)
		return shunt_err_set(r->err, EINVAL,
				     "'%s' is IPv%u but the rule speaks of IPv%u already; write "
				     "one rule for each family",
				     word, family, r->rule->family);
	r->rule->family = family;
	return 0;
}

/* Clears nothing: a bit behind the prefix is a mistake that should be seen. */
static bool has_host_bits(const uint8_t *addr, unsigned len, unsigned bits)
{
	for (unsigned i = len; i < bits; i++) {
		if (addr[i / 8] & 0x80 >> i % 8)
			return true;
	}
	return false;
}

static int prefix_read(struct reader *r, const char *word, struct shunt_rule_prefix *prefix)
{
	char addr[INET6_ADDRSTRLEN];
	const char *slash = strchr(word, '/');
	size_t addr_len = slash ? (size_t)(slash - word) : strlen(word);
	unsigned bits, len;

	if (strcmp(word, "any") == 0)
		return 0;
	if (addr_len >= sizeof(addr))
		addr_len = 0;
	memcpy(addr, word, addr_len);
	addr[addr_len] = 0;
	if (inet_pton(AF_INET, addr, prefix->addr) == 1)
		bits = 32;
	else if (inet_pton(AF_INET6, addr, prefix->addr) == 1)
		bits = 128;
	else
		return shunt_err_set(r->err, EINVAL,
				     "'%s' is no address; expected e.g. 192.0.2.0/24, "
				     "2001:db8::/32 or any",
				     word);
	len = bits;
	if (slash && shunt_number_parse(slash + 1, bits, &len))
		return shunt_err_set(r->err, EINVAL,
				     "'%s': the prefix length must be a number from 0 to %u", word,
				     bits);
	if (has_host_bits(prefix->addr, len, bits))
		return shunt_err_set(r->err, EINVAL,
				     "'%s' has bits set behind its prefix of %u; clear them, or "
				     "lengthen the prefix",
				     word, len);
	prefix->len = len;
	return family_set(r, bits == 32 ? 4 : 6, word);
}

static int ports_read(struct reader *r, char *word, struct shunt_rule_ports *ports)
{
	char *dash = strchr(word, '-');
	unsigned min = 0, max = 0;
	int bad;

	if (dash)
		*dash = 0;
	bad = shunt_number_parse(word, PORT_MAX, &min);
	max = min;
	if (dash) {
		bad = bad ?: shunt_number_parse(dash + 1, PORT_MAX, &max);
		*dash = '-';
	}
	if (bad)
		return shunt_err_set(r->err, EINVAL,
				     "'%s' is no port; expected a number from 0 to %u, or a "
				     "range such as 1024-2047",
				     word, PORT_MAX);
	if (max < min)
		return shunt_err_set(r->err, EINVAL, "the range '%s' runs backwards; write %u-%u",
				     word, max, min);
	*ports = (struct shunt_rule_ports){min, max};
	return 0;
}

#define READER(name, expression)                             \
	static int read_##name(struct reader *r, char *word) \
	{                                                    \
		return expression;                           \
	}
READER(from, prefix_read(r, word, &r->rule->src))
READER(to, prefix_read(r, word, &r->rule->dst))
READER(sport, ports_read(r, word, &r->rule->sport))
READER(dport, ports_read(r, word, &r->rule->dport))
READER(ipv4, family_set(r, 4, word))
READER(ipv6, family_set(r, 6, word))

static int read_proto(struct reader *r, char *word)
{
	unsigned proto;

	if (shunt_proto_parse(word, &proto))
		return shunt_err_set(r->err, EINVAL,
				     "'%s' is no protocol; expected a name such as tcp, udp, "
				     "icmp, ospf, or a number from 0 to 255",
				     word);
	r->rule->has_proto = true;
	r->rule->proto = proto;
	return 0;
}

static int read_ethertype(struct reader *r, char *word)
{
	unsigned type;

	if (shunt_ethertype_parse(word, &type) || type < ETHERTYPE_MIN)
		return shunt_err_set(r->err, EINVAL,
				     "'%s' is no ethertype; expected a name such as arp, lldp, or "
				     "a number from 0x600 to 0xffff",
				     word);
	if (type == ETHERTYPE_IP || type == ETHERTYPE_IPV6)
		return shunt_err_set(r->err, EINVAL, "ethertype '%s' is written %s", word,
				     type == ETHERTYPE_IP ? "ipv4" : "ipv6");
	if (type == ETHERTYPE_VLAN || type == 0x88a8)
		return shunt_err_set(r->err, EINVAL,
				     "ethertype '%s' is a VLAN tag, which rules look through; "
				     "name the ethertype behind it",
				     word);
	r->rule->has_ethertype = true;
	r->rule->ethertype = type;
	return 0;
}

static int read_lane(struct reader *r, char *word)
{
	if (!strcmp(word, "auto"))
		r->rule->lane = SHUNT_RULE_AUTO;
	else if (shunt_steer_lane_parse(word, &r->rule->lane))
		return shunt_err_set(r->err, EINVAL,
				     "'%s' is no lane; expected user, kernel, drop, xdp or auto",
				     word);
	return 0;
}

static const struct keyword {
	const char *name;
	int (*read)(struct reader *r, char *word);
	bool has_value;
} keywords[] = {
	{"from", read_from, true},   {"to", read_to, true},
	{"proto", read_proto, true}, {"sport", read_sport, true},
	{"dport", read_dport, true}, {"ethertype", read_ethertype, true},
	{"lane", read_lane, true},   {"ipv4", read_ipv4, false},
	{"ipv6", read_ipv6, false},
};

static const struct keyword *keyword_find(const char *word)
{
	for (size_t i = 0; i < SHUNT_ARRAY_LEN(keywords); i++) {
		if (strcmp(keywords[i].name, word) == 0)
			return &keywords[i];
	}
	return NULL;
}

static char *word_next(struct reader *r)
{
	return strtok_r(NULL, " \t\r\n", &r->rest);
}

static int keyword_read(struct reader *r, char *word)
{
	const struct keyword *keyword = keyword_find(word);
	unsigned bit;

	if (!keyword)
		return shunt_err_set(r->err, EINVAL,
				     "'%s' is no word of a rule; expected from, to, proto, sport, "
				     "dport, ethertype, ipv4, ipv6 or lane",
				     word);
	bit = 1u << (keyword - keywords);
	if (r->seen & bit)
		return shunt_err_set(r->err, EINVAL, "'%s' is there twice; once is enough", word);
	r->seen |= bit;
	if (keyword->has_value) {
		word = word_next(r);
		if (!word)
			return shunt_err_set(r->err, EINVAL,
					     "'%s' needs a value behind it, and the rule ends",
					     keyword->name);
	}
	return keyword->read(r, word);
}

static bool ports_are_any(const struct shunt_rule_ports *ports)
{
	return ports->min == 0 && ports->max == PORT_MAX;
}

static bool proto_has_ports(const struct shunt_rule *rule)
{
	return rule->has_proto && (rule->proto == IPPROTO_TCP || rule->proto == IPPROTO_UDP ||
				   rule->proto == IPPROTO_SCTP);
}

static bool was_seen(const struct reader *r, const char *name)
{
	return r->seen & 1u << (keyword_find(name) - keywords);
}

static int whole_check(const struct reader *r)
{
	const struct shunt_rule *rule = r->rule;

	if (!r->is_match && !was_seen(r, "lane"))
		return shunt_err_set(r->err, EINVAL,
				     "no lane; end it with lane user, kernel, drop, xdp or auto");
	if ((was_seen(r, "sport") || was_seen(r, "dport")) && !proto_has_ports(rule))
		return shunt_err_set(r->err, EINVAL,
				     "ports need proto tcp, proto udp or proto sctp");
	if (rule->has_ethertype && (rule->family || rule->has_proto))
		return shunt_err_set(r->err, EINVAL,
				     "ethertype 0x%04x is not IP, so no frame has it and an IP "
				     "address, family or proto too; leave one of them out",
				     rule->ethertype);
	return 0;
}

static int words_read(struct reader *r)
{
	char *word = strtok_r(r->text, " \t\r\n", &r->rest);

	for (; word; word = word_next(r)) {
		int rc = keyword_read(r, word);

		if (rc)
			return rc;
	}
	return whole_check(r);
}

static int text_read(const char *text, bool is_match, struct shunt_rule *rule,
		     struct shunt_err *err)
{
	struct reader r = {.rule = rule, .err = err, .is_match = is_match};

	*rule = (struct shunt_rule){.sport = {0, PORT_MAX}, .dport = {0, PORT_MAX}};
	snprintf(r.text, sizeof(r.text), "%s", text);
	return words_read(&r);
}

int shunt_rule_parse(const char *text, struct shunt_rule *rule, struct shunt_err *err)
{
	int rc;

	if (strlen(text) >= TEXT_MAX)
		return shunt_err_set(err, EINVAL,
				     "rule '%.60s...': longer than %d characters; split it", text,
				     TEXT_MAX - 1);
	rc = text_read(text, false, rule, err);
	if (rc)
		shunt_err_prefix(err, "rule '%.120s': ", text);
	return rc;
}

int shunt_rule_parse_match(const char *text, struct shunt_rule *rule, struct shunt_err *err)
{
	if (strlen(text) >= TEXT_MAX)
		return shunt_err_set(err, EINVAL, "longer than %d characters", TEXT_MAX - 1);
	return text_read(text, true, rule, err);
}

unsigned shunt_rule_has_word(const char *word)
{
	const struct keyword *keyword = keyword_find(word);

	return !keyword ? 0 : keyword->has_value ? 2 : 1;
}

/* ---- print ---------------------------------------------------------------------------------- */

struct writer {
	char *buf;
	size_t len, used;
};

static void put(struct writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct writer *w, const char *fmt, ...)
{
	size_t room = w->used < w->len ? w->len - w->used : 0;
	va_list ap;

	va_start(ap, fmt);
	w->used += vsnprintf(room ? w->buf + w->used : NULL, room, fmt, ap);
	va_end(ap);
}

static void put_prefix(struct writer *w, const char *word, const struct shunt_rule *rule,
		       const struct shunt_rule_prefix *prefix)
{
	char addr[INET6_ADDRSTRLEN];

	if (!prefix->len)
		return;
	inet_ntop(rule->family == 4 ? AF_INET : AF_INET6, prefix->addr, addr, sizeof(addr));
	put(w, "%s %s/%u ", word, addr, prefix->len);
}

static void put_ports(struct writer *w, const char *word, const struct shunt_rule_ports *ports)
{
	if (ports_are_any(ports))
		return;
	if (ports->min == ports->max)
		put(w, "%s %u ", word, ports->min);
	else
		put(w, "%s %u-%u ", word, ports->min, ports->max);
}

const char *shunt_rule_lane_name(const struct shunt_rule *rule)
{
	return rule->lane == SHUNT_RULE_AUTO ? "auto" : shunt_steer_lane_name(rule->lane);
}

static void put_match(struct writer *w, const struct shunt_rule *rule)
{
	const char *name;

	if (rule->family && !rule->src.len && !rule->dst.len)
		put(w, "ipv%u ", rule->family);
	put_prefix(w, "from", rule, &rule->src);
	put_prefix(w, "to", rule, &rule->dst);
	if (rule->has_proto) {
		name = shunt_proto_name(rule->proto);
		if (name)
			put(w, "proto %s ", name);
		else
			put(w, "proto %u ", rule->proto);
	}
	put_ports(w, "sport", &rule->sport);
	put_ports(w, "dport", &rule->dport);
	if (rule->has_ethertype)
		put(w, "ethertype 0x%04x ", rule->ethertype);
}

int shunt_rule_print_match(const struct shunt_rule *rule, char *buf, size_t len)
{
	struct writer w = {.buf = buf, .len = len};

	if (len)
		*buf = 0;
	put_match(&w, rule);
	return w.used;
}

int shunt_rule_print(const struct shunt_rule *rule, char *buf, size_t len)
{
	struct writer w = {.buf = buf, .len = len};

	put_match(&w, rule);
	put(&w, "lane %s", shunt_rule_lane_name(rule));
	return w.used;
}
