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
