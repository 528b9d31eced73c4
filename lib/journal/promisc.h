/* SPDX-License-Identifier: BSD-2-Clause */
/* The flag IFF_PROMISC of a wire's device. A running daemon's device is promiscuous by a packet
 * socket, which ends with it. This flag does not: a wire that its program carries on after the
 * daemon's death must go on hearing what is sent to others. */
#ifndef SHUNT_JOURNAL_PROMISC_H
#define SHUNT_JOURNAL_PROMISC_H

#include <stdbool.h>

/* shunt_journal_promisc_is_off says whether the device lacks the flag, so that setting it is to be
 * undone. shunt_journal_promisc_set sets it or takes it away. Returns whether that changed
 * anything. fd: any socket. Thread: init, control. Cost: two ioctls. */
bool shunt_journal_promisc_is_off(const char *ifname, int fd);
bool shunt_journal_promisc_set(const char *ifname, int fd, bool is_on);

#endif
