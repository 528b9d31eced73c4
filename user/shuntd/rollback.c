// SPDX-License-Identifier: BSD-2-Clause
#include "rollback.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/process.h"
#include "serve/takeover.h"

#define ANSWER_NS (20 * SHUNT_NS_PER_SEC)
#define NOTE_MAX  (PATH_MAX + 65536)
#define WORDS_MAX 1024
#define FOLDER	  "/run/shunt-started"

/* How the daemon before was started. */
struct before {
	int exe_fd;
	char note[NOTE_MAX]; /* words, each with a zero behind it: see shuntd_rollback_note */
	const char *cwd;
	char *argv[WORDS_MAX + 2]; /* and --takeover, so that it takes the programs' place */
};

/* --- notes: by root, for root ----------------------------------------------------------------- */

/* Root's folder, which nobody else can write to. Returns a descriptor or -1. */
static int open_folder(void)
{
	int fd = open(FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && st.st_uid == 0 && !(st.st_mode & 077))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* What identifies a process and its program. */
static int print_identity(int pid, const struct stat *exe, char *out, size_t len)
{
	return snprintf(out, len, "%llu %llu:%llu",
			(unsigned long long)shunt_process_start((uint32_t)pid),
			(unsigned long long)exe->st_dev, (unsigned long long)exe->st_ino);
}

/* As the process was started. */
static char *words[WORDS_MAX];
static int word_cnt;

void shuntd_rollback_remember(int argc, char **argv)
{
	word_cnt = SHUNT_MIN(argc, WORDS_MAX);
	memcpy(words, argv, (size_t)word_cnt * sizeof(*argv));
}

/* Words: identity, folder, arguments. */
static size_t compose(char *note)
{
	struct stat exe;
	size_t len;
	int i;

	if (stat("/proc/self/exe", &exe))
		return 0;
	len = (size_t)print_identity(getpid(), &exe, note, NOTE_MAX) + 1;
	if (!getcwd(note + len, NOTE_MAX - len))
		return 0;
	len += strlen(note + len) + 1;
	for (i = 0; i < word_cnt; i++) {
		const size_t size = strlen(words[i]) + 1;

		if (len + size > NOTE_MAX)
			return 0;
		memcpy(note + len, words[i], size);
		len += size;
	}
	return len;
}

/* Notes of processes that are no more. They could not remove them: they had dropped their rights.
 */
static void clean(int folder)
{
	DIR *dir = fdopendir(dup(folder));
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (*entry->d_name != '.' && !shunt_process_start((uint32_t)atoi(entry->d_name)))
			unlinkat(folder, entry->d_name, 0);
	if (dir)
		closedir(dir);
}

void shuntd_rollback_note(void)
{
	char *note = geteuid() ? NULL : malloc(NOTE_MAX), name[16];
	size_t len = note ? compose(note) : 0;
	int folder, fd = -1;

	mkdir(FOLDER, 0700);
	folder = len ? open_folder() : -1;
	snprintf(name, sizeof(name), "%d", getpid());
	if (folder >= 0) {
		clean(folder);
		unlinkat(folder, name, 0); /* of a process that had this number before */
		fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
	}
	/* Without a note nothing can be taken back, which is said then. */
	if (fd >= 0 && write(fd, note, len) != (ssize_t)len)
		unlinkat(folder, name, 0);
	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
	free(note);
}

/* Returns the note's length, 0 where there is none. */
static size_t read_note(int pid, char *note)
{
	int folder = open_folder(), fd;
	char name[16];
	ssize_t len = 0;

	if (folder < 0)
		return 0;
	snprintf(name, sizeof(name), "%d", pid);
	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, note, NOTE_MAX);
		close(fd);
	}
	close(folder);
	return len > 0 && len < NOTE_MAX && !note[len - 1] ? (size_t)len : 0;
}

/* --- the daemon before ------------------------------------------------------------------------ */

static bool take_words(struct before *b, size_t len)
{
	const char *end = b->note + len;
	char *at = b->note + strlen(b->note) + 1;
	unsigned cnt = 0;

	if (at >= end)
		return false;
	b->cwd = at;
	for (at += strlen(at) + 1; at < end && cnt < WORDS_MAX; at += strlen(at) + 1)
		if (strcmp(at, "--takeover") != 0)
			b->argv[cnt++] = at;
	b->argv[cnt++] = "--takeover";
	b->argv[cnt] = NULL;
	return cnt > 1;
}

/* The process that listens is the one that root noted, and runs the same program: one that only
 * root can have written. A process that lost its rights, and is somebody else's by now, could have
 * changed neither. */
static bool learn(int pid, struct before *b)
{
	char path[32], identity[96];
	struct stat exe;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	b->exe_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (b->exe_fd < 0 || fstat(b->exe_fd, &exe) || exe.st_uid || exe.st_mode & 022)
		return false;
	len = read_note(pid, b->note);
	print_identity(pid, &exe, identity, sizeof(identity));
	return len && !strcmp(identity, b->note) && take_words(b, len);
}

/* A pipe's reader waits for the end of everybody who may write to it: this process will not write.
 */
static void leave_pipe(int fd, int null_fd)
{
	struct stat st;

	if (fstat(fd, &st) || S_ISFIFO(st.st_mode))
		dup2(null_fd, fd);
}

static void leave_pipes(void)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null_fd, STDIN_FILENO);
	leave_pipe(STDOUT_FILENO, null_fd);
	leave_pipe(STDERR_FILENO, null_fd);
}

static void become(struct before *b)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!chdir(b->cwd))
		fexecve(b->exe_fd, b->argv, environ);
	_exit(EXIT_FAILURE);
}

/* Waits for a byte, which means that all is well, or for the end of the file. */
static void stand_by(struct before *b, int fd)
{
	char byte;
	ssize_t n;

	setsid();
	leave_pipes();
	do
		n = read(fd, &byte, 1);
	while (n < 0);
	if (n == 0)
		become(b);
	_exit(EXIT_SUCCESS);
}

/* Starts a grandchild, so that this process never has to wait for its end. */
static bool set_aside(struct before *b, const int fds[2])
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		close(fds[1]);
		pid = fork();
		if (pid == 0)
			stand_by(b, fds[0]);
		_exit(pid > 0 ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void forget(struct before *b)
{
	if (b->exe_fd >= 0)
		close(b->exe_fd);
	free(b);
}

int shuntd_rollback_arm(const char *path)
{
	int pid = geteuid() ? -1 : shunt_takeover_root_pid(path), fds[2] = {-1, -1};
	struct before *b = pid > 0 ? calloc(1, sizeof(*b)) : NULL;
	bool is_armed;

	if (!b)
		return -1;
	is_armed = learn(pid, b) && !pipe2(fds, O_CLOEXEC) && set_aside(b, fds);
	forget(b);
	if (fds[0] >= 0)
		close(fds[0]);
	if (is_armed)
		return fds[1];
	if (fds[1] >= 0)
		close(fds[1]);
	return -1;
}

void shuntd_rollback_disarm(int *fd)
{
	if (*fd < 0)
		return;
	if (write(*fd, "k", 1) == 1)
		close(*fd);
	*fd = -1;
}

bool shuntd_rollback_fire(int *fd, const char *path)
{
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
	uint64_t until = shunt_clock_ns() + ANSWER_NS;
	int pid;

	close(*fd);
	*fd = -1;
	while (shunt_clock_ns() < until) {
		pid = shunt_takeover_pid(path);
		/* The socket may be another user's than this process's. */
		if (pid > 0 || pid == -EACCES)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}
