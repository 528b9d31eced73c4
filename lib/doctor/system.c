// SPDX-License-Identifier: BSD-2-Clause
/* Facts of the host, by /proc, /sys and the process's own rights. */
#include <cap-ng.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/bytes.h"
#include "doctor/facts.h"
#include "veth/puntdev.h"
#include "firewall/firewall.h"

void shunt_doctor_read_text(const char *path, char *buf, unsigned len)
{
	FILE *file = fopen(path, "re");

	buf[0] = 0;
	if (!file)
		return;
	if (fgets(buf, (int)len, file))
		buf[strcspn(buf, "\n")] = 0;
	fclose(file);
}

/* The number of the first user namespace (PROC_USER_INIT_INO). */
#define USERNS_FIRST 0xEFFFFFFDU

static bool is_in_userns(void)
{
	struct stat st;

	return !stat("/proc/self/ns/user", &st) && st.st_ino != USERNS_FIRST;
}

static void read_rights(struct doctor_host_facts *out)
{
	static const struct {
		unsigned cap;
		const char *name;
	} needed[] = {{CAP_NET_ADMIN, "CAP_NET_ADMIN"},
		      {CAP_NET_RAW, "CAP_NET_RAW"},
		      {CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}};
	unsigned i;

	if (capng_get_caps_process())
		return;
	for (i = 0; i < SHUNT_ARRAY_LEN(needed); i++)
		if (!capng_have_capability(CAPNG_EFFECTIVE, needed[i].cap))
			snprintf(out->missing + strlen(out->missing),
				 sizeof(out->missing) - strlen(out->missing), "%s%s",
				 *out->missing ? " " : "", needed[i].name);
	out->is_in_userns = is_in_userns();
	out->has_ipc_lock =
		!out->is_in_userns && capng_have_capability(CAPNG_EFFECTIVE, CAP_IPC_LOCK);
}

static void read_hugepages(struct doctor_host_facts *out)
{
	char line[128];
	FILE *file = fopen("/proc/meminfo", "re");

	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "HugePages_Free: %" SCNu64, &out->hugepages_free) != 1)
			(void)!sscanf(line, "Hugepagesize: %" SCNu64, &out->hugepages_kb);
	fclose(file);
}

/* "always [madvise] never": the word in brackets. */
static void read_thp(struct doctor_host_facts *out)
{
	char text[64], *at;

	shunt_doctor_read_text("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof(text));
	at = strchr(text, '[');
	if (at)
		snprintf(out->thp, sizeof(out->thp), "%.*s", (int)strcspn(at + 1, "]"), at + 1);
}

static bool is_one(const char *path)
{
	char text[16];

	shunt_doctor_read_text(path, text, sizeof(text));
	return *text == '1';
}

/* Devices whose tc is asked for. */
#define JUDGED_MAX 64

/* What a daemon's own tc program does there judges nothing of the host's. */
static void ask_judges(struct shunt_judges *out)
{
	struct if_nameindex *devices = if_nameindex();
	int ifindexes[JUDGED_MAX];
	unsigned i, cnt = 0;

	for (i = 0; cnt < JUDGED_MAX && devices && devices[i].if_index; i++)
		if (!shunt_puntdev_is_name(devices[i].if_name))
			ifindexes[cnt++] = (int)devices[i].if_index;
	if_freenameindex(devices);
	shunt_firewall_query(ifindexes, cnt, out);
}

void shunt_doctor_host_facts(struct doctor_host_facts *out)
{
	struct rlimit limit;
	char text[16];

	memset(out, 0, sizeof(*out));
	shunt_kernel_query(&out->kernel);
	read_rights(out);
	read_hugepages(out);
	read_thp(out);
	out->memlock_bytes = getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY
				     ? UINT64_MAX
				     : limit.rlim_cur;
	shunt_doctor_read_text("/proc/sys/net/core/bpf_jit_enable", text, sizeof(text));
	out->jit = *text ? atoi(text) : -1;
	out->has_ip_forward = is_one("/proc/sys/net/ipv4/ip_forward");
	out->has_ip6_forward = is_one("/proc/sys/net/ipv6/conf/all/forwarding");
	ask_judges(&out->judges);
	shunt_doctor_list_tunnels(out->tunnels, sizeof(out->tunnels));
	out->cpu_cnt = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
}
