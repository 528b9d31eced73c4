// SPDX-License-Identifier: BSD-2-Clause
#include "firewall/own_table.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/flowtable.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <libnftnl/udata.h>
#include <limits.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tuple_common.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "firewall/own_batch.h"

#define PREFIX	     "shunt-"
#define SET	     "ports"
#define ANSWERED     "answered"
#define FLOWTABLE    "flows"
#define CHAIN	     "forward"

/* nft(8)'s own numbers, by which it prints a set's elements as names: TYPE_IFINDEX,
 * BYTEORDER_HOST_ENDIAN */
#define IFACE_INDEX  20
#define MARK_PORTS   (19 << 12 | 13 << 6 | 13) /* a mark, two ports */
#define HOST_ENDIAN  1

/* An answer counts so long, of so many connections at most. */
#define ANSWERED_MS  10000u
#define ANSWERED_MAX (1u << 20)

/* As long as somebody else's transaction may take. */
#define ANSWER_SECS  10

struct shunt_own_table {
	struct mnl_socket *nl;
	uint32_t seq; /* of the message before */
	bool is_there;
	char name[24];
};

/* --- what is in it ---------------------------------------------------------------------------- */

/* Each takes an object of libnftnl's, puts it into the batch and frees it. A message of its own
 * follows what is in the batch. */
#define PUT(batch, object, noun, message, flags)                                                \
	do {                                                                                    \
		if (!(object)) {                                                                \
			(batch)->is_short = true;                                               \
			break;                                                                  \
		}                                                                               \
		nftnl_##noun##_nlmsg_build_payload(shunt_own_batch_head(batch, message, flags), \
						   object);                                     \
		mnl_nlmsg_batch_next((batch)->messages);                                        \
		nftnl_##noun##_free(object);                                                    \
	} while (0)

static void put_table(struct shunt_own_batch *batch, uint16_t message, uint16_t flags)
{
	struct nftnl_table *object = nftnl_table_alloc();

	if (object) {
		nftnl_table_set_str(object, NFTNL_TABLE_NAME, batch->table);
		if (message == NFT_MSG_NEWTABLE)
			nftnl_table_set_u32(object, NFTNL_TABLE_FLAGS, SHUNT_TABLE_F_OWNER);
	}
	PUT(batch, object, table, message, flags);
}

static void add_elements(struct nftnl_set *set, const struct shunt_own_table_port *ports,
			 unsigned cnt)
{
	const uint32_t order = HOST_ENDIAN;
	struct nftnl_udata_buf *data = nftnl_udata_buf_alloc(64);
	unsigned i;

	if (data) {
		nftnl_udata_put_u32(data, NFTNL_UDATA_SET_KEYBYTEORDER, order);
		nftnl_set_set_data(set, NFTNL_SET_USERDATA, nftnl_udata_buf_data(data),
				   nftnl_udata_buf_len(data));
		nftnl_udata_buf_free(data);
	}
	for (i = 0; i < cnt; i++) {
		struct nftnl_set_elem *element = nftnl_set_elem_alloc();

		if (!element)
			continue; /* then connections of that port are not approved */
		nftnl_set_elem_set(element, NFTNL_SET_ELEM_KEY, &ports[i].ifindex,
				   sizeof(ports[i].ifindex));
		nftnl_set_elem_add(set, element);
	}
}

/* NULL where there is no memory. key_len: bytes. */
static struct nftnl_set *new_set(const struct shunt_own_batch *batch, const char *name, uint32_t id,
				 uint32_t key_type, uint32_t key_len)
{
	struct nftnl_set *object = nftnl_set_alloc();

	if (object) {
		nftnl_set_set_str(object, NFTNL_SET_TABLE, batch->table);
		nftnl_set_set_str(object, NFTNL_SET_NAME, name);
		nftnl_set_set_u32(object, NFTNL_SET_ID, id);
		nftnl_set_set_u32(object, NFTNL_SET_FAMILY, NFPROTO_INET);
		nftnl_set_set_u32(object, NFTNL_SET_KEY_TYPE, key_type);
		nftnl_set_set_u32(object, NFTNL_SET_KEY_LEN, key_len);
	}
	return object;
}

static void put_set(struct shunt_own_batch *batch, const struct shunt_own_table_port *ports,
		    unsigned cnt)
{
	struct nftnl_set *object = new_set(batch, SET, 1, IFACE_INDEX, sizeof(ports->ifindex));

	if (!object) {
		batch->is_short = true;
		return;
	}
	add_elements(object, ports, cnt);
	nftnl_set_nlmsg_build_payload(shunt_own_batch_head(batch, NFT_MSG_NEWSET, NLM_F_CREATE),
				      object);
	mnl_nlmsg_batch_next(batch->messages);
	nftnl_set_elems_nlmsg_build_payload(
		shunt_own_batch_head(batch, NFT_MSG_NEWSETELEM, NLM_F_CREATE), object);
	mnl_nlmsg_batch_next(batch->messages);
	nftnl_set_free(object);
}

/* Of connections: their number and ports, as who began them sends. An entry lives for the time that
 * an answer counts. */
static void put_answered(struct shunt_own_batch *batch)
{
	struct nftnl_set *object = new_set(batch, ANSWERED, 2, MARK_PORTS, 3 * sizeof(uint32_t));

	if (object) {
		nftnl_set_set_u32(object, NFTNL_SET_FLAGS, NFT_SET_EVAL | NFT_SET_TIMEOUT);
		nftnl_set_set_u32(object, NFTNL_SET_DESC_SIZE, ANSWERED_MAX);
		nftnl_set_set_u64(object, NFTNL_SET_TIMEOUT, ANSWERED_MS);
	}
	PUT(batch, object, set, NFT_MSG_NEWSET, NLM_F_CREATE);
}

static void put_flowtable(struct shunt_own_batch *batch, const struct shunt_own_table_port *ports,
			  unsigned cnt)
{
	struct nftnl_flowtable *object = nftnl_flowtable_alloc();
	const char *names[SHUNT_PORT_MAX + 1] = {NULL};
	unsigned i;

	for (i = 0; i < cnt; i++)
		names[i] = ports[i].name;
	if (object) {
		nftnl_flowtable_set_str(object, NFTNL_FLOWTABLE_TABLE, batch->table);
		nftnl_flowtable_set_str(object, NFTNL_FLOWTABLE_NAME, FLOWTABLE);
		nftnl_flowtable_set_u32(object, NFTNL_FLOWTABLE_HOOKNUM, NF_NETDEV_INGRESS);
		nftnl_flowtable_set_s32(object, NFTNL_FLOWTABLE_PRIO, INT_MAX);
		nftnl_flowtable_set_array(object, NFTNL_FLOWTABLE_DEVICES, names);
	}
	PUT(batch, object, flowtable, NFT_MSG_NEWFLOWTABLE, NLM_F_CREATE);
}

static void put_chain(struct shunt_own_batch *batch)
{
	struct nftnl_chain *object = nftnl_chain_alloc();

	if (object) {
		nftnl_chain_set_str(object, NFTNL_CHAIN_TABLE, batch->table);
		nftnl_chain_set_str(object, NFTNL_CHAIN_NAME, CHAIN);
		nftnl_chain_set_str(object, NFTNL_CHAIN_TYPE, "filter");
		nftnl_chain_set_u32(object, NFTNL_CHAIN_HOOKNUM, NF_INET_FORWARD);
		nftnl_chain_set_s32(object, NFTNL_CHAIN_PRIO, INT_MAX);
		nftnl_chain_set_u32(object, NFTNL_CHAIN_POLICY, NF_ACCEPT);
	}
	PUT(batch, object, chain, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
}

/* NULL where there is no memory: then the rule is not used either. */
static struct nftnl_expr *add_expr(struct nftnl_rule **rule, const char *name)
{
	struct nftnl_expr *expr = *rule ? nftnl_expr_alloc(name) : NULL;

	if (expr) {
		nftnl_rule_add_expr(*rule, expr);
	} else if (*rule) {
		nftnl_rule_free(*rule);
		*rule = NULL;
	}
	return expr;
}

/* iif @ports, oif @ports */
static void add_device_match(struct nftnl_rule **rule, uint32_t key)
{
	struct nftnl_expr *meta = add_expr(rule, "meta");
	struct nftnl_expr *lookup = add_expr(rule, "lookup");

	if (!*rule)
		return;
	nftnl_expr_set_u32(meta, NFTNL_EXPR_META_KEY, key);
	nftnl_expr_set_u32(meta, NFTNL_EXPR_META_DREG, NFT_REG_1);
	nftnl_expr_set_str(lookup, NFTNL_EXPR_LOOKUP_SET, SET);
	nftnl_expr_set_u32(lookup, NFTNL_EXPR_LOOKUP_SET_ID, 1);
	nftnl_expr_set_u32(lookup, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
}

/* ct state established */
static void add_state_match(struct nftnl_rule **rule)
{
	const uint32_t established = NF_CT_STATE_BIT(IP_CT_ESTABLISHED), zero = 0;
	struct nftnl_expr *ct = add_expr(rule, "ct");
	struct nftnl_expr *mask = add_expr(rule, "bitwise");
	struct nftnl_expr *cmp = add_expr(rule, "cmp");

	if (!*rule)
		return;
	nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_KEY, NFT_CT_STATE);
	nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_DREG, NFT_REG_1);
	nftnl_expr_set_u32(mask, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
	nftnl_expr_set_u32(mask, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
	nftnl_expr_set_u32(mask, NFTNL_EXPR_BITWISE_LEN, sizeof(established));
	nftnl_expr_set(mask, NFTNL_EXPR_BITWISE_MASK, &established, sizeof(established));
	nftnl_expr_set(mask, NFTNL_EXPR_BITWISE_XOR, &zero, sizeof(zero));
	nftnl_expr_set_u32(cmp, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
	nftnl_expr_set_u32(cmp, NFTNL_EXPR_CMP_OP, NFT_CMP_NEQ);
	nftnl_expr_set(cmp, NFTNL_EXPR_CMP_DATA, &zero, sizeof(zero));
}

/* ct direction original, reply */
static void add_direction_match(struct nftnl_rule **rule, uint8_t direction)
{
	struct nftnl_expr *ct = add_expr(rule, "ct");
	struct nftnl_expr *cmp = add_expr(rule, "cmp");

	if (!*rule)
		return;
	nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_KEY, NFT_CT_DIRECTION);
	nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_DREG, NFT_REG_1);
	nftnl_expr_set_u32(cmp, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
	nftnl_expr_set_u32(cmp, NFTNL_EXPR_CMP_OP, NFT_CMP_EQ);
	nftnl_expr_set(cmp, NFTNL_EXPR_CMP_DATA, &direction, sizeof(direction));
}

/* th sport, th dport, to a register */
static void load_port(struct nftnl_rule **rule, uint32_t offset, uint32_t reg)
{
	struct nftnl_expr *payload = add_expr(rule, "payload");

	if (!*rule)
		return;
	nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_BASE, NFT_PAYLOAD_TRANSPORT_HEADER);
	nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
	nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_LEN, sizeof(uint16_t));
	nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_DREG, reg);
}

/* ct id, and the ports as who began the connection sends. */
static void load_key(struct nftnl_rule **rule, uint8_t direction)
{
	struct nftnl_expr *ct = add_expr(rule, "ct");

	if (*rule) {
		nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_KEY, NFT_CT_ID);
		nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_DREG, NFT_REG_1);
	}
	load_port(rule, direction == IP_CT_DIR_ORIGINAL ? 0 : 2, NFT_REG32_01);
	load_port(rule, direction == IP_CT_DIR_ORIGINAL ? 2 : 0, NFT_REG32_02);
}

static struct nftnl_rule *begin_rule(uint8_t direction)
{
	struct nftnl_rule *rule = nftnl_rule_alloc();

	add_device_match(&rule, NFT_META_IIF);
	add_device_match(&rule, NFT_META_OIF);
	add_state_match(&rule);
	add_direction_match(&rule, direction);
	load_key(&rule, direction);
	return rule;
}

static void put_rule(struct shunt_own_batch *batch, struct nftnl_rule *object, uint16_t flags)
{
	if (object) {
		nftnl_rule_set_str(object, NFTNL_RULE_TABLE, batch->table);
		nftnl_rule_set_str(object, NFTNL_RULE_CHAIN, CHAIN);
		nftnl_rule_set_u32(object, NFTNL_RULE_FAMILY, NFPROTO_INET);
	}
	PUT(batch, object, rule, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND | flags);
}

/* update @answered { ... } */
static void put_rule_of_answers(struct shunt_own_batch *batch)
{
	struct nftnl_rule *rule = begin_rule(IP_CT_DIR_REPLY);
	struct nftnl_expr *update = add_expr(&rule, "dynset");

	if (rule) {
		nftnl_expr_set_u32(update, NFTNL_EXPR_DYNSET_SREG_KEY, NFT_REG_1);
		nftnl_expr_set_u32(update, NFTNL_EXPR_DYNSET_OP, NFT_DYNSET_OP_UPDATE);
		nftnl_expr_set_str(update, NFTNL_EXPR_DYNSET_SET_NAME, ANSWERED);
		nftnl_expr_set_u32(update, NFTNL_EXPR_DYNSET_SET_ID, 2);
	}
	put_rule(batch, rule, 0);
}

/* ... @answered flow add @flows */
static void put_rule_of_flows(struct shunt_own_batch *batch)
{
	struct nftnl_rule *rule = begin_rule(IP_CT_DIR_ORIGINAL);
	struct nftnl_expr *lookup = add_expr(&rule, "lookup");
	struct nftnl_expr *flow = add_expr(&rule, "flow_offload");

	if (rule) {
		nftnl_expr_set_str(lookup, NFTNL_EXPR_LOOKUP_SET, ANSWERED);
		nftnl_expr_set_u32(lookup, NFTNL_EXPR_LOOKUP_SET_ID, 2);
		nftnl_expr_set_u32(lookup, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
		nftnl_expr_set_str(flow, NFTNL_EXPR_FLOW_TABLE_NAME, FLOWTABLE);
	}
	put_rule(batch, rule, NLM_F_ACK);
}

/* --- the table -------------------------------------------------------------------------------- */

int shunt_own_table_open(struct shunt_own_table **out, struct shunt_err *err)
{
	const struct timeval limit = {.tv_sec = ANSWER_SECS};
	struct shunt_own_table *table = calloc(1, sizeof(*table));
	int ret = 0;

	*out = NULL;
	if (!table)
		return shunt_err_set(err, ENOMEM, "own table: not enough memory");
	snprintf(table->name, sizeof(table->name), PREFIX "%d", (int)getpid());
	table->nl = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
	if (!table->nl || mnl_socket_bind(table->nl, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    setsockopt(mnl_socket_get_fd(table->nl), SOL_SOCKET, SO_RCVTIMEO, &limit,
		       sizeof(limit))) {
		ret = shunt_err_set(err, errno, "own table: netlink socket: %s", strerror(errno));
		shunt_own_table_close(table);
		return ret;
	}
	*out = table;
	return 0;
}

void shunt_own_table_close(struct shunt_own_table *table)
{
	if (!table)
		return;
	if (table->nl)
		mnl_socket_close(table->nl);
	free(table);
}

/* What a kernel answers that lacks the modules. */
static bool lacks_flowtables(int ret)
{
	return ret == -ENOENT || ret == -EOPNOTSUPP || ret == -EPROTONOSUPPORT;
}

static int refused(const struct shunt_own_table *table, int ret, struct shunt_err *err)
{
	if (lacks_flowtables(ret))
		return shunt_err_set(err, -ret,
				     "table inet %s: this kernel has no flowtables (modules "
				     "nf_flow_table_inet and nft_flow_offload): %s",
				     table->name, strerror(-ret));
	return shunt_err_set(err, -ret, "table inet %s: nftables refuses it: %s", table->name,
			     strerror(-ret));
}

int shunt_own_table_put(struct shunt_own_table *table, const struct shunt_own_table_port *ports,
			unsigned cnt, struct shunt_err *err)
{
	struct shunt_own_batch batch;
	int ret;

	shunt_own_batch_begin(&batch, table->nl, &table->seq, table->name);
	if (batch.messages) {
		if (table->is_there)
			put_table(&batch, NFT_MSG_DELTABLE, 0);
		put_table(&batch, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL);
		put_set(&batch, ports, SHUNT_MIN(cnt, (unsigned)SHUNT_PORT_MAX));
		put_flowtable(&batch, ports, SHUNT_MIN(cnt, (unsigned)SHUNT_PORT_MAX));
		put_answered(&batch);
		put_chain(&batch);
		put_rule_of_answers(&batch);
		put_rule_of_flows(&batch);
	}
	ret = shunt_own_batch_commit(&batch);
	if (ret)
		return refused(table, ret, err);
	table->is_there = true;
	return 0;
}

int shunt_own_table_remove(struct shunt_own_table *table, struct shunt_err *err)
{
	struct shunt_own_batch batch;
	int ret;

	if (!table->is_there)
		return 0;
	shunt_own_batch_begin(&batch, table->nl, &table->seq, table->name);
	if (batch.messages)
		put_table(&batch, NFT_MSG_DELTABLE, NLM_F_ACK);
	ret = shunt_own_batch_commit(&batch);
	if (ret)
		return refused(table, ret, err);
	table->is_there = false;
	return 0;
}

bool shunt_own_table_is(const char *name)
{
	const size_t len = strlen(PREFIX);

	return !strncmp(name, PREFIX, len) && name[len] &&
	       strspn(name + len, "0123456789") == strlen(name + len);
}
