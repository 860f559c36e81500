// What a neuron does with its weighted sum, and the derivative, told from the value alone.
#pragma once

#include "engine.hpp"
#include "simd.hpp"

namespace bnt::BNT_ISA {

template <class T, int A>
BNT_INLINE Vec<T> activate(Vec<T> z) {
    if constexpr (A == kSigmoid) return sigmoid<T>(z);
    if constexpr (A == kTanh) return hyperbolic_tangent<T>(z);
    if constexpr (A == kRelu) return maximum<T>(Vec<T>{}, z);
    if constexpr (A == kLeakyRelu) return maximum<T>(z * T(0.01), z);
    return z;
}

template <class T, int A>
BNT_INLINE Vec<T> derivative(Vec<T> value) {
    if constexpr (A == kSigmoid) return value * (T(1) - value);
    if constexpr (A == kTanh) return T(1) - value * value;
    const Vec<T> one = broadcast<T>(1);
    if constexpr (A == kRelu) return value > T(0) ? one : Vec<T>{};
    if constexpr (A == kLeakyRelu) return value > T(0) ? one : broadcast<T>(T(0.01));
    return one;
}

template <int A>
struct ActivationTag {
    static constexpr int value = A;
};

// Calls f(ActivationTag<A>) for the activation with this code, so that the code inside has no
// switch in it.
template <class F>
BNT_INLINE void with_activation(int code, F&& f) {
    switch (code) {
        case kSigmoid: f(ActivationTag<kSigmoid>{}); break;
        case kTanh: f(ActivationTag<kTanh>{}); break;
        case kRelu: f(ActivationTag<kRelu>{}); break;
        case kLeakyRelu: f(ActivationTag<kLeakyRelu>{}); break;
        default: f(ActivationTag<kLinear>{}); break;
    }
}

}  // namespace bnt::BNT_ISA
