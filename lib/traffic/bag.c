// SPDX-License-Identifier: BSD-2-Clause
#include "traffic/bag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/rng.h"

int shunt_bag_add(struct shunt_bag *bag, uint32_t value, uint32_t n)
{
	uint32_t *items;

	if (n > SHUNT_BAG_MAX - bag->cnt)
		return -E2BIG;
	if (!n)
		return 0;
	items = realloc(bag->items, (bag->cnt + n) * sizeof(*items));
	if (!items)
		return -ENOMEM;
	bag->items = items;
	while (n--)
		items[bag->cnt++] = value;
	bag->left = bag->cnt;
	return 0;
}

uint32_t shunt_bag_draw(struct shunt_bag *bag, uint64_t *rng)
{
	uint32_t at, value;

	if (!bag->left)
		bag->left = bag->cnt;
	at = (uint32_t)shunt_rng_below(rng, bag->left);
	value = bag->items[at];
	bag->items[at] = bag->items[--bag->left];
	bag->items[bag->left] = value;
	return value;
}

double shunt_bag_mean(const struct shunt_bag *bag)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < bag->cnt; i++)
		sum += bag->items[i];
	return bag->cnt ? sum / bag->cnt : 0;
}

void shunt_bag_fini(struct shunt_bag *bag)
{
	free(bag->items);
	memset(bag, 0, sizeof(*bag));
}
