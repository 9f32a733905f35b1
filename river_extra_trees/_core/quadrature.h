/* Shapley values in a tree by quadrature: see `explain.pxd`, which has the formulas and documents the
structures.

Points are taken two at a time. n is the number of points, an even one, so all loops over points end
where the compiler knows. Vectors of gcc and clang are those of any processor, and other compilers
get loops. The bits are the same: each point takes part in the same operations, and the points are
added up in the same order.

A split has three cases, by what a row does at the splits on its feature: 0, it has left the path at
one above; 1, it goes left; 2, it goes right. What products and means are multiplied with depends on
the row by its case alone. One row takes the same operations as many, for its case only. */
#ifndef QUADRATURE_H
#define QUADRATURE_H

#include <string.h>

#ifdef _MSC_VER
#define INLINE static __forceinline
#else
#define INLINE static inline __attribute__((always_inline))
#endif

#if defined(__GNUC__) && !defined(PLAIN)

typedef double Two __attribute__((vector_size(16)));

#define ALL(a) ((Two){(a), (a)})
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define DIV(a, b) ((a) / (b))
#define AT(a, q) ((a)[q])

#else

typedef struct { double at[2]; } Two;

#define AT(a, q) ((a).at[q])
#define TWO(name, operation)                                                                      \
    INLINE Two name(Two a, Two b) {                                                             \
        int q;                                                                                     \
        for (q = 0; q < 2; q++) a.at[q] = a.at[q] operation b.at[q];                               \
        return a;                                                                                  \
    }
TWO(ADD, +)
TWO(SUB, -)
TWO(MUL, *)
TWO(DIV, /)
INLINE Two ALL(double a) { Two all = {{a, a}}; return all; }

#endif

#define MOST_ROWS 16
#define MOST_POINTS 16
#define CASES 3

typedef struct {
    int feature, children[2];
    unsigned int left;
    double weights[2];
} Fork;

typedef struct {
    Fork fork;
    int before;                         /* level of the split on the feature above; 0: none */
    int side;                           /* the next child to visit; 2: none */
    int skipped;                        /* a side that does not count, or -1 */
    unsigned int agrees;                /* the rows that agree with these splits, this one too */
    double shares[2];                   /* of the children in the weight */
    double w_below;                     /* w of the feature below */
    double inverses[MOST_POINTS];       /* 1 / F there, of the rows that agree */
    unsigned char cases[MOST_ROWS];
} Level;

typedef struct {
    void (*look)(void *source, int node, Fork *found, double *values);
    void *source;
    int n_rows;
    double *phi;
    long stride;
    Level *levels;
    double *lanes;
    int n_levels;
    int *latest;
} Visit;

#define LOAD(to, from) memcpy(&(to), (from), sizeof(Two))
#define STORE(to, from) memcpy((to), &(from), sizeof(Two))

/* The numbers of a level. Per row and point: the products above, and U of both children; per child
   and row: the values of leaves. */
INLINE double *lanes_of(const Visit *tree, int depth, int n, int n_rows) {
    return tree->lanes + (size_t)depth * (3 * n + 2) * n_rows;
}

/* The numbers of a case; of one row there is only one. */
#define OF_CASE(numbers, k) ((numbers) + (n_rows == 1 ? 0 : (k) * n))

/* The cases that there are. */
#define EACH_CASE(k) for (k = n_rows == 1 ? here->cases[0] : 0;                                    \
                          k < (n_rows == 1 ? here->cases[0] + 1 : agreed ? CASES : 1); k++)

INLINE void open_split(const Visit *tree, int depth, int node, int n, int n_rows) {
    Level *here = tree->levels + depth;
    unsigned int agreed;
    double weight;
    int row;
    tree->look(tree->source, node, &here->fork,
               lanes_of(tree, depth, n, n_rows) + 3 * n * n_rows);
    weight = here->fork.weights[0] + here->fork.weights[1];
    weight = weight > 0.0 ? 1.0 / weight : 0.0;
    here->shares[0] = weight > 0.0 ? here->fork.weights[0] * weight : 0.5;
    here->shares[1] = weight > 0.0 ? here->fork.weights[1] * weight : 0.5;
    here->side = 0;
    here->skipped = -1;
    here->before = tree->latest[here->fork.feature];
    agreed = tree->levels[here->before].agrees;
    for (row = 0; row < n_rows; row++)
        here->cases[row] = (agreed >> row & 1) * (2 - (here->fork.left >> row & 1));
}

/* Prepare the visit of a child, which is split. */
INLINE void enter(const Visit *tree, int depth, int side, int n, int n_rows,
                  const double *points) {
    Level *here = tree->levels + depth;
    const Level *above = tree->levels + here->before;
    const unsigned int agreed = above->agrees;
    const double *products = lanes_of(tree, depth, n, n_rows), *of_case;
    double *below = lanes_of(tree, depth + 1, n, n_rows);
    const double w = above->w_below * here->shares[side];
    double ratios[CASES * MOST_POINTS];
    Two t, factor, inverse, ratio, product;
    int k, q, row;
    here->w_below = w;
    here->agrees = agreed & (side ? ~here->fork.left : here->fork.left);
    tree->latest[here->fork.feature] = depth;
    EACH_CASE(k) {
        for (q = 0; q < n; q += 2) {
            ratio = ALL(here->shares[side]);
            if (k > 0) {
                LOAD(t, points + q);
                LOAD(inverse, above->inverses + q);
                if (k == 1 + side) {
                    factor = ADD(ALL(w), MUL(t, ALL(1.0 - w)));
                    ratio = MUL(factor, inverse);
                    factor = DIV(ALL(1.0), factor);
                    STORE(here->inverses + q, factor);
                } else {
                    ratio = MUL(MUL(ALL(w), SUB(ALL(1.0), t)), inverse);
                }
            }
            STORE(OF_CASE(ratios, k) + q, ratio);
        }
    }
    for (row = 0; row < n_rows; row++) {
        of_case = OF_CASE(ratios, here->cases[row]);
        for (q = 0; q < n; q += 2) {
            LOAD(product, products + row * n + q);
            LOAD(ratio, of_case + q);
            product = MUL(product, ratio);
            STORE(below + row * n + q, product);
        }
    }
}

/* Take the children that are leaves; return the node of one that has to be visited, or -1. */
INLINE int next_child(const Visit *tree, int depth, int n, int n_rows, const double *points) {
    Level *here = tree->levels + depth;
    double *means, *values = lanes_of(tree, depth, n, n_rows) + 3 * n * n_rows;
    unsigned int goes;
    Two value;
    int side, row, q;
    while (here->side < 2) {
        side = here->side++;
        goes = tree->levels[here->before].agrees & (side ? ~here->fork.left : here->fork.left);
        if (here->shares[side] == 0.0 && !goes) {
            here->skipped = side;
        } else if (here->fork.children[side] >= 0) {
            enter(tree, depth, side, n, n_rows, points);
            return here->fork.children[side];
        } else {
            means = lanes_of(tree, depth, n, n_rows) + (1 + side) * n * n_rows;
            for (row = 0; row < n_rows; row++) {
                value = ALL(values[side * n_rows + row]);
                for (q = 0; q < n; q += 2) STORE(means + row * n + q, value);
            }
        }
    }
    return -1;
}

/* Divide what is below a split, and write U of it. A row starts from U of the side to which it goes,
   or of the heavier one, so that a side without weight changes nothing. */
INLINE void close_split(const Visit *tree, int depth, int n, int n_rows, const double *points) {
    const Level *here = tree->levels + depth, *above = tree->levels + here->before;
    const unsigned int agreed = above->agrees;
    const double *products = lanes_of(tree, depth, n, n_rows);
    const double *left = products + n * n_rows, *right = left + n * n_rows, *from[CASES];
    double *means = lanes_of(tree, depth - 1, n, n_rows) + tree->levels[depth - 1].side * n * n_rows;
    double steps[CASES * MOST_POINTS], gains[CASES * MOST_POINTS], c;
    double *phi = tree->phi + here->fork.feature * tree->stride;
    Two t, inverse, step, gain, gap, mean, product, total;
    int k, q, row;
    tree->latest[here->fork.feature] = here->before;
    if (here->skipped >= 0) {
        memcpy(means, here->skipped ? left : right, (size_t)n * n_rows * sizeof(double));
        return;
    }
    from[0] = here->shares[1] > 0.5 ? right : left;
    from[1] = left;
    from[2] = right;
    EACH_CASE(k) {
        c = k == 0 ? (here->shares[1] > 0.5 ? -here->shares[0] : here->shares[1])
                   : above->w_below * (k == 1 ? here->shares[1] : -here->shares[0]);
        for (q = 0; q < n; q += 2) {
            step = ALL(c);
            gain = ALL(0.0);
            if (k > 0) {
                LOAD(t, points + q);
                LOAD(inverse, above->inverses + q);
                gain = MUL(step, inverse);
                step = MUL(gain, SUB(ALL(1.0), t));
                gain = MUL(gain, inverse);
            }
            STORE(OF_CASE(steps, k) + q, step);
            STORE(OF_CASE(gains, k) + q, gain);
        }
    }
    for (row = 0; row < n_rows; row++) {
        k = here->cases[row];
        total = ALL(0.0);
        for (q = 0; q < n; q += 2) {
            LOAD(gap, right + row * n + q);
            LOAD(mean, left + row * n + q);
            gap = SUB(gap, mean);
            LOAD(mean, from[k] + row * n + q);
            LOAD(step, OF_CASE(steps, k) + q);
            mean = ADD(mean, MUL(step, gap));
            STORE(means + row * n + q, mean);
            if (n_rows == 1 && k == 0) continue;
            LOAD(product, products + row * n + q);
            LOAD(gain, OF_CASE(gains, k) + q);
            total = ADD(total, MUL(MUL(product, gap), gain));
        }
        if (n_rows > 1 || k > 0) phi[row] -= AT(total, 0) + AT(total, 1);
    }
}

/* Begin at level 1; level 0 stands for no split: all rows agree, and the share is 1. */
INLINE void begin_visit(const Visit *tree, int n, int n_rows, const double *scales,
                        const double *weights) {
    Level *none = tree->levels;
    double *products = lanes_of(tree, 1, n, n_rows);
    int q, row;
    none->w_below = none->side = 1;
    none->agrees = (1u << n_rows) - 1u;
    for (q = 0; q < n; q++) none->inverses[q] = 1.0;
    for (row = 0; row < n_rows; row++)
        for (q = 0; q < n; q++) products[row * n + q] = weights[q] * scales[row];
}

/* Visit a split, for which there may be no level, and all that follow. Return 0; or the depth of one
   that has no level, whose number is written to `node`: visit it when there are more levels. */
INLINE int visit_splits(const Visit *tree, int depth, int *node, int n, int n_rows,
                        const double *points, const double *scales, const double *weights) {
    if (depth == 1) begin_visit(tree, n, n_rows, scales, weights);
    for (;; depth++) {
        if (depth + 1 >= tree->n_levels) return depth;      /* `enter` writes to the next one */
        open_split(tree, depth, *node, n, n_rows);
        while ((*node = next_child(tree, depth, n, n_rows, points)) < 0) {
            close_split(tree, depth, n, n_rows, points);
            if (--depth == 0) return 0;
        }
    }
}

/* Loops over points are unrolled, also that over one row. */
#define VISIT(n)                                                                                   \
    return tree->n_rows == 1                                                                       \
        ? visit_splits(tree, depth, node, n, 1, points, scales, weights)                           \
        : visit_splits(tree, depth, node, n, tree->n_rows, points, scales, weights)

static inline int visit(const Visit *tree, int depth, int *node, int n, const double *points,
                        const double *scales, const double *weights) {
    if (n == 4) { VISIT(4); }
    if (n == 8) { VISIT(8); }
    if (n == 12) { VISIT(12); }
    VISIT(16);
}

#endif
