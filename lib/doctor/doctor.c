// SPDX-License-Identifier: BSD-2-Clause
#include "doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/facts.h"
#include "base/json.h"

static struct shunt_finding *append(struct shunt_doctor *d)
{
	struct shunt_finding *bigger;

	if (d->cnt == d->max) {
		bigger = realloc(d->findings, (d->max + 32) * sizeof(*bigger));
		if (!bigger)
			return &d->spare;
		d->findings = bigger;
		d->max += 32;
	}
	return &d->findings[d->cnt++];
}

struct shunt_finding *shunt_doctor_add(struct shunt_doctor *d, enum shunt_doctor_level level,
				       const char *object, const char *topic, const char *fmt, ...)
{
	struct shunt_finding *f = append(d);
	va_list ap;

	f->level = level;
	snprintf(f->object, sizeof(f->object), "%s", object);
	snprintf(f->topic, sizeof(f->topic), "%s", topic);
	va_start(ap, fmt);
	vsnprintf(f->sentence, sizeof(f->sentence), fmt, ap);
	va_end(ap);
	f->remedy[0] = 0;
	return f;
}

void shunt_doctor_remedy(struct shunt_finding *finding, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(finding->remedy, sizeof(finding->remedy), fmt, ap);
	va_end(ap);
}

void shunt_doctor_host(struct shunt_doctor *d, const struct shunt_doctor_opts *opts)
{
	struct doctor_host_facts facts;

	shunt_doctor_host_facts(&facts);
	shunt_doctor_judge_host(d, &facts, opts);
}

void shunt_doctor_device(struct shunt_doctor *d, const char *ifname,
			 const struct shunt_doctor_opts *opts)
{
	struct doctor_device_facts facts;
	struct shunt_finding *f;
	struct shunt_err err;

	if (!shunt_doctor_device_facts(ifname, &facts, &err)) {
		shunt_doctor_judge_device(d, &facts, opts);
		return;
	}
	f = shunt_doctor_add(d, SHUNT_DOCTOR_error, ifname, "device", "%s", err.msg);
	shunt_doctor_remedy(f, "ip -brief link");
}

unsigned shunt_doctor_count(const struct shunt_doctor *d, enum shunt_doctor_level level)
{
	unsigned cnt = 0, i;

	for (i = 0; i < d->cnt; i++)
		cnt += d->findings[i].level == level;
	return cnt;
}

const char *shunt_doctor_level_name(enum shunt_doctor_level level)
{
	static const char *const names[] = {
#define X(name, help) #name,
		SHUNT_DOCTOR_LEVELS(X)
#undef X
	};

	return (unsigned)level < SHUNT_DOCTOR_LEVEL_CNT ? names[level] : "?";
}

json_t *shunt_doctor_json(const struct shunt_doctor *d)
{
	json_t *rows = json_array(), *levels = json_object(), *row;
	unsigned i;

	for (i = 0; i < d->cnt; i++) {
		const struct shunt_finding *f = &d->findings[i];

		row = json_pack("{s:s, s:s, s:s, s:s}", "level", shunt_doctor_level_name(f->level),
				"object", f->object, "topic", f->topic, "sentence", f->sentence);
		set_text(row, "remedy", *f->remedy ? f->remedy : NULL);
		json_array_append_new(rows, row);
	}
	for (i = 0; i < SHUNT_DOCTOR_LEVEL_CNT; i++)
		set_u64(levels, shunt_doctor_level_name((enum shunt_doctor_level)i),
			shunt_doctor_count(d, (enum shunt_doctor_level)i));
	return json_pack("{s:o, s:o}", "findings", rows, "levels", levels);
}

void shunt_doctor_fini(struct shunt_doctor *d)
{
	free(d->findings);
	memset(d, 0, sizeof(*d));
}
