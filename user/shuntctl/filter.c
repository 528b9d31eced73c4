// SPDX-License-Identifier: BSD-2-Clause
#include "filter.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 16

/* The layout is that of the kernel's struct sock_filter, whose header cannot be here beside
 * libpcap's. */
_Static_assert(sizeof(struct bpf_insn) == 8, "code, jt, jf, k");

int shuntctl_filter_compile(struct shuntctl_filter *filter, const char *text, uint32_t snap_len,
			    struct shunt_err *err)
{
	struct bpf_program program = {0, NULL};
	pcap_t *pcap;
	int ret = 0;

	*filter = (struct shuntctl_filter){NULL, 0};
	if (!*text)
		return 0;
	pcap = pcap_open_dead(DLT_EN10MB, (int)snap_len);
	if (!pcap)
		return shunt_err_set(err, ENOMEM, "filter: not enough memory");
	if (pcap_compile(pcap, &program, text, 1, PCAP_NETMASK_UNKNOWN))
		ret = shunt_err_set(err, EINVAL, "filter '%.200s': %s", text, pcap_geterr(pcap));
	if (!ret) {
		const size_t bytes = program.bf_len * sizeof(*program.bf_insns);
		void *insns = malloc(bytes);

		if (insns)
			memcpy(insns, program.bf_insns, bytes);
		filter->insns = insns;
		filter->cnt = filter->insns ? program.bf_len : 0;
		ret = filter->insns ? 0 : shunt_err_set(err, ENOMEM, "filter: not enough memory");
		pcap_freecode(&program);
	}
	pcap_close(pcap);
	return ret;
}

void shuntctl_filter_fini(struct shuntctl_filter *filter)
{
	free(filter->insns);
	*filter = (struct shuntctl_filter){NULL, 0};
}

char *shuntctl_filter_print(const struct shuntctl_filter *filter)
{
	const struct bpf_insn *insns = (const struct bpf_insn *)filter->insns;
	char *text = calloc(1, (size_t)filter->cnt * DIGITS + 1);
	unsigned i;

	for (i = 0; text && i < filter->cnt; i++)
		snprintf(text + (size_t)i * DIGITS, DIGITS + 1, "%04x%02x%02x%08x", insns[i].code,
			 insns[i].jt, insns[i].jf, insns[i].k);
	return text;
}
