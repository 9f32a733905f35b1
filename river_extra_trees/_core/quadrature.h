/* Shapley values in a tree by quadrature, for one row: see `explain.pxd`, which has the formulas and
documents the structures.

Points are taken two at a time. n is the number of points, an even one, so all loops over points end
where the compiler knows. Vectors of gcc and clang are those of any processor, and other compilers
get loops. The bits are the same: each point takes part in the same operations, and the points are
added up in the same order.

Of the factor c (1 - t) of the side against x, the products have 1 - t, and `scale` has c. So a split
on a feature that x has left changes no product. */
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

#define MOST_POINTS 16

typedef struct {
    int feature, children[2];
    double weights[2], values[2];
} Fork;

typedef struct {
    Fork fork;
    int latest;             /* the level with F of the feature above; -1: x has left it */
    int above;              /* the level with the products above */
    int side;               /* the next child to visit; 2: none */
    int skipped;            /* the side without weight, or -1 */
    double shares[2];       /* of the children in the weight */
    double scale;           /* of the products above */
    double w;               /* of the feature, above */
    double w_below;         /* on the side of x */
    double over[MOST_POINTS];           /* products above, over F */
    double inverses[MOST_POINTS];       /* 1 / F below, on the side of x */
    double fading[MOST_POINTS];         /* (1 - t) / F there */
    double below[MOST_POINTS];          /* products of the child that is visited */
    double means[2][MOST_POINTS];       /* U of the children */
} Level;

typedef struct {
    void (*look)(void *source, int node, Fork *found);
    void *source;
    Level *levels;
    int n_levels;
    int *latest;
    double *phi;
    long stride;
} Visit;

#define LOAD(to, from) memcpy(&(to), (from), sizeof(Two))
#define STORE(to, from) memcpy((to), &(from), sizeof(Two))

/* Describe a split; return whether both children are leaves. */
INLINE int open_split(const Visit *tree, Level *here, int node) {
    double inverse;
    tree->look(tree->source, node, &here->fork);
    here->side = 0;
    here->skipped = -1;
    inverse = here->fork.weights[0] + here->fork.weights[1];
    inverse = inverse > 0.0 ? 1.0 / inverse : 0.0;
    here->shares[0] = inverse > 0.0 ? here->fork.weights[0] * inverse : 0.5;
    here->shares[1] = inverse > 0.0 ? here->fork.weights[1] * inverse : 0.5;
    here->latest = tree->latest[here->fork.feature];
    here->w = tree->levels[here->latest < 0 ? 0 : here->latest].w_below;
    return (here->fork.children[0] & here->fork.children[1]) < 0;
}

INLINE void find_over(const Visit *tree, Level *here, int n) {
    Two product, factor;
    int q;
    if (here->latest < 0) return;
    for (q = 0; q < n; q += 2) {
        LOAD(product, tree->levels[here->above].below + q);
        LOAD(factor, tree->levels[here->latest].inverses + q);
        product = MUL(product, factor);
        STORE(here->over + q, product);
    }
}

/* `close_split` of two leaves, without anything else. */
INLINE void close_leaves(const Visit *tree, const Level *here, double *means, int n) {
    const Level *above = tree->levels + here->latest;
    const double value = here->fork.values[0], gap = value - here->fork.values[1];
    const double c = here->w * here->shares[1];
    Two product, factor, mean, total = ALL(0.0);
    int q;
    if (here->latest < 0) {
        mean = ALL(value - here->shares[1] * gap);
        for (q = 0; q < n; q += 2) STORE(means + q, mean);
        return;
    }
    for (q = 0; q < n; q += 2) {
        LOAD(product, tree->levels[here->above].below + q);
        LOAD(factor, above->inverses + q);
        total = ADD(total, MUL(MUL(product, factor), factor));
        LOAD(factor, above->fading + q);
        mean = SUB(ALL(value), MUL(ALL(c * gap), factor));
        STORE(means + q, mean);
    }
    tree->phi[here->fork.feature * tree->stride] +=
        here->scale * c * gap * (AT(total, 0) + AT(total, 1));
}

/* Prepare the visit of a child. */
INLINE void enter(const Visit *tree, Level *here, int side, const double *points, int n) {
    Level *child = here + 1;
    Two t, factor, product;
    int q;
    if (here->latest < 0) {
        child->scale = here->scale * here->shares[side];
        child->above = here->above;
        return;
    }
    child->above = (int)(here - tree->levels);
    if (side == 0) {
        child->scale = here->scale;
        here->w_below = here->w * here->shares[0];
        tree->latest[here->fork.feature] = child->above;
        for (q = 0; q < n; q += 2) {
            LOAD(t, points + q);
            LOAD(product, here->over + q);
            factor = ADD(ALL(here->w_below), MUL(t, ALL(1.0 - here->w_below)));
            product = MUL(product, factor);
            factor = DIV(ALL(1.0), factor);
            STORE(here->below + q, product);
            STORE(here->inverses + q, factor);
            factor = MUL(factor, SUB(ALL(1.0), t));
            STORE(here->fading + q, factor);
        }
        return;
    }
    child->scale = here->scale * (here->w * here->shares[1]);
    tree->latest[here->fork.feature] = -1;
    for (q = 0; q < n; q += 2) {
        LOAD(t, points + q);
        LOAD(product, here->over + q);
        product = MUL(product, SUB(ALL(1.0), t));
        STORE(here->below + q, product);
    }
}

/* Whether a child has weight, or x goes there. */
INLINE int counts(const Level *here, int side) {
    if (here->latest < 0) return here->shares[side] > 0.0;
    return side == 0 || here->w * here->shares[1] > 0.0;
}

/* Take the children that are leaves; return the node of one that has to be visited, or -1. */
INLINE int next_child(const Visit *tree, Level *here, const double *points, int n) {
    Two value;
    int side, q;
    while (here->side < 2) {
        side = here->side++;
        if (!counts(here, side)) {
            here->skipped = side;
        } else if (here->fork.children[side] >= 0) {
            enter(tree, here, side, points, n);
            return here->fork.children[side];
        } else {
            value = ALL(here->fork.values[side]);
            for (q = 0; q < n; q += 2) STORE(here->means[side] + q, value);
        }
    }
    return -1;
}

/* Divide what is below a split, and write U of it. */
INLINE void close_split(const Visit *tree, Level *here, double *means, int n) {
    const Level *above = tree->levels + (here->latest < 0 ? 0 : here->latest);
    const double c = here->w * here->shares[1];
    Two mean, gap, other, total = ALL(0.0);
    int q;
    tree->latest[here->fork.feature] = here->latest;
    if (here->skipped >= 0) {
        memcpy(means, here->means[!here->skipped], n * sizeof(double));
        return;
    }
    if (here->latest < 0) {
        for (q = 0; q < n; q += 2) {
            LOAD(mean, here->means[0] + q);
            LOAD(other, here->means[1] + q);
            mean = ADD(mean, MUL(ALL(here->shares[1]), SUB(other, mean)));
            STORE(means + q, mean);
        }
        return;
    }
    for (q = 0; q < n; q += 2) {
        LOAD(mean, here->means[0] + q);
        LOAD(other, here->means[1] + q);
        gap = MUL(ALL(c), SUB(mean, other));
        LOAD(other, above->fading + q);
        mean = SUB(mean, MUL(gap, other));
        STORE(means + q, mean);
        LOAD(other, above->inverses + q);
        gap = MUL(gap, other);
        LOAD(other, here->over + q);
        total = ADD(total, MUL(gap, other));
    }
    tree->phi[here->fork.feature * tree->stride] +=
        here->scale * (AT(total, 0) + AT(total, 1));
}

/* Begin at level 1; level 0 stands for no split. */
static inline void begin_visit(const Visit *tree, double scale, const double *points,
                               const double *weights, int n) {
    Level *none = tree->levels;
    int q;
    none->w_below = none->side = 1;
    none[1].above = 0;
    none[1].scale = scale;
    for (q = 0; q < n; q++) {
        none->inverses[q] = 1.0;
        none->fading[q] = 1.0 - points[q];
        none->below[q] = weights[q];
    }
}

/* Visit a split, for which there may be no level, and all that follow. Return 0; or the depth of one
   that has no level, whose number is written to `node`: visit it when there are more levels. */
INLINE int visit_splits(const Visit *tree, int depth, int *node, int n, const double *points) {
    Level *here;
    for (;;) {
        if (depth + 1 >= tree->n_levels) return depth;      /* `enter` writes to the next one */
        here = tree->levels + depth;
        if (open_split(tree, here, *node)) {
            close_leaves(tree, here, here[-1].means[here[-1].side - 1], n);
            if (--depth == 0) return 0;
            here--;
        } else {
            find_over(tree, here, n);
        }
        while ((*node = next_child(tree, here, points, n)) < 0) {
            close_split(tree, here, here[-1].means[here[-1].side - 1], n);
            if (--depth == 0) return 0;
            here--;
        }
        depth++;
    }
}

static inline int visit(const Visit *tree, int depth, int *node, int n, const double *points) {
    if (n == 4) return visit_splits(tree, depth, node, 4, points);
    if (n == 8) return visit_splits(tree, depth, node, 8, points);
    if (n == 12) return visit_splits(tree, depth, node, 12, points);
    return visit_splits(tree, depth, node, 16, points);
}

#endif
