// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the stand-in headers declare: page allocation, the slow path of the
 * queued spinlock, warnings, RCU, and the shadow for ASSERT_EXCLUSIVE_WRITER().
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <linux/mm.h>
#include "impl.h"

#if defined(__SANITIZE_ADDRESS__)
#define STANDIN_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STANDIN_ASAN
#endif
#endif
#ifdef STANDIN_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, size)	((void)(p), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(p, size)	((void)(p), (void)(size))
#endif

unsigned long vmemmap_base, page_offset_base;

static struct page **free_pages;
static unsigned long nr_free, nr_total;
static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *shadow;
static unsigned int warnings;

/*
 * standin_memory - set up @pages pages for alloc_page(), once, before anything
 * else. Ends the program when there is no memory.
 */
void standin_memory(unsigned long pages)
{
	struct page *page = calloc(pages, sizeof(*page));
	unsigned long i;
	void *memory;

	free_pages = calloc(pages, sizeof(*free_pages));
	shadow = calloc(pages, PAGE_SIZE / 2);
	if (!page || !free_pages || !shadow ||
	    posix_memalign(&memory, PAGE_SIZE, pages << PAGE_SHIFT)) {
		fprintf(stderr, "no memory for %lu pages\n", pages);
		exit(1);
	}
	memset(memory, 0, pages << PAGE_SHIFT);
	ASAN_POISON_MEMORY_REGION(memory, pages << PAGE_SHIFT);
	vmemmap_base = (unsigned long)page;
	page_offset_base = (unsigned long)memory;
	for (i = 0; i < pages; i++)
		free_pages[pages - 1 - i] = page + i;
	nr_free = nr_total = pages;
}

/* standin_pages_in_use - pages allocated and not freed */
unsigned long standin_pages_in_use(void)
{
	return nr_total - nr_free;
}

/* alloc_page - a zeroed page, or NULL when none is left */
struct page *alloc_page(gfp_t flags)
{
	struct page *page = NULL;

	(void)flags;
	pthread_mutex_lock(&free_lock);
	if (nr_free)
		page = free_pages[--nr_free];
	pthread_mutex_unlock(&free_lock);
	if (page) {
		ASAN_UNPOISON_MEMORY_REGION(page_address(page), PAGE_SIZE);
		memset(page_address(page), 0, PAGE_SIZE);
	}
	return page;
}

/* __free_page - give @page back; with ASan, its next use is reported */
void __free_page(struct page *page)
{
	ASAN_POISON_MEMORY_REGION(page_address(page), PAGE_SIZE);
	pthread_mutex_lock(&free_lock);
	free_pages[nr_free++] = page;
	pthread_mutex_unlock(&free_lock);
}

/* get_zeroed_page - the same as an address, 0 when none is left */
unsigned long get_zeroed_page(gfp_t flags)
{
	struct page *page = alloc_page(flags | __GFP_ZERO);

	return page ? (unsigned long)page_address(page) : 0;
}

/* free_page - give the page at @address back */
void free_page(unsigned long address)
{
	__free_page((struct page *)vmemmap_base + ((address - page_offset_base) >> PAGE_SHIFT));
}

/* memchr_inv - the first of @bytes bytes that is not @c, or NULL */
void *memchr_inv(const void *start, int c, size_t bytes)
{
	const unsigned char *p = start, *end = p + bytes;

	for (; p < end; p++) {
		if (*p != (unsigned char)c)
			return (void *)p;
	}
	return NULL;
}

/* standin_warn - a warning of the file under test; the check fails on it */
void standin_warn(const char *file, int line, const char *what)
{
	if (!__atomic_fetch_add(&warnings, 1, __ATOMIC_RELAXED))
		fprintf(stderr, "WARNING: %s:%d: %s\n", file, line, what);
}

/* standin_warnings - how many there were */
unsigned int standin_warnings(void)
{
	return __atomic_load_n(&warnings, __ATOMIC_RELAXED);
}

/*
 * standin_exclusive_writer - a plain access on behalf of the writer of
 * @record: two writers with nothing between them are a race on this byte
 */
void standin_exclusive_writer(const void *record)
{
	shadow[((unsigned long)record - page_offset_base) / 2]++;
}

/*
 * RCU: a reader-writer lock gives the same guarantee, that whoever began to
 * read before synchronize_rcu() has ended when it returns.
 */
static pthread_rwlock_t rcu = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

#ifdef CONFIG_DEBUG_VM
static __thread int rcu_depth;

void rcu_read_lock(void)
{
	if (!rcu_depth++)
		pthread_rwlock_rdlock(&rcu);
}

void rcu_read_unlock(void)
{
	if (!--rcu_depth)
		pthread_rwlock_unlock(&rcu);
}
#endif

void synchronize_rcu(void)
{
#ifndef WRONG_NO_GRACE_PERIOD
	pthread_rwlock_wrlock(&rcu);
	pthread_rwlock_unlock(&rcu);
#endif
}

/* standin_dawdle - give the CPU away once in 64 calls of this thread */
void standin_dawdle(void)
{
	static __thread unsigned int calls;

	if (!(++calls % 64))
		sched_yield();
}

#define MAX_THREADS 1024

static struct spin_node {
	_Alignas(64) uint32_t go;	/* 1: first in the queue */
	uint32_t next;			/* number + 1 of the one behind, or 0 */
} spin_nodes[MAX_THREADS + 1];

static __thread uint16_t spin_me;

/* standin_thread - the calling thread is number @number, from 0, below 1024 */
void standin_thread(unsigned int number)
{
	spin_me = number + 1;
}

/*
 * The kernel's waiter runs until it has the lock. Here the one waited for can
 * have been preempted: after some 100 us of waiting its CPU is offered to it.
 */
static inline void cpu_relax(unsigned int *waited)
{
	if (++*waited > 10000) {
		*waited = 0;
		sched_yield();
	}
#if defined(__x86_64__)
	__asm__ volatile("pause" : : : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("yield" : : : "memory");
#endif
}

/* Only one waits: no node is needed. False when a queue is. */
static bool wait_without_queue(spinlock_t *lock)
{
	unsigned int waited = 0, tries = 512;
	uint32_t value = __atomic_load_n(&lock->val, __ATOMIC_RELAXED);

	/* the one who waited is about to become the owner */
	while (value == SPIN_PENDING && --tries)
		value = __atomic_load_n(&lock->val, __ATOMIC_RELAXED);
	if (value & ~SPIN_LOCKED_MASK)
		return false;
	value = __atomic_fetch_or(&lock->val, SPIN_PENDING, __ATOMIC_ACQUIRE);
	if (value & ~SPIN_LOCKED_MASK) {
		if (!(value & SPIN_PENDING))
			__atomic_fetch_and(&lock->val, ~SPIN_PENDING, __ATOMIC_RELAXED);
		return false;
	}
	while (__atomic_load_n(&lock->val, __ATOMIC_ACQUIRE) & SPIN_LOCKED_MASK)
		cpu_relax(&waited);
	/* from pending to owner in one store; the tail beside it stays */
	__atomic_store_n((uint16_t *)&lock->val, SPIN_LOCKED, __ATOMIC_RELAXED);
	return true;
}

/*
 * standin_spin_slowpath - wait for @lock, in the order of arrival. The thread
 * must have called standin_thread().
 */
void standin_spin_slowpath(spinlock_t *lock)
{
	struct spin_node *node = &spin_nodes[spin_me];
	unsigned int waited = 0;
	uint32_t value, next;
	uint16_t previous;

	if (wait_without_queue(lock))
		return;
	node->next = 0;
	node->go = 0;
	previous = __atomic_exchange_n((uint16_t *)&lock->val + 1, spin_me, __ATOMIC_ACQ_REL);
	if (previous) {
		__atomic_store_n(&spin_nodes[previous].next, spin_me, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&node->go, __ATOMIC_ACQUIRE))
			cpu_relax(&waited);
	}

	/* First in the queue: the owner and the one without a node are before us. */
	while ((value = __atomic_load_n(&lock->val, __ATOMIC_ACQUIRE)) &
	       (SPIN_LOCKED_MASK | SPIN_PENDING))
		cpu_relax(&waited);
	if (value >> 16 == spin_me &&
	    __atomic_compare_exchange_n(&lock->val, &value, SPIN_LOCKED, 0,
					__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;

	/* Somebody is behind: with a queue nobody else can get in between. */
	__atomic_store_n((uint8_t *)&lock->val, SPIN_LOCKED, __ATOMIC_RELAXED);
	while (!(next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE)))
		cpu_relax(&waited);
	__atomic_store_n(&spin_nodes[next].go, 1, __ATOMIC_RELEASE);
}
