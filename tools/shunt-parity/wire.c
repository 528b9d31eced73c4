// SPDX-License-Identifier: BSD-2-Clause
/* The far ends of a lab's links: packet sockets in the namespace of its host gen, which has no
 * addresses and so says nothing by itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "parity.h"

#define BATCH	     64u
#define RCVBUF_BYTES (64 << 20)
/* How long a send is tried again when the device has no room. */
#define SEND_TRIES   1000

static int open_socket(unsigned port, struct shunt_err *err)
{
	char name[IFNAMSIZ];
	struct sockaddr_ll addr = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int one = 1, size = RCVBUF_BYTES, fd;

	snprintf(name, sizeof(name), "eth%u", port + 1);
	addr.sll_ifindex = (int)if_nametoindex(name);
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return shunt_err_set(err, errno, "packet socket: %s", strerror(errno));
	if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		shunt_err_set(err, errno, "packet socket on %s: %s", name, strerror(errno));
		close(fd);
		return -EINVAL;
	}
	return fd;
}

static bool has_wire(const struct parity_lab *lab, unsigned port)
{
	return port / PARITY_PORTS < parity_member_cnt(lab->world, port % PARITY_PORTS);
}

int parity_lab_open(struct parity_lab *lab, const char *netns, struct shunt_err *err)
{
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), other, rc = 0;
	char path[256];
	unsigned port;

	for (port = 0; port < PARITY_WIRES; port++)
		lab->fd[port] = -1;
	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	other = open(path, O_RDONLY | O_CLOEXEC);
	if (own < 0 || other < 0 || setns(other, CLONE_NEWNET)) {
		rc = shunt_err_set(err, errno, "network namespace %s: %s", netns, strerror(errno));
		goto out_fds;
	}
	for (port = 0; port < PARITY_WIRES && rc >= 0; port++)
		if (has_wire(lab, port))
			rc = lab->fd[port] = open_socket(port, err);
	if (setns(own, CLONE_NEWNET))
		rc = shunt_err_set(err, errno, "setns back: %s", strerror(errno));
out_fds:
	if (other >= 0)
		close(other);
	if (own >= 0)
		close(own);
	return rc < 0 ? rc : 0;
}

void parity_lab_close(struct parity_lab *lab)
{
	unsigned port;

	for (port = 0; port < PARITY_WIRES; port++)
		if (lab->fd[port] >= 0)
			close(lab->fd[port]);
}

static int send_all(int fd, struct mmsghdr *msgs, unsigned cnt, const char *lab,
		    struct shunt_err *err)
{
	unsigned done = 0, tries = 0;

	while (done < cnt) {
		int n = sendmmsg(fd, msgs + done, cnt - done, 0);

		if (n > 0) {
			done += (unsigned)n;
			tries = 0;
			continue;
		}
		if ((errno != ENOBUFS && errno != EAGAIN) || ++tries > SEND_TRIES)
			return shunt_err_set(err, errno, "lab %s: send: %s", lab, strerror(errno));
		sched_yield();
	}
	return 0;
}

int parity_lab_send(struct parity_lab *lab, const struct parity_frame *frames, unsigned cnt,
		    struct shunt_err *err)
{
	struct mmsghdr msgs[PARITY_WINDOW + 32];
	struct iovec iov[PARITY_WINDOW + 32];
	unsigned port, i, n;
	int rc = 0;

	for (port = 0; port < PARITY_WIRES && !rc; port++) {
		for (i = n = 0; i < cnt; i++) {
			if (frames[i].port + frames[i].member * (unsigned)PARITY_PORTS != port)
				continue;
			iov[n] = (struct iovec){(void *)frames[i].data, frames[i].len};
			msgs[n] =
				(struct mmsghdr){.msg_hdr = {.msg_iov = &iov[n], .msg_iovlen = 1}};
			n++;
		}
		rc = send_all(lab->fd[port], msgs, n, lab->name, err);
	}
	return rc;
}

/* The kernel takes a VLAN tag out of the frame and says it beside it: put it back. */
static unsigned restore_vlan(struct msghdr *msg, uint8_t *data, unsigned len)
{
	struct cmsghdr *cmsg;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		struct tpacket_auxdata aux;

		if (cmsg->cmsg_level != SOL_PACKET || cmsg->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aux, CMSG_DATA(cmsg), sizeof(aux));
		if (!(aux.tp_status & TP_STATUS_VLAN_VALID))
			continue;
		memmove(data + 16, data + 12, len - 12);
		aux.tp_vlan_tpid =
			htons(aux.tp_status & TP_STATUS_VLAN_TPID_VALID ? aux.tp_vlan_tpid
									: ETHERTYPE_VLAN);
		aux.tp_vlan_tci = htons(aux.tp_vlan_tci);
		memcpy(data + 12, &aux.tp_vlan_tpid, 2);
		memcpy(data + 14, &aux.tp_vlan_tci, 2);
		return len + 4;
	}
	return len;
}

static unsigned receive_port(struct parity_lab *lab, unsigned port, parity_take *take, void *arg)
{
	static uint8_t bufs[BATCH][2048];
	static uint8_t controls[BATCH][CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	struct mmsghdr msgs[BATCH];
	struct iovec iov[BATCH];
	unsigned i;
	int n;

	for (i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){bufs[i], sizeof(bufs[i]) - 4};
		msgs[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &iov[i],
						       .msg_iovlen = 1,
						       .msg_control = controls[i],
						       .msg_controllen = sizeof(controls[i])}};
	}
	n = recvmmsg(lab->fd[port], msgs, BATCH, MSG_DONTWAIT, NULL);
	for (i = 0; n > 0 && i < (unsigned)n; i++) {
		unsigned len = restore_vlan(&msgs[i].msg_hdr, bufs[i], msgs[i].msg_len);
		const unsigned wire = parity_devices_out(lab->world, port, bufs[i], &len);

		take(arg, wire, bufs[i], len);
	}
	return n > 0 ? (unsigned)n : 0;
}

unsigned parity_lab_receive(struct parity_lab *lab, int wait_ms, parity_take *take, void *arg)
{
	struct pollfd fds[PARITY_WIRES];
	unsigned port, cnt = 0;

	for (port = 0; port < PARITY_WIRES; port++) /* poll() passes over -1 */
		fds[port] = (struct pollfd){.fd = lab->fd[port], .events = POLLIN};
	if (poll(fds, PARITY_WIRES, wait_ms) <= 0)
		return 0;
	for (port = 0; port < PARITY_WIRES; port++)
		if (fds[port].revents & POLLIN)
			cnt += receive_port(lab, port, take, arg);
	return cnt;
}
