/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that measure one thing and print one JSON object: what shunt-bench is made of. */
#ifndef SHUNT_BENCH_POINT_H
#define SHUNT_BENCH_POINT_H

/* Each is a main of its own, argv[0] its name; 0 done, 1 failed, 2 wrong usage. */
int bench_point(int argc, char **argv);
int bench_access(int argc, char **argv);

#endif
