/* ---- MEMORY ---- */
#if defined(__AVR__)
#include <avr/pgmspace.h>
#define ${UPPER}_ROM PROGMEM
#define ${UPPER}_AT8(p) pgm_read_byte(p)
#define ${UPPER}_AT16(p) pgm_read_word(p)
#define ${UPPER}_AT32(p) pgm_read_dword(p)
#define ${UPPER}_REAL(p) (($real)pgm_read_float((const float *)(p)))
#else
#define ${UPPER}_ROM
#define ${UPPER}_AT8(p) (*(p))
#define ${UPPER}_AT16(p) (*(p))
#define ${UPPER}_AT32(p) (*(p))
#define ${UPPER}_REAL(p) (*(p))
#endif
#if defined(__GNUC__) /* functions that are not inlined make the code smaller */
#define ${UPPER}_ONCE __attribute__((noinline))
#else
#define ${UPPER}_ONCE
#endif
/* ---- ENCODE_LINES ---- */
/* The inputs of the tree for a row, scaled as in training. */
static ${UPPER}_ONCE void ${NAME}_encode(const $real *x, $real *in)
{
    int j;
    for (j = 0; j < $n_inputs; j++) {
        const $real value = x[$place];
        $real scaled = $scaled;
$limit        in[j] = scaled;
    }
}
/* ---- SCALE ---- */
/* Scales inputs as in training. */
static inline void ${NAME}_scale($real *in)
{
    int j;
    for (j = 0; j < $n_inputs; j++)
        in[j] = $scaled;
}
/* ---- VALUES ---- */
/* The values of all nodes, from the last one to the outputs$about_sums. */
static ${UPPER}_ONCE void ${NAME}_values(const $real *in, $real *h$sums)
{
    int j = $n_nodes, c = $n_nodes, l = $n_leaves$p;
    while (j--) {
        const int first = c - $children;
        const int left = l - $leaves;
        $real z = $bias;
        while (l > left) {
            l--;
            z += $leaf * in[$input];
        }
        while (c > first) {
            c--;
            z += $edge * h[c];
        }
$keep$cases    }
}

static inline void ${NAME}_tree0(const $real *in, $real *y)
{
    $real *const h = ${NAME}_h;
    int k;
    ${NAME}_values(in, h$no_sums);
    for (k = 0; k < $n_outputs; k++)
        y[k] = $output;
}
/* ---- VARIABLES ---- */
/* Inputs, values of nodes, and derivatives of the loss by their sums, of the last row. */
static $real ${NAME}_in[$n_inputs], ${NAME}_h[$n_nodes], ${NAME}_d[$n_nodes];
static unsigned long ${NAME}_n_refused;
/* ---- ERRORS ---- */
/* The derivatives of the loss by the weighted sums, from the outputs to the last node. */
static ${UPPER}_ONCE void ${NAME}_errors(const $real *g, $real *d$f_argument)
{
    int j$p$walk;
    for (j = 0; j < $n_moved; j++) {
$above$errors    }
}
/* ---- STEP ---- */
/* Moves a weight against its gradient; without a rate, adds up the squares of gradients. */
static ${UPPER}_ONCE void ${NAME}_step(int i, $real g, const $real *rate, $real *total)
{
    $real *w = ${NAME}_learnt + i;
    if (!rate) {
        *total += g * g;
        return;
    }
$step}

/* Does this for all weights that learn. */
static ${UPPER}_ONCE void ${NAME}_steps(const $real *rate, $real *total$f_argument)
{
$arrays    int j$counters;
    for (j = 0; j < $n_moved; j++) {
$steps    }
$after_steps}

static inline int ${NAME}_refuse(void)
{
    ${NAME}_n_refused++;
    return 0;
}
/* ---- UPDATE ---- */
    $real *const in = ${NAME}_in, *const h = ${NAME}_h;
    $real g[$n_outputs], total = 0$more;
    int j;
$target    ${NAME}_encode(x, in);
$scale    ${NAME}_values(in, h$d);
    for (j = 0; j < $n_outputs; j++)
        g[j] = h[j];
    ${NAME}_slopes(g, $goal);
    ${NAME}_errors(g, ${NAME}_d$f);
    /* No step that passes this test takes a weight out of the range of numbers. */
    ${NAME}_steps(0, &total$f);
    if (!(rate >= 0 && rate <= $largest_rate$decay_test && total <= $largest_square))
        return ${NAME}_refuse();
    ${NAME}_steps(&rate, 0$f);
    return 1;
