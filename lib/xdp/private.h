/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this folder share. No other includes it. xdp.c: open, attach, detach.
 * rules.c: rules and what they match. program.c: which program. device.c: what else is on the
 * device. before.c: how the program takes the place of that. fds.c: what libxdp leaves open.
 * maps.c: configuration and counters. btf.c: the kernel's BTF. owner.c: which process serves.
 * delegate.c: which process has the program. flow.c: how it asks for approved connections.
 * flow_count.c: what they carry. err.c: error sentences. */
#ifndef SHUNT_XDP_PRIVATE_H
#define SHUNT_XDP_PRIVATE_H

#include <net/if.h>
#include <pthread.h>

#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "xdp/delegate.h"
#include "xdp/xdp.h"

/* A program that gave way to a tapped one. */
struct shunt_xdp_plain {
	struct bpf_object *obj;
	struct xdp_program *prog;
	int prog_fd;
	bool is_bound;
	uint32_t dispatcher_id; /* that runs it, and no other; 0: none does */
};

struct shunt_xdp {
	char ifname[IF_NAMESIZE];
	unsigned ifindex;
	enum shunt_xdp_mode requested;
	bool is_external, is_attached;
	bool is_suspended;		 /* taken off by shunt, for a while */
	bool is_sg;			 /* the program for packets of several buffers */
	bool asks_tags;			 /* is to ask its driver for VLAN tags beside frames */
	bool changes_lengths;		 /* see struct shunt_xdp_opts */
	enum shunt_flow_asks asks_flows; /* how it asks for approved connections */
	const struct shunt_xdp_flow_counts *flow_counts; /* what they carry; NULL: not counted */
	uint32_t patience;				 /* of the watch */
	bool is_tapped; /* obj and prog_fd have a tap, and plain is what they stand for */
	struct shunt_xdp_plain plain;
	struct shunt_xdp_explainer *explainer; /* NULL: nobody has asked yet */
	bool is_left;			       /* no rule leads to another lane than the kernel's */
	bool is_bound;	  /* the one that does is loaded, by this process or its delegate */
	bool can_replace; /* another's program gives way */
	bool is_persistent;
	uint32_t prog_id;
	uint32_t looked_id;	 /* id of the dispatcher looked at; 0: none yet */
	bool is_under;		 /* ours runs under that one; suspended: ran under one */
	bool is_blocked;	 /* suspended, and another's program has come */
	bool crosses_on;	 /* handed over, and what it carried goes on without sockets */
	struct bpf_object *maps; /* shared with the program, made before it is loaded; NULL:
				  * external */
	struct bpf_object *obj;	 /* the program's, with those maps; NULL: not opened, or external */
	struct xdp_program
		*prog; /* libxdp's, where libxdp loads and attaches the program; or NULL */
	int prog_fd;   /* obj's or prog's; -1: not loaded */

	const struct shunt_xdp_delegate *delegate; /* has the program; NULL: this process has it */

	struct bpf_object *watch; /* NULL where the kernel cannot */

	int xsks_fd, ports_fd, flood_fd, macs_fd, tables_fd, local4_fd, local6_fd, slots_fd, ctl_fd;
	struct shunt_steer_ctl *ctl;	/* mapped, shared with the program */
	struct shunt_steer_slot *slots; /* mapped, SHUNT_STEER_QUEUES_MAX of them */

	bool is_counted;			     /* what rules match is counted: */
	struct shunt_steer_rule_counts *rule_counts; /* mapped, of each queue; NULL: not counted */
	/* what a rule's counter began with */
	struct shunt_count rule_begun[SHUNT_STEER_RULE_COUNTS];

	unsigned half; /* the one of ctl that is in force */
	bool is_configured, has_published;
	pthread_mutex_t open_lock; /* of is_open, is_barred and what follows from both */
	bool is_open, is_barred;
	struct shunt_steer_half shadow; /* what is in force, or comes into force next */
};

/* shunt_xdp_device_mode returns libxdp's word for mode. Thread: any. */
enum xdp_attach_mode shunt_xdp_device_mode(enum shunt_xdp_mode mode);

/* shunt_xdp_device_get returns what is attached to the device, or NULL. The caller closes it with
 * xdp_multiprog__close. Thread: control. Cost: netlink and a few syscalls. */
struct xdp_multiprog *shunt_xdp_device_get(unsigned ifindex);

/* shunt_xdp_device_is_ours says whether prog (NULL: no) is a steering program. Thread: any. */
bool shunt_xdp_device_is_ours(const struct xdp_program *prog);

/* shunt_xdp_device_program returns the steering program of mp, alone or under a dispatcher, or
 * NULL. It is mp's. Thread: control. */
struct xdp_program *shunt_xdp_device_program(const struct xdp_multiprog *mp);

/* shunt_xdp_device_is_shared says whether a dispatcher runs other programs than steering ones.
 * Thread: control. */
bool shunt_xdp_device_is_shared(const struct xdp_multiprog *mp);

/* shunt_xdp_device_take returns a descriptor of the device's one program, which the caller closes,
 * or a negative number. *mode becomes the program's mode. Thread: control. */
int shunt_xdp_device_take(const struct xdp_multiprog *mp, enum shunt_xdp_mode *mode);

/* shunt_xdp_device_detach takes prog of mp off. Other programs of the device stay. Returns 0 or
 * -errno. Thread: control. */
int shunt_xdp_device_detach(struct xdp_multiprog *mp, struct xdp_program *prog, unsigned ifindex);

/* shunt_xdp_before_check says whether x may take the place of what is on the device. Returns 0;
 * -EBUSY: a live process owns the steering program there, or another's program is there and x must
 * not replace it, or others' run there under a dispatcher in the other mode. Thread: control. */
int shunt_xdp_before_check(const struct shunt_xdp *x, const struct xdp_multiprog *before,
			   struct shunt_err *err);

/* shunt_xdp_succeed puts x's program on the device in the place of `before` (NULL: nothing).
 * shunt_xdp_before_check must have allowed that. A steering program that is alone there is replaced
 * in one step. One under the dispatcher stays until the new one runs beside it. Returns 0 or
 * -errno. After a failure what was there is there again, but for a program that a dispatcher ran in
 * the other mode: it had to go first. Thread: control. */
int shunt_xdp_succeed(struct shunt_xdp *x, struct xdp_multiprog *before, struct shunt_err *err);

/* shunt_xdp_take_off takes x's program off the device for good, unless it is persistent or not
 * there. Returns 0 or -errno with err set: it is still there. Within shunt_xdp_log_begin. Thread:
 * control. */
int shunt_xdp_take_off(struct shunt_xdp *x, struct shunt_err *err);

/* shunt_xdp_delegate_ask has x's delegate do act, and takes its part of x as it answers. Returns
 * its 0 or -errno with err set. Thread: control. */
int shunt_xdp_delegate_ask(struct shunt_xdp *x, enum shunt_xdp_act act, struct shunt_err *err);

/* shunt_xdp_delegate_tap has it do shunt_xdp_tap, and returns the same. Thread: control. */
int shunt_xdp_delegate_tap(struct shunt_xdp *x, const struct shunt_xdp_tap_opts *opts,
			   struct shunt_err *err);

/* shunt_xdp_attach_alone puts x's loaded program on the device in one step, in the place of old_fd;
 * -1: the device has none. Returns 0 or -errno. Thread: control. */
int shunt_xdp_attach_alone(struct shunt_xdp *x, int old_fd, struct shunt_err *err);

/* shunt_xdp_program_prepare makes the maps of x's program, so that it can be configured.
 * shunt_xdp_program_load loads it with them, to be alone on the device, unless it is loaded.
 * shunt_xdp_program_bind loads the one that is bound to the device, unless that is loaded, and
 * returns whether it is: not where x does not ask for tags, or the kernel refuses it.
 * shunt_xdp_program_open makes x->prog with them, for libxdp to load and attach. can_trim: it may
 * cut frames. Each returns 0 or -errno. shunt_xdp_program_drop closes the program and leaves the
 * maps; legal without a program. Thread: control. */
int shunt_xdp_program_prepare(struct shunt_xdp *x, struct shunt_err *err);
int shunt_xdp_program_load(struct shunt_xdp *x, struct shunt_err *err);
bool shunt_xdp_program_bind(struct shunt_xdp *x);
int shunt_xdp_program_open(struct shunt_xdp *x, bool can_trim, struct shunt_err *err);
void shunt_xdp_program_drop(struct shunt_xdp *x);

/* shunt_xdp_share_maps gives an object that is not loaded the loaded maps of another one, its
 * what programs write among them or not: globals, counters of rules, scratch. Returns 0 or -errno
 * of libbpf. */
int shunt_xdp_share_maps(const struct bpf_object *from, struct bpf_object *to, bool with_written);

/* shunt_xdp_flow_find says which of the kernel's functions for approved connections x's program can
 * use, the kernel's modules as they are loaded now; NOTHING with err set: none. Thread: init, the
 * delegate's. Cost: until one is found, the kernel's BTF is read and a program loaded. */
enum shunt_flow_asks shunt_xdp_flow_find(struct shunt_xdp *x, struct shunt_err *err);

/* shunt_xdp_flow_counts_share has an object that is not loaded count there; counts NULL, or an
 * object that does not ask for flows: nothing is done. Returns 0 or -errno of libbpf. */
int shunt_xdp_flow_counts_share(const struct shunt_xdp_flow_counts *counts, struct bpf_object *obj);

/* shunt_xdp_program_try_flows returns 0 where the kernel loads a program that asks so, or -errno
 * with err set. Within shunt_xdp_log_begin. Thread: init, the delegate's. */
int shunt_xdp_program_try_flows(struct shunt_xdp *x, enum shunt_flow_asks asks,
				struct shunt_err *err);

/* shunt_xdp_program_tapped_elf returns an object whose programs have a tap, of *len bytes.
 * shunt_xdp_program_open_tapped opens one that was made of that, with the program that x has, not
 * bound or bound; NULL: it cannot. shunt_xdp_program_load_tapped loads it with x's maps and makes
 * it x's, whatever it returns: 0 or -errno with err set. Thread: control. */
const void *shunt_xdp_program_tapped_elf(const struct shunt_xdp *x, bool is_bound, size_t *len);
struct bpf_object *shunt_xdp_program_open_tapped(const struct shunt_xdp *x, const void *elf,
						 size_t len, bool is_bound,
						 const struct shunt_xdp_tap_opts *opts);
int shunt_xdp_program_load_tapped(struct shunt_xdp *x, struct bpf_object *obj, bool is_bound,
				  struct shunt_err *err);

/* shunt_xdp_tapped_open opens an object with a tap and its filter in it. Returns it, or NULL with
 * err set. Thread: control. */
struct bpf_object *shunt_xdp_tapped_open(const struct shunt_xdp *x, bool is_bound,
					 const struct shunt_xdp_tap_opts *opts,
					 struct shunt_err *err);

/* shunt_xdp_explainer_close frees what shunt_xdp_explain made; legal without. Thread: control. */
void shunt_xdp_explainer_close(struct shunt_xdp *x);

/* shunt_xdp_program_find makes x serve the program that somebody else attached. Returns 0; -ENOENT:
 * none that fits is there; -EBUSY: a live process has it; -errno. Thread: control. */
int shunt_xdp_program_find(struct shunt_xdp *x, struct shunt_err *err);

/* shunt_xdp_program_id returns a loaded program's id; 0: unknown. Thread: any. */
uint32_t shunt_xdp_program_id(int prog_fd);

/* shunt_xdp_maps_init makes x hold no map. Thread: control. */
void shunt_xdp_maps_init(struct shunt_xdp *x);

/* shunt_xdp_maps_open finds the maps of the loaded program prog_fd by their names and maps its
 * globals. Returns 0; -EPROTO: it is of another version of shunt; -errno of the kernel. On failure
 * x holds no map. Thread: control. */
int shunt_xdp_maps_open(struct shunt_xdp *x, int prog_fd, struct shunt_err *err);

/* shunt_xdp_maps_take does the same with the maps of a loaded object of this version. */
int shunt_xdp_maps_take(struct shunt_xdp *x, const struct bpf_object *obj, struct shunt_err *err);

/* shunt_xdp_maps_close gives back what those two took. Thread: control. */
void shunt_xdp_maps_close(struct shunt_xdp *x);

/* shunt_xdp_live_set says what steers from now on, and which word the short way has; 0: none. One
 * is in force before the other. Where both are open they mean the same. Thread: control. */
void shunt_xdp_live_set(struct shunt_steer_ctl *ctl, uint32_t live, uint64_t quick);

/* shunt_xdp_publish puts x's shadow in force. Thread: control. Cost: a grace period. */
void shunt_xdp_publish(struct shunt_xdp *x);

/* shunt_xdp_rules_map maps the counters of rules, where x counts. fd stays the caller's. Returns 0
 * or -errno. shunt_xdp_rules_unmap undoes it; legal without. shunt_xdp_rules_inherit goes on with
 * the rules that are in force, whose counters are theirs. Thread: control. */
int shunt_xdp_rules_map(struct shunt_xdp *x, int fd, const struct bpf_map_info *info);
void shunt_xdp_rules_unmap(struct shunt_xdp *x);
void shunt_xdp_rules_inherit(struct shunt_xdp *x);

/* shunt_xdp_owner_set writes into ctl that this process serves the device. shunt_xdp_owner_clear
 * removes that and gives every frame to the kernel, unless a handover is on. Thread: control. */
void shunt_xdp_owner_set(struct shunt_steer_ctl *ctl, unsigned ifindex);
void shunt_xdp_owner_clear(struct shunt_steer_ctl *ctl);

/* shunt_xdp_owner_alive returns the pid of the process that configures ctl, 0 if it does not live.
 * Thread: control. */
uint32_t shunt_xdp_owner_alive(const struct shunt_steer_ctl *ctl);

/* shunt_xdp_owner_error says in err that the live process pid has the device. Returns -EBUSY.
 * shunt_xdp_owner_check does so where prog's owner lives. It returns 0 otherwise, also for another
 * version's program: its owner is unknown. Thread: control. */
int shunt_xdp_owner_error(const char *ifname, uint32_t pid, struct shunt_err *err);
int shunt_xdp_owner_check(const char *ifname, const struct xdp_program *prog,
			  struct shunt_err *err);

/* shunt_xdp_owner_look returns the same -EBUSY where another process serves the device, 0
 * otherwise. That process's program may be off the device now (shunt_xdp_suspend). Thread: control.
 * Cost: setup, three syscalls for each BPF program of the machine. */
int shunt_xdp_owner_look(const char *ifname, unsigned ifindex, struct shunt_err *err);

/* shunt_xdp_watch_start starts the kernel's watch over the workers' heartbeats. Returns 0 or
 * -errno. Without the watch a hung worker is not noticed. shunt_xdp_watch_stop ends it; legal
 * without a watch. Thread: control. Cost: setup. */
int shunt_xdp_watch_start(struct shunt_xdp *x);
void shunt_xdp_watch_stop(struct shunt_xdp *x);

/* shunt_xdp_is_dispatcher says whether fd is a dispatcher of libxdp. Thread: any. */
bool shunt_xdp_is_dispatcher(int fd);

/* A bit for each of the first descriptors: it is open. */
#define SHUNT_XDP_FDS_MAX 1024
struct shunt_xdp_fds {
	uint64_t open[SHUNT_XDP_FDS_MAX / 64];
};

/* shunt_xdp_fds_look notes which descriptors are open. shunt_xdp_fds_sweep closes descriptors that
 * were opened since: those of libxdp's dispatchers if x is NULL, else those of all programs but
 * x's. Thread: control. Cost: setup. */
void shunt_xdp_fds_look(struct shunt_xdp_fds *fds);
void shunt_xdp_fds_sweep(const struct shunt_xdp_fds *before, const struct shunt_xdp *x);

/* shunt_xdp_log_begin keeps what libbpf and libxdp say, for the errors below. shunt_xdp_log_end
 * puts the callbacks before back, and closes what libxdp left open. What xdp_multiprog__ gave must
 * be closed before. Thread: control. */
struct shunt_xdp_log {
	struct shunt_xdp_fds fds;
	libbpf_print_fn_t bpf;
	libxdp_print_fn_t xdp;
};
struct shunt_xdp_log shunt_xdp_log_begin(void);
void shunt_xdp_log_end(struct shunt_xdp_log before);

/* shunt_xdp_err_rights returns 0, or -EPERM with err naming the capabilities that this process
 * lacks. Thread: any. */
int shunt_xdp_err_rights(const char *ifname, struct shunt_err *err);

/* shunt_xdp_err_load says why the kernel did not load the program, shunt_xdp_err_attach why the
 * device did not take it. code is the positive errno. Both return -errno, which may be a plainer
 * one than code. Thread: that of log_begin. */
int shunt_xdp_err_load(const char *ifname, int code, struct shunt_err *err);
int shunt_xdp_err_attach(const struct shunt_xdp *x, int code, struct shunt_err *err);

#endif
