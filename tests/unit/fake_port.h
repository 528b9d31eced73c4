/* SPDX-License-Identifier: BSD-2-Clause */
/* A port whose every move the test decides: what it receives, how much it takes,
 * when it gives a transmitted frame back. It records what was sent. */
#ifndef SHUNT_TESTS_FAKE_PORT_H
#define SHUNT_TESTS_FAKE_PORT_H

#include "io/queue.h"

#define FAKE_SENT_MAX 4096
#define FAKE_FRAME    64 /* bytes of each frame received and recorded */

struct fake_sent {
	uint64_t addr;
	uint32_t len;
	uint32_t user;
	uint8_t bytes[FAKE_FRAME];
};

struct fake_port {
	struct shunt_queue queue;
	unsigned arriving; /* packets still to be received */
	unsigned late;	   /* the first of those, late once queue.is_late says so */
	unsigned serial;   /* of the next packet received: its first four bytes */
	unsigned room;	   /* packets that tx still takes */
	bool holds;	   /* transmitted frames come back by complete, else at once */
	uint64_t held[FAKE_SENT_MAX];
	unsigned held_cnt;
	bool in_driver;		 /* what is held is in no ring */
	bool completes_in_audit; /* and comes back while the next audit looks */
	struct fake_sent sent[FAKE_SENT_MAX];
	unsigned sent_cnt;
	unsigned reclaims, flushes, busy_polls, closes;
	unsigned waits; /* flushes that were told of another turn */
};

/* fake_port_init makes a queue of a port over pool: nothing arrives, all is taken. */
void fake_port_init(struct fake_port *fake, struct shunt_pool *pool, uint16_t port);

/* fake_ports_init does that for ports 0 to cnt - 1, and puts their queues into queues[]. */
void fake_ports_init(struct fake_port *fakes, struct shunt_queue **queues, unsigned cnt,
		     struct shunt_pool *pool);

/* fake_port_complete lets cnt of the frames held go back at the next reclaim. */
void fake_port_complete(struct fake_port *fake, unsigned cnt);

#endif
