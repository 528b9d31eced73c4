/* SPDX-License-Identifier: BSD-2-Clause */
/* MAC addresses as text. */
#ifndef SHUNT_BASE_MAC_H
#define SHUNT_BASE_MAC_H

#include <stdint.h>

/* shunt_mac_parse reads aa:bb:cc:dd:ee:ff, in either case. Nothing may follow. Returns 0 or
 * -EINVAL. Thread: any. */
int shunt_mac_parse(const char *text, uint8_t mac[6]);

#endif
