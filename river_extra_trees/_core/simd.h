/* Sixteen bytes, four numbers or two doubles at a time.

The primitives are written twice: with SSE2, which every x86-64 has, and in plain C, for other
processors or with -DPLAIN. Both give the same bits: integers are exact, and floats take part in
the same operations in the same order. */
#ifndef SIMD_H
#define SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(PLAIN) && (defined(__SSE2__) || defined(_M_X64))
#include <emmintrin.h>
#define SSE2
#endif

#include "bits.h"

#ifdef SSE2

typedef __m128i Bytes, Ints;
typedef __m128 Floats;
typedef __m128d Doubles;

INLINE Bytes load_bytes(const void *at) { return _mm_loadu_si128((const __m128i *)at); }
INLINE void store_bytes(void *at, Bytes a) { _mm_storeu_si128((__m128i *)at, a); }
INLINE Bytes no_bytes(void) { return _mm_setzero_si128(); }
INLINE Bytes least_bytes(Bytes a, Bytes b) { return _mm_min_epu8(a, b); }
INLINE Bytes largest_bytes(Bytes a, Bytes b) { return _mm_max_epu8(a, b); }
/* count + 1 where value <= limit */
INLINE Bytes count_bytes(Bytes count, Bytes value, Bytes limit) {
    return _mm_sub_epi8(count, _mm_cmpeq_epi8(_mm_min_epu8(value, limit), value));
}
/* One bit per lane in which a and b differ. */
INLINE uint64_t unequal_bytes(Bytes a, Bytes b) {
    return ~_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) & 0xffff;
}
/* low + (high - low) * u / 65536, with 16 bits u of the words for each lane */
INLINE Bytes between_bytes(Bytes low, Bytes high, const uint64_t *words) {
    Bytes width = _mm_sub_epi8(high, low), zero = _mm_setzero_si128();
    Bytes a = _mm_mulhi_epu16(_mm_unpacklo_epi8(width, zero), load_bytes(words));
    Bytes b = _mm_mulhi_epu16(_mm_unpackhi_epi8(width, zero), load_bytes(words + 2));
    return _mm_add_epi8(low, _mm_packus_epi16(a, b));
}
/* Add the bytes to 16 numbers. */
INLINE void add_bytes(int *to, Bytes a) {
    Bytes zero = _mm_setzero_si128();
    Bytes half[2];
    int k;
    half[0] = _mm_unpacklo_epi8(a, zero);
    half[1] = _mm_unpackhi_epi8(a, zero);
    for (k = 0; k < 2; k++) {
        int *at = to + 8 * k;
        store_bytes(at, _mm_add_epi32(load_bytes(at), _mm_unpacklo_epi16(half[k], zero)));
        store_bytes(at + 4, _mm_add_epi32(load_bytes(at + 4), _mm_unpackhi_epi16(half[k], zero)));
    }
}

INLINE Floats load_floats(const void *at) { return _mm_loadu_ps((const float *)at); }
INLINE void store_floats(void *at, Floats a) { _mm_storeu_ps((float *)at, a); }
INLINE Floats all_floats(float a) { return _mm_set1_ps(a); }
/* b if one of both is missing */
INLINE Floats least_floats(Floats a, Floats b) { return _mm_min_ps(a, b); }
INLINE Floats largest_floats(Floats a, Floats b) { return _mm_max_ps(a, b); }
INLINE Floats add_floats(Floats a, Floats b) { return _mm_add_ps(a, b); }
INLINE Floats subtract_floats(Floats a, Floats b) { return _mm_sub_ps(a, b); }
INLINE Floats multiply_floats(Floats a, Floats b) { return _mm_mul_ps(a, b); }
INLINE Floats divide_floats(Floats a, Floats b) { return _mm_div_ps(a, b); }
INLINE uint64_t bits_of(Ints mask) {
    return (uint64_t)_mm_movemask_ps(_mm_castsi128_ps(mask));
}
/* Masks: all bits of a lane are 1 where it is so. */
INLINE Ints is_at_most(Floats a, Floats b) { return _mm_castps_si128(_mm_cmple_ps(a, b)); }
INLINE Ints is_less(Floats a, Floats b) { return _mm_castps_si128(_mm_cmplt_ps(a, b)); }
INLINE Ints is_equal(Floats a, Floats b) { return _mm_castps_si128(_mm_cmpeq_ps(a, b)); }
INLINE Ints is_missing_lane(Floats a) { return _mm_castps_si128(_mm_cmpunord_ps(a, a)); }
INLINE Floats chosen_floats(Ints mask, Floats yes, Floats no) {
    Floats m = _mm_castsi128_ps(mask);
    return _mm_or_ps(_mm_and_ps(m, yes), _mm_andnot_ps(m, no));
}
/* Uniform on [0, 1): the upper 24 of 32 bits for each lane. */
INLINE Floats uniform_floats(const uint64_t *words) {
    return _mm_mul_ps(_mm_cvtepi32_ps(_mm_srli_epi32(load_bytes(words), 8)),
                      _mm_set1_ps(1.0f / 16777216.0f));
}

INLINE Ints load_ints(const int *at) { return load_bytes(at); }
INLINE void store_ints(int *at, Ints a) { store_bytes(at, a); }
INLINE Ints all_ints(int a) { return _mm_set1_epi32(a); }
INLINE Ints add_ints(Ints a, Ints b) { return _mm_add_epi32(a, b); }
INLINE Ints subtract_ints(Ints a, Ints b) { return _mm_sub_epi32(a, b); }
INLINE Ints and_ints(Ints a, Ints b) { return _mm_and_si128(a, b); }
INLINE Ints or_ints(Ints a, Ints b) { return _mm_or_si128(a, b); }
INLINE Ints is_above(Ints a, Ints b) { return _mm_cmpgt_epi32(a, b); }
INLINE Floats floats_of(Ints a) { return _mm_cvtepi32_ps(a); }

INLINE Doubles load_doubles(const double *at) { return _mm_loadu_pd(at); }
INLINE void store_doubles(double *at, Doubles a) { _mm_storeu_pd(at, a); }
INLINE Doubles all_doubles(double a) { return _mm_set1_pd(a); }
INLINE Doubles two_doubles(double a, double b) { return _mm_set_pd(b, a); }
/* b if one of both is missing */
INLINE Doubles least_doubles(Doubles a, Doubles b) { return _mm_min_pd(a, b); }
INLINE Doubles largest_doubles(Doubles a, Doubles b) { return _mm_max_pd(a, b); }
INLINE Doubles add_doubles(Doubles a, Doubles b) { return _mm_add_pd(a, b); }
INLINE Doubles subtract_doubles(Doubles a, Doubles b) { return _mm_sub_pd(a, b); }
INLINE Doubles multiply_doubles(Doubles a, Doubles b) { return _mm_mul_pd(a, b); }
/* b, but 0 where a is missing */
INLINE Doubles where_present(Doubles a, Doubles b) { return _mm_and_pd(_mm_cmpord_pd(a, a), b); }
/* Rounded to 0. */
INLINE void store_whole(int *at, Doubles a) {
    _mm_storel_epi64((__m128i *)at, _mm_cvttpd_epi32(a));
}
INLINE Floats four_floats(Doubles a, Doubles b) {
    return _mm_movelh_ps(_mm_cvtpd_ps(a), _mm_cvtpd_ps(b));
}

#else

typedef struct { uint8_t of[16]; } Bytes;
typedef struct { int32_t of[4]; } Ints;
typedef struct { float of[4]; } Floats;
typedef struct { double of[2]; } Doubles;

#define EACH(N, TYPE, EXPRESSION) \
    TYPE to; \
    int i; \
    for (i = 0; i < N; i++) to.of[i] = EXPRESSION; \
    return to

INLINE Bytes load_bytes(const void *at) { Bytes a; memcpy(&a, at, 16); return a; }
INLINE void store_bytes(void *at, Bytes a) { memcpy(at, &a, 16); }
INLINE Bytes no_bytes(void) { EACH(16, Bytes, 0); }
INLINE Bytes least_bytes(Bytes a, Bytes b) { EACH(16, Bytes, a.of[i] < b.of[i] ? a.of[i] : b.of[i]); }
INLINE Bytes largest_bytes(Bytes a, Bytes b) { EACH(16, Bytes, a.of[i] > b.of[i] ? a.of[i] : b.of[i]); }
INLINE Bytes count_bytes(Bytes count, Bytes value, Bytes limit) {
    EACH(16, Bytes, (uint8_t)(count.of[i] + (value.of[i] <= limit.of[i])));
}
INLINE uint64_t unequal_bytes(Bytes a, Bytes b) {
    uint64_t bits = 0;
    int i;
    for (i = 0; i < 16; i++) bits |= (uint64_t)(a.of[i] != b.of[i]) << i;
    return bits;
}
INLINE Bytes between_bytes(Bytes low, Bytes high, const uint64_t *words) {
    EACH(16, Bytes, (uint8_t)(low.of[i] + (((uint32_t)(high.of[i] - low.of[i])
                              * (uint32_t)(words[i / 4] >> (16 * (i % 4)) & 0xffff)) >> 16)));
}
INLINE void add_bytes(int *to, Bytes a) {
    int i;
    for (i = 0; i < 16; i++) to[i] += a.of[i];
}

INLINE Floats load_floats(const void *at) { Floats a; memcpy(&a, at, 16); return a; }
INLINE void store_floats(void *at, Floats a) { memcpy(at, &a, 16); }
INLINE Floats all_floats(float a) { EACH(4, Floats, a); }
INLINE Floats least_floats(Floats a, Floats b) { EACH(4, Floats, a.of[i] < b.of[i] ? a.of[i] : b.of[i]); }
INLINE Floats largest_floats(Floats a, Floats b) { EACH(4, Floats, a.of[i] > b.of[i] ? a.of[i] : b.of[i]); }
INLINE Floats add_floats(Floats a, Floats b) { EACH(4, Floats, a.of[i] + b.of[i]); }
INLINE Floats subtract_floats(Floats a, Floats b) { EACH(4, Floats, a.of[i] - b.of[i]); }
INLINE Floats multiply_floats(Floats a, Floats b) { EACH(4, Floats, a.of[i] * b.of[i]); }
INLINE Floats divide_floats(Floats a, Floats b) { EACH(4, Floats, a.of[i] / b.of[i]); }
INLINE uint64_t bits_of(Ints mask) {
    uint64_t bits = 0;
    int i;
    for (i = 0; i < 4; i++) bits |= (uint64_t)(mask.of[i] != 0) << i;
    return bits;
}
INLINE Ints is_at_most(Floats a, Floats b) { EACH(4, Ints, -(a.of[i] <= b.of[i])); }
INLINE Ints is_less(Floats a, Floats b) { EACH(4, Ints, -(a.of[i] < b.of[i])); }
INLINE Ints is_equal(Floats a, Floats b) { EACH(4, Ints, -(a.of[i] == b.of[i])); }
INLINE Ints is_missing_lane(Floats a) { EACH(4, Ints, -(a.of[i] != a.of[i])); }
INLINE Floats chosen_floats(Ints mask, Floats yes, Floats no) {
    EACH(4, Floats, mask.of[i] ? yes.of[i] : no.of[i]);
}
INLINE Floats uniform_floats(const uint64_t *words) {
    EACH(4, Floats, (float)(int)((words[i / 2] >> (32 * (i % 2)) & 0xffffffff) >> 8)
                    * (1.0f / 16777216.0f));
}

INLINE Ints load_ints(const int *at) { Ints a; memcpy(&a, at, 16); return a; }
INLINE void store_ints(int *at, Ints a) { memcpy(at, &a, 16); }
INLINE Ints all_ints(int a) { EACH(4, Ints, a); }
INLINE Ints add_ints(Ints a, Ints b) { EACH(4, Ints, a.of[i] + b.of[i]); }
INLINE Ints subtract_ints(Ints a, Ints b) { EACH(4, Ints, a.of[i] - b.of[i]); }
INLINE Ints and_ints(Ints a, Ints b) { EACH(4, Ints, a.of[i] & b.of[i]); }
INLINE Ints or_ints(Ints a, Ints b) { EACH(4, Ints, a.of[i] | b.of[i]); }
INLINE Ints is_above(Ints a, Ints b) { EACH(4, Ints, -(a.of[i] > b.of[i])); }
INLINE Floats floats_of(Ints a) { EACH(4, Floats, (float)a.of[i]); }

INLINE Doubles load_doubles(const double *at) { Doubles a; memcpy(&a, at, 16); return a; }
INLINE void store_doubles(double *at, Doubles a) { memcpy(at, &a, 16); }
INLINE Doubles all_doubles(double a) { EACH(2, Doubles, a); }
INLINE Doubles two_doubles(double a, double b) { EACH(2, Doubles, i == 0 ? a : b); }
INLINE Doubles least_doubles(Doubles a, Doubles b) { EACH(2, Doubles, a.of[i] < b.of[i] ? a.of[i] : b.of[i]); }
INLINE Doubles largest_doubles(Doubles a, Doubles b) { EACH(2, Doubles, a.of[i] > b.of[i] ? a.of[i] : b.of[i]); }
INLINE Doubles add_doubles(Doubles a, Doubles b) { EACH(2, Doubles, a.of[i] + b.of[i]); }
INLINE Doubles subtract_doubles(Doubles a, Doubles b) { EACH(2, Doubles, a.of[i] - b.of[i]); }
INLINE Doubles multiply_doubles(Doubles a, Doubles b) { EACH(2, Doubles, a.of[i] * b.of[i]); }
INLINE Doubles where_present(Doubles a, Doubles b) {
    EACH(2, Doubles, a.of[i] == a.of[i] ? b.of[i] : 0.0);
}
INLINE void store_whole(int *at, Doubles a) { at[0] = (int)a.of[0], at[1] = (int)a.of[1]; }
INLINE Floats four_floats(Doubles a, Doubles b) {
    EACH(4, Floats, (float)(i < 2 ? a.of[i] : b.of[i - 2]));
}

#endif

/* Do CALL for all N units, up to four at a time: `unit` is the first, `K` a constant number. */
#define FOUR_AT_A_TIME(N, CALL) { \
    int unit; \
    for (unit = 0; unit < (N); unit += 4) switch ((N) - unit) { \
        case 1: { enum { K = 1 }; CALL; break; } \
        case 2: { enum { K = 2 }; CALL; break; } \
        case 3: { enum { K = 3 }; CALL; break; } \
        default: { enum { K = 4 }; CALL; } \
    } }

#endif
