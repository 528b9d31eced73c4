// SPDX-License-Identifier: BSD-2-Clause
/* idler FILE: takes whatever time nobody else wants, in steps of exactly two instructions, and
 * counts them in the file's first eight bytes. With --icount that is the time the CPU was idle:
 * what interrupts and others take is not in it, whatever the kernel puts down to what. */
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	struct sched_param param = {0};
	uint64_t *steps;
	int fd = argc == 2 ? open(argv[1], O_RDWR) : -1;

	if (fd < 0 || sched_setscheduler(0, SCHED_IDLE, &param)) {
		perror("idler");
		return 1;
	}
	steps = mmap(NULL, sizeof(*steps), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (steps == MAP_FAILED) {
		perror("idler");
		return 1;
	}
	__asm__ volatile("1: incq %0\n"
			 "   jmp 1b"
			 : "+m"(*steps));
	return 0;
}
