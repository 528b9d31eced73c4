// SPDX-License-Identifier: BSD-2-Clause
#include "model/fit.h"

#include <jansson.h>
#include <stdio.h>

#include "model.h"

static void print_json(const struct measured *m, const struct shunt_fit *fit, double c_task)
{
	json_t *root = json_pack("{s:s, s:f, s:f}", "model", "fit", "c_io", fit->c_io, "c_call",
				 fit->c_call);
	json_t *points = json_array();
	unsigned i;

	if (m->empties > 0)
		json_object_set_new(root, "c_v", json_real(m->empty_cycles / m->empties));
	if (m->freq_hz > 0)
		json_object_set_new(root, "freq_hz", json_real(m->freq_hz));
	json_object_set_new(root, "rms", json_real(fit->rms));
	json_object_set_new(root, "worst", json_real(fit->worst));
	for (i = 0; i < m->cnt; i++)
		json_array_append_new(
			points, json_pack("{s:f, s:f, s:f}", "batch", m->points[i].batch,
					  "measured", m->points[i].cycles + c_task, "fitted",
					  fit->c_io + c_task + fit->c_call / m->points[i].batch));
	json_object_set_new(root, "points", points);
	json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(root);
}

static void print_table(const struct measured *m, const struct shunt_fit *fit, double c_task)
{
	unsigned i;

	printf("# %-8s %12s %12s %8s\n", "batch", "measured", "fitted", "off");
	for (i = 0; i < m->cnt; i++) {
		double fitted = fit->c_io + fit->c_call / m->points[i].batch;

		printf("%-10g %12.2f %12.2f %7.1f%%\n", m->points[i].batch,
		       m->points[i].cycles + c_task, fitted + c_task,
		       100 * (fitted / m->points[i].cycles - 1));
	}
	printf("\nC_io   %10.2f cycles a packet\nC_call %10.2f cycles a batch\n", fit->c_io,
	       fit->c_call);
	if (m->empties > 0)
		printf("C_v    %10.2f cycles an empty poll\n", m->empty_cycles / m->empties);
	else
		printf("C_v             - no empty polls in the measurements\n");
	printf("rms    %10.2f cycles; worst %.1f %% off\n", fit->rms, 100 * fit->worst);
}

int model_fit(struct model_opts *opts, char **files, int file_cnt)
{
	const double c_task = opts->is_given[MODEL_c_task] ? opts->value[MODEL_c_task] : 0;
	static struct measured m;
	struct shunt_fit fit;
	struct shunt_err err;
	unsigned p;
	int i;

	if (!file_cnt) {
		shunt_err_set(&err, 1, "fit wants the FILEs of measurements; see --help");
		return model_fail(&err, EXIT_USAGE);
	}
	for (i = 0; i < file_cnt; i++)
		if (measured_read(&m, files[i], opts->name, opts->copy, &err))
			return model_fail(&err, 1);
	for (p = 0; p < m.cnt; p++)
		m.points[p].cycles -= c_task;
	if (opts->is_given[MODEL_freq])
		m.freq_hz = opts->value[MODEL_freq];
	if (!m.cnt) {
		shunt_err_set(&err, 1,
			      "no measurement of %s in cycles/packet with params.batch%s in %s%s",
			      opts->name, opts->copy ? " and params.copy" : "", files[0],
			      file_cnt > 1 ? " and the others" : "");
		return model_fail(&err, 1);
	}
	if (shunt_fit_line(m.points, m.cnt, &fit, &err)) {
		shunt_err_prefix(&err, "%s: ", opts->name);
		return model_fail(&err, 1);
	}
	if (opts->json)
		print_json(&m, &fit, c_task);
	else
		print_table(&m, &fit, c_task);
	return 0;
}
