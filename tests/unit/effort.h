/* SPDX-License-Identifier: BSD-2-Clause */
/* How much of a test that mostly computes is done: all of it, or with a sanitizer, under which it
 * takes ten to twenty times as long and whose findings do not depend on how often, a tenth. */
#ifndef SHUNT_TESTS_EFFORT_H
#define SHUNT_TESTS_EFFORT_H

#ifdef __SANITIZE_ADDRESS__
#define EFFORT(n) (((n) + 9) / 10)
#else
#define EFFORT(n) (n)
#endif

#endif
