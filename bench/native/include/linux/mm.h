/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stand-in for <linux/mm.h> and what it pulls in: pages, warnings, and the
 * helpers that mm/swap_cgroup.c uses. Where the kernel's form costs time, its
 * cost is kept: page_address() is the same arithmetic on the same two
 * variables as on x86-64.
 */
#ifndef STANDIN_LINUX_MM_H
#define STANDIN_LINUX_MM_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <linux/swap.h>
#include <standin/access.h>
#include <standin/lock.h>

#define PAGE_SHIFT	12
#define PAGE_SIZE	(1UL << PAGE_SHIFT)

/* As large as the kernel's, since its size is part of page_address(). */
struct page {
	unsigned long	word[8];
};

/* The base of the array of struct page, and the address of page number 0. */
extern unsigned long vmemmap_base, page_offset_base;

/* page_address - where the content of @page is */
static inline void *page_address(const struct page *page)
{
	unsigned long pfn = page - (const struct page *)vmemmap_base;

	return (void *)((pfn << PAGE_SHIFT) + page_offset_base);
}

typedef unsigned int gfp_t;
#define GFP_KERNEL		1u
#define __GFP_ZERO		2u
#define __GFP_RETRY_MAYFAIL	4u
#define __GFP_NOWARN		8u

struct page *alloc_page(gfp_t flags);
void __free_page(struct page *page);
unsigned long get_zeroed_page(gfp_t flags);
void free_page(unsigned long address);
void *memchr_inv(const void *start, int c, size_t bytes);
void standin_warn(const char *file, int line, const char *what);

#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define min_t(type, a, b)	((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define struct_size(p, member, n) \
	(offsetof(__typeof__(*(p)), member) + sizeof((p)->member[0]) * (n))
#define cond_resched()		((void)0)
#define pr_info(...)		fprintf(stderr, __VA_ARGS__)

/* A static branch in the kernel, not taken where memcg is in use. */
#define mem_cgroup_disabled()	false

#ifdef CONFIG_DEBUG_VM
#define VM_WARN_ON_ONCE(cond) \
	((void)(unlikely(cond) && (standin_warn(__FILE__, __LINE__, #cond), 1)))
#define VM_WARN_ONCE(cond, ...) ({					\
	if (unlikely(cond)) {						\
		char what[128];						\
		snprintf(what, sizeof(what), __VA_ARGS__);		\
		standin_warn(__FILE__, __LINE__, what);			\
	}								\
})
#define VM_BUG_ON(cond)		VM_WARN_ON_ONCE(cond)
#else
/* Compiled, not run: as BUILD_BUG_ON_INVALID() does. */
#define VM_WARN_ON_ONCE(cond)	((void)sizeof((long)(cond)))
#define VM_WARN_ONCE(cond, ...)	((void)sizeof((long)(cond)))
#define VM_BUG_ON(cond)		((void)sizeof((long)(cond)))
#endif

#endif
