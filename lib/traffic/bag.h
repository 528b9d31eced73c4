/* SPDX-License-Identifier: BSD-2-Clause */
/* A bag of numbers to draw from without putting back: when it is empty it is full
 * again. So a mix of frame sizes keeps its proportions exactly, in random order,
 * however few frames there are.
 *
 *	shunt_bag_add(&bag, 60, 7);
 *	shunt_bag_add(&bag, 590, 4);
 *	size = shunt_bag_draw(&bag, &rng);
 *	shunt_bag_fini(&bag);
 */
#ifndef SHUNT_TRAFFIC_BAG_H
#define SHUNT_TRAFFIC_BAG_H

#include <stdint.h>

#define SHUNT_BAG_MAX 65536

struct shunt_bag {
	uint32_t *items; /* [0..left) are still inside */
	uint32_t cnt, left;
};

/* shunt_bag_add puts n of the same number into a bag, zeroed at first, which is
 * then full. Returns 0, -ENOMEM, or -E2BIG above SHUNT_BAG_MAX. Thread: any. */
int shunt_bag_add(struct shunt_bag *bag, uint32_t value, uint32_t n);

/* shunt_bag_draw takes a number out of a bag into which one was put. Thread: owner. */
uint32_t shunt_bag_draw(struct shunt_bag *bag, uint64_t *rng);

/* shunt_bag_mean returns the mean of a full bag. Thread: any. */
double shunt_bag_mean(const struct shunt_bag *bag);

/* shunt_bag_fini empties it; legal on a zeroed struct. Thread: any. */
void shunt_bag_fini(struct shunt_bag *bag);

#endif
