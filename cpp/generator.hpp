// A generator of random numbers that gives the same ones everywhere: the i-th number of a stream is
// a function of (seed, stream, i). Logarithm and exponential are made of operations whose results
// IEEE 754 defines, since those of the system differ in their last digits.
#pragma once

#include <cmath>
#include <cstdint>

namespace bnt {

// SplitMix64 (Steele, Lea and Flood 2014): a counter passed through a mixer.
struct SplitMix64 {
    uint64_t state;
    uint64_t next() {
        uint64_t z = (state += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
};

constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;

// log(x) for a positive normal number, by the polynomial of fdlibm (Sun Microsystems 1993).
inline double portable_log(double x) {
    constexpr double c[7] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                             2.857142874366239149e-01, 2.222219843214978396e-01,
                             1.818357216161805012e-01, 1.531383769920937332e-01,
                             1.479819860511658591e-01};
    int k;
    double m = std::frexp(x, &k);
    if (m < 0.70710678118654752440) m *= 2, k -= 1;
    const double f = m - 1, s = f / (2 + f), z = s * s, w = z * z, half = 0.5 * f * f;
    const double odd = w * (c[1] + w * (c[3] + w * c[5]));
    const double even = z * (c[0] + w * (c[2] + w * (c[4] + w * c[6])));
    const double low = s * (half + (odd + even)) + k * kLn2Low;
    return k * kLn2High - ((half - low) - f);
}

// exp(x) for x <= 700; 0 below -700.
inline double portable_exp(double x) {
    if (x < -700) return 0;
    const double n = std::floor(x * 1.44269504088896340736 + 0.5);
    const double r = (x - n * kLn2High) - n * kLn2Low;
    double sum = 1;
    for (int i = 13; i > 0; --i) sum = 1 + sum * r / i;
    return std::ldexp(sum, int(n));
}

class Random {
  public:
    Random(uint64_t seed, uint64_t stream) : mixer_{SplitMix64{seed}.next() + stream} {
        mixer_.state = mixer_.next();
    }

    // In [0, 1).
    double uniform() { return double(mixer_.next() >> 11) * 0x1p-53; }

    // 0, ..., n - 1; n < 2^53.
    int64_t below(int64_t n) { return int64_t(uniform() * double(n)); }

    // Normal, mean 0 and deviation 1: Marsaglia's polar method, the second number comes next time.
    double normal() {
        if (has_next_) {
            has_next_ = false;
            return next_;
        }
        for (;;) {
            const double a = 2 * uniform() - 1, b = 2 * uniform() - 1;
            const double square = a * a + b * b;
            if (square >= 1 || square < 0x1p-100) continue;
            const double factor = std::sqrt(-2 * portable_log(square) / square);
            next_ = b * factor;
            has_next_ = true;
            return a * factor;
        }
    }

  private:
    SplitMix64 mixer_;
    double next_ = 0;
    bool has_next_ = false;
};

}  // namespace bnt
