// SPDX-License-Identifier: BSD-2-Clause
/* Rings of captured packets: writer and reader beside a naive queue, and who lies to them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "effort.h"
#include "measure/rng.h"
#include "tap/ring.h"

#define SIZE	   65536u
#define ENTRY_HEAD 8u /* before each record */
#define QUEUED_MAX (SIZE / 8)

static struct shunt_err err;

struct pair {
	struct shunt_tap_ring writer, reader;
};

static int make(unsigned cnt)
{
	const int fd = shunt_tap_ring_make(cnt, SIZE, &err);

	cr_assert_geq(fd, 0, "%s", err.msg);
	return fd;
}

static void open_pair(struct pair *p, int fd, unsigned i)
{
	cr_assert_eq(shunt_tap_ring_open(&p->writer, fd, i, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_tap_ring_open(&p->reader, fd, i, &err), 0, "%s", err.msg);
}

static void close_pair(struct pair *p)
{
	shunt_tap_ring_close(&p->writer);
	shunt_tap_ring_close(&p->reader);
}

static uint8_t byte_of(uint32_t number, uint32_t i)
{
	return (uint8_t)(number * 7 + i);
}

static bool write_one(struct shunt_tap_ring *ring, uint32_t number, uint32_t cap_len)
{
	struct shunt_tap_record *record = shunt_tap_ring_reserve(ring, cap_len, number);
	uint8_t *bytes;
	uint32_t i;

	if (!record)
		return false;
	*record = (struct shunt_tap_record){.number = number, .cap_len = cap_len};
	bytes = shunt_tap_bytes(record);
	cr_assert_geq((uint8_t *)record, ring->bytes);
	cr_assert_leq(bytes + cap_len, ring->bytes + ring->size);
	for (i = 0; i < cap_len; i++)
		bytes[i] = byte_of(number, i);
	return true;
}

static void check_one(const struct shunt_tap_record *record, uint32_t number, uint32_t cap_len)
{
	const uint8_t *bytes = shunt_tap_bytes(record);
	uint32_t i;

	cr_assert_eq(record->number, number);
	cr_assert_eq(record->cap_len, cap_len);
	for (i = 0; i < cap_len; i++)
		cr_assert_eq(bytes[i], byte_of(number, i), "record %u, byte %u", number, i);
}

/* --- cases ------------------------------------------------------------------------------------ */

Test(tap_ring, shows_what_was_committed)
{
	const int fd = make(1);
	struct pair p;

	open_pair(&p, fd, 0);
	close(fd);
	cr_assert_null(shunt_tap_ring_peek(&p.reader));
	cr_assert(write_one(&p.writer, 1, 60));
	cr_assert_null(shunt_tap_ring_peek(&p.reader), "not committed");
	cr_assert(write_one(&p.writer, 2, 0));
	shunt_tap_ring_commit(&p.writer);
	check_one(shunt_tap_ring_peek(&p.reader), 1, 60);
	check_one(shunt_tap_ring_peek(&p.reader), 1, 60);
	shunt_tap_ring_release(&p.reader);
	check_one(shunt_tap_ring_peek(&p.reader), 2, 0);
	shunt_tap_ring_release(&p.reader);
	cr_assert_null(shunt_tap_ring_peek(&p.reader));
	close_pair(&p);
	shunt_tap_ring_close(&p.writer); /* legal */
}

/* What each length leaves of a ring: as many records as fit, and the next one is lost. */
Test(tap_ring, is_full_where_it_is)
{
	static const struct {
		uint32_t cap_len, fit;
	} rows[] = {
		{0, 1638},  {1, 1365},	{8, 1365},  {60, 630},	{128, 390}, {1514, 42},
		{32728, 2}, {32729, 1}, {65496, 1}, {65497, 0}, {65536, 0},
	};
	unsigned i, n;

	for (i = 0; i < SHUNT_ARRAY_LEN(rows); i++) {
		const int fd = make(1);
		struct pair p;

		open_pair(&p, fd, 0);
		close(fd);
		for (n = 0; write_one(&p.writer, 3, rows[i].cap_len); n++)
			;
		cr_expect_eq(n, rows[i].fit, "%u bytes: %u", rows[i].cap_len, n);
		cr_expect_eq(shunt_tap_ring_lost(&p.reader, 3), 1);
		cr_expect_eq(shunt_tap_ring_lost(&p.reader, 2), 0);
		shunt_tap_ring_commit(&p.writer);
		for (n = 0; shunt_tap_ring_peek(&p.reader); n++) {
			check_one(shunt_tap_ring_peek(&p.reader), 3, rows[i].cap_len);
			shunt_tap_ring_release(&p.reader);
		}
		cr_expect_eq(n, rows[i].fit);
		cr_expect_eq(write_one(&p.writer, 3, rows[i].cap_len), rows[i].fit > 0);
		close_pair(&p);
	}
}

/* One that does not fit before the end begins at the start, as soon as that is free. */
Test(tap_ring, goes_round)
{
	const int fd = make(1);
	struct pair p;
	uint32_t i;

	open_pair(&p, fd, 0);
	close(fd);
	for (i = 0; i < 4; i++)
		cr_assert(write_one(&p.writer, i, 14000));
	shunt_tap_ring_commit(&p.writer);
	cr_assert_not(write_one(&p.writer, 4, 14000), "9,376 bytes are left");
	check_one(shunt_tap_ring_peek(&p.reader), 0, 14000);
	shunt_tap_ring_release(&p.reader);
	cr_assert_not(write_one(&p.writer, 4, 14001), "one byte too long for the first's place");
	cr_assert(write_one(&p.writer, 4, 14000));
	cr_assert_not(write_one(&p.writer, 5, 0), "full");
	shunt_tap_ring_commit(&p.writer);
	for (i = 1; i < 5; i++) {
		check_one(shunt_tap_ring_peek(&p.reader), i, 14000);
		shunt_tap_ring_release(&p.reader);
	}
	cr_assert_null(shunt_tap_ring_peek(&p.reader));
	close_pair(&p);
}

Test(tap_ring, rings_of_a_file_are_apart)
{
	const int fd = make(3);
	struct pair p[3];
	uint32_t i;

	for (i = 0; i < 3; i++)
		open_pair(&p[i], fd, i);
	for (i = 0; i < 3; i++) {
		while (write_one(&p[i].writer, i, 1000 + i))
			;
		shunt_tap_ring_commit(&p[i].writer);
	}
	for (i = 0; i < 3; i++) {
		check_one(shunt_tap_ring_peek(&p[i].reader), i, 1000 + i);
		cr_expect_eq(shunt_tap_ring_lost(&p[i].reader, i), 1);
		close_pair(&p[i]);
	}
	close(fd);
}

/* --- beside a naive queue --------------------------------------------------------------------- */

struct naive {
	uint32_t numbers[QUEUED_MAX], lens[QUEUED_MAX]; /* by number, modulo */
	uint32_t first, committed, next;
	uint64_t place, released[QUEUED_MAX]; /* bytes written; all before each one's end */
	uint64_t freed, lost;
};

/* Whether it fits, and where its end is. */
static bool naive_put(struct naive *q, uint32_t len)
{
	const uint64_t needed = (ENTRY_HEAD + sizeof(struct shunt_tap_record) + len + 7) / 8 * 8;
	uint64_t start = q->place;

	if (start / SIZE != (start + needed - 1) / SIZE)
		start = (start / SIZE + 1) * SIZE;
	if (start + needed - q->freed > SIZE) {
		q->lost++;
		return false;
	}
	q->place = start + needed;
	q->lens[q->next % QUEUED_MAX] = len;
	q->released[q->next % QUEUED_MAX] = q->place;
	q->next++;
	return true;
}

static uint32_t random_len(uint64_t *rng)
{
	static const uint32_t most[] = {1, 64, 128, 1514, 1514, 9000, 66000};

	return (uint32_t)shunt_rng_below(rng, most[shunt_rng_below(rng, SHUNT_ARRAY_LEN(most))]);
}

static void write_some(struct pair *p, struct naive *q, uint64_t *rng)
{
	unsigned n = (unsigned)shunt_rng_below(rng, 40);

	while (n--) {
		const uint32_t len = random_len(rng), number = q->next;
		const bool fits = naive_put(q, len);

		cr_assert_eq(write_one(&p->writer, number, len), fits, "record %u of %u bytes",
			     number, len);
	}
	if (!shunt_rng_below(rng, 3))
		return;
	shunt_tap_ring_commit(&p->writer);
	q->committed = q->next;
}

static void read_some(struct pair *p, struct naive *q, uint64_t *rng)
{
	unsigned n = (unsigned)shunt_rng_below(rng, 50);

	while (n-- && q->first != q->committed) {
		const struct shunt_tap_record *record = shunt_tap_ring_peek(&p->reader);

		cr_assert_not_null(record, "record %u", q->first);
		check_one(record, q->first, q->lens[q->first % QUEUED_MAX]);
		shunt_tap_ring_release(&p->reader);
		q->freed = q->released[q->first % QUEUED_MAX];
		q->first++;
	}
	if (q->first == q->committed)
		cr_assert_null(shunt_tap_ring_peek(&p->reader));
}

Test(tap_ring, as_a_naive_queue)
{
	static struct naive q;
	uint64_t rng = 20261125, lost = 0;
	const int fd = make(2);
	struct pair p;
	unsigned i;

	open_pair(&p, fd, 1);
	close(fd);
	for (i = 0; i < EFFORT(20000); i++) {
		if (shunt_rng_below(&rng, 2))
			write_some(&p, &q, &rng);
		else
			read_some(&p, &q, &rng);
	}
	for (i = 0; i < SHUNT_TAP_RING_PORTS; i++)
		lost += shunt_tap_ring_lost(&p.reader, i);
	cr_assert_eq(lost, q.lost);
	cr_assert_gt(q.next, i);
	cr_assert_gt(q.lost, 0);
	close_pair(&p);
}

/* --- a reader that lies ----------------------------------------------------------------------- */

/* The word in which the reader says what it released: the one that is its place and not the
 * writer's. */
static uint64_t *find_released(struct pair *p)
{
	uint64_t *words = (uint64_t *)p->reader.shared;
	unsigned i;

	cr_assert(write_one(&p->writer, 1, 100) && write_one(&p->writer, 2, 100));
	shunt_tap_ring_commit(&p->writer);
	cr_assert_not_null(shunt_tap_ring_peek(&p->reader));
	shunt_tap_ring_release(&p->reader);
	for (i = 0; i < 4096 / sizeof(*words); i++)
		if (words[i] == p->reader.own)
			return &words[i];
	cr_assert_fail("the reader's place is nowhere");
	return NULL;
}

/* The writer never leaves its ring (write_one asserts that), and goes on once the truth is told. */
Test(tap_ring, a_reader_that_lies)
{
	static const int64_t beside[] = {
		1,	   -1,		 8,	    SIZE,      -(int64_t)SIZE, SIZE + 8,
		1LL << 40, -(1LL << 40), INT64_MAX, INT64_MIN, 12345};
	uint64_t rng = 4712, *released;
	const int fd = make(1);
	struct pair p;
	unsigned i, n;

	open_pair(&p, fd, 0);
	close(fd);
	released = find_released(&p);
	for (i = 0; i < EFFORT(3000); i++) {
		*released = i < SHUNT_ARRAY_LEN(beside)
				    ? p.writer.own + (uint64_t)beside[i]
				    : shunt_rng_next(&rng) >> shunt_rng_below(&rng, 64);
		for (n = 0; n < 100; n++)
			write_one(&p.writer, n, random_len(&rng));
		shunt_tap_ring_commit(&p.writer);
	}
	*released = p.writer.own;
	while (!write_one(&p.writer, 77, 1000))
		cr_assert_lt(n++, 200, "it never goes on");
	close_pair(&p);
}

/* --- files that are none ---------------------------------------------------------------------- */

Test(tap_ring, sizes)
{
	static const struct {
		unsigned cnt;
		uint64_t bytes;
		int ret;
	} rows[] = {
		{0, SIZE, -EINVAL},  {1, 0, -EINVAL},	       {1, 4096, -EINVAL},
		{1, 65537, -EINVAL}, {1, 1ull << 31, -EINVAL}, {1, UINT64_MAX, -EINVAL},
	};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(rows); i++)
		cr_expect_eq(shunt_tap_ring_make(rows[i].cnt, rows[i].bytes, &err), rows[i].ret,
			     "row %u", i);
}

static void refused(int fd, unsigned i, const char *what)
{
	struct shunt_tap_ring ring;

	cr_expect_eq(shunt_tap_ring_open(&ring, fd, i, &err), -EBADF, "%s", what);
	cr_expect_null(ring.shared);
	shunt_tap_ring_close(&ring);
}

/* A file as a ring's is, but for its size, its seals or a word of its first 4096 bytes. */
static int forge(const uint8_t *head, off_t size, int seals)
{
	const int fd = memfd_create("forged", MFD_ALLOW_SEALING);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, size), 0);
	cr_assert_eq(pwrite(fd, head, 4096, 0), 4096);
	cr_assert_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

Test(tap_ring, a_file_that_is_none)
{
	const int fd = make(2), seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	const off_t size = lseek(fd, 0, SEEK_END);
	struct shunt_tap_ring ring;
	uint8_t head[4096], none[4096] = {0};
	int forged;

	cr_assert_eq(pread(fd, head, sizeof(head), 0), (ssize_t)sizeof(head));
	refused(-1, 0, "no file");
	refused(fd, 2, "ring 2 of 2");
	refused(fd, UINT32_MAX, "ring 2^32 - 1");
	cr_expect_neq(ftruncate(fd, 4096), 0, "it can be cut");
	cr_expect_neq(ftruncate(fd, size * 2), 0, "it can be made longer");
	close(fd);

	forged = forge(head, size, seals);
	cr_expect_eq(shunt_tap_ring_open(&ring, forged, 1, &err), 0, "as it should be");
	shunt_tap_ring_close(&ring);
	close(forged);
	forged = forge(head, size, F_SEAL_GROW);
	refused(forged, 0, "it can be cut");
	close(forged);
	forged = forge(head, size - 4096, seals);
	refused(forged, 0, "too short");
	close(forged);
	forged = forge(none, size, seals);
	refused(forged, 0, "nothing in it");
	close(forged);
	forged = forge(head, 4096, seals);
	refused(forged, 0, "a head alone");
	close(forged);
	forged = open("/dev/zero", O_RDWR);
	refused(forged, 0, "a device");
	close(forged);
}
