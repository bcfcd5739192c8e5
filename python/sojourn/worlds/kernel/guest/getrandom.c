/* Seeded random numbers for User Mode Linux: loaded before the C library, it replaces getrandom().
 *
 * The kernel takes all its entropy from this function, so the seed in SOJOURN_SEED (decimal) decides hash
 * perturbations, initial sequence numbers and the drops of RED and PIE. The generator is SplitMix64 (Steele, Lea and
 * Flood 2014); it only seeds the kernel's own generator.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

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
