// SPDX-License-Identifier: BSD-2-Clause
#include "notice/hang.h"

#include "base/clock.h"

/* An idle worker beats ten times as often. */
#define BEAT_MAX_NS SHUNT_NS_PER_SEC

static void say(struct shunt_worker *w, uint64_t age_ns, struct shunt_err *out)
{
	w->is_hang_told = !w->is_hang_told;
	if (w->is_hang_told)
		shunt_err_set(
			out, 0,
			"worker %u has given no sign of life for %.1f s: he hangs, or gets no "
			"CPU; what is steered to him is the kernel's meanwhile; if that lasts, "
			"start shuntd again",
			w->opts.id, (double)age_ns / SHUNT_NS_PER_SEC);
	else
		shunt_err_set(out, 0, "worker %u is at work again", w->opts.id);
}

unsigned shunt_hang_warn(struct shunt_engine *engine, struct shunt_err *out, unsigned max)
{
	const uint64_t now = shunt_clock_ns();
	unsigned cnt = 0, i;

	for (i = 0; i < engine->worker_cnt && cnt < max; i++) {
		struct shunt_worker *w = engine->workers[i];
		const uint64_t beat = shunt_counter_read(&w->stats.heartbeat_ns);
		const bool is_old = now > beat && now - beat > BEAT_MAX_NS;
		/* all of the process may have been stopped: who lives beats before the next look */
		const bool hangs = is_old && beat == w->beat_suspected;

		if (hangs != w->is_hang_told)
			say(w, now - beat, &out[cnt++]);
		w->beat_suspected = is_old ? beat : 0;
	}
	return cnt;
}
