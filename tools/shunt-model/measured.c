// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "model.h"

static json_t *load(const char *path, struct shunt_err *err)
{
	json_error_t at;
	json_t *root = json_load_file(path, 0, &at);

	if (!root)
		shunt_err_set(err, EINVAL, "%s: %s%s", path, at.line > 0 ? "not JSON: " : "",
			      at.text);
	return root;
}

/* An entry of the benchmarks: {"name", "params": {"batch", "copy"}, "value", "unit"}. */
static int add_entry(struct measured *m, const json_t *entry, const char *name, bool copy,
		     struct shunt_err *err)
{
	const json_t *params = json_object_get(entry, "params");
	const json_t *batch = json_object_get(params, "batch"), *value;
	const char *unit = json_string_value(json_object_get(entry, "unit"));
	const char *called = json_string_value(json_object_get(entry, "name"));
	const bool is_empty = unit && !strcmp(unit, "cycles/poll");

	value = json_object_get(entry, "value");
	if (!unit || !called || !json_is_number(value) ||
	    json_is_true(json_object_get(params, "copy")) != copy)
		return 0;
	if (is_empty) {
		m->empty_cycles += json_number_value(value);
		m->empties++;
		return 0;
	}
	if (strcmp(called, name) || strcmp(unit, "cycles/packet") || !json_is_number(batch))
		return 0;
	if (m->cnt == MODEL_POINT_MAX)
		return shunt_err_set(err, EINVAL, "more than %d measurements of %s",
				     MODEL_POINT_MAX, name);
	m->points[m->cnt++] = (struct shunt_fit_point){.batch = json_number_value(batch),
						       .cycles = json_number_value(value)};
	return 0;
}

/* What `shuntctl -j show runtime` says of the empty turns of all workers. */
static void add_runtime(struct measured *m, const json_t *root)
{
	const json_t *total = json_object_get(root, "total");

	m->empty_cycles += json_number_value(json_object_get(total, "busy_cycles"));
	m->empties += json_number_value(json_object_get(total, "empty_turns"));
	m->freq_hz = json_number_value(json_object_get(root, "cycles_hz"));
}

/* The object of a list whose key says so, NULL without. */
static const json_t *find(const json_t *list, const char *key, const char *text)
{
	size_t i;
	json_t *one;

	json_array_foreach (list, i, one) {
		const char *said = json_string_value(json_object_get(one, key));

		if (said && !strcmp(said, text))
			return one;
	}
	return NULL;
}

/* A document of `shunt-bench batch`: its figure of cycles a packet over the batch. */
static int add_document(struct measured *m, const json_t *root, const char *path,
			struct shunt_err *err)
{
	const json_t *cost = find(json_object_get(root, "figures"), "name", "cost");
	const json_t *line = find(json_object_get(cost, "series"), "title", "measured");
	const json_t *parameters = json_object_get(root, "parameters"), *c_v;
	const char *experiment = json_string_value(json_object_get(root, "experiment"));
	json_t *point;
	size_t i;

	if (strcmp(experiment, "batch") || !line)
		return shunt_err_set(err, EINVAL,
				     "%s: of shunt-bench's documents only that of batch has cycles "
				     "over batches, and this is of %s",
				     path, experiment);
	json_array_foreach (json_object_get(line, "points"), i, point) {
		if (m->cnt == MODEL_POINT_MAX)
			return shunt_err_set(err, EINVAL, "%s: more than %d measurements", path,
					     MODEL_POINT_MAX);
		m->points[m->cnt++] = (struct shunt_fit_point){
			.batch = json_number_value(json_array_get(point, 0)),
			.cycles = json_number_value(json_array_get(point, 1))};
	}
	m->freq_hz = json_number_value(json_object_get(parameters, "cycles_hz"));
	c_v = json_object_get(parameters, "c_v");
	if (json_is_number(c_v)) {
		m->empty_cycles += json_number_value(c_v);
		m->empties++;
	}
	return 0;
}

int measured_read(struct measured *m, const char *path, const char *name, bool copy,
		  struct shunt_err *err)
{
	json_t *root = load(path, err), *entry;
	int ret = 0;
	size_t i;

	if (!root)
		return -EINVAL;
	if (json_is_array(root)) {
		json_array_foreach (root, i, entry) {
			ret = add_entry(m, entry, name, copy, err);
			if (ret)
				break;
		}
	} else if (json_is_number(json_object_get(json_object_get(root, "total"), "empty_turns"))) {
		add_runtime(m, root);
	} else if (json_is_string(json_object_get(root, "experiment"))) {
		ret = add_document(m, root, path, err);
	} else {
		ret = shunt_err_set(err, EINVAL,
				    "%s: neither an array of measurements as in build/bench.json, "
				    "nor a document of shunt-bench batch, nor shuntctl's runtime",
				    path);
	}
	json_decref(root);
	return ret;
}

int measured_constants(struct model_opts *opts, const char *path, struct shunt_err *err)
{
	static const struct {
		const char *key;
		enum model_param param;
		bool is_needed;
	} constants[] = {
		{"c_io", MODEL_c_io, true},
		{"c_call", MODEL_c_call, true},
		{"c_v", MODEL_c_v, false},
		{"freq_hz", MODEL_freq, false},
	};
	json_t *root = load(path, err);
	int ret = root ? 0 : -EINVAL;
	unsigned i;

	for (i = 0; i < sizeof(constants) / sizeof(constants[0]) && !ret; i++) {
		const json_t *value = json_object_get(root, constants[i].key);

		if (json_is_number(value)) {
			if (!opts->is_given[constants[i].param])
				ret = model_opts_put(opts, constants[i].param,
						     json_number_value(value), err);
			if (ret)
				shunt_err_prefix(err, "%s: ", path);
		} else if (constants[i].is_needed) {
			ret = shunt_err_set(err, EINVAL, "%s: no %s in it: write it with fit -j",
					    path, constants[i].key);
		}
	}
	json_decref(root);
	return ret;
}
