/* SPDX-License-Identifier: BSD-2-Clause */
/* IP packets of the generator, good and bad. */
#ifndef SHUNT_PARITY_FRAME_IP_H
#define SHUNT_PARITY_FRAME_IP_H

#include "parity.h"

/* parity_write_ip4 and _ip6 write the packet of a frame, by its port and VRF, of at most max bytes,
 * and return its length. */
unsigned parity_write_ip4(struct parity_rng *rng, const struct parity_frame *frame, uint8_t *p,
			  unsigned max);
unsigned parity_write_ip6(struct parity_rng *rng, const struct parity_frame *frame, uint8_t *p,
			  unsigned max);

#endif
