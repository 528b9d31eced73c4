// SPDX-License-Identifier: BSD-2-Clause
#include "base/mac.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int shunt_mac_parse(const char *text, uint8_t mac[6])
{
	unsigned b[6];
	int i, end = 0;

	/* sscanf would take spaces and signs too */
	if (strspn(text, "0123456789abcdefABCDEF:") != strlen(text) ||
	    sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
		   &end) != 6 ||
	    text[end])
		return -EINVAL;
	for (i = 0; i < 6; i++)
		mac[i] = (uint8_t)b[i];
	return 0;
}
