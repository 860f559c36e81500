"""C source text of models with floating-point arithmetic, with placeholders."""

from __future__ import annotations

OWN_EXP = """\
/* exp without a library: x = k ln 2 + r, a polynomial for exp(r), and k doublings or halvings. */
static inline $real ${NAME}_exp($real x)
{
    $real r, p, f;
    int k;
    if (!(x > $lowest))
        return x < 0 ? 0 : x;
    if (x > $highest)
        return $infinity * x; /* overflows as exp does */
    k = (int)(x * $per_ln2 + (x < 0 ? $minus_half : $half));
    r = x - ($real)k * $ln2_high;
    r -= ($real)k * $ln2_low;
    p = $polynomial;
    f = k < 0 ? $half : $two;
    for (k = k < 0 ? -k : k; k; k >>= 1) {
        if (k & 1)
            p *= f;
        f *= f;
    }
    return p;
}
"""

LOGISTIC = """\
static inline $real ${NAME}_logistic($real z)
{
    return $one / ($one + $exp(z));
}
"""

BELL = """\
static inline $real ${NAME}_bell($real z)
{
    return $exp(-z * z);
}
"""

LOOP = """\
/* The outputs of the tree that begins at a shape and a weight. */
static inline void ${NAME}_tree(const uint16_t **shapes, const $real **weights, const $real *in,
                                $real *y)
{
    const uint16_t *shape = *shapes;
    const $real *w = *weights;
    $real stack[$n_stacked];
    $real *top = stack;
    int left = $n_outputs;
    do {
        uint16_t n = *shape++;
        const int kind = n & 7;
        $real z = *w++;
        for (n >>= 3; n; n--)
            z += *w++ * *--top;
        for (n = *shape++; n; n--)
            z += *w++ * in[*shape++];
        switch (kind & 3) {
$cases
        }
        if (kind & 4) {
            *y++ = z$affine;
            left--;
        } else {
            *top++ = z;
        }
    } while (left);
    *shapes = shape;
    *weights = w;
}
"""

ADD = {
    "softmax": """\
/* Adds the softmax of the outputs of a tree. */
static inline void ${NAME}_add($real *y, $real *sums)
{
    $real total = 0, best = y[0];
    int k;
    for (k = 1; k < $n_outputs; k++)
        if (y[k] > best)
            best = y[k];
    for (k = 0; k < $n_outputs; k++) {
        y[k] = $exp(y[k] - best);
        total += y[k];
    }
    for (k = 0; k < $n_outputs; k++)
        sums[k] += y[k] / total;
}
""",
    "shares": """\
/* Adds the outputs of a tree divided by their sum. */
static inline void ${NAME}_add($real *y, $real *sums)
{
    $real total = 0;
    int k;
    for (k = 0; k < $n_outputs; k++) {
        if (!(y[k] > $smallest))
            y[k] = $smallest;
        total += y[k];
    }
    for (k = 0; k < $n_outputs; k++)
        sums[k] += y[k] / total;
}
""",
    "sigmoid": """\
/* Adds the sigmoid of the outputs of a tree. */
static inline void ${NAME}_add($real *y, $real *sums)
{
    int k;
    for (k = 0; k < $n_outputs; k++)
        sums[k] += $one / ($one + $exp(-y[k]));
}
""",
    "clip": """\
/* Adds the outputs of a tree, between 0 and 1. */
static inline void ${NAME}_add($real *y, $real *sums)
{
    int k;
    for (k = 0; k < $n_outputs; k++)
        sums[k] += y[k] < 0 ? 0 : y[k] > 1 ? 1 : y[k];
}
""",
    "sum": """\
static inline void ${NAME}_add($real *y, $real *sums)
{
    int k;
    for (k = 0; k < $n_outputs; k++)
        sums[k] += y[k];
}
""",
}

OUTPUTS = """\
/* The outputs of the tree. */
static inline void ${NAME}_outputs(const $real *x, $real *y)
{
$begin$row$encode    $call
}
"""

ARGMAX_OF_OUTPUTS = """\
${public}int ${NAME}_predict(const $real *x)
{
    $real y[$n_outputs];
    int k, best = 0;
    ${NAME}_outputs(x, y);
    for (k = 1; k < $n_outputs; k++)
        if (y[k] > y[best])
            best = k;
    return best;
}
"""

MEANS = """\
/* The means over all trees. */
static inline void ${NAME}_means(const $real *x, $real *out)
{
$begin$row    $real y[$n_outputs];
    int k$tree;
    for (k = 0; k < $n_outputs; k++)
        out[k] = 0;
$encode$calls    for (k = 0; k < $n_outputs; k++)
        out[k] /= $n_trees;
}
"""

ALL_TREES = """\
    for (tree = 0; tree < $n_trees; tree++) {
        ${NAME}_tree(&shape, &weight, in, y);
        ${NAME}_add(y, out);
    }
"""

ARGMAX_OF_MEANS = """\
${public}int ${NAME}_predict(const $real *x)
{
    $real p[$n_outputs];
    int k, best = 0;
    ${NAME}_means(x, p);
    for (k = 1; k < $n_outputs; k++)
        if (p[k] > p[best])
            best = k;
    return best;
}
"""

PROBABILITIES = """\
${public}void ${NAME}_predict_proba(const $real *x, $real *out)
{
    ${NAME}_means(x, out);
}
"""

LABELS = """\
${public}void ${NAME}_predict(const $real *x, unsigned char *out)
{
    $real p[$n_outputs];
    int k;
    ${NAME}_means(x, p);
    for (k = 0; k < $n_outputs; k++)
        out[k] = p[k] > $half;
}
"""

ONE_NUMBER = """\
${public}$real ${NAME}_predict(const $real *x)
{
    $real y;
    ${NAME}_means(x, &y);
    return $result;
}
"""

NUMBERS = """\
${public}void ${NAME}_predict(const $real *x, $real *out)
{
    int k;
    ${NAME}_means(x, out);
    for (k = 0; k < $n_outputs; k++)
        out[k] = $result;
}
"""

SORTED = """\
${public}void ${NAME}_predict(const $real *x, $real *out)
{
    static const unsigned char order[$n_outputs] = {$order};
    $real y[$n_outputs];
    int k, j;
    ${NAME}_means(x, y);
    for (k = 1; k < $n_outputs; k++) {
        const $real value = y[k];
        for (j = k; j > 0 && y[j - 1] > value; j--)
            y[j] = y[j - 1];
        y[j] = value;
    }
    for (k = 0; k < $n_outputs; k++)
        out[k] = y[order[k]];
}
"""
