/* The points of the quadrature of explanations, two at a time.

n is the number of points, an even one, so all loops end where the compiler knows. Vectors of
gcc and clang are those of any processor, and other compilers get loops. The bits are the same: each
point takes part in the same operations, and the points are added up in the same order. */
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

#define LOAD(to, from) memcpy(&(to), (from) + q, sizeof(Two))
#define STORE(to, from) memcpy((to) + q, &(from), sizeof(Two))

/* The products and the inverses below an edge: the feature has a new factor in place of one before.
   Nothing has been added up. */
INLINE void go_down(int n, const double *points, double share, double difference,
                    const double *before, const double *above, double *products,
                    double *inverses, double *sums) {
    Two t, factor, earlier, product, zero = ALL(0.0);
    int q;
    for (q = 0; q < n; q += 2) {
        LOAD(t, points);
        LOAD(earlier, before);
        LOAD(product, above);
        factor = ADD(ALL(share), MUL(t, ALL(difference)));
        product = MUL(MUL(product, factor), earlier);
        factor = DIV(ALL(1.0), factor);
        STORE(products, product);
        STORE(inverses, factor);
        STORE(sums, zero);
    }
}

/* Add the sums below an edge to those above it; return what the feature of the edge gets: the
   leaves below count for the latest edge of a feature, no longer for the one before. */
INLINE double go_up(int n, const double *weights, double difference, double difference_before,
                    const double *inverses, const double *before, const double *sums,
                    double *above) {
    Two weight, inverse, earlier, sum, upper, total = ALL(0.0);
    int q;
    for (q = 0; q < n; q += 2) {
        LOAD(weight, weights);
        LOAD(inverse, inverses);
        LOAD(earlier, before);
        LOAD(sum, sums);
        LOAD(upper, above);
        total = ADD(total, MUL(MUL(weight, sum), SUB(MUL(ALL(difference), inverse),
                                                     MUL(ALL(difference_before), earlier))));
        upper = ADD(upper, sum);
        STORE(above, upper);
    }
    return AT(total, 0) + AT(total, 1);
}

/* Go down to a leaf and up again, which needs no division. */
INLINE double visit_leaf(int n, const double *points, const double *weights, double value,
                         double share, double difference, double difference_before,
                         const double *before, const double *above, double *sums) {
    Two t, weight, earlier, others, sum, upper, total = ALL(0.0);
    int q;
    for (q = 0; q < n; q += 2) {
        LOAD(t, points);
        LOAD(weight, weights);
        LOAD(earlier, before);
        LOAD(others, above);
        LOAD(upper, sums);
        others = MUL(MUL(others, earlier), ALL(value));
        sum = MUL(others, ADD(ALL(share), MUL(t, ALL(difference))));
        total = ADD(total, MUL(weight, SUB(MUL(others, ALL(difference)),
                                           MUL(MUL(sum, earlier), ALL(difference_before)))));
        upper = ADD(upper, sum);
        STORE(sums, upper);
    }
    return AT(total, 0) + AT(total, 1);
}

#endif
