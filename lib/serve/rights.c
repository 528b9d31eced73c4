// SPDX-License-Identifier: BSD-2-Clause
/* Capabilities, user and limits. The filters are in rights_filter.c. */
#include "serve/rights.h"

#include <cap-ng.h>
#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "device/kernel.h"

/* Descriptors that clients and the mirror's new sockets may still take. */
#define FD_SPARE	64
/* The helper loads programs, for which libbpf opens the BTF of each of the kernel's modules: a host
 * has some hundred. */
#define FD_SPARE_HELPER 1024

/* Maps that are open need no capability. */
static bool are_maps_free(void)
{
	struct shunt_kernel kernel;

	shunt_kernel_query(&kernel);
	return shunt_kernel_has(&kernel, SHUNT_KERNEL_map_fds);
}

struct wanted {
	unsigned cap;
	bool is_wanted;
};

#define WANTED_MAX 5

/* Of the capabilities that are there, those that are needed. */
static void choose_caps(const struct wanted *caps, unsigned cnt)
{
	bool has[WANTED_MAX];
	unsigned i;

	for (i = 0; i < cnt; i++)
		has[i] = capng_have_capability(CAPNG_PERMITTED, caps[i].cap);
	capng_clear(CAPNG_SELECT_BOTH);
	for (i = 0; i < cnt; i++)
		if (has[i] && caps[i].is_wanted)
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, caps[i].cap);
}

static void choose_control(const struct shunt_rights_opts *opts)
{
	const struct wanted caps[] = {
		{CAP_NET_ADMIN, opts->has_network || opts->has_punt},
		{CAP_BPF, !are_maps_free()},
	};

	choose_caps(caps, SHUNT_ARRAY_LEN(caps));
}

/* The files of libxdp are root's. */
static void choose_helper(const struct shunt_rights_opts *opts)
{
	const bool stays_root = !geteuid() && !(opts->user && *opts->user);
	const struct wanted caps[] = {
		{CAP_NET_ADMIN, true},
		{CAP_BPF,
		 opts->loads_later || opts->has_tables || opts->has_taps || !are_maps_free()},
		{CAP_SYS_ADMIN, opts->loads_later},
		{CAP_PERFMON, opts->loads_later || opts->has_taps},
		{CAP_DAC_OVERRIDE, opts->loads_later && !stays_root},
	};

	_Static_assert(SHUNT_ARRAY_LEN(caps) <= WANTED_MAX, "room for all");
	choose_caps(caps, SHUNT_ARRAY_LEN(caps));
}

static const struct passwd *find_user(const char *name, struct shunt_err *err)
{
	const struct passwd *user = getpwnam(name);

	if (!user)
		shunt_err_set(err, ENOENT,
			      "cannot become user '%s': there is none; useradd --system %s, or "
			      "systemd-sysusers",
			      name, name);
	return user;
}

int shunt_rights_make_folder(const char *path, const char *user, struct shunt_err *err)
{
	const struct passwd *owner = *user ? find_user(user, err) : NULL;
	const char *end = strrchr(path, '/');
	char folder[128];

	if (*user && !owner)
		return -ENOENT;
	if (!end || end == path || (size_t)(end - path) >= sizeof(folder))
		return 0;
	snprintf(folder, sizeof(folder), "%.*s", (int)(end - path), path);
	if (mkdir(folder, 0755))
		return errno == EEXIST ? 0
				       : shunt_err_set(err, errno, "cannot make the folder %s: %s",
						       folder, strerror(errno));
	if (owner && chown(folder, owner->pw_uid, owner->pw_gid))
		return shunt_err_set(err, errno, "cannot give the folder %s to %s: %s", folder,
				     user, strerror(errno));
	return 0;
}

static int drop_user(const char *name, struct shunt_err *err)
{
	const struct passwd *user = find_user(name, err);
	int ret;

	if (!user)
		return -ENOENT;
	ret = capng_change_id((int)user->pw_uid, (int)user->pw_gid,
			      CAPNG_DROP_SUPP_GRP | CAPNG_CLEAR_BOUNDING);
	if (ret)
		return shunt_err_set(
			err, EPERM,
			"cannot become user '%s' (libcap-ng %d): CAP_SETUID, CAP_SETGID "
			"and CAP_SETPCAP are needed for that",
			name, ret);
	return 0;
}

/* Without CAP_SETPCAP the bounding set stays, which matters to an execve only. */
static int drop_caps(struct shunt_err *err)
{
	if (!capng_apply(CAPNG_SELECT_BOTH) || !capng_apply(CAPNG_SELECT_CAPS))
		return 0;
	return shunt_err_set(err, EPERM, "cannot drop capabilities: %s", strerror(errno));
}

static unsigned open_fds(void)
{
	unsigned max = 0, fd;
	struct dirent *entry;
	DIR *dir = opendir("/proc/self/fd");

	if (!dir)
		return 1024;
	while ((entry = readdir(dir)))
		if (sscanf(entry->d_name, "%u", &fd) == 1 && fd > max)
			max = fd;
	closedir(dir);
	return max + 1;
}

/* Limits only go down; a failure leaves a higher one, which harms nobody. */
static void lower(int resource, rlim_t value)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return;
	if (limit.rlim_max > value)
		limit.rlim_max = value;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	setrlimit(resource, &limit);
}

static int drop(enum shunt_rights_side side, const struct shunt_rights_opts *opts,
		struct shunt_err *err)
{
	const bool has_user = opts->user && *opts->user;
	int ret;

	lower(RLIMIT_NOFILE,
	      open_fds() + (side == SHUNT_RIGHTS_HELPER ? FD_SPARE_HELPER : FD_SPARE));
	lower(RLIMIT_CORE, 0); /* packets and tables of others */
	if (capng_get_caps_process())
		return shunt_err_set(err, EPERM, "cannot read the capabilities of this process");
	if (side == SHUNT_RIGHTS_HELPER)
		choose_helper(opts);
	else
		choose_control(opts);
	ret = has_user ? drop_user(opts->user, err) : drop_caps(err);
	if (ret)
		return ret;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return shunt_err_set(err, errno, "cannot set no_new_privs: %s", strerror(errno));
	return opts->no_seccomp ? 0 : shunt_rights_filter(side, opts, err);
}

int shunt_rights_drop(const struct shunt_rights_opts *opts, struct shunt_err *err)
{
	return drop(SHUNT_RIGHTS_CONTROL, opts, err);
}

int shunt_rights_drop_helper(const struct shunt_rights_opts *opts, struct shunt_err *err)
{
	return drop(SHUNT_RIGHTS_HELPER, opts, err);
}

int shunt_rights_enter_worker(void *arg, struct shunt_err *err)
{
	const struct shunt_rights_opts *opts = arg;

	capng_get_caps_process();
	capng_clear(CAPNG_SELECT_CAPS);
	if (opts->has_punt)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_NET_ADMIN);
	if (capng_apply(CAPNG_SELECT_CAPS))
		return shunt_err_set(err, EPERM, "a worker cannot drop its capabilities: %s",
				     strerror(errno));
	return opts->no_seccomp ? 0 : shunt_rights_filter(SHUNT_RIGHTS_WORKER, opts, err);
}
