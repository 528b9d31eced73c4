// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gen.h"

int gen_pin(int cpu, struct shunt_err *err)
{
	cpu_set_t set;
	int rc;

	if (cpu < 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	rc = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	return rc ? shunt_err_set(err, rc, "--cpu %d: %s: this machine has %ld", cpu, strerror(rc),
				  sysconf(_SC_NPROCESSORS_ONLN))
		  : 0;
}

static void stop_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

void gen_signals_block(void)
{
	sigset_t set;

	stop_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int gen_signal_wait(double seconds)
{
	const struct timespec ts = {.tv_sec = (time_t)seconds,
				    .tv_nsec = (long)(fmod(seconds, 1) * 1e9)};
	sigset_t set;
	int sig;

	stop_signals(&set);
	sig = sigtimedwait(&set, NULL, &ts);
	return sig > 0 ? sig : 0;
}

bool gen_signal_is_there(void)
{
	sigset_t set, there;

	stop_signals(&set);
	return !sigpending(&there) && !sigandset(&there, &there, &set) && !sigisemptyset(&there);
}

void gen_json_print(FILE *out, json_t *j)
{
	json_dumpf(j, out, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
	fputc('\n', out);
	fflush(out);
}
