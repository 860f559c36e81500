"""C source text of models with floating-point arithmetic, with placeholders."""

from __future__ import annotations

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
        const int kind = n & $head_mask;
        $real z = *w++;
        for (n >>= $head_bits; n; n--)
            z += *w++ * *--top;
        for (n = *shape++; n; n--)
            z += *w++ * in[*shape++];
        switch (kind & $kind_mask) {
$cases
        }
        if (kind & $is_output) {
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

ADD = """\
static inline void ${NAME}_add($real *y, $real *sums)
{
    int k;
$link    for (k = 0; k < $n_outputs; k++)
        sums[k] += y[k];
}
"""

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
/* $what. */
static inline void ${NAME}_means(const $real *x, $real *out)
{
$begin$row    $real y[$n_outputs];
    int k$tree;
    for (k = 0; k < $n_outputs; k++)
        out[k] = 0;
$encode$calls    for (k = 0; k < $n_outputs; k++)
        out[k] /= $n_trees;
$link}
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
    return y;
}
"""

NUMBERS = """\
${public}void ${NAME}_predict(const $real *x, $real *out)
{
    ${NAME}_means(x, out);
}
"""
