/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Locks. The spinlock works as the kernel's qspinlock, written anew: one
 * compare-and-exchange to lock when nobody else wants it, one byte stored to
 * unlock; a single waiter spins on the lock, further ones each on a node of
 * their own (MCS), and all get it in the order in which they came. Nothing is
 * stolen: the fast path takes only a lock that nobody has or waits for.
 *
 * User space cannot turn interrupts off. With STANDIN_IRQ_COST the flags are
 * read and written back by pushf and popf, which stand for the kernel's
 * pushf, cli and sti; without it irqsave and irqrestore cost nothing.
 */
#ifndef STANDIN_LOCK_H
#define STANDIN_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* mutexes: only around swapon and swapoff, which are called by one thread */
#define DEFINE_MUTEX(name)	int name __attribute__((unused))
#define mutex_lock(m)		((void)(m))
#define mutex_unlock(m)		((void)(m))

/* Without preemption RCU's read side costs nothing in the kernel either. */
#ifdef CONFIG_DEBUG_VM
void rcu_read_lock(void);
void rcu_read_unlock(void);
#else
#define rcu_read_lock()		__asm__ volatile("" : : : "memory")
#define rcu_read_unlock()	__asm__ volatile("" : : : "memory")
#endif
void synchronize_rcu(void);

#define SPIN_LOCKED		1u
#define SPIN_LOCKED_MASK	0xffu
#define SPIN_PENDING		0x100u	/* one waits without a node */

/* The upper half is the last waiter's number + 1, 0 for none. */
typedef struct {
	uint32_t val;
} spinlock_t;

void standin_spin_slowpath(spinlock_t *lock);

#define spin_lock_init(lock)	((void)((lock)->val = 0))

static inline void spin_lock(spinlock_t *lock)
{
	uint32_t unlocked = 0;

	if (!__builtin_expect(__atomic_compare_exchange_n(&lock->val, &unlocked, SPIN_LOCKED, 0,
			__ATOMIC_ACQUIRE, __ATOMIC_RELAXED), 1))
		standin_spin_slowpath(lock);
}

static inline void spin_unlock(spinlock_t *lock)
{
	__atomic_store_n((uint8_t *)&lock->val, 0, __ATOMIC_RELEASE);
}

static inline unsigned long standin_irq_save(void)
{
	unsigned long flags = 0;

#if defined(STANDIN_IRQ_COST) && defined(__x86_64__)
	__asm__ volatile("pushf; pop %0" : "=rm"(flags) : : "memory");
#else
	__asm__ volatile("" : : : "memory");
#endif
	return flags;
}

static inline void standin_irq_restore(unsigned long flags)
{
#if defined(STANDIN_IRQ_COST) && defined(__x86_64__)
	__asm__ volatile("push %0; popf" : : "r"(flags) : "memory", "cc");
#else
	__asm__ volatile("" : : "r"(flags) : "memory");
#endif
}

#define spin_lock_irqsave(lock, flags) do {				\
	(flags) = standin_irq_save();					\
	spin_lock(lock);						\
} while (0)

#define spin_unlock_irqrestore(lock, flags) do {			\
	spin_unlock(lock);						\
	standin_irq_restore(flags);					\
} while (0)

#endif
