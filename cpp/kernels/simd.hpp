// Short vectors of numbers, and the few functions on them that a tree needs.
//
// The vectors are the compiler's own (GCC and Clang vector extensions), so one source serves
// every instruction set: BNT_VECTOR_BYTES says how wide a register is. This header is compiled
// once per instruction set, each time into a namespace of its own (BNT_ISA), so that the linker
// can never mix code for different processors.
#pragma once

#include <cstdint>
#include <cstring>
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
    static constexpr float q[5] = {0.5f, 0.166665769897f, 0.0416665546172f,
                                   0.00836317905272f, 0.00139261835877f};
    static constexpr float round_magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to integer
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
    static constexpr double q[10] = {
        0.50000000000000010221,   0.16666666666666667453,   0.041666666666624127873,
        0.0083333333333300618325, 0.0013888888917213716901, 0.00019841269863053616878,
        0.000024801521295954375131, 2.7557268459997064772e-6, 2.7620088445409748161e-7,
        2.5100385495510319078e-8};
    static constexpr double round_magic = 6755399441055744.0;  // 1.5 * 2^52
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

// exp(r) for |r| <= ln(2)/2.
template <class T>
BNT_INLINE Vec<T> exp_of_remainder(Vec<T> r) {
    using S = Simd<T>;
    const Vec<T> r2 = r * r;
    Vec<T> q;
    if constexpr (sizeof(T) == 4) {
        q = (S::q[0] + r * S::q[1]) + r2 * ((S::q[2] + r * S::q[3]) + r2 * S::q[4]);
    } else {
        const Vec<T> r4 = r2 * r2;
        const Vec<T> a = (S::q[0] + r * S::q[1]) + r2 * (S::q[2] + r * S::q[3]);
        const Vec<T> b = (S::q[4] + r * S::q[5]) + r2 * (S::q[6] + r * S::q[7]);
        q = a + r4 * (b + r4 * (S::q[8] + r * S::q[9]));
    }
    return (r2 * q + r) + T(1);
}

// exp(x), about one unit in the last place; x is clipped to where the result is a normal number.
// NaN stays NaN.
template <class T>
BNT_INLINE Vec<T> exponential(Vec<T> x) {
    using S = Simd<T>;
    x = minimum<T>(broadcast<T>(S::exp_limit), x);  // in this order a NaN passes through
    x = maximum<T>(broadcast<T>(-S::exp_limit), x);
    const Vec<T> magic = broadcast<T>(S::round_magic);
    const Vec<T> shifted = x * T(1.44269504088896340736) + magic;
    const Vec<T> n = shifted - magic;
    const Vec<T> p = exp_of_remainder<T>((x - n * S::ln2_high) - n * S::ln2_low);
    typename S::Int bits, exponent;
    std::memcpy(&bits, &p, sizeof bits);
    std::memcpy(&exponent, &shifted, sizeof exponent);
    bits += exponent << S::mantissa_bits;  // multiply by 2^n
    Vec<T> result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
}

// 1 + exp(-x), what a sigmoid divides by: the scaling by 2^n and the 1 are one multiply-add.
template <class T>
BNT_INLINE Vec<T> one_plus_exp_of_minus(Vec<T> x) {
    using S = Simd<T>;
    x = minimum<T>(broadcast<T>(S::exp_limit), x);  // in this order a NaN passes through
    x = maximum<T>(broadcast<T>(-S::exp_limit), x);
    // with the exponent's bias in the magic number, the shifted bits are those of 2^n
    const Vec<T> magic = broadcast<T>(S::round_magic + S::exponent_bias);
    const Vec<T> shifted = magic - x * T(1.44269504088896340736);
    const Vec<T> n = shifted - magic;
    const Vec<T> p = exp_of_remainder<T>(-(x + n * S::ln2_high) - n * S::ln2_low);
    typename S::Int bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits <<= S::mantissa_bits;
    Vec<T> power;
    std::memcpy(&power, &bits, sizeof power);
    return p * power + T(1);
}

// 1/x for 1 <= x < infinity. In float32 an estimate and a Newton step beat the divider.
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
BNT_INLINE Vec<T> hyperbolic_tangent(Vec<T> x) {
    return T(2) * reciprocal<T>(one_plus_exp_of_minus<T>(x + x)) - T(1);
}

// 1/sqrt(x) for x > 0.
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
    return T(1) / square_root<T>(x);
}

// The sums of four vectors, as four numbers: folded to 128 bits, then transposed and added.
template <class T>
BNT_INLINE void sum_each_of_four(const Vec<T> (&v)[4], T (&out)[4]) {
    constexpr int narrow = 16 / sizeof(T);
    using Narrow = typename VectorOf<T, narrow>::type;
    Narrow s[4];
    for (int i = 0; i < 4; ++i) {
        Narrow part[Simd<T>::lanes / narrow];
        std::memcpy(&part, &v[i], sizeof v[i]);
        for (int w = Simd<T>::lanes / narrow; w > 1; w /= 2)
            for (int k = 0; k < w / 2; ++k) part[k] += part[k + w / 2];
        s[i] = part[0];
    }
    if constexpr (narrow == 4) {
        const Narrow ab = __builtin_shufflevector(s[0], s[1], 0, 4, 1, 5) +
                          __builtin_shufflevector(s[0], s[1], 2, 6, 3, 7);
        const Narrow cd = __builtin_shufflevector(s[2], s[3], 0, 4, 1, 5) +
                          __builtin_shufflevector(s[2], s[3], 2, 6, 3, 7);
        const Narrow sums = __builtin_shufflevector(ab, cd, 0, 1, 4, 5) +
                            __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
        std::memcpy(out, &sums, sizeof sums);
    } else {
        const Narrow ab = __builtin_shufflevector(s[0], s[1], 0, 2) +
                          __builtin_shufflevector(s[0], s[1], 1, 3);
        const Narrow cd = __builtin_shufflevector(s[2], s[3], 0, 2) +
                          __builtin_shufflevector(s[2], s[3], 1, 3);
        std::memcpy(out, &ab, sizeof ab);
        std::memcpy(out + 2, &cd, sizeof cd);
    }
}

}  // namespace bnt::BNT_ISA
