/* ---- OUTPUTS ---- */
/* The outputs of the tree. */
static inline void ${NAME}_outputs(const $feature *x, $value *y)
{
$begin$row$encode    $call;
}
/* ---- TOTALS ---- */
${about}static inline void ${NAME}_$totals(const $feature *x, $sum *$totals)
{
$begin$row    $value y[$n_outputs];
    int k$tree;
    for (k = 0; k < $n_outputs; k++)
        $totals[k] = 0;
$encode$calls$finish}
/* ---- ALL_TREES ---- */
    for (tree = 0; tree < $n_trees; tree++) {
        ${NAME}_tree($tables, $inputs, y);
        ${NAME}_add(y, $totals);
    }
/* ---- ARGMAX ---- */
    $type $scores[$n_outputs];
    int k, best = 0;
    ${NAME}_$function(x, $scores);
    for (k = 1; k < $n_outputs; k++)
        if ($scores[k] > $scores[best])
            best = k;
    return best;
/* ---- EACH ---- */
    $sum $totals[$n_outputs];
    int k;
    ${NAME}_$totals(x, $totals);
    for (k = 0; k < $n_outputs; k++)
        out[k] = $result;
/* ---- ONE_NUMBER ---- */
    $sum sum;
    ${NAME}_$totals(x, &sum);
    return sum;
/* ---- NUMBERS ---- */
    ${NAME}_$totals(x, out);
/* ---- LOOP ---- */
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
            *y++ = z;
            left--;
        } else {
            *top++ = z;
        }
    } while (left);
    *shapes = shape;
    *weights = w;
}
/* ---- ADD ---- */
static inline void ${NAME}_add($real *y, $real *sums)
{
    int k;
$link    for (k = 0; k < $n_outputs; k++)
        sums[k] += y[k];
}
/* ---- CODE ---- */
static inline $real ${NAME}_activation(int kind, $real z)
{
    return $activations;
}

/* Adds the contributions of one tree: numbers of nodes and leaves, nodes, leaves, numbers. */
static inline void ${NAME}_add_contributions(const uint16_t *size, const uint16_t (*node)[3],
                                             const $real (*number)[6], const uint16_t (*leaf)[2],
                                             const $real *weight, const $real *in, $real *out,
                                             $real *mean)
{
    static const $real baseline[$n_inputs] = {$baseline};
    static const uint16_t feature[$n_inputs] = {$feature};
    $real z[$most_nodes], factor[$most_nodes];
    int i;
    for (i = 0; i < size[0]; i++)
        z[i] = number[i][0];
    for (i = 0; i < size[1]; i++)
        z[leaf[i][0]] += weight[i] * in[leaf[i][1]];
    for (i = size[0] - 1; i >= 0; i--) {
        const $real *at = number[i] + 1; /* weight, and sum, value, slope, bend of the baseline */
        const $real h = ${NAME}_activation(node[i][0], z[i]), dz = z[i] - at[1];
        factor[i] = at[0] * (dz > $small || dz < -$small ? (h - at[2]) / dz : at[3] + at[4] * dz);
        if (i >= $n_outputs)
            z[node[i][1]] += at[0] * h;
        else
            mean[i] += h / $n_trees;
    }
    for (i = $n_outputs; i < size[0]; i++)
        factor[i] *= factor[node[i][1]];
    for (i = 0; i < size[1]; i++) {
        const int j = leaf[i][1];
        out[node[leaf[i][0]][2] * $n_features + feature[j]] +=
            factor[leaf[i][0]] * weight[i] * (in[j] - baseline[j]) / $n_trees;
    }
}

$tables
/* ---- CONTRIBUTIONS ---- */
    $real in[$n_inputs], mean[$n_outputs] = {0};
    int i;
    for (i = 0; i < $n_features * $n_outputs; i++)
        out[i] = 0;
    ${NAME}_encode(x, in);
$calls$link
/* ---- THROUGH_LINK ---- */
    for (i = 0; i < $n_features * $n_outputs; i++) {
        static const $real start[$n_outputs][4] = {$starts};
        const $real *at = start[i / $n_features], z = mean[i / $n_features];
        const $real h = $of_mean, dz = z - at[0];
        out[i] *= dz > $small || dz < -$small ? (h - at[1]) / dz : at[2] + at[3] * dz;
    }
/* ---- ENCODE ---- */
/* The inputs of the trees for a row. */
static inline void ${NAME}_encode(const $feature *x, $input *in)
{
$body
}
