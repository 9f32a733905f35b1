/* Shapley values in a tree by quadrature: see `explain.pxd`, which documents the structures.

Points are taken two at a time. n is the number of points, an even one, so all loops over points end where the compiler knows.
Vectors of gcc and clang are those of any processor, and other compilers get loops. The bits are the
same: each point takes part in the same operations, and the points are added up in the same order.

Of rows side by side, an edge has three cases, by what a row does at the splits on its feature: 0, it
has left the path at an earlier edge; 1, it leaves the path here; 2, it agrees with all of them.
`ratios` and `gains` have n numbers per case; `inverses` and `agreed` n numbers of rows that do not
agree, then n of those that do; `cases` has the case of each row; products and sums have n numbers
per row.

One row alone needs no numbers per point for an edge of case 0, about half of all edges: the product is
multiplied by a share of the weight, and the feature gets nothing. So there is a level only for each
other edge; what lies below one of case 0 has the level above it, times `scale`, and its leaves are
added up in the `total` of the level.

Where a row does not agree, w has no part in the functions of t: the factor w (1 - t) is kept as
1 - t, and w as the share of a node in the one above. */
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

typedef struct {
    double value, weight;
    int feature, right, depth;
    unsigned int left;
} Step;

typedef struct {
    int feature, before;
    unsigned int agrees;
    double share, step;
} Edge;

#define MOST_ROWS 16
#define MOST_POINTS 16

typedef struct {
    Edge edge;
    int below, left;
    unsigned int goes_left;
    double inverse_weight;
    double inverses[2 * MOST_POINTS], agreed[2 * MOST_POINTS], gains[3 * MOST_POINTS];
    unsigned char cases[MOST_ROWS];
    double *products, *sums;
    double total;
} Level;

typedef struct {
    const Step *steps;
    Level *levels;
    int *latest;
    const double *values, *means;
    double *lanes, *phi;
    int n_steps, deepest;
} Visit;

#define LOAD(to, from) memcpy(&(to), (from), sizeof(Two))
#define STORE(to, from) memcpy((to), &(from), sizeof(Two))

/* At one point: what an edge multiplies the product with, and what its feature gets at a leaf. */
INLINE Two ratio_at(Two t, Two inverse, double constant, double slope) {
    return MUL(ADD(ALL(constant), MUL(t, ALL(slope))), inverse);
}

INLINE Two leaf_gain_at(Two weight, Two inverse, Two ratio, double own, double slope) {
    return MUL(MUL(weight, inverse), SUB(ALL(own), MUL(ALL(slope), ratio)));
}

INLINE Two inverse_at(Two t, double share) {
    return DIV(ALL(1.0), ADD(ALL(share), MUL(t, ALL(1.0 - share))));
}

#define AGREED_BEFORE (k > 0)
#define AGREES (k > 1)
#define OF_STATE(numbers, agrees) ((numbers) + ((agrees) ? n : 0))

/* What an edge multiplies the products with. `share` is w of its feature, and `step` the share of
   the node in the one above. `inverses` are those of the edge before. */
INLINE void find_ratios(int n, const double *points, double share, double step,
                        const double *inverses, double *ratios) {
    Two t, ratio, inverse;
    const double *before;
    double constant, slope;
    int k, q;
    for (k = 0; k < 3; k++) {
        before = OF_STATE(inverses, AGREED_BEFORE);
        constant = AGREED_BEFORE ? share : step;
        slope = (AGREES ? 1.0 : 0.0) - constant;
        for (q = 0; q < n; q += 2) {
            LOAD(t, points + q);
            LOAD(inverse, before + q);
            ratio = ratio_at(t, inverse, constant, slope);
            STORE(ratios + k * n + q, ratio);
        }
    }
}

/* What the feature of an edge gets of the sums below: the leaves below count for the latest edge of
   a feature, no longer for the one before. `agreed` is weight (1 - w) / (w + t (1 - w)), or
   -weight / (1 - t) of rows that do not agree. */
INLINE void find_gains(int n, const double *points, const double *weights, double share,
                       const double *before, double *inverses, double *agreed, double *gains) {
    Two t, weight, inverse, gain, earlier;
    int k, q;
    for (q = 0; q < n; q += 2) {            /* rows that agree; for others see `begin_path` */
        LOAD(t, points + q);
        LOAD(weight, weights + q);
        inverse = inverse_at(t, share);
        gain = MUL(MUL(weight, ALL(1.0 - share)), inverse);
        STORE(inverses + n + q, inverse);
        STORE(agreed + n + q, gain);
    }
    for (k = 0; k < 3; k++) {
        for (q = 0; q < n; q += 2) {
            LOAD(gain, OF_STATE(agreed, AGREES) + q);
            LOAD(earlier, OF_STATE(before, AGREED_BEFORE) + q);
            gain = SUB(gain, earlier);
            STORE(gains + k * n + q, gain);
        }
    }
}

/* The same for an edge to a leaf, of the products above it times the value: without a division. */
INLINE void find_leaf_gains(int n, const double *weights, double share, double share_before,
                            const double *inverses, const double *ratios, double *gains) {
    Two weight, inverse, ratio, gain;
    double own, slope;
    int k, q;
    for (k = 0; k < 3; k++) {
        own = (AGREES ? 1.0 : 0.0) - share;
        slope = 1.0 - share_before;
        for (q = 0; q < n; q += 2) {
            LOAD(weight, weights + q);
            LOAD(inverse, OF_STATE(inverses, AGREED_BEFORE) + q);
            LOAD(ratio, ratios + k * n + q);
            gain = AGREED_BEFORE ? leaf_gain_at(weight, inverse, ratio, own, slope) : ALL(0.0);
            STORE(gains + k * n + q, gain);
        }
    }
}

/* Go down an edge. Nothing has been added up below it. */
INLINE void go_down(int n, int n_rows, const double *ratios, const unsigned char *cases,
                    const double *above, double *products, double *sums) {
    Two product, ratio, zero = ALL(0.0);
    const double *of_case;
    int row, q;
    for (row = 0; row < n_rows; row++) {
        of_case = ratios + cases[row] * n;
        for (q = 0; q < n; q += 2) {
            LOAD(product, above + row * n + q);
            LOAD(ratio, of_case + q);
            product = MUL(product, ratio);
            STORE(products + row * n + q, product);
            STORE(sums + row * n + q, zero);
        }
    }
}

/* Go up an edge: add the sums below it to those above it, and to `phi` what its feature gets. */
INLINE void go_up(int n, int n_rows, const double *gains, const unsigned char *cases,
                  const double *sums, double *above, double *phi) {
    Two sum, gain, upper, total;
    const double *of_case;
    int row, q;
    for (row = 0; row < n_rows; row++) {
        of_case = gains + cases[row] * n;
        total = ALL(0.0);
        for (q = 0; q < n; q += 2) {
            LOAD(sum, sums + row * n + q);
            LOAD(gain, of_case + q);
            LOAD(upper, above + row * n + q);
            total = ADD(total, MUL(sum, gain));
            upper = ADD(upper, sum);
            STORE(above + row * n + q, upper);
        }
        phi[row] += AT(total, 0) + AT(total, 1);
    }
}

/* Go down to a leaf and up again; the mean of the tree has no contributions. */
INLINE void visit_leaf(int n, int n_rows, const double *ratios, const double *gains,
                       const unsigned char *cases, const double *values, const double *means,
                       const double *products, double *sums, double *phi) {
    Two value, ratio, gain, sum, total;
    const double *ratio_of_case, *gain_of_case;
    int row, q;
    for (row = 0; row < n_rows; row++) {
        ratio_of_case = ratios + cases[row] * n;
        gain_of_case = gains + cases[row] * n;
        total = ALL(0.0);
        for (q = 0; q < n; q += 2) {
            LOAD(value, products + row * n + q);
            LOAD(ratio, ratio_of_case + q);
            LOAD(gain, gain_of_case + q);
            LOAD(sum, sums + row * n + q);
            value = MUL(value, ALL(values[row] - means[row]));
            total = ADD(total, MUL(value, gain));
            sum = ADD(sum, MUL(value, ratio));
            STORE(sums + row * n + q, sum);
        }
        phi[row] += AT(total, 0) + AT(total, 1);
    }
}

INLINE void begin_level(Level *level, const Step *steps, int place) {
    level->below = steps[place].feature;
    level->goes_left = steps[place].left;
    level->left = place + 1;
    level->inverse_weight = steps[place].weight > 0.0 ? 1.0 / steps[place].weight : 0.0;
}

/* Begin at the root: as if all rows agreed on a feature of the share 1. */
INLINE void begin_path(const Visit *tree, int n, const double *points, const double *weights,
                       int n_rows) {
    const Edge none = {-1, 0, (1u << n_rows) - 1u, 1.0, 1.0};
    Level *level = tree->levels;
    int depth, q;
    for (depth = 0; depth <= tree->deepest; depth++) {
        level[depth].products = tree->lanes + (size_t)2 * n * n_rows * depth;
        level[depth].sums = level[depth].products + n * n_rows;
        for (q = 0; q < n; q++) {           /* of rows that do not agree: the same at all edges */
            level[depth].inverses[q] = 1.0 / (1.0 - points[q]);
            level[depth].agreed[q] = -weights[q] * level[depth].inverses[q];
        }
    }
    level->edge = none;
    level->total = 0.0;
    begin_level(level, tree->steps, 0);
    for (q = 0; q < 2 * n; q++) level->inverses[q] = 1.0, level->agreed[q] = 0.0;
    for (q = 0; q < n * n_rows; q++) level->products[q] = 1.0, level->sums[q] = 0.0;
}

/* The edge to a node from the one above it, and the case of each row. */
INLINE Edge edge_to(const Visit *tree, int place, int n_rows, unsigned char *cases) {
    const Step *step = tree->steps + place;
    const Level *above = tree->levels + step->depth - 1;
    const Edge *before;
    Edge edge;
    int row;
    edge.feature = above->below;
    edge.before = tree->latest[edge.feature];
    before = &tree->levels[edge.before].edge;
    edge.agrees = before->agrees & (place == above->left ? above->goes_left : ~above->goes_left);
    edge.step = above->inverse_weight > 0.0 ? step->weight * above->inverse_weight : 0.5;
    edge.share = before->share * edge.step;
    for (row = 0; row < n_rows; row++)
        cases[row] = (before->agrees >> row & 1) + (edge.agrees >> row & 1);
    return edge;
}

INLINE void add_leaf(const Visit *tree, int place, int n, const double *points,
                     const double *weights, int n_rows) {
    double ratios[3 * MOST_POINTS], gains[3 * MOST_POINTS];
    unsigned char cases[MOST_ROWS];
    const Edge edge = edge_to(tree, place, n_rows, cases);
    const Level *above = tree->levels + tree->steps[place].depth - 1;
    const Level *before = tree->levels + edge.before;
    const double *values = tree->values + (size_t)tree->steps[place].left * n_rows;
    double *phi = tree->phi + (size_t)edge.feature * n_rows;
    if (edge.agrees == 0 && edge.share == 0.0) return;
    find_ratios(n, points, edge.share, edge.step, before->inverses, ratios);
    find_leaf_gains(n, weights, edge.share, before->edge.share, before->inverses, ratios, gains);
    visit_leaf(n, n_rows, ratios, gains, cases, values, tree->means, above->products, above->sums,
               phi);
}

/* Go down an edge; return whether a leaf below it counts. */
INLINE int enter(const Visit *tree, int place, int n, const double *points, const double *weights,
                 int n_rows) {
    double ratios[3 * MOST_POINTS];
    Level *level = tree->levels + tree->steps[place].depth;
    const Edge edge = edge_to(tree, place, n_rows, level->cases);
    const Level *before = tree->levels + edge.before;
    if (edge.agrees == 0 && edge.share == 0.0) return 0;
    find_ratios(n, points, edge.share, edge.step, before->inverses, ratios);
    find_gains(n, points, weights, edge.share, before->agreed, level->inverses, level->agreed,
               level->gains);
    go_down(n, n_rows, ratios, level->cases, (level - 1)->products, level->products, level->sums);
    level->edge = edge;
    begin_level(level, tree->steps, place);
    tree->latest[edge.feature] = tree->steps[place].depth;
    return 1;
}

INLINE void leave(const Visit *tree, int depth, int n, int n_rows) {
    const Level *level = tree->levels + depth;
    go_up(n, n_rows, level->gains, level->cases, level->sums, (level - 1)->sums,
          tree->phi + (size_t)level->edge.feature * n_rows);
    tree->latest[level->edge.feature] = level->edge.before;
}

INLINE void visit_leaves(const Visit *tree, int n, const double *points, const double *weights,
                         int n_rows) {
    const Step *steps = tree->steps;
    int i, depth, at = 0;
    if (steps[0].feature < 0) return;
    begin_path(tree, n, points, weights, n_rows);
    for (i = 1; i < tree->n_steps; i++) {
        depth = steps[i].depth;
        for (; at >= depth; at--) leave(tree, at, n, n_rows);
        if (steps[i].feature < 0)
            add_leaf(tree, i, n, points, weights, n_rows);
        else if (enter(tree, i, n, points, weights, n_rows))
            at = depth;
        else                                /* no weight, and no row goes there */
            while (i + 1 < tree->n_steps && steps[i + 1].depth > depth) i++;
    }
    for (; at > 0; at--) leave(tree, at, n, n_rows);
}

/* --- One row ---------------------------------------------------------------------------------- */

INLINE void add_leaf_alone(int n, const double *points, const double *weights, const Edge *edge,
                           const Level *before, double value, const Level *above, double *phi) {
    Two t, weight, inverse, ratio, product, sum, total = ALL(0.0);
    int q;
    for (q = 0; q < n; q += 2) {
        LOAD(t, points + q);
        LOAD(weight, weights + q);
        LOAD(inverse, before->inverses + n + q);
        LOAD(product, above->products + q);
        LOAD(sum, above->sums + q);
        ratio = ratio_at(t, inverse, edge->share, edge->agrees - edge->share);
        product = MUL(product, ALL(value));
        total = ADD(total, MUL(product, leaf_gain_at(weight, inverse, ratio,
                                                     edge->agrees - edge->share,
                                                     1.0 - before->edge.share)));
        sum = ADD(sum, MUL(product, ratio));
        STORE(above->sums + q, sum);
    }
    *phi += AT(total, 0) + AT(total, 1);
}

/* Go down an edge on whose feature the row agreed before. */
INLINE void enter_alone(int n, const double *points, const double *weights, const Edge *edge,
                        const Level *before, double scale, const Level *above, Level *level) {
    const double slope = edge->agrees - edge->share;
    Two t, weight, inverse, gain, earlier, product, zero = ALL(0.0);
    int q;
    for (q = 0; q < n; q += 2) {
        LOAD(t, points + q);
        LOAD(inverse, before->inverses + n + q);
        LOAD(product, above->products + q);
        product = MUL(product, ratio_at(t, inverse, scale * edge->share, scale * slope));
        STORE(level->products + q, product);
        STORE(level->sums + q, zero);
        LOAD(gain, level->agreed + q);
        if (edge->agrees) {
            LOAD(weight, weights + q);
            inverse = inverse_at(t, edge->share);
            gain = MUL(MUL(weight, ALL(slope)), inverse);
            STORE(level->inverses + n + q, inverse);
            STORE(level->agreed + n + q, gain);
        }
        LOAD(earlier, before->agreed + n + q);
        gain = SUB(gain, earlier);
        STORE(level->gains + q, gain);
    }
}

/* Go up an edge from a level to the one above. */
INLINE void leave_alone(int n, const Level *level, const Level *above, double *phi) {
    Two sum, product, gain, upper, total = ALL(0.0);
    int q;
    for (q = 0; q < n; q += 2) {
        LOAD(sum, level->sums + q);
        LOAD(product, level->products + q);
        LOAD(gain, level->gains + q);
        LOAD(upper, above->sums + q);
        sum = ADD(sum, MUL(product, ALL(level->total)));
        total = ADD(total, MUL(sum, gain));
        upper = ADD(upper, sum);
        STORE(above->sums + q, upper);
    }
    *phi += AT(total, 0) + AT(total, 1);
}

typedef void (*Below)(const Visit *tree, int place, Level *level, double scale,
                      const double *points, const double *weights);

/* Go down to a child, and to all below it, from a level on; and up again. */
INLINE void visit_child(const Visit *tree, int n, Below below, int child, int feature, int agrees,
                        double share, Level *level, double scale, const double *points,
                        const double *weights) {
    const Step *step = tree->steps + child;
    const int latest = tree->latest[feature];
    const Level *before = tree->levels + latest;
    Edge edge;
    edge.feature = feature, edge.agrees = agrees, edge.share = before->edge.share * share;
    if (!agrees && edge.share == 0.0) return;
    if (step->feature < 0) {
        add_leaf_alone(n, points, weights, &edge, before,
                       scale * (tree->values[step->left] - tree->means[0]), level,
                       tree->phi + feature);
        return;
    }
    enter_alone(n, points, weights, &edge, before, scale, level, level + 1);
    level[1].edge = edge, level[1].total = 0.0;
    tree->latest[feature] = (int)(level + 1 - tree->levels);
    below(tree, child, level + 1, 1.0, points, weights);
    leave_alone(n, level + 1, level, tree->phi + feature);
    tree->latest[feature] = latest;
}

/* A child on whose feature the row did not agree before. */
INLINE void pass_child(const Visit *tree, Below below, int child, double scale, Level *level,
                       const double *points, const double *weights) {
    const Step *step = tree->steps + child;
    if (step->feature < 0)
        level->total += scale * (tree->values[step->left] - tree->means[0]);
    else if (scale > 0.0)
        below(tree, child, level, scale, points, weights);
}

INLINE void visit_below(const Visit *tree, int n, Below below, int place, Level *level,
                        double scale, const double *points, const double *weights) {
    const Step *step = tree->steps + place;
    const int left = place + 1, right = step->right, goes_left = step->left & 1;
    const double share = step->weight > 0.0 ? tree->steps[left].weight / step->weight : 0.5;
    if (!tree->levels[tree->latest[step->feature]].edge.agrees) {
        pass_child(tree, below, left, scale * share, level, points, weights);
        pass_child(tree, below, right, scale * (1.0 - share), level, points, weights);
        return;
    }
    visit_child(tree, n, below, goes_left ? left : right, step->feature, 1,
                goes_left ? share : 1.0 - share, level, scale, points, weights);
    visit_child(tree, n, below, goes_left ? right : left, step->feature, 0,
                goes_left ? 1.0 - share : share, level, scale, points, weights);
}

#define BELOW(n)                                                                                   \
    static void below_##n(const Visit *tree, int place, Level *level, double scale,                \
                          const double *points, const double *weights) {                           \
        visit_below(tree, n, below_##n, place, level, scale, points, weights);                     \
    }
BELOW(4)
BELOW(8)
BELOW(12)
BELOW(16)

/* Loops over points are unrolled. */
#define VISIT(n)                                                                                   \
    if (n_rows == 1) {                                                                             \
        if (tree->steps[0].feature < 0) return;                                                    \
        begin_path(tree, n, points, weights, 1);                                                   \
        below_##n(tree, 0, tree->levels, 1.0, points, weights);                                    \
    }                                                                                              \
    else visit_leaves(tree, n, points, weights, n_rows)

static inline void visit(const Visit *tree, int n, const double *points, const double *weights,
                         int n_rows) {
    if (n == 4) { VISIT(4); }
    else if (n == 8) { VISIT(8); }
    else if (n == 12) { VISIT(12); }
    else { VISIT(16); }
}

#endif
