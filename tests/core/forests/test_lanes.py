"""The passes over rows give the same bits with SSE2 and in plain C."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import river_extra_trees

CORE = Path(river_extra_trees.__file__).parent / "_core"
FLAGS = ("-O2", "-ffp-contract=off", "-Werror", "-Wall", f"-I{CORE}", f"-I{CORE / 'forests'}")

# Random rows of every layout go through all passes, which print what they write.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include "lanes.h"
#include "regressors.h"

enum { N = 600, UNITS = 11, LANES = 16 * UNITS };
static uint64_t state = 88172645463325252u;
static uint64_t word(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}
static int up_to(int n) { return (int)((word() >> 33) % (uint64_t)(n + 1)); }
static float number(int with_missing) {
    static const float special[] = {0.0f, -0.0f, 1e-40f, 3e38f, -3e38f, 255.0f};
    if (with_missing && up_to(3) == 0) return NAN;
    return up_to(4) == 0 ? special[up_to(5)] : (float)(up_to(9) - 4) * 0.37f;
}
static void print(const void *from, size_t n) { fwrite(from, 1, n, stdout); }

static uint8_t rows[2][16 * UNITS * N], thresholds[16 * UNITS];
static uint64_t words[4 * UNITS], vary[3], best[3];
static int counts[N * LANES], sums[LANES], items[2][N], targets[N];
static float scores[LANES];
static double doubles[N];
static uint8_t bytes[N];

static void must(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* Two rows are divided by the thresholds of all passes. */
static void divide(const Lanes *lanes) {
    int lane, right;
    memset(vary, 0, sizeof(vary));
    draw_thresholds(lanes, rows[0], 2, words, thresholds, vary);
    for (lane = 0; lane < lanes->n_fast; lane++) if (has_lane(vary, lane)) {
        int is_float = lane >= 16 * lanes->n_bytes;
        int byte = is_float ? 4 * lane - 48 * lanes->n_bytes : lane;
        float limit, expected = thresholds[byte];
        Test test;
        right = divide_two(lanes, rows[0], lane, words[word_of(lanes, lane)], &limit);
        if (is_float) memcpy(&expected, thresholds + byte, sizeof(expected));
        must(limit == expected, "another threshold");
        test.limit = limit;
        must(goes_right(&test, rows[0] + right * lanes->size + byte, is_float)
             && !goes_right(&test, rows[0] + (1 - right) * lanes->size + byte, is_float), "a side");
    }
}

static void pass(int n_bytes, int n_full, int n_other, int n) {
    int units = n_bytes + n_full + n_other, i, j, n_segments = 0, left = n, n_left = 0;
    Lanes lanes = {n_bytes, n_full, n_other, 16 * units, 16 * n_bytes + 4 * n_full,
                   16 * n_bytes + 4 * (n_full + n_other)};
    Segment segments[N];
    Test test;
    float limit = number(0);
    for (i = 0; i < n; i++) for (j = 0; j < 16 * units; j += j < 16 * n_bytes ? 1 : 4) {
        float x = number(j >= 16 * (n_bytes + n_full));
        if (j < 16 * n_bytes) rows[0][i * lanes.size + j] = (uint8_t)up_to(up_to(1) ? 255 : 1);
        else memcpy(rows[0] + i * lanes.size + j, &x, 4);
    }
    for (i = 0; i < 4 * UNITS; i++) words[i] = word();
    for (i = 0; i < n; i++) targets[i] = up_to(1 << 20) - (1 << 19), items[0][i] = i;
    for (; left > 0; left -= segments[n_segments++].n) {
        segments[n_segments].code = n_segments;
        segments[n_segments].n = 1 + up_to(left - 1);
    }
    divide(&lanes);
    memset(vary, 0, sizeof(vary)), memset(best, 0, sizeof(best));
    draw_thresholds(&lanes, rows[0], n, words, thresholds, vary);
    print(thresholds, lanes.size), print(vary, sizeof(vary));
    count_segments(&lanes, rows[0], segments, n_segments, thresholds, counts);
    print(counts, sizeof(int) * n_segments * lanes.n_fast);
    score_lanes(&lanes, counts, segments, n_segments, NULL, 0, n, 1, vary, scores);
    print(scores, sizeof(float) * lanes.n_fast);
    if (lanes.n_fast) {
        float most = find_best(scores, lanes.n_fast, best);
        print(&most, sizeof(most)), print(best, sizeof(best));
    }
    if (n_bytes == 0) {
        sum_targets(&lanes, rows[0], targets, n, thresholds, sums, counts);
        score_lanes(&lanes, counts, NULL, 0, sums, 1000, n, 1, vary, scores);
        print(sums, sizeof(int) * lanes.n_fast), print(scores, sizeof(float) * lanes.n_fast);
    }
    test.is_float = n_bytes == 0, test.stride = lanes.size, test.values = rows[0];
    test.limit = test.is_float ? limit : 1.0f;
    for (i = 0; i < n; i++) n_left += !goes_right(&test, rows[0] + i * lanes.size, test.is_float);
    for (i = 0; i < 5; i++) {
        if (i == 3 && n_left == n) continue;        /* then there is no row to keep */
        if (i == 4 && n_left == 0) continue;
        memset(rows[1], 0, sizeof(rows[1]));
        move_rows(&lanes, rows[0], n, n_left, &test, rows[1], i == 0 ? items[0] : NULL, items[1],
                  i != 3, i != 4);
        print(rows[1], (size_t)lanes.size * n), print(items[1], sizeof(int) * n);
    }
}

static void measure(int n) {
    int i, missing = up_to(1), positions[N], has_missing = 0;
    const double *of_floats[4] = {doubles, doubles, doubles, doubles};
    const uint8_t *of_bytes[4] = {bytes, bytes, bytes, bytes};
    const double offsets[4] = {3.5, 0.0, 1e9, -1.0}, scales[4] = {0.25, 1.0, 4.0, 0.5};
    double low = INFINITY, high = -INFINITY, total, expected = 0.0;
    static double own[N], given_numbers[N];
    int whole;
    for (i = 0; i < n; i++) {
        doubles[i] = number(missing) * (up_to(1) ? 1.0 : 1.00000001);
        bytes[i] = (uint8_t)up_to(255), positions[i] = n - 1 - i;
    }
    extend_extremes(&low, &high, &has_missing, doubles, n);
    print(&low, sizeof(low)), print(&high, sizeof(high)), print(&has_missing, sizeof(int));
    for (i = 0; i < n; i++) given_numbers[i] = number(0) * 1.1, items[0][i] = n - 1 - i;
    total = list_numbers(given_numbers, items[0], n, own, &low, &high);
    for (i = 0; i < n; i++) {
        expected += given_numbers[n - 1 - i];
        must(own[i] == given_numbers[n - 1 - i] && low <= own[i] && own[i] <= high, "a number");
    }
    must(total == expected, "another sum of numbers");
    print(&low, sizeof(low)), print(&high, sizeof(high));
    for (i = 0; i < n; i++) own[i] = up_to(99) * 0.37;
    whole = whole_numbers(own, n, 17.3, 1000.7, targets), print(targets, sizeof(int) * n);
    for (i = 0; i < n; i++) {
        must(targets[i] == (int)((own[i] - 17.3) * 1000.7), "another whole number");
        whole -= targets[i];
    }
    must(whole == 0, "another sum of whole numbers");
    for (i = 0; i < n; i++) {
        float x = (float)doubles[i];
        must(isnan(x) || next_float(x) == nextafterf(x, INFINITY), "another float is next");
        must(isnan(x) || (next_double(doubles[i], 1) == nextafter(doubles[i], INFINITY)
             && next_double(doubles[i], -1) == nextafter(doubles[i], -INFINITY)), "another double");
    }
    encode(of_floats, n, positions, rows[1], 16, offsets, scales), print(rows[1], 16 * n);
    encode_bytes(of_bytes, n, positions, rows[1], 16), print(rows[1], 16 * n);
}

enum { MOST = 13 };
static double given[MOST + 1], means[MOST], squares[MOST + 1], lows[MOST], highs[MOST];
static double samples[N * (MOST + 1)], weights[N], shares[N], steps[N * (MOST + 1)];
static double factors[N * (MOST + 1)], cells[MOST * (MOST + 1) / 2];

/* A row of a table has the slope of its standardised values, whose last columns are missing. */
static void slope(int k) {
    int i, columns[MOST], n_columns = up_to(2 * MOST);
    double row[2 * MOST], z[MOST + 1], expected = -squares[k];
    for (i = 0; i < 2 * MOST; i++) row[i] = number(1);
    for (i = 0; i < k; i++) {
        columns[i] = 2 * i;
        z[i] = 2 * i < n_columns ? row[2 * i] : NAN;
    }
    standardise(z, 1, k, means, shares, lows, highs);
    for (i = 0; i < k; i++) expected += squares[i] * z[i];
    must(slope_at(row, n_columns, columns, k, squares, means, shares, lows, highs) == expected,
         "another slope");
}

static void regress(int k, int n) {
    int i, width = (k + 1) / 2 * 2;
    for (i = 0; i < n * (k + 1); i++) samples[i] = number(0) * 1.1;
    for (i = 0; i < n; i++) weights[i] = 0.25 + up_to(3), shares[i] = weights[i] / (i + 3.0);
    for (i = 0; i < k; i++) means[i] = squares[i] = 0.0, lows[i] = 1.0, highs[i] = -1.0;
    follow_rows(lows, highs, means, squares, k, samples, n, k + 1, weights, shares);
    print(means, 8 * k), print(squares, 8 * k), print(lows, 8 * k), print(highs, 8 * k);
    memset(steps, 0, sizeof(steps)), memset(factors, 0, sizeof(factors));
    for (i = 0; i < n; i++)
        move_means(means, samples + i * (k + 1), k, i % 3 > 0, shares[i], 1.0 - shares[i],
                   weights[i], steps + i * width, factors + i * width);
    print(means, 8 * k);
    memset(cells, 0, sizeof(cells));
    add_products(cells, k, steps, factors, n, width), print(cells, 4 * k * (k + 1));
    for (i = 0; i < n * (k + 1); i++) samples[i] = given[i % (k + 1)] = number(1);
    standardise(samples, n, k, means, shares, lows, highs), print(samples, 8 * n * (k + 1));
    standardise(given, 1, k, means, shares, lows, highs), print(given, 8 * k);
    slope(k);
    add_terms(given, NULL, means, k - 1, samples, k, 0.5, 2.0, -3.0, 3.0), print(given, 8 * k);
}

int main(void) {
    int i;
    for (i = 0; i < 2000; i++) {
        int n_bytes = up_to(1) * up_to(5), n_full = up_to(5);
        pass(n_bytes, n_full, n_bytes + n_full == 0 || up_to(1), 2 + up_to(up_to(9) ? 30 : N - 2));
        measure(1 + up_to(40));
        regress(1 + up_to(MOST - 1), 4 + up_to(12));
    }
    return 0;
}
"""


@pytest.mark.skipif(sys.platform == "win32" or not shutil.which("cc"), reason="no C compiler")
def test_plain_passes_give_the_bits_of_sse2(tmp_path: Path) -> None:
    """Extremes, counts, sums, scores, moves, encodings, and the passes over regressors.

    The short ways of two rows and of one row of a table give the bits of the long ones.
    """
    (tmp_path / "passes.c").write_text(PROGRAM)
    printed = []
    for flag in ("-USAME", "-DPLAIN"):
        program = tmp_path / flag
        subprocess.run(
            ["cc", *FLAGS, flag, str(tmp_path / "passes.c"), "-o", str(program), "-lm"], check=True
        )
        printed.append(subprocess.run([program], capture_output=True, check=True).stdout)
    assert printed[0] == printed[1]
    assert len(set(printed[0])) == 256


# All kinds of lanes: bytes, floats, doubles, missing and nominal values; labels and numbers.
FORESTS = """
import random
from river_extra_trees import ExtraTreesClassifier, ExtraTreesRegressor

draw = random.Random(1)
for model in (ExtraTreesClassifier(seed=1), ExtraTreesRegressor(seed=1)):
    for i in range(600):
        x = {k: draw.random() for k in "ab"} | {k: draw.randrange(4) for k in "cdefghijkl"}
        x |= {"m": draw.gauss(0.0, 1e12), "n": draw.choice("uvw")}
        x |= {"o": draw.random()} if draw.random() < 0.8 else {}
        y = x["a"] + 0.1 * x["c"] + 0.2 * (x["n"] == "u") + x.get("o", 0.0)
        print(repr(model.predict_one(x)))
        model.learn_one(x, y if isinstance(model, ExtraTreesRegressor) else round(2 * y))
"""


@pytest.mark.skipif("checked" not in CORE.parts, reason="only the checked build is of plain C")
def test_a_forest_in_plain_c_predicts_the_bits_of_sse2() -> None:
    """The checked build is of plain C, the one in place is not, where there is SSE2."""
    printed = [
        subprocess.run(
            [sys.executable, "-c", FORESTS],
            env={**os.environ, "PYTHONPATH": str(folder)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for folder in (CORE.parents[1], Path(__file__).parents[3])
    ]
    assert printed[0] == printed[1]
    assert len(set(printed[0].splitlines())) > 600
