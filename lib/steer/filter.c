// SPDX-License-Identifier: BSD-2-Clause
#include "steer/filter.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mac.h"

#define QUEUE_MAX    65535
#define LOCATION_MAX 65535

/* One filter being read: its own words are taken, those of a rule are collected. */
struct reader {
	char text[SHUNT_FILTER_TEXT_MAX], match[SHUNT_FILTER_TEXT_MAX];
	char *rest;
	unsigned seen; /* bit per word of its own */
	struct shunt_filter *filter;
	struct shunt_err *err;
};

static int read_number(const char *text, unsigned long max, unsigned long *out)
{
	char *end;

	errno = 0;
	*out = strtoul(text, &end, 10);
	return text[0] < '0' || text[0] > '9' || *end || errno || *out > max ? -EINVAL : 0;
}

static int set_src_mac(struct shunt_filter *f, const char *value)
{
	f->has_src_mac = true;
	return shunt_mac_parse(value, f->src_mac);
}

static int set_dst_mac(struct shunt_filter *f, const char *value)
{
	f->has_dst_mac = true;
	return shunt_mac_parse(value, f->dst_mac);
}

static int set_vlan(struct shunt_filter *f, const char *value)
{
	unsigned long n;
	int ret = read_number(value, 4095, &n);

	f->has_vlan = true;
	f->vlan = (uint16_t)n;
	return ret;
}

static int set_vlan_priority(struct shunt_filter *f, const char *value)
{
	unsigned long n;
	int ret = read_number(value, 7, &n);

	f->has_vlan_priority = true;
	f->vlan_priority = (uint8_t)n;
	return ret;
}

static int set_queue(struct shunt_filter *f, const char *value)
{
	unsigned long n;
	int ret = read_number(value, QUEUE_MAX, &n);

	f->queue = (uint32_t)n;
	return ret;
}

static int set_location(struct shunt_filter *f, const char *value)
{
	unsigned long n;
	int ret = read_number(value, LOCATION_MAX, &n);

	f->location = (int32_t)n;
	return ret;
}

static const struct own_word {
	const char *name;
	int (*set)(struct shunt_filter *f, const char *value);
	const char *expected;
} own_words[] = {
	{"queue", set_queue, "a number"},
	{"location", set_location, "a number"},
	{"src-mac", set_src_mac, "a MAC address as 02:00:00:00:00:01"},
	{"dst-mac", set_dst_mac, "a MAC address as 02:00:00:00:00:01"},
	{"vlan", set_vlan, "a number from 0 to 4095"},
	{"vlan-priority", set_vlan_priority, "a number from 0 to 7"},
};
#define SEEN_QUEUE 1u /* the bit of the first */

static char *word_next(struct reader *r)
{
	return strtok_r(NULL, " \t\r\n", &r->rest);
}

static int read_own(struct reader *r, const struct own_word *own)
{
	const unsigned bit = 1u << (own - own_words);
	const char *value = word_next(r);

	if (r->seen & bit)
		return shunt_err_set(r->err, EINVAL, "'%s' is there twice; once is enough",
				     own->name);
	r->seen |= bit;
	if (!value)
		return shunt_err_set(r->err, EINVAL,
				     "'%s' needs a value behind it, and the filter ends",
				     own->name);
	if (own->set(r->filter, value))
		return shunt_err_set(r->err, EINVAL, "%s is '%s', expected %s", own->name, value,
				     own->expected);
	return 0;
}

static int read_word(struct reader *r, const char *word)
{
	const size_t used = strlen(r->match);
	const char *value = "";
	unsigned i, known;

	for (i = 0; i < SHUNT_ARRAY_LEN(own_words); i++)
		if (!strcmp(own_words[i].name, word))
			return read_own(r, &own_words[i]);
	known = strcmp(word, "lane") ? shunt_rule_has_word(word) : 0;
	if (!known)
		return shunt_err_set(r->err, EINVAL,
				     "'%s' is no word of a filter; expected from, to, proto, "
				     "sport, dport, ethertype, ipv4, ipv6, src-mac, dst-mac, vlan, "
				     "vlan-priority, queue or location",
				     word);
	if (known == 2)
		value = word_next(r);
	/* fits: it is made of the text's own words */
	snprintf(r->match + used, sizeof(r->match) - used, " %s %s", word, value ? value : "");
	return 0;
}

static bool is_range(const struct shunt_rule_ports *ports)
{
	return ports->min != ports->max && (ports->min != 0 || ports->max != 65535);
}

bool shunt_filter_is_ip(const struct shunt_filter *f)
{
	return f->match.has_proto || f->match.src.len || f->match.dst.len;
}

static int check(const struct reader *r)
{
	const struct shunt_filter *f = r->filter;
	const bool has_mac = f->has_src_mac || f->has_dst_mac;

	if (!(r->seen & SEEN_QUEUE))
		return shunt_err_set(r->err, EINVAL, "no queue; end it with queue N");
	if (is_range(&f->match.sport) || is_range(&f->match.dport))
		return shunt_err_set(r->err, EINVAL,
				     "a NIC compares one port, no range; write a filter for each");
	if (shunt_filter_is_ip(f) && !f->match.family)
		return shunt_err_set(r->err, EINVAL,
				     "proto is given and no family; add ipv4 or ipv6");
	if (shunt_filter_is_ip(f) && has_mac)
		return shunt_err_set(r->err, EINVAL,
				     "a NIC compares MAC addresses or IP fields, not both; leave "
				     "one of them out");
	if (!f->match.family && !f->match.has_ethertype && !has_mac && !f->has_vlan &&
	    !f->has_vlan_priority)
		return shunt_err_set(r->err, EINVAL,
				     "nothing to compare; to spread all frames over queues is "
				     "the RSS table's work: spread: true");
	return 0;
}

static int read_all(struct reader *r)
{
	char *word = strtok_r(r->text, " \t\r\n", &r->rest);
	int ret = 0;

	for (; word && !ret; word = word_next(r))
		ret = read_word(r, word);
	if (!ret)
		ret = shunt_rule_parse_match(r->match, &r->filter->match, r->err);
	return ret ? ret : check(r);
}

int shunt_filter_parse(const char *text, struct shunt_filter *filter, struct shunt_err *err)
{
	struct reader r = {.filter = filter, .err = err};
	int ret;

	memset(filter, 0, sizeof(*filter));
	filter->location = SHUNT_FILTER_ANY;
	/* half: what is collected has a blank before each word, and must fit as well */
	if (strlen(text) >= sizeof(r.text) / 2)
		return shunt_err_set(err, EINVAL, "filter '%.60s...': longer than %zu characters",
				     text, sizeof(r.text) / 2 - 1);
	snprintf(r.text, sizeof(r.text), "%s", text);
	ret = read_all(&r);
	if (ret)
		shunt_err_prefix(err, "filter '%.120s': ", text);
	return ret;
}

/* ---- print ---------------------------------------------------------------------------------- */

struct writer {
	char *buf;
	size_t len, used;
};

static void put(struct writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct writer *w, const char *fmt, ...)
{
	const size_t at = SHUNT_MIN(w->used, w->len);
	va_list ap;

	va_start(ap, fmt);
	w->used += (size_t)vsnprintf(w->buf + at, w->len - at, fmt, ap);
	va_end(ap);
}

static void put_mac(struct writer *w, const char *word, const uint8_t *m)
{
	put(w, "%s %02x:%02x:%02x:%02x:%02x:%02x ", word, m[0], m[1], m[2], m[3], m[4], m[5]);
}

int shunt_filter_print(const struct shunt_filter *f, char *buf, size_t len)
{
	struct writer w = {.buf = buf, .len = len};

	w.used = (size_t)shunt_rule_print_match(&f->match, buf, len);
	if (f->has_src_mac)
		put_mac(&w, "src-mac", f->src_mac);
	if (f->has_dst_mac)
		put_mac(&w, "dst-mac", f->dst_mac);
	if (f->has_vlan)
		put(&w, "vlan %u ", f->vlan);
	if (f->has_vlan_priority)
		put(&w, "vlan-priority %u ", f->vlan_priority);
	put(&w, "queue %u", f->queue);
	if (f->location != SHUNT_FILTER_ANY)
		put(&w, " location %d", f->location);
	return (int)w.used;
}
