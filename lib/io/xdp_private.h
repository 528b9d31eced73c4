/* SPDX-License-Identifier: BSD-2-Clause */
/* What xdp.c (attach, detach), xdp_program.c (which program that is), xdp_device.c
 * (what else is on the device), xdp_maps.c (configuration and counters) and xdp_err.c
 * (sentences) share. Nobody else includes it. */
#ifndef SHUNT_IO_XDP_PRIVATE_H
#define SHUNT_IO_XDP_PRIVATE_H

#include <net/if.h>

#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "io/xdp.h"

struct shunt_xdp {
	char ifname[IF_NAMESIZE];
	unsigned ifindex;
	enum shunt_xdp_mode requested;
	bool is_external, is_attached;
	bool is_sg;	 /* the program for packets of several buffers */
	bool is_adopted; /* found on the device, a predecessor's, and ours from then on */
	bool is_persistent;
	bool has_meta;	    /* the program writes metadata before the frames */
	char meta_why[128]; /* why not, or why the driver is not asked; "" */
	int adopted_fd;
	uint32_t prog_id;
	uint32_t looked_id; /* a dispatcher's number, 0: none was looked at yet */
	bool is_under;	    /* that one: ours is under it */
	bool is_handed_over;
	struct bpf_object *obj;	  /* NULL when external */
	struct xdp_program *prog; /* NULL when external */

	struct bpf_object *watch; /* NULL where the kernel cannot */

	int xsks_fd, ports_fd, macs_fd, tables_fd, local4_fd, local6_fd, slots_fd;
	struct shunt_steer_ctl *ctl;	/* mapped, shared with the program */
	struct shunt_steer_slot *slots; /* mapped, SHUNT_STEER_QUEUES_MAX of them */

	unsigned half; /* of ctl, which is in force */
	bool is_configured, is_open, has_published;
	struct shunt_steer_half shadow; /* what is in force, or goes in force next */
};

/* shunt_xdp_device_mode returns libxdp's word for mode. Thread: any. */
enum xdp_attach_mode shunt_xdp_device_mode(enum shunt_xdp_mode mode);

/* shunt_xdp_device_get returns what is attached to the device, for xdp_multiprog__close;
 * NULL: nothing. Thread: control. Cost: netlink and a few syscalls. */
struct xdp_multiprog *shunt_xdp_device_get(unsigned ifindex);

/* shunt_xdp_device_program returns the steering program of mp, the device's only one or one
 * under a dispatcher, NULL where there is none. It is mp's. Thread: control. */
struct xdp_program *shunt_xdp_device_program(const struct xdp_multiprog *mp);

/* shunt_xdp_device_owned says that the live process pid has the device; returns -EBUSY.
 * Thread: any. */
int shunt_xdp_device_owned(const char *ifname, uint32_t pid, struct shunt_err *err);

/* shunt_xdp_device_clear makes room on the device: takes off a steering program that an ended
 * daemon left and, if replace, another's, which *foreign_fd then holds, so that it can be put
 * back (-1 before; the caller's). Returns 0 or -EBUSY. Thread: control. */
int shunt_xdp_device_clear(struct shunt_xdp *x, bool replace, int *foreign_fd,
			   enum shunt_xdp_mode *foreign_mode, struct shunt_err *err);

/* shunt_xdp_program_open makes x hold the program that its port wants, not yet loaded. can_trim:
 * it may cut frames. Returns 0 or -errno. shunt_xdp_program_drop closes it; legal without one.
 * Thread: control. */
int shunt_xdp_program_open(struct shunt_xdp *x, bool can_trim, struct shunt_err *err);
void shunt_xdp_program_drop(struct shunt_xdp *x);

/* shunt_xdp_program_adopt takes over the program that an ended daemon left, so that
 * the device is not touched; metadata: one that writes it is wanted, or one that does not. Returns
 * false where there is none, or another version's, or in the other mode: then it is to be replaced.
 * Thread: control. */
bool shunt_xdp_program_adopt(struct shunt_xdp *x, bool metadata);

/* shunt_xdp_program_find makes x serve the program that somebody else attached. Returns 0;
 * -ENOENT if none that fits is there; -EBUSY if a live process has it; -errno. Thread: control. */
int shunt_xdp_program_find(struct shunt_xdp *x, struct shunt_err *err);

/* shunt_xdp_program_is_same compares two loaded programs by the kernel's hash over their
 * instructions. Thread: any. */
uint32_t shunt_xdp_program_id(int prog_fd); /* 0 unknown */
bool shunt_xdp_program_is_same(int a_fd, int b_fd);

/* shunt_xdp_meta_put puts the program that writes metadata on the device and opens its maps.
 * Returns false, with x->meta_why, where that does not go; then nothing is changed but that
 * a program of shunt's own that was left there is gone. shunt_xdp_meta_is_its says whether a
 * program's name is that one's, shunt_xdp_meta_is_same whether the loaded one of that name is
 * this version's. Thread: control. */
bool shunt_xdp_meta_put(struct shunt_xdp *x, bool replace);
bool shunt_xdp_meta_is_its(const char *name);
bool shunt_xdp_meta_is_same(unsigned ifindex, const char *name, int prog_fd);

/* shunt_xdp_maps_init makes x hold no map. Thread: control. */
void shunt_xdp_maps_init(struct shunt_xdp *x);

/* shunt_xdp_maps_open finds the maps of the loaded program prog_fd by their names
 * and maps its globals. Returns 0; -EPROTO if it is of another version of shunt;
 * -errno of the kernel. On failure x holds no map. Thread: control. */
int shunt_xdp_maps_open(struct shunt_xdp *x, int prog_fd, struct shunt_err *err);

/* shunt_xdp_maps_close gives back what shunt_xdp_maps_open took. Thread: control. */
void shunt_xdp_maps_close(struct shunt_xdp *x);

/* shunt_xdp_live_set says what steers from now on, and which word the short way has, 0 for none.
 * Either is in force before or after the other: both mean the same wherever both are open.
 * Thread: control. */
void shunt_xdp_live_set(struct shunt_steer_ctl *ctl, uint32_t live, uint64_t quick);

/* shunt_xdp_owner_set writes this process into ctl, shunt_xdp_owner_clear takes it
 * out and gives every frame to the kernel. Thread: control. */
void shunt_xdp_owner_set(struct shunt_steer_ctl *ctl);
void shunt_xdp_owner_clear(struct shunt_steer_ctl *ctl);

/* shunt_xdp_owner_alive returns the pid of the process that configures ctl, if it
 * lives; 0 otherwise. Thread: control. */
uint32_t shunt_xdp_owner_alive(const struct shunt_steer_ctl *ctl);

/* shunt_xdp_watch_start starts the kernel's watch over the workers' signs of life.
 * Returns 0 or -errno: without it a hung worker is not noticed. shunt_xdp_watch_stop
 * ends it; legal without a watch. Thread: control. Cost: setup. */
int shunt_xdp_watch_start(struct shunt_xdp *x);
void shunt_xdp_watch_stop(struct shunt_xdp *x);

/* shunt_xdp_log_begin keeps what libbpf and libxdp say, for the errors below, until
 * shunt_xdp_log_end puts back who listened before. Thread: control. */
struct shunt_xdp_log {
	libbpf_print_fn_t bpf;
	libxdp_print_fn_t xdp;
};
struct shunt_xdp_log shunt_xdp_log_begin(void);
void shunt_xdp_log_end(struct shunt_xdp_log before);

/* shunt_xdp_err_rights returns 0, or -EPERM and names the capability that this
 * process lacks. Thread: any. */
int shunt_xdp_err_rights(const char *ifname, struct shunt_err *err);

/* shunt_xdp_err_load says why the kernel did not load the program, and
 * shunt_xdp_err_attach why the device did not take it; code is the positive errno.
 * Both return -errno, which may be a plainer one. Thread: that of log_begin. */
int shunt_xdp_err_load(const char *ifname, int code, struct shunt_err *err);
int shunt_xdp_err_attach(const struct shunt_xdp *x, int code, struct shunt_err *err);

#endif
