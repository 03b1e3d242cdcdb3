/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marked accesses. READ_ONCE() and WRITE_ONCE() are relaxed atomics, so that
 * ThreadSanitizer takes an intended lockless read for what it is. Then it
 * cannot see two writers either: ASSERT_EXCLUSIVE_WRITER() makes them visible
 * by a plain access to a shadow byte. The timing build has no shadow.
 *
 * The WRONG_* variants break the store on purpose, to see that it is noticed.
 */
#ifndef STANDIN_ACCESS_H
#define STANDIN_ACCESS_H

#include <stdint.h>

void standin_dawdle(void);

/*
 * What is reached through a pointer is read after the pointer: the kernel
 * relies on that address dependency, C has only consume for it. Records, which
 * nothing is reached through, are read relaxed.
 */
#define READ_ONCE_IS_POINTER(x) (sizeof(x) == sizeof(void *))
#define READ_ONCE_ORDER(x) (READ_ONCE_IS_POINTER(x) ? __ATOMIC_CONSUME : __ATOMIC_RELAXED)

#ifdef CONFIG_DEBUG_VM
/* Now and then the CPU is given away with a pointer in hand. */
#define READ_ONCE(x) ({							\
	__typeof__(x) value_read = __atomic_load_n(&(x), READ_ONCE_ORDER(x)); \
	if (READ_ONCE_IS_POINTER(x))					\
		standin_dawdle();					\
	value_read;							\
})
#else
#define READ_ONCE(x) __atomic_load_n(&(x), READ_ONCE_ORDER(x))
#endif

#if defined(WRONG_WIDE_STORE)
/* Writes the 32 bits around: the neighbouring record is read and put back. */
static inline void standin_store16(uint16_t *p, uint16_t value)
{
	uint32_t *word = (uint32_t *)((uintptr_t)p & ~3UL);
	unsigned int shift = ((uintptr_t)p & 2) * 8;
	uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

	standin_dawdle();
	old = (old & ~(0xffffU << shift)) | (uint32_t)value << shift;
	__atomic_store_n(word, old, __ATOMIC_RELAXED);
}
#elif defined(WRONG_TORN_STORE)
/* Writes byte by byte: a lookup can see half of an id. */
static inline void standin_store16(uint16_t *p, uint16_t value)
{
	uint8_t *byte = (uint8_t *)p;

	__atomic_store_n(byte, value & 0xff, __ATOMIC_RELAXED);
	standin_dawdle();
	__atomic_store_n(byte + 1, value >> 8, __ATOMIC_RELAXED);
}
#endif

#if defined(WRONG_WIDE_STORE) || defined(WRONG_TORN_STORE)
#define WRITE_ONCE(x, value) do {					\
	if (sizeof(x) == 2)						\
		standin_store16((uint16_t *)&(x), (uintptr_t)(value));	\
	else								\
		__atomic_store_n(&(x), value, __ATOMIC_RELAXED);	\
} while (0)
#else
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELAXED)
#endif

/* Pointers that RCU protects. */
#define __rcu
#define rcu_dereference(p)		READ_ONCE(p)
#define rcu_dereference_protected(p, c)	((void)(c), __atomic_load_n(&(p), __ATOMIC_RELAXED))
#define rcu_assign_pointer(p, value)	__atomic_store_n(&(p), value, __ATOMIC_RELEASE)
#define rcu_replace_pointer(p, value, c) \
	((void)(c), __atomic_exchange_n(&(p), value, __ATOMIC_ACQ_REL))
#define lockdep_is_held(lock)		((void)(lock), 1)

#ifdef STANDIN_SHADOW
void standin_exclusive_writer(const void *record);
#define ASSERT_EXCLUSIVE_WRITER(x) standin_exclusive_writer(&(x))
#else
#define ASSERT_EXCLUSIVE_WRITER(x) ((void)sizeof(x))
#endif

#endif
