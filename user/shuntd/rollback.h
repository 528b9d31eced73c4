/* SPDX-License-Identifier: BSD-2-Clause */
/* A takeover that can be taken back. Before the running daemon is asked to hand over, a process is
 * set aside. It knows how that daemon was started: its program (also when the file was replaced
 * since), its arguments, folder and output. If the new daemon fails before it forwards, or dies,
 * that process becomes the old daemon again. Until then the kernel forwards. */
#ifndef SHUNTD_ROLLBACK_H
#define SHUNTD_ROLLBACK_H

#include <stdbool.h>

/* shuntd_rollback_arm sets the process aside for the daemon at that control path. Returns a
 * descriptor that means "not yet", or -1 when there is no such daemon or no right to look at it
 * (CAP_SYS_PTRACE): then nothing can be taken back. Thread: init, the only one. */
int shuntd_rollback_arm(const char *path);

/* shuntd_rollback_disarm ends the process: all is well, or the old daemon did not let go. -1 is
 * legal. Thread: control. */
void shuntd_rollback_disarm(int *fd);

/* shuntd_rollback_fire starts the old daemon again and waits until it answers at path. The
 * caller has given everything back. Returns whether it did. Thread: control. */
bool shuntd_rollback_fire(int *fd, const char *path);

#endif
