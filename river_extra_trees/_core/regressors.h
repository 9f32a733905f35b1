/* Passes over the regressors of samples: standardised values, moments, sums of products. */
#ifndef REGRESSORS_H
#define REGRESSORS_H

#include "simd.h"

/* Two numbers, or the last one of an odd number. */
INLINE Doubles load_two(const double *at, int are_two) {
    return are_two ? load_doubles(at) : all_doubles(*at);
}
INLINE void store_two(double *at, Doubles a, int are_two) {
    double each[2];
    if (are_two) {
        store_doubles(at, a);
        return;
    }
    store_doubles(each, a);
    *at = each[0];
}

/* Do CALL for numbers j and j + 1 of N, two at a time, and for the last one of an odd number. */
#define BY_TWO(N, CALL) { \
    int j; \
    for (j = 0; j + 1 < (N); j += 2) { enum { TWO = 1 }; CALL; } \
    if (j < (N)) { enum { TWO = 0 }; CALL; } \
}

INLINE Doubles standardised(Doubles value, Doubles center, Doubles scale, Doubles low,
                            Doubles high) {
    Doubles z = multiply_doubles(subtract_doubles(value, center), scale);
    return where_present(z, least_doubles(largest_doubles(z, low), high));
}

INLINE void standardise_two(double *at, int n, int size, const double *centers,
                            const double *scales, const double *lows, const double *highs, int two) {
    Doubles center = load_two(centers, two), scale = load_two(scales, two);
    Doubles low = load_two(lows, two), high = load_two(highs, two);
    for (; n > 0; n--, at += size)
        store_two(at, standardised(load_two(at, two), center, scale, low, high), two);
}

/* Replace the first k values of n rows of k + 1 by (value - center) * scale, from low to high; missing
ones by 0. */
static inline void standardise(double *rows, int n, int k, const double *centers,
                               const double *scales, const double *lows, const double *highs) {
    BY_TWO(k, standardise_two(rows + j, n, k + 1, centers + j, scales + j, lows + j, highs + j, TWO))
}

INLINE double add_slope(double slope, const double *row, int n_columns, const int *columns,
                        const double *model, const double *centers, const double *scales,
                        const double *lows, const double *highs, int two) {
    int a = columns[0], b = columns[two];
    double z[2];
    store_doubles(z, standardised(
        two_doubles(a < n_columns ? row[a] : NAN, b < n_columns ? row[b] : NAN),
        load_two(centers, two), load_two(scales, two), load_two(lows, two), load_two(highs, two)));
    slope += model[0] * z[0];
    return two ? slope + model[1] * z[1] : slope;
}

/* The sum of the terms of k regressors, in their order, at a row of values by column: of columns from
n_columns on, all values are missing. */
static inline double slope_at(const double *row, int n_columns, const int *columns, int k,
                              const double *model, const double *centers, const double *scales,
                              const double *lows, const double *highs) {
    double slope = -model[k];
    BY_TWO(k, slope = add_slope(slope, row, n_columns, columns + j, model + j, centers + j, scales + j,
                                lows + j, highs + j, TWO))
    return slope;
}

/* Add the term of a regressor for each of n rows, which have one model each, or all the same one
if `models` is NULL. */
static inline void add_terms(double *totals, const double *const *models, const double *same,
                             int regressor, const double *values, int n, double center,
                             double scale, double low, double high) {
    Doubles centers = all_doubles(center), scales = all_doubles(scale);
    Doubles lows = all_doubles(low), highs = all_doubles(high);
    Doubles of_model = all_doubles(models == NULL ? same[regressor] : 0.0);
    double last[2];
    int i;
    for (i = 0; i + 2 <= n; i += 2) {
        Doubles z = standardised(load_doubles(values + i), centers, scales, lows, highs);
        if (models != NULL)
            of_model = two_doubles(models[i][regressor], models[i + 1][regressor]);
        store_doubles(totals + i, add_doubles(load_doubles(totals + i),
                                              multiply_doubles(of_model, z)));
    }
    if (n & 1) {
        i = n - 1;
        store_doubles(last, standardised(all_doubles(values[i]), centers, scales, lows, highs));
        totals[i] += (models == NULL ? same : models[i])[regressor] * last[0];
    }
}

INLINE void follow_two(double *lows, double *highs, double *means, double *squares,
                       const double *rows, int n, int size, const double *weights,
                       const double *shares, int two) {
    Doubles low = load_two(lows, two), high = load_two(highs, two);
    Doubles mean = load_two(means, two), sum = load_two(squares, two);
    int i;
    for (i = 0; i < n; i++) {
        Doubles x = load_two(rows + i * size, two), delta = subtract_doubles(x, mean);
        low = least_doubles(x, low), high = largest_doubles(x, high);
        mean = add_doubles(mean, multiply_doubles(delta, all_doubles(shares[i])));
        sum = add_doubles(sum, multiply_doubles(
            multiply_doubles(all_doubles(weights[i]), delta), subtract_doubles(x, mean)));
    }
    store_two(lows, low, two), store_two(highs, high, two);
    store_two(means, mean, two), store_two(squares, sum, two);
}

/* Let n rows of k values, `size` apart, enter ranges, means and sums of squares about the means, one
row after the other. shares[i] is the share of weights[i] in the total up to row i. */
static inline void follow_rows(double *lows, double *highs, double *means, double *squares, int k,
                               const double *rows, int n, int size, const double *weights,
                               const double *shares) {
    BY_TWO(k, follow_two(lows + j, highs + j, means + j, squares + j, rows + j, n, size, weights,
                         shares, TWO))
}

INLINE void move_two(double *means, const double *values, int are_heavier, double share, double rest,
                     double factor, double *steps, double *products, int two) {
    Doubles x = load_two(values, two), mean = load_two(means, two);
    Doubles step = subtract_doubles(x, mean);
    /* From the heavier side: rounding errors of means far away would remain after nearly all of
    their weight has decayed. */
    mean = are_heavier ? add_doubles(mean, multiply_doubles(all_doubles(share), step))
                       : subtract_doubles(x, multiply_doubles(all_doubles(rest), step));
    store_two(means, mean, two);
    store_doubles(steps, step);
    store_doubles(products, multiply_doubles(all_doubles(factor), step));
}

/* Move means to those with one more sample, which has a share of the weight; the others, which may be
heavier, have the rest. Its steps from the means before are written, and these times a factor. */
static inline void move_means(double *means, const double *values, int n, int are_heavier,
                              double share, double rest, double factor, double *steps,
                              double *products) {
    BY_TWO(n, move_two(means + j, values + j, are_heavier, share, rest, factor, steps + j,
                       products + j, TWO))
}

INLINE void add_units(double *cells, int n_cells, const double *steps, const double *factors, int n,
                      int width, int k) {
    Doubles sums[4];
    int i, v;
    for (v = 0; v < k; v++) sums[v] = load_two(cells + 2 * v, 2 * v + 1 < n_cells);
    for (i = 0; i < n; i++, steps += width, factors += width) {
        Doubles factor = all_doubles(*factors);
        for (v = 0; v < k; v++)
            sums[v] = add_doubles(sums[v], multiply_doubles(factor, load_doubles(steps + 2 * v)));
    }
    for (v = 0; v < k; v++) store_two(cells + 2 * v, sums[v], 2 * v + 1 < n_cells);
}

/* Add the products of n samples to the lower triangle of `size` rows: to cell (i, j) factors[i] *
steps[j] of each sample, one after the other. Those of a sample are an even `width` apart. */
static inline void add_products(double *cells, int size, const double *steps, const double *factors,
                                int n, int width) {
    int i;
    for (i = 0; i < size; cells += ++i)
        FOUR_AT_A_TIME(i / 2 + 1, add_units(cells + 2 * unit, i + 1 - 2 * unit, steps + 2 * unit,
                                            factors + i, n, width, K))
}

#endif
