/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections: what their ends send, and the rules that both labs judge it by. */
#ifndef SHUNT_PARITY_TALK_H
#define SHUNT_PARITY_TALK_H

#include "parity.h"

/* As each end sees a connection; without translation seen is client, and service is server.
 * Addresses in network order (IPv4: the first four bytes), ports in host order. */
struct parity_ends {
	bool v6;
	uint8_t proto;	  /* 6 or 17 */
	uint8_t from, to; /* ports of dut, client's and server's */
	uint8_t vrf;	  /* of both */
	bool is_masked;	  /* masquerade: a packet by another device would end the connection */
	uint8_t client[16], service[16]; /* the client's view */
	uint8_t seen[16], server[16];	 /* the server's */
	uint16_t sport, dport, server_port;
};

/* parity_pick_ends chooses those of connection `number`; proto is given. */
void parity_pick_ends(struct parity_rng *rng, const struct parity_source *src, uint64_t number,
		      struct parity_ends *ends);

#endif
