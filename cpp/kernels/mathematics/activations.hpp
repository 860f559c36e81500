// Activations: functions of the weighted sum z of a neuron.
//
// An activation is one struct: its name, its parameters (at most two, `phi`), its value
// h, its slope dh/dz, and the slopes by its parameters. Where all slopes follow from h alone,
// `keeps_sum` is false, and z is not stored for the backward pass: it must not be used there.
// Inlined ones have no parameters and keep no sums.
#pragma once

#include "../../engine.hpp"
#include "simd.hpp"

namespace bnt::BNT_ISA {

// The parameters of a node's activation, or the slopes by them.
template <class T>
struct Phi {
    Vec<T> a{}, b{};
};

struct Unparametrised {
    static constexpr auto parameters = kNoParameters;
    static constexpr bool keeps_sum = false;
    template <class T>
    static BNT_INLINE Phi<T> parameter_slopes(Vec<T>, Vec<T>, Phi<T>) {
        return {};
    }
};

struct Linear : Unparametrised {
    static constexpr const char* name = "linear";
    static constexpr const char* title = "Linear";
    static constexpr const char* about = "z";
    template <class T>
    static BNT_INLINE Vec<T> value(Vec<T> z, Phi<T>) {
        return z;
    }
    template <class T>
    static BNT_INLINE Vec<T> slope(Vec<T>, Vec<T>, Phi<T>) {
        return broadcast<T>(1);
    }
};

struct Sigmoid : Unparametrised {
    static constexpr const char* name = "sigmoid";
    static constexpr const char* title = "Sigmoid";
    static constexpr const char* about = "1 / (1 + exp(-z))";
    template <class T>
    static BNT_INLINE Vec<T> value(Vec<T> z, Phi<T>) {
        return sigmoid<T>(z);
    }
    template <class T>
    static BNT_INLINE Vec<T> slope(Vec<T>, Vec<T> h, Phi<T>) {
        return h * (T(1) - h);
    }
};

struct Tanh : Unparametrised {
    static constexpr const char* name = "tanh";
    static constexpr const char* title = "Tanh";
    static constexpr const char* about = "tanh(z)";
    template <class T>
    static BNT_INLINE Vec<T> value(Vec<T> z, Phi<T>) {
        hyperbolic_tangents<T, 1>(&z);
        return z;
    }
    template <class T>
    static BNT_INLINE Vec<T> slope(Vec<T>, Vec<T> h, Phi<T>) {
        return T(1) - h * h;
    }
};

struct Relu : Unparametrised {
    static constexpr const char* name = "relu";
    static constexpr bool is_piecewise_linear = true;
    static constexpr const char* title = "ReLU";
    static constexpr const char* about = "z if z > 0, else 0";
    template <class T>
    static BNT_INLINE Vec<T> value(Vec<T> z, Phi<T>) {
        return maximum<T>(Vec<T>{}, z);
    }
    template <class T>
    static BNT_INLINE Vec<T> slope(Vec<T>, Vec<T> h, Phi<T>) {
        return h > T(0) ? broadcast<T>(1) : Vec<T>{};
    }
};

struct LeakyRelu {
    static constexpr const char* name = "leaky_relu";
    static constexpr bool is_piecewise_linear = true;
    static constexpr const char* title = "LeakyReLU";
    static constexpr const char* about = "z if z > 0, else slope * z";
    static constexpr std::array<Parameter, 1> parameters{{{"slope", 0.01, Range::any}}};
    static constexpr bool keeps_sum = true;  // a slope may be 0 or negative
    template <class T>
    static BNT_INLINE Vec<T> value(Vec<T> z, Phi<T> phi) {
        return z > T(0) ? z : phi.a * z;
    }
    template <class T>
    static BNT_INLINE Vec<T> slope(Vec<T> z, Vec<T>, Phi<T> phi) {
        return z > T(0) ? broadcast<T>(1) : phi.a;
    }
    template <class T>
    static BNT_INLINE Phi<T> parameter_slopes(Vec<T> z, Vec<T>, Phi<T>) {
        return {z > T(0) ? Vec<T>{} : z, Vec<T>{}};
    }
};

struct Gaussian {
    static constexpr const char* name = "gaussian";
    static constexpr const char* title = "Gaussian";
    static constexpr const char* about = "exp(-((z - center) / width)^2)";
    static constexpr std::array<Parameter, 2> parameters{
        {{"center", 0.0, Range::any}, {"width", 1.0, Range::nonzero}}};
    static constexpr bool keeps_sum = true;
    template <class T>
    static BNT_INLINE Vec<T> value(Vec<T> z, Phi<T> phi) {
        const Vec<T> u = (z - phi.a) / phi.b;
        return exponential<T>(-(u * u));
    }
    template <class T>
    static BNT_INLINE Vec<T> slope(Vec<T> z, Vec<T> h, Phi<T> phi) {
        return T(-2) * ((z - phi.a) / (phi.b * phi.b)) * h;
    }
    template <class T>
    static BNT_INLINE Phi<T> parameter_slopes(Vec<T> z, Vec<T> h, Phi<T> phi) {
        const Vec<T> by_center = -slope<T>(z, h, phi);
        return {by_center, by_center * ((z - phi.a) / phi.b)};
    }
};

// scale * inner(z) + offset.
template <class Inner>
struct LinearOf {
    static constexpr std::array<Parameter, 2> parameters{
        {{"scale", 1.0, Range::any}, {"offset", 0.0, Range::any}}};
    static constexpr bool keeps_sum = true;
    template <class T>
    static BNT_INLINE Vec<T> value(Vec<T> z, Phi<T> phi) {
        return phi.a * Inner::template value<T>(z, {}) + phi.b;
    }
    template <class T>
    static BNT_INLINE Vec<T> slope(Vec<T> z, Vec<T>, Phi<T> phi) {
        return phi.a * Inner::template slope<T>(z, Inner::template value<T>(z, {}), {});
    }
    template <class T>
    static BNT_INLINE Phi<T> parameter_slopes(Vec<T> z, Vec<T>, Phi<T>) {
        return {Inner::template value<T>(z, {}), broadcast<T>(1)};
    }
};

struct LinearSigmoid : LinearOf<Sigmoid> {
    static constexpr const char* name = "linear_sigmoid";
    static constexpr const char* title = "LinearSigmoid";
    static constexpr const char* about = "scale / (1 + exp(-z)) + offset";
};

struct LinearTanh : LinearOf<Tanh> {
    static constexpr const char* name = "linear_tanh";
    static constexpr const char* title = "LinearTanh";
    static constexpr const char* about = "scale * tanh(z) + offset";
};

struct Bipolar {
    static constexpr const char* name = "bipolar";
    static constexpr const char* title = "Bipolar";
    static constexpr const char* about = "tanh(steepness * z) / steepness";
    static constexpr std::array<Parameter, 1> parameters{{{"steepness", 1.0, Range::nonzero}}};
    static constexpr bool keeps_sum = true;
    template <class T>
    static BNT_INLINE Vec<T> value(Vec<T> z, Phi<T> phi) {
        return Tanh::value<T>(phi.a * z, {}) / phi.a;
    }
    template <class T>
    static BNT_INLINE Vec<T> slope(Vec<T>, Vec<T> h, Phi<T> phi) {
        const Vec<T> t = phi.a * h;
        return T(1) - t * t;
    }
    template <class T>
    static BNT_INLINE Phi<T> parameter_slopes(Vec<T> z, Vec<T> h, Phi<T> phi) {
        return {(z * slope<T>(z, h, phi) - h) / phi.a, Vec<T>{}};
    }
};

struct Unipolar {
    static constexpr const char* name = "unipolar";
    static constexpr const char* title = "Unipolar";
    static constexpr const char* about = "2 |steepness| / (1 + exp(-2 |steepness| z))";
    static constexpr std::array<Parameter, 1> parameters{{{"steepness", 0.5, Range::nonzero}}};
    static constexpr bool keeps_sum = true;
    template <class T>
    static BNT_INLINE Vec<T> value(Vec<T> z, Phi<T> phi) {
        const Vec<T> two_a = T(2) * maximum<T>(phi.a, -phi.a);
        return two_a * Sigmoid::value<T>(two_a * z, {});
    }
    template <class T>
    static BNT_INLINE Vec<T> slope(Vec<T>, Vec<T> h, Phi<T> phi) {
        return h * (T(2) * maximum<T>(phi.a, -phi.a) - h);
    }
    template <class T>
    static BNT_INLINE Phi<T> parameter_slopes(Vec<T> z, Vec<T> h, Phi<T> phi) {
        // from h = 2|a| s(2|a| z): dh/d|a| = (h + z dh/dz) / |a|
        const Vec<T> steepness = maximum<T>(phi.a, -phi.a);
        const Vec<T> by_size = (h + z * slope<T>(z, h, phi)) / steepness;
        return {phi.a < T(0) ? -by_size : by_size, Vec<T>{}};
    }
};

// The order is that of the codes in trees, and of pickled trees: new ones go to the end.
using Activations = TypeList<Linear, Sigmoid, Tanh, Relu, LeakyRelu, Gaussian, LinearSigmoid,
                             LinearTanh, Bipolar, Unipolar>;

// The first ones of this list are compiled into every kernel. Kernels have one copy of their code
// for all others, which gets the values and slopes of a block by a call for each node.
using Inlined = TypeList<Linear, Sigmoid, Tanh, Relu>;

struct Called {};
struct CalledTag {
    using type = Called;
    int code;
};

// f(tag of an inlined activation), or f(CalledTag).
template <class F>
BNT_INLINE void with_activation(int code, F&& f) {
    if (code < Inlined::size) Inlined::with(code, f);
    else f(CalledTag{code});
}

BNT_INLINE int n_parameters(const Tree& t, int j) { return t.phi_start[j + 1] - t.phi_start[j]; }

// The parameters of a node, given the first one, the same in all lanes; or those of nodes in the
// lanes, where `stride` numbers lie between the first and the second parameter of each.
template <class A, class T>
BNT_INLINE Phi<T> phi_at(const T* first, int stride) {
    const auto read = [&](const T* p) { return stride == 1 ? broadcast<T>(*p) : load(p); };
    Phi<T> phi;
    if constexpr (A::parameters.size() > 0) phi.a = read(first);
    if constexpr (A::parameters.size() > 1) phi.b = read(first + stride);
    return phi;
}

// The values of n vectors h, in place of their weighted sums.
template <class T>
BNT_NOINLINE void called_values(int code, const T* phi, int stride, int n, T* h) {
    constexpr int W = Simd<T>::lanes;
    Activations::with(code, [&](auto tag) {
        using A = typename decltype(tag)::type;
        const Phi<T> parameters = phi_at<A>(phi, stride);
        for (int v = 0; v < n; ++v)
            store(h + v * W, A::template value<T>(load(h + v * W), parameters));
    });
}

// The slopes of n vectors, given their values h, and their weighted sums if the activation keeps
// them; the slopes by the parameters too, if by_phi is given.
template <class T>
BNT_NOINLINE void called_slopes(int code, const T* phi, int stride, int n, const T* z, const T* h,
                                Vec<T>* slopes, Phi<T>* by_phi) {
    constexpr int W = Simd<T>::lanes;
    Activations::with(code, [&](auto tag) {
        using A = typename decltype(tag)::type;
        const Phi<T> parameters = phi_at<A>(phi, stride);
        for (int v = 0; v < n; ++v) {
            const Vec<T> sum = A::keeps_sum ? load(z + v * W) : Vec<T>{}, value = load(h + v * W);
            slopes[v] = A::template slope<T>(sum, value, parameters);
            if (by_phi) by_phi[v] = A::template parameter_slopes<T>(sum, value, parameters);
        }
    });
}

// The slopes of node j for V vectors of values h and, if kept, of weighted sums z.
template <class A, class T, int V>
class NodeSlopes {
  public:
    BNT_INLINE NodeSlopes(const Tree&, const T*, int, const T*, const T*) {}

    // The derivative of the loss by the weighted sum. `weight` leads to the parent of the node,
    // whose derivative is `above`.
    BNT_INLINE Vec<T> delta(int, Vec<T> value, T weight, Vec<T> above) const {
        const Vec<T> slope = A::template slope<T>(Vec<T>{}, value, Phi<T>{});
        // Where a ReLU is off, the product cannot overflow in this order; where it is on,
        // slope * weight is exact.
        if constexpr (std::is_same_v<A, Relu>) return slope * weight * above;
        else return slope * (weight * above);
    }
};

template <class T, int V>
class NodeSlopes<Called, T, V> {
  public:
    BNT_INLINE NodeSlopes(const Tree& t, const T* phi, int j, const T* z, const T* h) {
        called_slopes<T>(t.activation[j], phi + t.phi_start[j], 1, V, z, h, slopes_,
                         t.phi_is_trained ? by_phi_ : nullptr);
    }
    BNT_INLINE Vec<T> slope(int v) const { return slopes_[v]; }
    BNT_INLINE Vec<T> delta(int v, Vec<T>, T weight, Vec<T> above) const {
        return slopes_[v] * weight * above;
    }
    BNT_INLINE Phi<T> by_phi(int v) const { return by_phi_[v]; }  // if they are trained

  private:
    Vec<T> slopes_[V];
    Phi<T> by_phi_[V];
};

}  // namespace bnt::BNT_ISA
