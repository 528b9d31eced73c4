/* SPDX-License-Identifier: BSD-2-Clause */
/* A takeover that can be taken back. Before the running daemon is asked to hand over, a process is
 * set aside. It knows how that daemon was started: its program (also when the file was replaced
 * since), its arguments and folder. If the new daemon fails before it forwards, or dies, that
 * process becomes the old daemon again. Until then the kernel forwards.
 *
 * That process is root, and the old daemon has dropped its rights: nothing of what it may have
 * changed since is believed. A daemon that root starts notes how, in a folder of root's, before it
 * drops anything. What is believed is that note, for the process that was root when it began to
 * listen, whose start time and program are still the noted ones, and whose program only root can
 * write. */
#ifndef SHUNTD_ROLLBACK_H
#define SHUNTD_ROLLBACK_H

#include <stdbool.h>

/* shuntd_rollback_remember keeps the arguments as they are; parsing changes their order.
 * shuntd_rollback_note notes how this process was started; for root alone, others note nothing.
 * Thread: init, before rights are dropped. */
void shuntd_rollback_remember(int argc, char **argv);
void shuntd_rollback_note(void);

/* shuntd_rollback_arm sets the process aside for the daemon at that control path. Returns a
 * descriptor that means "not yet", or -1 when there is no such daemon, or none that can be
 * believed, or this process is not root: then nothing can be taken back. Thread: init, the only
 * one. */
int shuntd_rollback_arm(const char *path);

/* shuntd_rollback_disarm ends the process: all is well, or the old daemon did not let go. -1 is
 * legal. Thread: control. */
void shuntd_rollback_disarm(int *fd);

/* shuntd_rollback_fire starts the old daemon again and waits until it answers at path. The
 * caller has given everything back. Returns whether it did. Thread: control. */
bool shuntd_rollback_fire(int *fd, const char *path);

#endif
