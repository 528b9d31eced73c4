// SPDX-License-Identifier: BSD-2-Clause
/* Option values that several subcommands take. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mac.h"
#include "gen.h"

static const char *const bit_units[] = {"bit", "bit/s", "bps"};

int gen_bad_option(char **argv, int opt, struct shunt_err *err)
{
	if (opt == ':')
		return shunt_err_set(err, EINVAL, "%s wants a value", argv[optind - 1]);
	return shunt_err_set(err, EINVAL, "unknown option '%s'", argv[optind - 1]);
}

/* A number that may end in k, M or G; *end is behind it. */
static double number(const char *text, char **end)
{
	double v = strtod(text, end);

	if (*end != text && **end) {
		const char *const units = "kMG", *unit = strchr(units, **end);

		if (unit) {
			v *= pow(1000, (double)(unit - units + 1));
			(*end)++;
		}
	}
	return v;
}

int gen_parse_real(double *out, const char *text, const char *name, double min, double max,
		   struct shunt_err *err)
{
	char *end;
	double v = number(text, &end);

	if (end == text || *end || !(v >= min && v <= max))
		return shunt_err_set(err, EINVAL, "--%s wants a number from %.7g to %.7g, not '%s'",
				     name, min, max, text);
	*out = v;
	return 0;
}

int gen_parse_whole(uint64_t *out, const char *text, const char *name, uint64_t min, uint64_t max,
		    struct shunt_err *err)
{
	double v = 0;
	int rc = gen_parse_real(&v, text, name, (double)min, (double)max, err);

	if (rc)
		return rc;
	if (v != floor(v))
		return shunt_err_set(err, EINVAL, "--%s wants a whole number, not '%s'", name,
				     text);
	*out = (uint64_t)v;
	return 0;
}

int gen_parse_line(double *out, const char *text, struct shunt_err *err)
{
	char digits[64];
	size_t len = strlen(text);

	/* as --rate takes it */
	for (unsigned i = 0; i < SHUNT_ARRAY_LEN(bit_units); i++) {
		const size_t tail = strlen(bit_units[i]);

		if (len > tail && !strcmp(text + len - tail, bit_units[i])) {
			len -= tail;
			break;
		}
	}
	snprintf(digits, sizeof(digits), "%.*s", (int)len, text);
	return gen_parse_real(out, digits, "line", 1e3, 1e13, err);
}

int gen_parse_rate(struct gen_rate *out, const char *text, struct shunt_err *err)
{
	static const struct {
		const char *name;
		enum gen_unit unit;
	} units[] = {{"", GEN_PPS},	{"pps", GEN_PPS},    {"%", GEN_PERCENT},
		     {"bit", GEN_BITS}, {"bit/s", GEN_BITS}, {"bps", GEN_BITS}};
	char *end;
	double v;

	if (!strcmp(text, "max")) {
		*out = (struct gen_rate){};
		return 0;
	}
	v = number(text, &end);
	for (unsigned i = 0; end != text && i < SHUNT_ARRAY_LEN(units); i++) {
		if (strcmp(end, units[i].name))
			continue;
		if (!(v >= 0.01) || v > 1e15 || (units[i].unit == GEN_PERCENT && v > 100))
			return shunt_err_set(err, EINVAL,
					     "--rate %s is impossible: from 0.01 to 1G frames a "
					     "second, or to 100%% of the line",
					     text);
		*out = (struct gen_rate){.unit = units[i].unit, .value = v};
		return 0;
	}
	return shunt_err_set(err, EINVAL,
			     "--rate is max, frames a second (20k, 1.5M), bits (2Gbit) or percent "
			     "of the line (50%%), not '%s'",
			     text);
}

int gen_parse_mac(uint8_t *out, const char *text, const char *name, struct shunt_err *err)
{
	if (shunt_mac_parse(text, out))
		return shunt_err_set(err, EINVAL,
				     "--%s wants a MAC address like 02:00:00:00:01:01, not '%s'",
				     name, text);
	return 0;
}

/* --- frame lengths ---------------------------------------------------------------------------- */

/* Without FCS: 64, 594 (or 570) and 1518 bytes on the wire. */
static const struct {
	const char *name, *means;
} imixes[] = {{"imix", "60:7,590:4,1514:1"},
	      {"imix-csit", "60:28,566:16,1514:1"},
	      {"imix-csit4", "60:28,566:16,1514:4"}};

static int bad_size(const char *text, uint32_t least, struct shunt_err *err)
{
	return shunt_err_set(err, EINVAL,
			     "--size wants bytes from %u to %u: a number, a list with or without "
			     "weights (60,590:4), a range (60-1514), imix, imix-csit; not '%s'",
			     least, GEN_SIZE_MAX, text);
}

/* N, N:WEIGHT or N-M. Returns -EINVAL for anything else. */
static int add_part(struct shunt_bag *bag, const char *part, uint32_t least, bool raise)
{
	unsigned long first, last, weight = 1;
	char *end;

	first = last = strtoul(part, &end, 10);
	if (end == part)
		return -EINVAL;
	if (*end == ':')
		weight = strtoul(end + 1, &end, 10);
	else if (*end == '-')
		last = strtoul(end + 1, &end, 10);
	if (raise)
		first = last = SHUNT_MAX(first, (unsigned long)least);
	if (*end || first < least || last > GEN_SIZE_MAX || first > last || !weight ||
	    weight > SHUNT_BAG_MAX)
		return -EINVAL;
	for (; first <= last; first++)
		if (shunt_bag_add(bag, (uint32_t)first, (uint32_t)weight))
			return -EINVAL;
	return 0;
}

int gen_parse_sizes(struct shunt_bag *bag, const char *text, uint32_t least, struct shunt_err *err)
{
	const char *means = text;
	char buf[1024], *rest = buf, *part;
	bool raise = false;

	for (unsigned i = 0; i < SHUNT_ARRAY_LEN(imixes); i++)
		if (!strcmp(text, imixes[i].name)) {
			means = imixes[i].means;
			raise = true;
		}
	if (strlen(means) >= sizeof(buf))
		return bad_size("so long a list", least, err);
	snprintf(buf, sizeof(buf), "%s", means);
	while ((part = strsep(&rest, ",")))
		if (add_part(bag, part, least, raise))
			return bad_size(text, least, err);
	return 0;
}

/* --- fields ----------------------------------------------------------------------------------- */

/* Cuts "random:" or "count:" off. */
static const char *take_manner(struct gen_field *f, const char *text)
{
	*f = (struct gen_field){.cnt = 1, .is_given = true};
	f->is_random = !strncmp(text, "random:", 7);
	return text + (f->is_random ? 7 : strncmp(text, "count:", 6) ? 0 : 6);
}

int gen_parse_ports(struct gen_field *f, const char *text, const char *name, struct shunt_err *err)
{
	const char *at = take_manner(f, text);
	char *end;
	unsigned long first = strtoul(at, &end, 10), last = first;
	bool good = end != at && *at != '-';

	if (good && *end == '-') {
		at = end + 1;
		last = strtoul(at, &end, 10);
		good = end != at;
	}
	if (!good || *end || first > last || last > 65535)
		return shunt_err_set(err, EINVAL,
				     "--%s wants a port from 0 to 65535, a range (1024-2047) or "
				     "random:RANGE, not '%s'",
				     name, text);
	f->first = (uint32_t)first;
	f->cnt = (uint32_t)(last - first + 1);
	return 0;
}

/* Returns the address's family, or 0. */
static int one_address(struct in6_addr *out, const char *text)
{
	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, out) == 1)
		return AF_INET;
	return inet_pton(AF_INET6, text, out) == 1 ? AF_INET6 : 0;
}

static uint32_t last32(const struct in6_addr *a, int family)
{
	uint32_t be;

	memcpy(&be, (const uint8_t *)a + (family == AF_INET6 ? 12 : 0), sizeof(be));
	return ntohl(be);
}

/* The rest of a range: the last address, of which only the last 32 bits may differ. */
static bool take_last(struct gen_field *f, const struct in6_addr *first, int family,
		      const char *text)
{
	struct in6_addr last;

	if (one_address(&last, text) != family || last32(&last, family) < f->first)
		return false;
	if (family == AF_INET6 && memcmp(&last, first, 12))
		return false;
	f->cnt = last32(&last, family) - f->first + 1;
	return f->cnt != 0;
}

static bool take_prefix(struct gen_field *f, int family, const char *text)
{
	char *end;
	unsigned long len = strtoul(text, &end, 10);
	const unsigned bits = family == AF_INET6 ? 128 : 32;
	uint32_t mask;

	if (end == text || *end || len > bits || bits - len > 24)
		return false;
	mask = (uint32_t)((1ULL << (bits - len)) - 1);
	f->first &= ~mask;
	f->cnt = mask + 1;
	return true;
}

int gen_parse_address(struct in6_addr *out, struct gen_field *f, const char *text, const char *name,
		      struct shunt_err *err)
{
	const char *given = take_manner(f, text);
	char buf[128], *more;
	bool good = strlen(given) < sizeof(buf);
	int family = 0;
	char kind;

	snprintf(buf, sizeof(buf), "%s", given);
	more = buf + strcspn(buf, "-/");
	kind = *more;
	if (kind)
		*more++ = '\0';
	if (good)
		family = one_address(out, buf);
	f->first = last32(out, family);
	if (kind == '-')
		good = good && take_last(f, out, family, more);
	else if (kind == '/')
		good = good && take_prefix(f, family, more);
	if (family && good)
		return family;
	return shunt_err_set(
		err, EINVAL,
		"--%s wants an IPv4 or IPv6 address, a range (FIRST-LAST), a prefix of "
		"at most 2^24 addresses or random: and one of these, not '%s'",
		name, text);
}
