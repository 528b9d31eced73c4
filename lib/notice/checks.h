/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks behind the kinds of notice.h, one each; for notice.c. */
#ifndef SHUNT_NOTICE_CHECKS_H
#define SHUNT_NOTICE_CHECKS_H

#include "engine/state.h"
#include "notice/notice.h"

/* shunt_notice_check_KIND looks at what the notice is about (its port, queue, worker). Returns the
 * key of the cause with text set, or 0 where there is none. `before` has the key of the look before
 * and what belongs to it. Thread: control. */
#define X(name, about, over)                                                  \
	uint64_t shunt_notice_check_##name(const struct shunt_engine *engine, \
					   const struct shunt_notice *before, \
					   struct shunt_err *text);
SHUNT_NOTICES(X)
#undef X

#endif
