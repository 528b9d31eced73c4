/* SPDX-License-Identifier: BSD-2-Clause */
/* What clients ask by the control socket. */
#ifndef SHUNTD_REQUESTS_H
#define SHUNTD_REQUESTS_H

#include "serve/server.h"

/* shuntd_answer answers a request (serve/server.h); daemon is the struct daemon. Clients are served
 * once the engine runs: requests that come earlier wait. Thread: control. */
json_t *shuntd_answer(void *daemon, bool may_change, const json_t *request,
		      struct shunt_server_more *more, struct shunt_err *err);

#endif
