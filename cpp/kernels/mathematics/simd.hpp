// Short vectors of numbers, and the few functions on them that a tree needs.
//
// The vectors are the compiler's own (GCC and Clang vector extensions), so one source serves
// every instruction set: BNT_VECTOR_BYTES is the width of a register. This header is compiled
// once per instruction set, each time into a namespace of its own (BNT_ISA), so that the linker
// can never mix code for different processors.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#ifndef BNT_ISA
#define BNT_ISA baseline
#endif
#ifndef BNT_VECTOR_BYTES
#define BNT_VECTOR_BYTES 16
#endif

#define BNT_INLINE inline __attribute__((always_inline))
// Goes after the parameters of a lambda. A call would move the vectors of its caller to memory.
#define BNT_INLINE_LAMBDA __attribute__((always_inline))
// For what is called once for a block of rows or less: one copy instead of one per caller.
#define BNT_NOINLINE __attribute__((noinline))

namespace bnt::BNT_ISA {

template <class T, int N>
struct VectorOf {
    typedef T type __attribute__((vector_size(N * sizeof(T))));
};

template <class T>
struct Simd;

template <>
struct Simd<float> {
    static constexpr int lanes = BNT_VECTOR_BYTES / sizeof(float);
    using Vec = VectorOf<float, lanes>::type;
    using Int = VectorOf<int32_t, lanes>::type;
    // exp(r) = 1 + r + r^2 q(r) on |r| <= ln(2)/2; relative error of the polynomial 1e-8
    static constexpr float q[5] = {0.5f, 0.166665769897f, 0.0416665546172f, 0.00836317905272f,
                                   0.00139261835877f};
    // with one term less the error is 1e-7, which is enough for a sigmoid
    static constexpr float short_q[4] = {0.499992303083f, 0.166671153894f, 0.0418903317150f,
                                         0.00831250129676f};
    static constexpr float round_magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to integer
    static constexpr float ln2 = 0.693147180559945309f;
    static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440055e-4f;
    static constexpr float exp_limit = 87.0f, exponent_bias = 127.0f;
    static constexpr int mantissa_bits = 23;
};

template <>
struct Simd<double> {
    static constexpr int lanes = BNT_VECTOR_BYTES / sizeof(double);
    using Vec = VectorOf<double, lanes>::type;
    using Int = VectorOf<int64_t, lanes>::type;
    // as above; relative error of the polynomial 2e-17
    static constexpr double q[10] = {0.50000000000000010221,     0.16666666666666667453,
                                     0.041666666666624127873,    0.0083333333333300618325,
                                     0.0013888888917213716901,   0.00019841269863053616878,
                                     0.000024801521295954375131, 2.7557268459997064772e-6,
                                     2.7620088445409748161e-7,   2.5100385495510319078e-8};
    static constexpr double round_magic = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr double ln2 = 0.693147180559945309417;
    static constexpr double ln2_high = 0.6931471803691238, ln2_low = 1.908214929270587816e-10;
    static constexpr double exp_limit = 708.0, exponent_bias = 1023.0;
    static constexpr int mantissa_bits = 52;
};

template <class T>
using Vec = typename Simd<T>::Vec;

template <class T>
BNT_INLINE Vec<T> load(const T* p) {
    Vec<T> v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

template <class T>
BNT_INLINE void store(T* p, Vec<T> v) {
    std::memcpy(p, &v, sizeof v);
}

template <class T>
BNT_INLINE Vec<T> broadcast(T a) {
    return a - Vec<T>{};
}

// a * b + c, rounded as the vector code beside it rounds: once where the processor can.
template <class T>
BNT_INLINE T multiply_add(T a, T b, T c) {
#if defined(__FMA__) || defined(__aarch64__)
    if constexpr (sizeof(T) == 4) return __builtin_fmaf(a, b, c);
    else return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

// a < b ? a : b and a > b ? a : b, as one instruction where there is one; b if either is NaN.
template <class T>
BNT_INLINE Vec<T> minimum(Vec<T> a, Vec<T> b) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) return (Vec<T>)_mm512_min_ps((__m512)a, (__m512)b);
    else return (Vec<T>)_mm512_min_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4) return (Vec<T>)_mm256_min_ps((__m256)a, (__m256)b);
    else return (Vec<T>)_mm256_min_pd((__m256d)a, (__m256d)b);
#elif defined(__SSE2__)
    if constexpr (sizeof(T) == 4) return (Vec<T>)_mm_min_ps((__m128)a, (__m128)b);
    else return (Vec<T>)_mm_min_pd((__m128d)a, (__m128d)b);
#else
    return a < b ? a : b;
#endif
}

template <class T>
BNT_INLINE Vec<T> maximum(Vec<T> a, Vec<T> b) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) return (Vec<T>)_mm512_max_ps((__m512)a, (__m512)b);
    else return (Vec<T>)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4) return (Vec<T>)_mm256_max_ps((__m256)a, (__m256)b);
    else return (Vec<T>)_mm256_max_pd((__m256d)a, (__m256d)b);
#elif defined(__SSE2__)
    if constexpr (sizeof(T) == 4) return (Vec<T>)_mm_max_ps((__m128)a, (__m128)b);
    else return (Vec<T>)_mm_max_pd((__m128d)a, (__m128d)b);
#else
    return a > b ? a : b;
#endif
}

template <class T>
BNT_INLINE Vec<T> square_root(Vec<T> x) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) return (Vec<T>)_mm512_sqrt_ps((__m512)x);
    else return (Vec<T>)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4) return (Vec<T>)_mm256_sqrt_ps((__m256)x);
    else return (Vec<T>)_mm256_sqrt_pd((__m256d)x);
#elif defined(__SSE2__)
    if constexpr (sizeof(T) == 4) return (Vec<T>)_mm_sqrt_ps((__m128)x);
    else return (Vec<T>)_mm_sqrt_pd((__m128d)x);
#else
    Vec<T> root;
    for (int i = 0; i < Simd<T>::lanes; ++i) root[i] = T(__builtin_sqrt(double(x[i])));
    return root;
#endif
}

// (exp(K r) - 1) / K for |K r| <= ln(2)/2.
template <class T, int K = 1, bool Short = false>
BNT_INLINE Vec<T> expm1_of_remainder(Vec<T> r) {
    constexpr auto q = [](int i) { return Simd<T>::q[i] * T(K == 1 ? 1 : K << i); };
    static_assert(K == 1 || K == 2);
    const Vec<T> r2 = r * r;
    Vec<T> sum;
    if constexpr (sizeof(T) == 4 && Short) {
        constexpr auto c = Simd<T>::short_q;
        sum = (c[0] + r * c[1]) + r2 * (c[2] + r * c[3]);
    } else if constexpr (sizeof(T) == 4) {
        sum = (q(0) + r * q(1)) + r2 * ((q(2) + r * q(3)) + r2 * q(4));
    } else {
        const Vec<T> r4 = r2 * r2;
        const Vec<T> a = (q(0) + r * q(1)) + r2 * (q(2) + r * q(3));
        const Vec<T> b = (q(4) + r * q(5)) + r2 * (q(6) + r * q(7));
        sum = a + r4 * (b + r4 * (q(8) + r * q(9)));
    }
    return r2 * sum + r;
}

template <class T>
BNT_INLINE Vec<T> clipped_for_exp(Vec<T> x) {
    x = minimum<T>(broadcast<T>(Simd<T>::exp_limit), x);  // in this order a NaN passes through
    return maximum<T>(broadcast<T>(-Simd<T>::exp_limit), x);
}

// exp(x), about one unit in the last place; x is clipped to where the result is a normal number.
// NaN stays NaN.
template <class T>
BNT_INLINE Vec<T> exponential(Vec<T> x) {
    using S = Simd<T>;
    x = clipped_for_exp<T>(x);
    const Vec<T> magic = broadcast<T>(S::round_magic);
    const Vec<T> shifted = x * T(1.44269504088896340736) + magic;
    const Vec<T> n = shifted - magic;
    const Vec<T> p = expm1_of_remainder<T>((x - n * S::ln2_high) - n * S::ln2_low) + T(1);
    typename S::Int bits, exponent;
    std::memcpy(&bits, &p, sizeof bits);
    std::memcpy(&exponent, &shifted, sizeof exponent);
    bits += exponent << S::mantissa_bits;  // multiply by 2^n
    Vec<T> result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
}

// exp(-K x) = power * (1 + K * rest) for N vectors, so that neither exp() + 1 nor exp() - 1 loses
// anything. |K x| <= exp_limit, or NaN. Each step is taken for all vectors, so that no operation
// waits for the one before.
template <class T, int K, int N>
struct ExpOfMinus {
    Vec<T> power[N], rest[N];

    BNT_INLINE explicit ExpOfMinus(const Vec<T>* x) {
        using S = Simd<T>;
        // with the exponent's bias in the magic number, the shifted bits are those of 2^n
        const Vec<T> magic = broadcast<T>(S::round_magic + S::exponent_bias);
        for (int i = 0; i < N; ++i) power[i] = magic - x[i] * T(K * 1.44269504088896340736);
        for (int i = 0; i < N; ++i) rest[i] = remainder(x[i], power[i] - magic);
        for (int i = 0; i < N; ++i) rest[i] = expm1_of_remainder<T, K, K == 1>(rest[i]);
        for (int i = 0; i < N; ++i) {
            typename S::Int bits;
            std::memcpy(&bits, &power[i], sizeof bits);
            bits <<= S::mantissa_bits;
            std::memcpy(&power[i], &bits, sizeof bits);
        }
    }

  private:
    // -x - n ln(2)/K. Where products are not rounded, ln 2 as one float32 costs four units in the
    // last place at the end of the range, and less than one for |x| < 20.
    static BNT_INLINE Vec<T> remainder(Vec<T> x, Vec<T> n) {
        using S = Simd<T>;
#if defined(__FMA__) || defined(__aarch64__)
        if constexpr (sizeof(T) == 4) return -x - n * (S::ln2 / K);
#endif
        return -(x + n * (S::ln2_high / K)) - n * (S::ln2_low / K);
    }
};

// 1/x for 1/2 <= x < infinity. In float32 an estimate and a Newton step beat the divider.
template <class T>
BNT_INLINE Vec<T> reciprocal(Vec<T> x) {
    if constexpr (sizeof(T) == 4) {
#if defined(__AVX512F__)
        Vec<T> e = (Vec<T>)_mm512_rcp14_ps((__m512)x);
        return e + e * (T(1) - x * e);
#elif defined(__AVX2__)
        Vec<T> e = (Vec<T>)_mm256_rcp_ps((__m256)x);
        return e + e * (T(1) - x * e);
#endif
    }
    return T(1) / x;
}

template <class T>
BNT_INLINE Vec<T> sigmoid(Vec<T> x) {
    x = clipped_for_exp<T>(x);
    const ExpOfMinus<T, 1, 1> e(&x);
    return reciprocal<T>(e.rest[0] * e.power[0] + (e.power[0] + T(1)));
}

// The absolute values of `size` with the signs of `sign`.
template <class T>
BNT_INLINE Vec<T> with_sign_of(Vec<T> size, Vec<T> sign) {
    using Int = typename Simd<T>::Int;
    constexpr auto bit = decltype(Int{}[0] + 0)(1) << (sizeof(T) * 8 - 1);
#if defined(__AVX512F__)
    return (Vec<T>)_mm512_ternarylogic_epi64((__m512i)(Int{} + bit), (__m512i)sign, (__m512i)size,
                                             0xca);  // a bit of the first ? second : third
#else
    return (Vec<T>)(((Int)size & ~bit) | ((Int)sign & bit));
#endif
}

// tanh of N vectors, by (exp(-2|x|) - 1) / 2, which is accurate near 0 and lies between -1/2 and 0.
// A division is faster here than a reciprocal and a Newton step, which need the multipliers.
template <class T, int N>
BNT_INLINE void hyperbolic_tangents(Vec<T>* x) {
    Vec<T> size[N];
    const Vec<T> limit = broadcast<T>(Simd<T>::exp_limit / 2);
    for (int i = 0; i < N; ++i) size[i] = minimum<T>(limit, with_sign_of<T>(x[i], Vec<T>{}));
    const ExpOfMinus<T, 2, N> e(size);
    for (int i = 0; i < N; ++i) {
        const Vec<T> half = e.rest[i] * e.power[i] + (e.power[i] * T(0.5) - T(0.5));
        x[i] = with_sign_of<T>(half / (half + T(1)), x[i]);
    }
}

// log(x) for 1 <= x < infinity, within one unit in the last place; NaN for infinity and NaN. By the
// polynomial of fdlibm (Sun Microsystems 1993) for log(1 + f), sqrt(1/2) < 1 + f < sqrt(2).
BNT_INLINE Vec<double> logarithm(Vec<double> x) {
    using Int = Simd<double>::Int;
    constexpr double c[7] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                             2.857142874366239149e-01, 2.222219843214978396e-01,
                             1.818357216161805012e-01, 1.531383769920937332e-01,
                             1.479819860511658591e-01};
    const Int bits = (Int)x;
    const Int shift = ((bits & 0x000fffffffffffff) + 0x00095f6400000000) & 0x0010000000000000;
    const Vec<double> f =
        (Vec<double>)((bits & 0x000fffffffffffff) | (shift ^ 0x3ff0000000000000)) - 1.0;
    const Int exponent = (bits >> 52) - 1023 + (shift >> 52);
    const Vec<double> k = __builtin_convertvector(exponent, Vec<double>);
    const Vec<double> s = f / (2.0 + f), z = s * s, w = z * z, half = 0.5 * f * f;
    const Vec<double> r =
        w * (c[1] + w * (c[3] + w * c[5])) + z * (c[0] + w * (c[2] + w * (c[4] + w * c[6])));
    const Vec<double> low = s * (half + r) + k * 1.90821492927058770002e-10;
    return k * 6.93147180369123816490e-01 - ((half - low) - f) + (x - x);
}

// 1/sqrt(x) for x > 0; NaN for infinity, so that training that overflows ends.
template <class T>
BNT_INLINE Vec<T> inverse_sqrt(Vec<T> x) {
    if constexpr (sizeof(T) == 4) {
#if defined(__AVX512F__)
        Vec<T> e = (Vec<T>)_mm512_rsqrt14_ps((__m512)x);
        return e + e * (T(0.5) - (T(0.5) * x) * (e * e));
#elif defined(__AVX2__)
        Vec<T> e = (Vec<T>)_mm256_rsqrt_ps((__m256)x);
        return e + e * (T(0.5) - (T(0.5) * x) * (e * e));
#endif
    }
    return T(1) / square_root<T>(x) + (x - x);
}

// Where the processor can shuffle a vector: `shuffled` fills every lane with one entry of the
// kShuffleReach vectors from `source` on, or with 0. The choice is encoded once, by encode_lane.
#if defined(__AVX512F__)
constexpr int kShuffleReach = 2;
#elif defined(__AVX2__)
constexpr int kShuffleReach = 1;
#else
constexpr int kShuffleReach = 0;
#endif

// The code of a lane that reads entry `source`, or none if that is negative: the highest bit is set
// if it reads one.
template <class T>
void encode_lane(T* lane, int source) {
    const auto code = [&](auto bits) {
        using Code = decltype(bits);
        return source < 0 ? Code(0) : Code(Code(1) << (sizeof(Code) * 8 - 1) | Code(source));
    };
    if constexpr (sizeof(T) == 4) {
        const uint32_t c = code(uint32_t{});
        std::memcpy(lane, &c, sizeof c);
    } else if constexpr (kShuffleReach == 2) {
        const uint64_t c = code(uint64_t{});
        std::memcpy(lane, &c, sizeof c);
    } else {  // AVX2 moves doubles by halves
        source *= 2;
        const uint32_t low = code(uint32_t{});
        source += 1;
        const uint32_t c[2] = {low, code(uint32_t{})};
        std::memcpy(lane, c, sizeof c);
    }
}

#if defined(__AVX512F__)
template <class T>
BNT_INLINE Vec<T> shuffled(const T* source, Vec<T> code) {
    const Vec<T> a = load(source), b = load(source + Simd<T>::lanes);
    const __m512i c = (__m512i)code;
    if constexpr (sizeof(T) == 4)
        return (Vec<T>)_mm512_maskz_permutex2var_ps(_mm512_movepi32_mask(c), (__m512)a, c,
                                                    (__m512)b);
    else
        return (Vec<T>)_mm512_maskz_permutex2var_pd(_mm512_movepi64_mask(c), (__m512d)a, c,
                                                    (__m512d)b);
}
#elif defined(__AVX2__)
template <class T>
BNT_INLINE Vec<T> shuffled(const T* source, Vec<T> code) {
    const __m256i c = (__m256i)code;
    const __m256 all = _mm256_permutevar8x32_ps((__m256)load(source), c);
    return (Vec<T>)_mm256_and_ps(all, (__m256)_mm256_srai_epi32(c, 31));
}
#endif

// The lower (High = 0) or upper halves of every N entries of a and b, in turns.
template <int High, int N, class V, size_t... I>
BNT_INLINE V interleaved(V a, V b, std::index_sequence<I...>) {
    return __builtin_shufflevector(
        a, b, (int(I) / N * N + High * N / 2 + int(I) % N / 2 + int(I) % 2 * int(sizeof...(I)))...);
}

// The sum of all 128-bit parts of a vector.
template <class T, class V, size_t... I>
BNT_INLINE typename VectorOf<T, 16 / sizeof(T)>::type folded(V v, std::index_sequence<I...>) {
    constexpr int half = sizeof...(I);
    if constexpr (sizeof(V) == 16) {
        return v;
    } else {
        const auto sum =
            __builtin_shufflevector(v, v, I...) + __builtin_shufflevector(v, v, (I + half)...);
        return folded<T>(sum, std::make_index_sequence<half / 2>());
    }
}

// The sums of four vectors, as four numbers: transposed and added within every 128 bits first, so
// that there is less to fold.
template <class T>
BNT_INLINE void sum_each_of_four(const Vec<T> (&v)[4], T (&out)[4]) {
    constexpr int W = Simd<T>::lanes, N = 16 / sizeof(T);
    using All = std::make_index_sequence<W>;
    using Half = std::make_index_sequence<W / 2>;
    const Vec<T> ab = interleaved<0, N>(v[0], v[1], All()) + interleaved<1, N>(v[0], v[1], All());
    const Vec<T> cd = interleaved<0, N>(v[2], v[3], All()) + interleaved<1, N>(v[2], v[3], All());
    if constexpr (N == 4) {
        using Pairs = Vec<double>;
        const auto low = (Vec<T>)interleaved<0, 2>((Pairs)ab, (Pairs)cd, Half());
        const auto high = (Vec<T>)interleaved<1, 2>((Pairs)ab, (Pairs)cd, Half());
        const auto sums = folded<T>(low + high, Half());
        std::memcpy(out, &sums, sizeof sums);
    } else {
        const auto sums_ab = folded<T>(ab, Half()), sums_cd = folded<T>(cd, Half());
        std::memcpy(out, &sums_ab, sizeof sums_ab);
        std::memcpy(out + 2, &sums_cd, sizeof sums_cd);
    }
}

}  // namespace bnt::BNT_ISA
