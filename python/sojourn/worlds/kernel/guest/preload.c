/* Two functions of the C library for User Mode Linux, loaded before it.
 *
 * getrandom(): the kernel takes all its entropy from this function, so the seed in SOJOURN_SEED (decimal) decides
 * hash perturbations, initial sequence numbers and the drops of RED and PIE. The generator is SplitMix64 (Steele,
 * Lea and Flood 2014); it only seeds the kernel's own generator.
 *
 * ptrace(): User Mode Linux before 6.13 keeps 2,696 bytes of the host's vector registers, all that AVX-512 and
 * protection keys need. A host with AMX has 11,008 bytes, and its PTRACE_SETREGSET fails with EFAULT for fewer, so
 * every guest process would end with SIGSEGV. The bytes that are missing are set to zero: they belong to AMX, which a
 * guest cannot use because User Mode Linux has no ARCH_REQ_XCOMP_PERM.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

static uint64_t state;
static int seeded;

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	size_t done, part;

	(void)flags;
	if (!seeded) {
		const char *text = getenv("SOJOURN_SEED");

		state = text ? strtoull(text, NULL, 10) : 0;
		seeded = 1;
	}
	for (done = 0; done < length; done += part) {
		uint64_t z = state += 0x9e3779b97f4a7c15;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
		z = (z ^ z >> 27) * 0x94d049bb133111eb;
		z ^= z >> 31;
		part = length - done < sizeof z ? length - done : sizeof z;
		memcpy((char *)buffer + done, &z, part);
	}
	return (ssize_t)length;
}

typedef long trace(enum __ptrace_request, pid_t, void *, void *);

static trace *libc_ptrace;
/* Bytes of the XSAVE area with all features that the host has enabled (CPUID leaf 0xd). */
static unsigned int xsave_size;

__attribute__((constructor)) static void initialise(void)
{
	unsigned int a, c, d;

	libc_ptrace = (trace *)dlsym(RTLD_NEXT, "ptrace");
	if (!__get_cpuid_count(0xd, 0, &a, &xsave_size, &c, &d))
		xsave_size = 0;
}

static long set_registers(pid_t pid, void *set, const struct iovec *short_area)
{
	char area[xsave_size];
	struct iovec whole = { area, xsave_size };

	memcpy(area, short_area->iov_base, short_area->iov_len);
	memset(area + short_area->iov_len, 0, xsave_size - short_area->iov_len);
	return libc_ptrace(PTRACE_SETREGSET, pid, set, &whole);
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list list;
	pid_t pid;
	void *address, *data;

	va_start(list, request);
	pid = va_arg(list, pid_t);
	address = va_arg(list, void *);
	data = va_arg(list, void *);
	va_end(list);
	if (request == PTRACE_SETREGSET && (uintptr_t)address == NT_X86_XSTATE) {
		const struct iovec *area = data;

		if (area->iov_len < xsave_size)
			return set_registers(pid, address, area);
	}
	return libc_ptrace(request, pid, address, data);
}
