/* SPDX-License-Identifier: BSD-2-Clause */
/* IP packets of the generator, good and bad. */
#ifndef SHUNT_PARITY_FRAME_IP_H
#define SHUNT_PARITY_FRAME_IP_H

#include "parity.h"

/* parity_write_ip4 and _ip6 write a packet that comes in on port, of at most max bytes, and
 * return its length. */
unsigned parity_write_ip4(struct parity_rng *rng, unsigned port, uint8_t *p, unsigned max);
unsigned parity_write_ip6(struct parity_rng *rng, unsigned port, uint8_t *p, unsigned max);

#endif
