/* ---- MEMORY ---- */
#if defined(__AVR__)
#include <avr/pgmspace.h>
#define ${UPPER}_ROM PROGMEM
#define ${UPPER}_AT(p) (($cell)pgm_read_$read(p))
#define ${UPPER}_AT16(p) pgm_read_word(p)
#else
#define ${UPPER}_ROM
#define ${UPPER}_AT(p) (*(p))
#define ${UPPER}_AT16(p) (*(p))
#endif

static inline $cell ${NAME}_next(const $cell **p)
{
#if defined(__AVR_HAVE_LPMX__)
    $cell value;
    __asm__("$load" : "=r"(value), "+z"(*p));
    return value;
#else
    const $cell value = ${UPPER}_AT(*p);
    (*p)++;
    return value;
#endif
}

static inline $acc ${NAME}_next_sum(const $cell **p)
{
#if defined(__AVR_HAVE_LPMX__)
    $acc value;
    __asm__("$load_sum" : "=r"(value), "+z"(*p));
    return value;
#else
    const $ucell low = ($ucell)${NAME}_next(p);
    return ($acc)(${NAME}_next(p) * $whole + low);
#endif
}

static inline $uacc ${NAME}_product($ucell a, $ucell b)
{
#if $has_mul
    $uacc result;
    __asm__("mul %1, %2\n\tmovw %0, r0\n\tclr __zero_reg__"
            : "=&r"(result) : "r"(a), "r"(b) : "r0");
    return result;
#else
    return ($uacc)(($uacc)a * ($uacc)b);
#endif
}
/* ---- SCALED ---- */
/* The magnitude of a sum times scale / 2^$bits, rounded. */
static inline $uacc ${NAME}_scaled($acc sum, $ucell scale)
{
    const $uacc a = ($uacc)(sum < 0 ? -sum : sum);
    return ($uacc)(${NAME}_product(($ucell)(a >> $bits), scale)
        + ($ucell)(($uacc)(${NAME}_product(($ucell)(a & $mask), scale) + $half) >> $bits));
}
/* ---- COARSE ---- */
static inline $cell ${NAME}_$kind($acc sum, $ucell scale)
{
    $uacc t = ${NAME}_scaled(sum, scale);
    $cell r = $last;
    if (t < $limit) {
        const $cell *e;
        $cell low;
        t = ($uacc)(t << 2);
        e = ${NAME}_${kind}_table + (t >> $bits);
        low = ${NAME}_next(&e);
        r = ($cell)(low $sign ($cell)(($uacc)(
            ${NAME}_product(($ucell)($difference), ($ucell)(t & $mask)) + $half) >> $bits));
    }
    return ($cell)($result);
}
/* ---- FINE ---- */
static inline $acc ${NAME}_${kind}_output($acc sum, $ucell scale)
{
    $uacc t = ${NAME}_scaled(sum, scale);
    $acc r = ($acc)($last * ($acc)$whole);
    if (t < $limit) {
        const $cell *e;
        $cell low;
        t = ($uacc)(t << 2);
        e = ${NAME}_${kind}_table + (t >> $bits);
        low = ${NAME}_next(&e);
        r = ($acc)(low * ($acc)$whole $sign ($acc)
            ${NAME}_product(($ucell)($difference), ($ucell)(t & $mask)));
    }
    return ($acc)($result);
}
/* ---- CURVE ---- */
static inline $cell ${NAME}_$kind($acc sum, $ucell scale)
{
    $uacc t = ${NAME}_scaled(sum, scale);
    const int step = sum < 0 ? -1 : 1;
    const $cell *e = ${NAME}_${kind}_table + $n_steps;
    $cell low, high;
    $ucell part;
    if (t >= $limit)
        return ${UPPER}_AT(e + step * $n_steps);
    t = ($uacc)(t << 2);
    e += step * (int)(t >> $bits);
    low = ${UPPER}_AT(e);
    high = ${UPPER}_AT(e + step);
    part = ($ucell)(($uacc)(${NAME}_product(($ucell)(high > low ? high - low : low - high),
                                            ($ucell)(t & $mask)) + $half) >> $bits);
    return ($cell)(high > low ? low + part : low - part);
}
/* ---- PIECES ---- */
static inline $cell ${NAME}_pieces($acc sum, $ucell scale, $ucell below, int folds)
{
    const $uacc t = ${NAME}_scaled(sum, sum < 0 ? below : scale);
    const $cell r = ($cell)(($uacc)(t + $half) >> $bits);
    return ($cell)(sum < 0 && !folds ? -r : r);
}
/* ---- OUTPUT_PIECES ---- */
static inline $acc ${NAME}_pieces_output($acc sum, $ucell scale, $ucell below, int folds)
{
    const $acc r = ($acc)${NAME}_scaled(sum, sum < 0 ? below : scale);
    return ($acc)(sum < 0 && !folds ? -r : r);
}
/* ---- NEXT_PAIR ---- */
static inline $uacc ${NAME}_next_pair(const $cell **p)
{
    const $ucell low = ($ucell)${NAME}_next(p);
    return ($uacc)(low + ($uacc)($ucell)${NAME}_next(p) * ($uacc)$whole);
}
/* ---- LOOP ---- */
/* The outputs of the tree whose cells begin at *p. */
static inline void ${NAME}_tree(const $cell **at, const $cell *in, $acc *y)
{
    const $cell *cell = *at;
    const $cell **p = &cell;
    $cell stack[$n_stacked];
    $cell *top = stack;
    $count left = $n_outputs;
    do {
        $begin
        $count n = ($count)($children);
        if (n)
            do {
                const $cell weight = ${NAME}_next(p);
                sum = ($acc)(sum + ($acc)weight * *--top);
            } while (--n);
        n = ($count)($leaves);
        if (n)
            do {
                const $index_type i = $index;
                const $cell weight = ${NAME}_next(p);
                sum = ($acc)(sum + ($acc)weight * in[i]);
            } while (--n);
        if ($is_output) {
            *y++ = $output;
            left--;
        } else {
            *top++ = $hidden;
        }
    } while (left);
    *at = cell;
}
/* ---- ADD_SOFTMAX ---- */
/* Adds the softmax of the outputs of a tree, in units of 1 / 32768. */
static inline void ${NAME}_add(const $acc *y, uint32_t *sums)
{
    uint16_t e[$n_outputs];
    uint32_t total = 0;
    $acc best = y[0];
    int k;
    for (k = 1; k < $n_outputs; k++)
        if (y[k] > best)
            best = y[k];
    for (k = 0; k < $n_outputs; k++) {
        const uint32_t d = ((uint32_t)best - (uint32_t)y[k]) >> $shift;
        e[k] = 0;
        if (d <= ${most}u) {
            const uint32_t g = (d * ${factor}u) >> $down;
            const uint16_t *entry = ${NAME}_exp_table + ((g & 65535u) >> $rest_bits);
            const uint16_t low = ${UPPER}_AT16(entry);
            const uint16_t drop = (uint16_t)(low - ${UPPER}_AT16(entry + 1));
            e[k] = (uint16_t)((low - (((uint32_t)drop * (g & ${rest_mask}u)) >> $rest_bits))
                >> (g >> 16));
        }
        total += e[k];
    }
    for (k = 0; k < $n_outputs; k++)
        sums[k] += ((uint32_t)e[k] * 32768u + total / 2) / total;
}
/* ---- SHARE ---- */
static inline uint32_t ${NAME}_share($acc y)
{
    return y <= -($offset) ? 0 : ((uint32_t)y + (uint32_t)($offset)) >> $shift;
}
/* ---- ADD_SHARES ---- */
/* Adds the outputs of a tree divided by their sum, in units of 1 / 32768. */
static inline void ${NAME}_add(const $acc *y, uint32_t *sums)
{
    uint32_t e[$n_outputs];
    uint32_t total = 0;
    int k;
    for (k = 0; k < $n_outputs; k++) {
        e[k] = ${NAME}_share(y[k]);
        if (e[k] == 0)
            e[k] = 1;
        total += e[k];
    }
    for (k = 0; k < $n_outputs; k++)
        sums[k] += (e[k] * 32768u + total / 2) / total;
}
/* ---- ADD_CLIPPED ---- */
/* Adds the outputs of a tree, between 0 and 1, in units of 1 / 32768. */
static inline void ${NAME}_add(const $acc *y, uint32_t *sums)
{
    int k;
    for (k = 0; k < $n_outputs; k++) {
        uint32_t p = ${NAME}_share(y[k]);
        p = ((p < 65535u ? p : 65535u) * ${factor}u) >> $down;
        sums[k] += p < 32768u ? p : 32768u;
    }
}
/* ---- ADD_OUTPUTS ---- */
static inline void ${NAME}_add(const $acc *y, int32_t *sums)
{
    int k;
    for (k = 0; k < $n_outputs; k++)
        sums[k] += y[k];
}
/* ---- SORTED ---- */
    static const unsigned char order[$n_outputs] = {$order};
    int32_t sums[$n_outputs];
    int k, j;
    ${NAME}_sums(x, sums);
    for (k = 1; k < $n_outputs; k++) {
        const int32_t sum = sums[k];
        for (j = k; j > 0 && sums[j - 1] > sum; j--)
            sums[j] = sums[j - 1];
        sums[j] = sum;
    }
    for (k = 0; k < $n_outputs; k++)
        out[k] = sums[order[k]];
/* ---- LINES ---- */
/* The inputs that are sums of limited lines of a feature. For each of them: the feature, the input,
 * its value for a gap, its value before the first line, and the number of lines; for each line its
 * factor, constant, shift (256 more for a line that falls) and height. */
static void ${NAME}_lines(const $feature *x, $cell *in)
{
    const uint16_t *p = ${NAME}_line_table;
    uint16_t i, n;
    for (i = 0; i < $n_computed; i++) {
        const int16_t value = x[${UPPER}_AT16(p)];
        $cell *to = in + ${UPPER}_AT16(p + 1);
        const int32_t gap = (int32_t)${UPPER}_AT16(p + 2) - 32768L;
        int32_t sum = ${NAME}_at32(p + 3);
        n = ${UPPER}_AT16(p + 5);
        for (p += 6; n > 0; n--, p += 5) {
            const uint16_t shift = ${UPPER}_AT16(p + 3);
            const int32_t most = (int32_t)${UPPER}_AT16(p + 4);
            int32_t line = (int32_t)value * (int32_t)${UPPER}_AT16(p) + ${NAME}_at32(p + 1);
            line = line < 0 ? 0 : line >> (shift & 255u);
            line = line > most ? most : line;
            sum += shift > 255u ? -line : line;
        }
        sum = sum < -${limit}L ? -${limit}L : sum > ${limit}L ? ${limit}L : sum;
        *to = ($cell)(value == ${UPPER}_MISSING ? gap : sum);
    }
}
/* ---- AT32 ---- */
static inline int32_t ${NAME}_at32(const uint16_t *p)
{
    return (int32_t)(${UPPER}_AT16(p) | (uint32_t)${UPPER}_AT16(p + 1) << 16) - 1073741824L;
}
/* ---- QUANTIZE ---- */
/* A measured value of a feature as a whole number. NaN is a missing value. */
static inline ${NAME}_input ${NAME}_quantize(int feature, double value)
{
$tables
    double scaled;
    long whole;
    if (value != value)
        return missing[feature];
$category$computed    scaled = (value - middle[feature]) * factor[feature];
    scaled += 0.5;
    if (!(scaled > -$top))
        return -$top;
    if (scaled >= $top)
        return $top;
    whole = (long)scaled;
    return (${NAME}_input)((double)whole > scaled ? whole - 1 : whole);
}
/* ---- VALUE ---- */
/* $about */
static inline double ${NAME}_value(int k, int32_t sum)
{
$tables
    return $result;
}
/* ---- VALUES ---- */
/* The predictions that the sums of ${NAME}_predict stand for. */
static inline void ${NAME}_values(const int32_t *sums, double *out)
{
    int k;
    for (k = 0; k < $n_outputs; k++)
        out[k] = ${NAME}_value(k, sums[k]);
    ${NAME}_link(out);
}
