// SPDX-License-Identifier: BSD-2-Clause
#include "xdp/btf.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/bytes.h"

/* The structures that bpf/ asks for fields of. */
static const char *const wanted[] = {"task_struct", "net_device", "net"};

/* Made once, kept until the process ends; wrong values are 0. */
static pthread_once_t is_read = PTHREAD_ONCE_INIT;
static uint32_t prog_head;
static void *few; /* wanted and what lies in them, as BTF; NULL: none */
static uint32_t few_len;

/* ---- copying --------------------------------------------------------------------------------- */

struct copy {
	const struct btf *from;
	struct btf *to;
	int *ids; /* what a type of `from` is in `to`; 0: not there yet */
	int pointer;
};

static int copy_type(struct copy *copy, uint32_t id);

/* A structure or union with all that lies in it. Its fields' types come first. */
static int copy_composite(struct copy *copy, const struct btf_type *t)
{
	const char *name = btf__name_by_offset(copy->from, t->name_off);
	const struct btf_member *m = btf_members(t);
	int id, rc = 0;
	uint16_t i;

	for (i = 0; i < btf_vlen(t) && rc >= 0; i++)
		rc = copy_type(copy, m[i].type);
	if (rc < 0)
		return rc;
	id = btf_is_union(t) ? btf__add_union(copy->to, name, t->size)
			     : btf__add_struct(copy->to, name, t->size);
	for (i = 0; i < btf_vlen(t) && id >= 0 && rc >= 0; i++)
		rc = btf__add_field(copy->to, btf__name_by_offset(copy->from, m[i].name_off),
				    copy_type(copy, m[i].type), btf_member_bit_offset(t, i),
				    btf_member_bitfield_size(t, i));
	return rc < 0 ? rc : id;
}

static int copy_array(struct copy *copy, const struct btf_type *t)
{
	const struct btf_array *array = btf_array(t);
	const int index = copy_type(copy, array->index_type);
	const int element = index < 0 ? index : copy_type(copy, array->type);

	return element < 0 ? element : btf__add_array(copy->to, index, element, array->nelems);
}

/* Names that a type has besides make no difference to where a field lies, nor does what a pointer
 * points to: it is asked for by its own name. */
static int copy_type(struct copy *copy, uint32_t id)
{
	const int real = btf__resolve_type(copy->from, id);
	const struct btf_type *t = real > 0 ? btf__type_by_id(copy->from, (uint32_t)real) : NULL;
	int made;

	if (!t)
		return real; /* 0: void */
	if (btf_is_ptr(t))
		return copy->pointer;
	if (copy->ids[real])
		return copy->ids[real];
	made = btf_is_composite(t) ? copy_composite(copy, t)
	       : btf_is_array(t)   ? copy_array(copy, t)
				   : btf__add_type(copy->to, copy->from, t);
	copy->ids[real] = SHUNT_MAX(made, 0);
	return made;
}

static int copy_wanted(struct copy *copy)
{
	int id, rc = 0;
	size_t i;

	copy->pointer = btf__add_ptr(copy->to, 0);
	for (i = 0; i < SHUNT_ARRAY_LEN(wanted) && rc >= 0; i++) {
		id = btf__find_by_name_kind(copy->from, wanted[i], BTF_KIND_STRUCT);
		rc = id < 0 ? id : copy_type(copy, (uint32_t)id);
	}
	return SHUNT_MIN(rc, copy->pointer);
}

static void keep_few(const struct btf *from)
{
	struct copy copy = {.from = from, .to = btf__new_empty()};
	const void *data;
	uint32_t len;

	copy.ids = calloc(btf__type_cnt(from), sizeof(*copy.ids));
	if (copy.to && copy.ids && copy_wanted(&copy) > 0) {
		data = btf__raw_data(copy.to, &len);
		few = data ? malloc(len) : NULL;
		if (few)
			memcpy(few, data, few_len = len);
	}
	free(copy.ids);
	btf__free(copy.to);
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static void read_kernel(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id;

	if (!btf)
		return;
	id = btf__find_by_name_kind(btf, "bpf_prog", BTF_KIND_STRUCT);
	prog_head = id > 0 ? btf__type_by_id(btf, (uint32_t)id)->size : 0;
	keep_few(btf);
	btf__free(btf);
}

const char *shunt_xdp_btf_open(struct shunt_xdp_btf *btf)
{
	pthread_once(&is_read, read_kernel);
	btf->fd = few ? memfd_create("shunt-btf", MFD_CLOEXEC) : -1;
	if (btf->fd < 0)
		return NULL;
	if (write(btf->fd, few, few_len) != (ssize_t)few_len) {
		shunt_xdp_btf_close(btf);
		return NULL;
	}
	snprintf(btf->path, sizeof(btf->path), "/proc/self/fd/%d", btf->fd);
	return btf->path;
}

void shunt_xdp_btf_close(struct shunt_xdp_btf *btf)
{
	if (btf->fd >= 0)
		close(btf->fd);
	btf->fd = -1;
}

uint32_t shunt_xdp_btf_prog_head(void)
{
	pthread_once(&is_read, read_kernel);
	return prog_head;
}
