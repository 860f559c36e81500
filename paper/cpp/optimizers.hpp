// The optimizers of multilayer perceptrons: the formulas and constants of Keras.
//
// They differ from those of trees (kernels/training/optimizers.hpp of the core) in where epsilon
// stands and in where Nesterov's rule takes its gradient. An optimizer moves a vector of weights by
// their gradient, and keeps n_state numbers for each weight.
#pragma once

#include <cmath>

#include "kernels/mathematics/simd.hpp"
#include "registry.hpp"

namespace bnt::BNT_ISA {

struct MlpRule {
    static constexpr float initial_state = 0;
    float rate;
    explicit MlpRule(double learning_rate) : rate(float(learning_rate)) {}
    void next_update() {}
};

struct MlpGradientDescent : MlpRule {
    using MlpRule::MlpRule;
    static constexpr int n_state = 0;
    BNT_INLINE Vec<float> operator()(Vec<float> theta, Vec<float> g, Vec<float>*) const {
        return theta - rate * g;
    }
};

template <bool Nesterov>
struct MlpMomentum : MlpRule {
    using MlpRule::MlpRule;
    static constexpr int n_state = 1;
    static constexpr float gamma = 0.9f;
    BNT_INLINE Vec<float> operator()(Vec<float> theta, Vec<float> g, Vec<float>* v) const {
        v[0] = gamma * v[0] - rate * g;
        return Nesterov ? theta + gamma * v[0] - rate * g : theta + v[0];
    }
};

struct MlpAdagrad : MlpRule {
    using MlpRule::MlpRule;
    static constexpr int n_state = 1;
    static constexpr float initial_state = 0.1f;
    BNT_INLINE Vec<float> operator()(Vec<float> theta, Vec<float> g, Vec<float>* v) const {
        v[0] += g * g;
        return theta - rate * g * inverse_sqrt<float>(v[0] + 1e-7f);
    }
};

// 1 / (sqrt(v) + epsilon) for v >= 0, without the processor's slow root and division.
BNT_INLINE Vec<float> over_root(Vec<float> v) {
    // 0 * inverse_sqrt(0) would be NaN
    const Vec<float> root = v * inverse_sqrt<float>(maximum<float>(broadcast<float>(1e-37f), v));
    return reciprocal<float>(root + 1e-7f);
}

struct MlpRMSprop : MlpRule {
    using MlpRule::MlpRule;
    static constexpr int n_state = 1;
    BNT_INLINE Vec<float> operator()(Vec<float> theta, Vec<float> g, Vec<float>* v) const {
        v[0] = 0.9f * v[0] + 0.1f * (g * g);
        return theta - rate * g * over_root(v[0]);
    }
};

struct MlpAdam : MlpRule {
    using MlpRule::MlpRule;
    static constexpr int n_state = 2;
    static constexpr double beta1 = 0.9, beta2 = 0.999;
    double power1 = 1, power2 = 1;
    float corrected = 0;

    void next_update() {
        power1 *= beta1;
        power2 *= beta2;
        corrected = float(double(rate) * __builtin_sqrt(1 - power2) / (1 - power1));
    }
    BNT_INLINE Vec<float> operator()(Vec<float> theta, Vec<float> g, Vec<float>* s) const {
        s[0] += float(1 - beta1) * (g - s[0]);
        s[1] += float(1 - beta2) * (g * g - s[1]);
        return theta - corrected * s[0] * over_root(s[1]);
    }
};

// In the order of MlpOptimizer.
using MlpOptimizers = TypeList<MlpGradientDescent, MlpMomentum<false>, MlpMomentum<true>,
                               MlpAdagrad, MlpRMSprop, MlpAdam>;

}  // namespace bnt::BNT_ISA
