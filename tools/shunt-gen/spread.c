// SPDX-License-Identifier: BSD-2-Clause
/* A histogram shown: as JSON, as bars of characters, as a plot by gnuplot. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "gen.h"
#include "measure/hist.h"

/* A value is at most this share above what its bucket says. */
#define BOUND	 (1.0 / (1 << SHUNT_HIST_SUB_BITS))
#define BAR_MAX	 50
#define ROWS_MAX 24

/* The exact ends are known beside the histogram. */
static uint64_t quantile(const struct gen_spread *s, double q)
{
	return SHUNT_MIN(SHUNT_MAX(shunt_hist_quantile(s->hist, q), s->min), s->max);
}

static json_t *buckets_json(const struct shunt_hist *h)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < SHUNT_HIST_BUCKETS; i++)
		if (h->bucket[i])
			json_array_append_new(list,
					      json_pack("[I, I]", (json_int_t)shunt_hist_floor(i),
							(json_int_t)h->bucket[i]));
	return list;
}

json_t *gen_spread_json(const struct gen_spread *s)
{
	if (!s->cnt)
		return json_pack("{s:i}", "count", 0);
	return json_pack("{s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:f, s:o}", "count",
			 (json_int_t)s->cnt, "min", (json_int_t)s->min, "mean",
			 (double)s->sum / (double)s->cnt, "p50", (json_int_t)quantile(s, 0.5),
			 "p90", (json_int_t)quantile(s, 0.9), "p99", (json_int_t)quantile(s, 0.99),
			 "p999", (json_int_t)quantile(s, 0.999), "max", (json_int_t)s->max, "error",
			 BOUND, "buckets", buckets_json(s->hist));
}

void gen_spread_line(FILE *out, const char *what, const struct gen_spread *s)
{
	if (!s->cnt)
		fprintf(out, "%s: not measured: no two frames with a time stamp came\n", what);
	else
		fprintf(out,
			"%s: median %.3f us, p99 %.3f, p99.9 %.3f, max %.3f, min %.3f, mean %.3f "
			"(%llu values, quantiles within %.2f %%)\n",
			what, (double)quantile(s, 0.5) / 1e3, (double)quantile(s, 0.99) / 1e3,
			(double)quantile(s, 0.999) / 1e3, (double)s->max / 1e3,
			(double)s->min / 1e3, (double)s->sum / (double)s->cnt / 1e3,
			(unsigned long long)s->cnt, 100 * BOUND);
}

/* --- bars ------------------------------------------------------------------------------------- */

/* So many buckets to a row that the rows are few. */
static unsigned buckets_a_row(unsigned first, unsigned last)
{
	unsigned n = 1;

	while ((last - first) / n + 1 > ROWS_MAX)
		n *= 2;
	return n;
}

void gen_spread_figure(FILE *out, const char *title, const struct gen_spread *s)
{
	const unsigned first = shunt_hist_index(s->min), last = shunt_hist_index(s->max);
	const unsigned step = buckets_a_row(first, last);
	uint64_t rows[ROWS_MAX] = {}, most = 1;

	if (!s->cnt)
		return;
	for (unsigned i = first; i <= last; i++) {
		uint64_t *row = &rows[(i - first) / step];

		*row += s->hist->bucket[i];
		most = SHUNT_MAX(most, *row);
	}
	fprintf(out, "%s, us (from)          share\n", title);
	for (unsigned r = 0; first + r * step <= last; r++) {
		const int len = (int)((rows[r] * BAR_MAX + most / 2) / most);

		fprintf(out, "%14.3f %10.4f %% |%.*s%s\n",
			(double)shunt_hist_floor(first + r * step) / 1e3,
			100.0 * (double)rows[r] / (double)s->cnt, len,
			"##################################################",
			rows[r] && !len ? "." : "");
	}
}

/* --- gnuplot ---------------------------------------------------------------------------------- */

static void plot_data(FILE *p, const struct gen_spread *s)
{
	uint64_t seen = 0;

	for (unsigned i = 0; i < SHUNT_HIST_BUCKETS; i++) {
		if (!s->hist->bucket[i])
			continue;
		seen += s->hist->bucket[i];
		fprintf(p, "%.4f %.6f\n", (double)shunt_hist_floor(i) / 1e3,
			100.0 * (double)seen / (double)s->cnt);
	}
	fputs("e\n", p);
}

static void quoted(FILE *p, const char *text)
{
	for (; *text; text++)
		fprintf(p, *text == '\'' ? "''" : "%c", *text);
}

/* Cumulative, time on a logarithmic axis. */
static void plot_script(FILE *p, const char *file, const struct gen_spread *latency,
			const struct gen_spread *gaps)
{
	const bool both = latency->cnt && gaps->cnt;

	fprintf(p, "set terminal %s size 800,500\nset output '",
		!strcmp(strrchr(file, '.'), ".svg") ? "svg" : "png");
	quoted(p, file);
	fputs("'\nset logscale x\nset grid\nset key bottom right\nset yrange [0:100]\n"
	      "set xlabel 'time [us]'\nset ylabel 'frames that took at most so long [%]'\nplot ",
	      p);
	if (latency->cnt)
		fputs("'-' using 1:2 with steps lw 2 title 'latency'", p);
	fputs(both ? ", " : "", p);
	if (gaps->cnt)
		fputs("'-' using 1:2 with steps lw 2 title 'time between frames'", p);
	fputc('\n', p);
	if (latency->cnt)
		plot_data(p, latency);
	if (gaps->cnt)
		plot_data(p, gaps);
}

/* Whether the file is there to its end: gnuplot does not look. */
static bool is_whole(const char *file)
{
	const char *end = strcmp(strrchr(file, '.'), ".svg") ? "IEND\xae\x42\x60\x82" : "</svg>";
	char last[16] = "";
	FILE *f = fopen(file, "rbe");
	size_t got;

	if (!f)
		return false;
	got = fseek(f, -(long)sizeof(last), SEEK_END) ? 0 : fread(last, 1, sizeof(last), f);
	fclose(f);
	return memmem(last, got, end, strlen(end));
}

int gen_spread_plot(const char *file, const struct gen_spread *latency,
		    const struct gen_spread *gaps, struct shunt_err *err)
{
	FILE *p;
	int status;

	if (!latency->cnt && !gaps->cnt)
		return shunt_err_set(err, ENODATA, "--plot %s: no frame came, so nothing is drawn",
				     file);
	/* Where there is no gnuplot, nobody reads the pipe. */
	signal(SIGPIPE, SIG_IGN);
	unlink(file); /* an older one is not this run's */
	p = popen("gnuplot >/dev/null 2>&1", "we");
	if (!p)
		return shunt_err_set(err, errno, "--plot %s: %s", file, strerror(errno));
	plot_script(p, file, latency, gaps);
	status = pclose(p);
	if (status == 127 << 8)
		return shunt_err_set(err, ENOENT,
				     "--plot %s: gnuplot is not installed (package gnuplot-nox); "
				     "the figures above are complete",
				     file);
	if (!status && is_whole(file))
		return 0;
	unlink(file);
	return shunt_err_set(err, EIO,
			     "--plot %s: gnuplot could not draw it: is its folder there, and room "
			     "on the disk?",
			     file);
}
