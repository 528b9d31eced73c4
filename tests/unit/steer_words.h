/* SPDX-License-Identifier: BSD-2-Clause */
/* Short words for tables of frames, of files whose rig is called rig. */
#ifndef SHUNT_TESTS_STEER_WORDS_H
#define SHUNT_TESTS_STEER_WORDS_H

#include "steer_rig.h"

#define OWN		      FRAME_OWN_MAC
#define PEER		      FRAME_PEER_MAC
#define THIRD		      FRAME_THIRD_MAC
#define BCAST		      "\xff\xff\xff\xff\xff\xff"

/* The reason without its prefix; or a number of the case, and the reason. */
#define expect(f, reason)     steer_expect(&rig, __FILE__, __LINE__, f, SHUNT_STEER_##reason)
#define expect_at(n, f, want) steer_expect(&rig, __FILE__, n, f, want)

#endif
