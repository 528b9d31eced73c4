// SPDX-License-Identifier: BSD-2-Clause
#include "device/bond.h"

#include <errno.h>
#include <stdio.h>

int shunt_bond_order(const char *bond, char (*names)[16], unsigned max)
{
	char path[64], line[256], name[16];
	unsigned cnt = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/net/bonding/%s", bond);
	file = fopen(path, "re");
	if (!file)
		return -ENODEV;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Slave Interface: %15s", name) != 1)
			continue;
		if (cnt < max)
			snprintf(names[cnt], sizeof(names[cnt]), "%s", name);
		cnt++;
	}
	fclose(file);
	return cnt > max ? -E2BIG : (int)cnt;
}
