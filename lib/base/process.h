/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHUNT_BASE_PROCESS_H
#define SHUNT_BASE_PROCESS_H

#include <stdint.h>

/* shunt_process_start returns when a process started, in clock ticks since boot (field 22 of
 * /proc/PID/stat). A pid is used again; a pid with its start time is not. 0: there is no such
 * process, or it is a zombie without running threads. Thread: any. Cost: a file read. */
uint64_t shunt_process_start(uint32_t pid);

#endif
