/* Passes of the growth of a tree over rows of samples, all columns of a row at a time.

A row consists of units of 16 bytes, a unit of lanes, and each column has a lane. Units of 16 byte
lanes come first: columns of whole numbers from 0 to 255. Then come units of 4 float lanes: first
the full ones, whose columns are numeric and have no missing value in the growth, then all others.
Bytes and full floats are counted here, with all their columns at once; the other lanes are counted
one by one in `growth.pyx`. Lanes without a column are 0 in all rows, so they never vary. */
#ifndef LANES_H
#define LANES_H

#include "simd.h"

typedef struct {
    int n_bytes;                /* units of byte lanes ... */
    int n_full;                 /* ... of float lanes without missing or nominal values ... */
    int n_other;                /* ... and of all other float lanes */
    int size;                   /* bytes of a row */
    int n_fast;                 /* lanes of bytes and of full floats */
    int n_lanes;                /* all lanes */
} Lanes;

typedef struct {                /* samples of one class in a node, one after the other */
    int code;
    int n;
} Segment;

/* ------------------------------------------------------------------------------- sets of lanes */

INLINE void put_lanes(uint64_t *set, int lane, uint64_t bits) { set[lane >> 6] |= bits << (lane & 63); }
INLINE int has_lane(const uint64_t *set, int lane) { return set[lane >> 6] >> (lane & 63) & 1; }

INLINE void clear_lanes(uint64_t *set, int n_words) {       /* most sets have one word */
    int k;
    set[0] = 0;
    for (k = 1; k < n_words; k++) set[k] = 0;
}
INLINE void copy_lanes(uint64_t *set, const uint64_t *other, int n_words) {
    int k;
    set[0] = other[0];
    for (k = 1; k < n_words; k++) set[k] = other[k];
}

INLINE int bit_length(uint32_t number) {        /* of a number that is not 0 */
#ifdef _MSC_VER
    unsigned long at;
    _BitScanReverse(&at, number);
    return (int)at + 1;
#else
    return 32 - __builtin_clz(number);
#endif
}

INLINE int count_bits(uint64_t x) {
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    return (int)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

INLINE int count_lanes(const uint64_t *set, int n_words) {
    int k, n = 0;
    for (k = 0; k < n_words; k++) n += count_bits(set[k]);
    return n;
}

/* The lane number `at` of a set that has more. */
INLINE int lane_at(const uint64_t *set, int at) {
    int k = 0, n;
    uint64_t word;
    for (; at >= (n = count_bits(set[k])); k++) at -= n;
    for (word = set[k]; at > 0; at--) word &= word - 1;
    return 64 * k + lowest_bit(word);
}

/* ------------------------------------------------------------------------------- thresholds */

INLINE void byte_thresholds(const uint8_t *row, int n, int size, int k, const uint64_t *words,
                            uint8_t *thresholds, uint64_t *vary, int lane) {
    Bytes low[4], high[4];
    int i, v;
    for (v = 0; v < k; v++) low[v] = high[v] = load_bytes(row + 16 * v);
    for (i = 1; i < n; i++) {
        row += size;
        for (v = 0; v < k; v++) {
            Bytes x = load_bytes(row + 16 * v);
            low[v] = least_bytes(low[v], x);
            high[v] = largest_bytes(high[v], x);
        }
    }
    for (v = 0; v < k; v++) {
        put_lanes(vary, lane + 16 * v, unequal_bytes(low[v], high[v]));
        store_bytes(thresholds + 16 * v, between_bytes(low[v], high[v], words + 4 * v));
    }
}

INLINE void float_thresholds(const uint8_t *row, int n, int size, int k, int is_full,
                             const uint64_t *words, uint8_t *thresholds, uint64_t *vary, int lane) {
    Floats low[4], high[4], other_low[2], other_high[2];
    Ints missing[4];
    int i = 0, v;
    for (v = 0; v < k; v++) {
        low[v] = all_floats(INFINITY);
        high[v] = all_floats(-INFINITY);
        missing[v] = all_ints(0);
    }
    if (k <= 2 && is_full) {            /* two rows at a time do not wait for each other */
        for (v = 0; v < k && v < 2; v++) other_low[v] = low[v], other_high[v] = high[v];
        for (; i + 1 < n; i += 2, row += 2 * size) for (v = 0; v < k && v < 2; v++) {
            Floats x = load_floats(row + 16 * v), y = load_floats(row + size + 16 * v);
            low[v] = least_floats(x, low[v]);
            high[v] = largest_floats(x, high[v]);
            other_low[v] = least_floats(y, other_low[v]);
            other_high[v] = largest_floats(y, other_high[v]);
        }
        for (v = 0; v < k && v < 2; v++) {
            low[v] = least_floats(other_low[v], low[v]);
            high[v] = largest_floats(other_high[v], high[v]);
        }
    }
    for (; i < n; i++, row += size) for (v = 0; v < k; v++) {
        Floats x = load_floats(row + 16 * v);
        low[v] = least_floats(x, low[v]);           /* not if x is missing */
        high[v] = largest_floats(x, high[v]);
        if (!is_full) missing[v] = or_ints(missing[v], is_missing_lane(x));
    }
    for (v = 0; v < k; v++) {
        Floats width = subtract_floats(high[v], low[v]);
        Floats x = add_floats(low[v], multiply_floats(uniform_floats(words + 2 * v), width));
        Ints varies = is_less(low[v], high[v]);
        if (!is_full) varies = or_ints(varies, and_ints(missing[v], is_at_most(low[v], high[v])));
        put_lanes(vary, lane + 4 * v, bits_of(varies));
        store_floats(thresholds + 16 * v,           /* rounded up to the largest value: the least */
                     chosen_floats(is_less(x, high[v]), x, low[v]));
    }
}

/* Draw a threshold for every lane, uniform from the least value of n rows up to the largest one:
4 words for each unit of bytes, then 2 for each of floats. A lane varies if it has two values, or
one and a missing one. */
static inline void draw_thresholds(const Lanes *lanes, const uint8_t *rows, int n, const uint64_t *words,
                            uint8_t *thresholds, uint64_t *vary) {
    int size = lanes->size, lane = 0, is_full;
    FOUR_AT_A_TIME(lanes->n_bytes, byte_thresholds(rows + 16 * unit, n, size, K, words + 4 * unit,
                                                   thresholds + 16 * unit, vary, 16 * unit))
    lane = 16 * lanes->n_bytes;
    rows += lane, thresholds += lane, words += 4 * lanes->n_bytes;
    for (is_full = 1; is_full >= 0; is_full--) {
        int n_units = is_full ? lanes->n_full : lanes->n_other;
        if (is_full) FOUR_AT_A_TIME(n_units, float_thresholds(
            rows + 16 * unit, n, size, K, 1, words + 2 * unit, thresholds + 16 * unit, vary,
            lane + 4 * unit))
        else FOUR_AT_A_TIME(n_units, float_thresholds(
            rows + 16 * unit, n, size, K, 0, words + 2 * unit, thresholds + 16 * unit, vary,
            lane + 4 * unit))
        rows += 16 * n_units, thresholds += 16 * n_units, words += 2 * n_units, lane += 4 * n_units;
    }
}

/* The word of a lane among those of `draw_thresholds`. */
INLINE int word_of(const Lanes *lanes, int lane) {
    int n = 16 * lanes->n_bytes;
    return lane < n ? lane / 4 : n / 4 + (lane - n) / 2;
}

/* Draw the threshold of a lane in which two rows differ, by its word: that of `draw_thresholds`.
Returns the row that goes right. */
static inline int divide_two(const Lanes *lanes, const uint8_t *rows, int lane, uint64_t word,
                             float *threshold) {
    int n = 16 * lanes->n_bytes;
    float a, b, low, high, x;
    if (lane < n) {
        a = rows[lane], b = rows[lanes->size + lane];
    } else {
        rows += n + 4 * (lane - n);
        memcpy(&a, rows, sizeof(a)), memcpy(&b, rows + lanes->size, sizeof(b));
    }
    low = a < b ? a : b, high = a < b ? b : a;
    if (lane < n) {
        *threshold = low + (float)((uint32_t)(high - low) * (word >> 16 * (lane & 3) & 0xffff) >> 16);
    } else {
        x = low + (float)(int)((uint32_t)(word >> 32 * (lane & 1)) >> 8) * (1.0f / 16777216.0f) * (high - low);
        *threshold = x < high ? x : low;
    }
    return a < b;
}

/* Find the lanes in which two rows differ: those that vary. */
static inline void find_unequal(const Lanes *lanes, const uint8_t *rows, uint64_t *vary) {
    int unit, lane = 0;
    for (unit = 0; unit < lanes->size / 16; unit++, rows += 16) {
        if (unit < lanes->n_bytes) {
            put_lanes(vary, lane, unequal_bytes(load_bytes(rows), load_bytes(rows + lanes->size)));
            lane += 16;
        } else {
            Floats x = load_floats(rows), y = load_floats(rows + lanes->size);
            put_lanes(vary, lane, 15 & ~bits_of(or_ints(
                is_equal(x, y), and_ints(is_missing_lane(x), is_missing_lane(y)))));
            lane += 4;
        }
    }
}

/* ------------------------------------------------------------------------------- counts */

INLINE void count_byte_units(const uint8_t *row, const Segment *segments, int n_segments, int size,
                             int k, const uint8_t *thresholds, int *counts, int width) {
    Bytes limit[4], count[4];
    int s, v, i, n;
    for (v = 0; v < k; v++) limit[v] = load_bytes(thresholds + 16 * v);
    for (s = 0; s < n_segments; s++, counts += width) {
        memset(counts, 0, 16 * k * sizeof(int));
        for (n = segments[s].n; n > 0; n -= 255) {      /* a byte counts up to 255 */
            for (v = 0; v < k; v++) count[v] = no_bytes();
            for (i = n < 255 ? n : 255; i > 0; i--, row += size)
                for (v = 0; v < k; v++)
                    count[v] = count_bytes(count[v], load_bytes(row + 16 * v), limit[v]);
            for (v = 0; v < k; v++) add_bytes(counts + 16 * v, count[v]);
        }
    }
}

INLINE void count_float_units(const uint8_t *row, const Segment *segments, int n_segments, int size,
                              int k, const uint8_t *thresholds, int *counts, int width) {
    Floats limit[4];
    Ints count[4];
    int s, v, i;
    for (v = 0; v < k; v++) limit[v] = load_floats(thresholds + 16 * v);
    for (s = 0; s < n_segments; s++, counts += width) {
        for (v = 0; v < k; v++) count[v] = all_ints(0);
        for (i = segments[s].n; i > 0; i--, row += size)
            for (v = 0; v < k; v++)
                count[v] = subtract_ints(count[v], is_at_most(load_floats(row + 16 * v), limit[v]));
        for (v = 0; v < k; v++) store_ints(counts + 4 * v, count[v]);
    }
}

/* counts[segment * n_fast + lane]: samples of a segment up to the threshold of a lane. */
static inline void count_segments(const Lanes *lanes, const uint8_t *rows, const Segment *segments,
                           int n_segments, const uint8_t *thresholds, int *counts) {
    int size = lanes->size, width = lanes->n_fast, lane = 16 * lanes->n_bytes;
    FOUR_AT_A_TIME(lanes->n_bytes, count_byte_units(
        rows + 16 * unit, segments, n_segments, size, K, thresholds + 16 * unit, counts + 16 * unit,
        width))
    FOUR_AT_A_TIME(lanes->n_full, count_float_units(
        rows + lane + 16 * unit, segments, n_segments, size, K, thresholds + lane + 16 * unit,
        counts + lane + 4 * unit, width))
}

INLINE void sum_units(const uint8_t *row, const int *targets, int n, int size, int k,
                      const uint8_t *thresholds, int *sums, int *counts) {
    Floats limit[4];
    Ints sum[4], count[4];
    int i, v;
    for (v = 0; v < k; v++) {
        limit[v] = load_floats(thresholds + 16 * v);
        sum[v] = count[v] = all_ints(0);
    }
    for (i = 0; i < n; i++, row += size) {
        Ints target = all_ints(targets[i]);
        for (v = 0; v < k; v++) {
            Ints left = is_at_most(load_floats(row + 16 * v), limit[v]);
            sum[v] = add_ints(sum[v], and_ints(left, target));
            count[v] = subtract_ints(count[v], left);
        }
    }
    for (v = 0; v < k; v++) store_ints(sums + 4 * v, sum[v]), store_ints(counts + 4 * v, count[v]);
}

/* Per full lane, the sum of the targets of the samples up to its threshold, and their number. */
static inline void sum_targets(const Lanes *lanes, const uint8_t *rows, const int *targets, int n,
                        const uint8_t *thresholds, int *sums, int *counts) {
    FOUR_AT_A_TIME(lanes->n_full, sum_units(rows + 16 * unit, targets, n, lanes->size, K,
                                            thresholds + 16 * unit, sums + 4 * unit,
                                            counts + 4 * unit))
}

/* Copy the n numbers of some items; find the extremes, and return the sum in this order. */
static inline double list_numbers(const double *numbers, const int *items, int n, double *own,
                                  double *low, double *high) {
    Doubles least = all_doubles(numbers[items[0]]), most = least;
    double total = 0.0, each[2];
    int i;
    for (i = 0; i + 1 < n; i += 2) {
        double a = numbers[items[i]], b = numbers[items[i + 1]];
        Doubles x = two_doubles(a, b);
        least = least_doubles(x, least), most = largest_doubles(x, most);
        store_doubles(own + i, x);
        total = total + a + b;
    }
    if (i < n) {
        own[i] = numbers[items[i]];
        least = least_doubles(all_doubles(own[i]), least);
        most = largest_doubles(all_doubles(own[i]), most);
        total += own[i];
    }
    store_doubles(each, least), *low = each[0] < each[1] ? each[0] : each[1];
    store_doubles(each, most), *high = each[0] > each[1] ? each[0] : each[1];
    return total;
}

/* Write (own - center) * grain as whole numbers, rounded to 0; return their sum. */
static inline int whole_numbers(const double *own, int n, double center, double grain, int *whole) {
    Doubles centers = all_doubles(center), grains = all_doubles(grain);
    int i, total = 0;
    for (i = 0; i + 1 < n; i += 2) {
        store_whole(whole + i, multiply_doubles(
            subtract_doubles(load_doubles(own + i), centers), grains));
        total += whole[i] + whole[i + 1];
    }
    if (i < n) total += whole[i] = (int)((own[i] - center) * grain);
    return total;
}

/* ------------------------------------------------------------------------------- scores */

/* sum_left / n_left + sum_right / n_right; the formula is the same for all candidates. */
INLINE Floats ratio(Floats sum_left, Floats sum_right, Floats n_left, Floats n_right) {
    return divide_floats(
        add_floats(multiply_floats(sum_left, n_right), multiply_floats(sum_right, n_left)),
        multiply_floats(n_left, n_right));
}
INLINE float ratio_of(float sum_left, float sum_right, float n_left, float n_right) {
    return (sum_left * n_right + sum_right * n_left) / (n_left * n_right);
}

INLINE Ints chosen_lanes(const uint64_t *chosen, int lane) {
    static const int bit_of[4] = {1, 2, 4, 8};
    Ints bits = load_ints(bit_of);
    return is_above(and_ints(all_ints((int)(chosen[lane >> 6] >> (lane & 63) & 15)), bits), all_ints(0));
}

/* The scores of the fast lanes that are chosen and leave `least` samples on both sides; -INFINITY
for all others. The targets of a regression sum to `total`; else `sums` is NULL. */
static inline void score_lanes(const Lanes *lanes, const int *counts, const Segment *segments,
                        int n_segments, const int *sums, int total, int n, int least,
                        const uint64_t *chosen, float *scores) {
    int lane, s, width = lanes->n_fast;
    Ints too_few = all_ints(least - 1), all = all_ints(n);
    for (lane = 0; lane < width; lane += 4) {
        Ints left = all_ints(0), right, allowed;
        Floats sum_left = all_floats(0.0f), sum_right = sum_left;
        if (sums != NULL) {
            sum_left = floats_of(load_ints(sums + lane));
            sum_right = floats_of(subtract_ints(all_ints(total), load_ints(sums + lane)));
            sum_left = multiply_floats(sum_left, sum_left);
            sum_right = multiply_floats(sum_right, sum_right);
            left = load_ints(counts + lane);
        } else for (s = 0; s < n_segments; s++) {
            Ints count = load_ints(counts + (size_t)s * width + lane);
            Floats a = floats_of(count), b = floats_of(subtract_ints(all_ints(segments[s].n), count));
            left = add_ints(left, count);
            sum_left = add_floats(sum_left, multiply_floats(a, a));
            sum_right = add_floats(sum_right, multiply_floats(b, b));
        }
        right = subtract_ints(all, left);
        allowed = and_ints(chosen_lanes(chosen, lane),
                           and_ints(is_above(left, too_few), is_above(right, too_few)));
        store_floats(scores + lane, chosen_floats(
            allowed, ratio(sum_left, sum_right, floats_of(left), floats_of(right)),
            all_floats(-INFINITY)));
    }
}

/* Find the lanes with the largest score, which is returned; `best` is empty before. */
static inline float find_best(const float *scores, int n_lanes, uint64_t *best) {
    Floats most = all_floats(-INFINITY);
    float each[4];
    int lane;
    for (lane = 0; lane < n_lanes; lane += 4) most = largest_floats(load_floats(scores + lane), most);
    store_floats(each, most);
    for (lane = 1; lane < 4; lane++) each[0] = each[lane] > each[0] ? each[lane] : each[0];
    most = all_floats(each[0]);
    for (lane = 0; lane < n_lanes; lane += 4)
        put_lanes(best, lane, bits_of(is_equal(load_floats(scores + lane), most)));
    return each[0];
}

/* ------------------------------------------------------------------------------- moves */

typedef struct {                /* of the samples of a node */
    const uint8_t *values;      /* value i is at values + i * stride */
    size_t stride;
    int is_float;
    float limit;                /* larger values go right */
} Test;

INLINE int goes_right(const Test *test, const uint8_t *value, int is_float) {
    if (is_float) {
        float x;
        memcpy(&x, value, sizeof(x));
        return x > test->limit;
    }
    return *value > (uint8_t)test->limit;
}

INLINE void copy_row(uint8_t *to, const uint8_t *from, int n_units) {
    int v;
    for (v = 0; v < n_units; v++) store_bytes(to + 16 * v, load_bytes(from + 16 * v));
}

/* Without a branch on the side, which is random. `items` may be NULL. */
INLINE void move_both(const uint8_t *rows, int n, int n_units, int n_left, Test test, int is_float,
                      uint8_t *to, const int *items, int *to_items) {
    ptrdiff_t left = 0, end = n_left, i, size = 16 * n_units;
    for (i = 0; i < n; i++) {
        ptrdiff_t right = goes_right(&test, test.values, is_float), at = right ? end : left;
        copy_row(to + at * size, rows, n_units);
        if (items != NULL) to_items[at] = items[i];
        left += right ^ 1, end += right;
        rows += size, test.values += test.stride;
    }
}

/* The rows of one side only; the other child is a leaf. */
INLINE void move_side(const uint8_t *rows, int n_units, Test test, int is_float, int side,
                      uint8_t *to, const uint8_t *stop) {
    ptrdiff_t size = 16 * n_units;
    while (to < stop) {
        ptrdiff_t kept = goes_right(&test, test.values, is_float) == side;
        copy_row(to, rows, n_units);
        to += size & -kept;
        rows += size, test.values += test.stride;
    }
}

#define BY_SIZE(N, CALL) switch (N) { \
    case 0: { enum { K = 0 }; CALL; break; } \
    case 1: { enum { K = 1 }; CALL; break; } \
    case 2: { enum { K = 2 }; CALL; break; } \
    case 3: { enum { K = 3 }; CALL; break; } \
    case 4: { enum { K = 4 }; CALL; break; } \
    case 5: { enum { K = 5 }; CALL; break; } \
    default: { int K = N; CALL; } }

/* Copy the n rows of a node, and its items unless they are NULL, in the order left, right, each
side in its old order. Without items, the rows of a child that is not kept may be anything. */
static inline void move_rows(const Lanes *lanes, const uint8_t *rows, int n, int n_left, const Test *test,
                      uint8_t *to, const int *items, int *to_items, int keeps_left,
                      int keeps_right) {
    int n_units = keeps_left || keeps_right ? lanes->size / 16 : 0;
    uint8_t *middle = to + (size_t)n_left * lanes->size, *stop = to + (size_t)n * lanes->size;
    if (items != NULL) {
        if (test->is_float) BY_SIZE(n_units, move_both(rows, n, K, n_left, *test, 1, to, items, to_items))
        else BY_SIZE(n_units, move_both(rows, n, K, n_left, *test, 0, to, items, to_items))
    } else if (keeps_left && keeps_right) {
        if (test->is_float) BY_SIZE(n_units, move_both(rows, n, K, n_left, *test, 1, to, NULL, NULL))
        else BY_SIZE(n_units, move_both(rows, n, K, n_left, *test, 0, to, NULL, NULL))
    } else if (keeps_left || keeps_right) {
        if (keeps_right) to = middle; else stop = middle;
        if (test->is_float) BY_SIZE(n_units, move_side(rows, K, *test, 1, keeps_right, to, stop))
        else BY_SIZE(n_units, move_side(rows, K, *test, 0, keeps_right, to, stop))
    }
}

/* ------------------------------------------------------------------------------- encoding */

/* A power of two; times it, the magnitude is at least .5 and below 1, unless it is extreme. */
INLINE double power_below(double magnitude) {
    uint64_t bits;
    int exponent;
    if (!(magnitude > 0.0 && magnitude < INFINITY)) return 1.0;
    memcpy(&bits, &magnitude, sizeof(bits));
    exponent = 2045 - (int)(bits >> 52);
    exponent = exponent < 23 ? 23 : exponent > 2023 ? 2023 : exponent;     /* 2^-1000 to 2^1000 */
    bits = (uint64_t)exponent << 52;
    memcpy(&magnitude, &bits, sizeof(magnitude));
    return magnitude;
}

/* Extend the extremes by n > 0 values, and tell if one is missing. The last four may have been seen
before: that changes nothing. */
static inline void extend_extremes(double *low, double *high, int *has_missing,
                                   const double *values, int n) {
    Doubles lows[2], highs[2], zero = all_doubles(0.0), missing = zero;
    double each[3][2], few[4];
    int i;
    if (n < 4) {
        for (i = 0; i < 4; i++) few[i] = values[i < n ? i : 0];
        values = few, n = 4;
    }
    lows[0] = lows[1] = all_doubles(*low), highs[0] = highs[1] = all_doubles(*high);
    for (i = 0; i < n; i += 4) {
        const double *four = values + (i + 4 <= n ? i : n - 4);
        Doubles x = load_doubles(four), y = load_doubles(four + 2);
        lows[0] = least_doubles(x, lows[0]), lows[1] = least_doubles(y, lows[1]);
        highs[0] = largest_doubles(x, highs[0]), highs[1] = largest_doubles(y, highs[1]);
        missing = add_doubles(missing, multiply_doubles(x, zero));      /* NaN if x is missing */
        missing = add_doubles(missing, multiply_doubles(y, zero));
    }
    store_doubles(each[0], least_doubles(lows[0], lows[1]));
    store_doubles(each[1], largest_doubles(highs[0], highs[1]));
    store_doubles(each[2], missing);
    *low = each[0][0] < each[0][1] ? each[0][0] : each[0][1];
    *high = each[1][0] > each[1][1] ? each[1][0] : each[1][1];
    *has_missing |= each[2][0] != each[2][0] || each[2][1] != each[2][1];
}

/* The next float above a finite one, and the next double above (1) or below (-1). */
INLINE float next_float(float x) {
    int32_t bits;
    if (x == 0.0f) x = 0.0f;                /* not -0 */
    memcpy(&bits, &x, sizeof(bits));
    bits += bits < 0 ? -1 : 1;
    memcpy(&x, &bits, sizeof(x));
    return x;
}
INLINE double next_double(double x, int direction) {
    int64_t bits;
    if (x == 0.0) x = direction < 0 ? -0.0 : 0.0;
    memcpy(&bits, &x, sizeof(bits));
    bits += bits < 0 ? -direction : direction;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

INLINE float encoded(double value, double offset, double scale) {
    return (float)((value - offset) * scale);
}

/* Write the values of four lanes, of floats or of bytes, to the rows at the positions. */
static inline void encode(const double *const *values, int n, const int *positions, uint8_t *lane,
                          int size, const double *offsets, const double *scales) {
    const double *a = values[0], *b = values[1], *c = values[2], *d = values[3];
    Doubles offset[2], scale[2];
    int i, k;
    for (k = 0; k < 2; k++) {
        offset[k] = load_doubles(offsets + 2 * k);
        scale[k] = load_doubles(scales + 2 * k);
    }
    for (i = 0; i < n; i++) {
        Doubles x = multiply_doubles(subtract_doubles(two_doubles(a[i], b[i]), offset[0]), scale[0]);
        Doubles y = multiply_doubles(subtract_doubles(two_doubles(c[i], d[i]), offset[1]), scale[1]);
        store_floats(lane + (size_t)positions[i] * size, four_floats(x, y));
    }
}

static inline void encode_bytes(const uint8_t *const *values, int n, const int *positions,
                                uint8_t *lane, int size) {
    const uint8_t *a = values[0], *b = values[1], *c = values[2], *d = values[3];
    int i;
    for (i = 0; i < n; i++) {
        uint8_t *to = lane + (size_t)positions[i] * size;
        to[0] = a[i], to[1] = b[i], to[2] = c[i], to[3] = d[i];
    }
}

#endif
