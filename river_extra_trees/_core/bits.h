/* Sets of numbers, as the bits of words. */
#ifndef BITS_H
#define BITS_H

#include <stdint.h>

#ifdef _MSC_VER
#include <intrin.h>
#define INLINE static __forceinline
#else
#define INLINE static inline __attribute__((always_inline))
#endif

INLINE void load_ahead(const void *at) {        /* into the cache */
#ifdef __GNUC__
    __builtin_prefetch(at);
#else
    (void)at;
#endif
}

INLINE int lowest_bit(uint64_t word) {          /* of a word that is not 0 */
#ifdef _MSC_VER
    unsigned long at;
    _BitScanForward64(&at, word);
    return (int)at;
#else
    return __builtin_ctzll(word);
#endif
}

#endif
