// Losses of the outputs of a tree, and their derivatives.
//
// A loss is one struct. Most compare each output with its own target: they derive from
// `ElementwiseLoss` and define the loss of one pair (value), its derivative by the output (slope)
// and the error by which weights can be selected. Cross-entropy depends on all outputs of a row
// together and works on whole blocks.
#pragma once

#include <cmath>

#include "activations.hpp"

namespace bnt::BNT_ISA {

// Sums over rows, each row times its weight.
struct Score {
    double loss = 0, error = 0, weight = 0;

    void add(const Score& other) {
        loss += other.loss;
        error += other.error;
        weight += other.weight;
    }
};

// The targets of rows, by their position in a sample; values are scaled already.
template <class T>
struct TargetView {
    const int32_t* labels = nullptr;
    const T* values = nullptr;
    const T* weights = nullptr;
    int n_targets = 1;
};

// 1 or 0. For a single row by looking it up: compilers would branch, and no processor can predict
// labels.
template <class T, int R>
BNT_INLINE T indicator(bool yes) {
    static constexpr T kNumbers[2] = {0, 1};
    if constexpr (R == 1) return kNumbers[yes];
    return T(yes);
}

// Outputs of R rows, output-major: out[k * R + lane]; R = 1 is a single row.
template <class T, int R>
struct OutputBlock {
    int n_outputs;
    const TargetView<T>& targets;
    const int32_t* positions;  // which position of the sample stands in a lane
    int count;

    T weight(int lane) const { return targets.weights ? targets.weights[positions[lane]] : T(1); }
    int label(int lane) const { return targets.labels[positions[lane]]; }

    // The target of output k in every lane; 0 in unused ones. One copy for all losses, unless the
    // call would take longer than the work.
    BNT_INLINE void targets_of(int k, T (&target)[R]) const {
        if constexpr (R == 1) read_targets(k, target);
        else gather_targets(k, target);
    }

  private:
    BNT_NOINLINE void gather_targets(int k, T (&target)[R]) const { read_targets(k, target); }

    BNT_INLINE void read_targets(int k, T (&target)[R]) const {
        for (int r = count; r < R; ++r) target[r] = 0;
        if (targets.labels)
            for (int r = 0; r < count; ++r) target[r] = indicator<T, R>(label(r) == k);
        else if (targets.n_targets == 1)
            for (int r = 0; r < count; ++r) target[r] = targets.values[positions[r]];
        else
            for (int r = 0; r < count; ++r)
                target[r] = targets.values[int64_t(positions[r]) * targets.n_targets + k];
    }
};

// Outputs of R rows, output-major, to probabilities; or, without Divide, to numbers in proportion
// to them.
template <class T, int R, bool Divide = true>
void softmax(T* out, int n_outputs) {
    constexpr int N = R < Simd<T>::lanes ? Simd<T>::lanes : R;
    T top[N], sum[N] = {};
    for (int r = 0; r < R; ++r) top[r] = out[r];
    for (int k = 1; k < n_outputs; ++k)
        for (int r = 0; r < R; ++r) top[r] = out[k * R + r] > top[r] ? out[k * R + r] : top[r];
    for (int k = 0; k < n_outputs; ++k) {
        T shifted[N] = {};
        for (int r = 0; r < R; ++r) shifted[r] = out[k * R + r] - top[r];
        for (int r = 0; r < N; r += Simd<T>::lanes) {
            const Vec<T> e = exponential<T>(load(shifted + r));
            store(shifted + r, e);
            store(sum + r, load(sum + r) + e);
        }
        for (int r = 0; r < R; ++r) out[k * R + r] = shifted[r];
    }
    if constexpr (Divide)
        for (int k = 0; k < n_outputs; ++k)
            for (int r = 0; r < R; ++r) out[k * R + r] /= sum[r];
}

// The first largest output of each lane.
template <class T, int R>
void largest(const T* out, int n_outputs, T (&top)[R], int (&best)[R]) {
    for (int r = 0; r < R; ++r) top[r] = out[r], best[r] = 0;
    for (int k = 1; k < n_outputs; ++k)
        for (int r = 0; r < R; ++r) {
            const bool larger = out[k * R + r] > top[r];
            top[r] = larger ? out[k * R + r] : top[r];
            best[r] = larger ? k : best[r];
        }
}

// Whether a prediction counts as an error; NaN is never right.
template <class T>
BNT_INLINE bool is_wrong(T top, int best, int label) {
    return (best != label) | !(top == top);
}

// error: 1 where the first largest output is not the label.
template <class T, int R>
BNT_NOINLINE void count_wrong(const OutputBlock<T, R>& block, const T* out, double (&error)[R]) {
    T top[R];
    int best[R];
    largest<T, R>(out, block.n_outputs, top, best);
    for (int r = 0; r < block.count; ++r)
        error[r] = indicator<T, R>(is_wrong(top[r], best[r], block.label(r)));
}

// Losses that compare each output with its own target. Derived has
//   value(T o, T t, int k) -> double,   slope(T o, T t, int k) -> T,
// and may replace error(T o, T t, int k) -> double.
template <class Derived, class T>
struct ElementwiseLoss {
    static double error(T o, T t, int) {
        const double difference = double(o) - double(t);
        return difference * difference;
    }

    // The loss and error of every lane: the sum of the losses of all outputs, and the mean of
    // their errors.
    template <int R>
    void costs(const OutputBlock<T, R>& block, const T* out, double (&loss)[R],
               double (&error)[R]) const {
        T target[R];
        for (int r = 0; r < R; ++r) loss[r] = error[r] = 0;
        for (int k = 0; k < block.n_outputs; ++k) {
            block.targets_of(k, target);
            for (int r = 0; r < R; ++r) {
                loss[r] += derived().value(out[k * R + r], target[r], k);
                error[r] += derived().error(out[k * R + r], target[r], k);
            }
        }
        if (block.targets.labels) count_wrong<T, R>(block, out, error);
        else if (block.n_outputs > 1)
            for (int r = 0; r < R; ++r) error[r] /= block.n_outputs;
    }

    // d(scale * weight * loss)/d(output); 0 in unused lanes, whose factor is 0.
    template <int R>
    void slopes(const OutputBlock<T, R>& block, const T* out, const T (&factor)[R],
                T* slopes) const {
        T target[R];
        for (int k = 0; k < block.n_outputs; ++k) {
            block.targets_of(k, target);
            for (int r = 0; r < R; ++r)
                slopes[k * R + r] = derived().slope(out[k * R + r], target[r], k) * factor[r];
        }
    }

  private:
    const Derived& derived() const { return static_cast<const Derived&>(*this); }
};

// -- one struct for each loss ---------------------------------------------------------------
//
// For<T> is the loss with its parameters, ready for numbers of type T.

struct SquaredError {
    static constexpr const char* name = "squared_error";
    static constexpr const char* title = "SquaredError";
    static constexpr const char* about = "half the squared difference; classes count as 0 or 1";
    static constexpr auto parameters = kNoParameters;
    static constexpr Compares compares = Compares::either;
    static constexpr bool needs_linear_outputs = false;

    template <class T>
    struct For : ElementwiseLoss<For<T>, T> {
        explicit For(const LossSettings&, int) {}
        static double value(T o, T t, int) {
            const double difference = double(o) - double(t);
            return 0.5 * (difference * difference);
        }
        static T slope(T o, T t, int) { return o - t; }
    };
};

struct CrossEntropy {
    static constexpr const char* name = "cross_entropy";
    static constexpr const char* title = "CrossEntropy";
    static constexpr const char* about = "-log of the softmax probability of the class";
    static constexpr std::array<Parameter, 1> parameters{
        {{"label_smoothing", 0.0, Range::fraction}}};
    static constexpr Compares compares = Compares::labels;
    static constexpr bool needs_linear_outputs = true;

    template <class T>
    struct For {
        T smoothing, other;

        explicit For(const LossSettings& s, int n_outputs)
            : smoothing(T(s.parameters[0])), other(smoothing / T(n_outputs)) {}

        template <int R>
        void costs(const OutputBlock<T, R>& block, const T* out, double (&loss)[R],
                   double (&error)[R]) const {
            constexpr int N = R < Simd<T>::lanes ? Simd<T>::lanes : R;
            T top[R], sum[N] = {}, linear[N] = {};
            int best[R];
            largest<T, R>(out, block.n_outputs, top, best);
            for (int k = 0; k < block.n_outputs; ++k) {
                T shifted[N] = {};
                for (int r = 0; r < R; ++r) shifted[r] = out[k * R + r] - top[r];
                for (int r = 0; r < N; r += Simd<T>::lanes)
                    store(sum + r, load(sum + r) + exponential<T>(load(shifted + r)));
                for (int r = 0; r < R; ++r) linear[r] += shifted[r];
            }
            logarithms<R>(sum, loss);
            for (int r = 0; r < block.count; ++r) {
                const double of_label = out[block.label(r) * R + r] - top[r];
                loss[r] = loss[r] - (1 - smoothing) * of_label - double(other) * double(linear[r]);
                error[r] = indicator<T, R>(is_wrong(top[r], best[r], block.label(r)));
            }
        }

        template <int R>
        static void logarithms(const T* x, double (&out)[R]) {
            constexpr int W = Simd<double>::lanes;
            if constexpr (R < W) {
                for (int r = 0; r < R; ++r) out[r] = std::log(double(x[r]));
            } else {
                for (int r = 0; r < R; ++r) out[r] = double(x[r]);
                for (int r = 0; r < R; r += W) store(out + r, logarithm(load(out + r)));
            }
        }

        template <int R>
        void slopes(const OutputBlock<T, R>& block, const T* out, const T (&factor)[R],
                    T* slopes) const {
            std::memcpy(slopes, out, sizeof(T) * R * block.n_outputs);
            softmax<T, R>(slopes, block.n_outputs);
            for (int k = 0; k < block.n_outputs; ++k)
                for (int r = 0; r < R; ++r) slopes[k * R + r] -= other;
            for (int r = 0; r < block.count; ++r)
                slopes[block.label(r) * R + r] -= T(1) - smoothing;
            for (int k = 0; k < block.n_outputs; ++k)
                for (int r = 0; r < R; ++r) slopes[k * R + r] *= factor[r];
        }
    };
};

struct AbsoluteError {
    static constexpr const char* name = "absolute_error";
    static constexpr const char* title = "AbsoluteError";
    static constexpr const char* about = "the absolute difference; its best constant is the median";
    static constexpr auto parameters = kNoParameters;
    static constexpr Compares compares = Compares::values;
    static constexpr bool needs_linear_outputs = false;

    template <class T>
    struct For : ElementwiseLoss<For<T>, T> {
        explicit For(const LossSettings&, int) {}
        static double value(T o, T t, int) { return std::fabs(double(o) - double(t)); }
        static T slope(T o, T t, int) { return T(o > t) - T(o < t); }
    };
};

struct Huber {
    static constexpr const char* name = "huber";
    static constexpr const char* title = "Huber";
    static constexpr const char* about =
        "half the squared difference up to delta, beyond that delta times the difference";
    static constexpr std::array<Parameter, 1> parameters{{{"delta", 1.0, Range::positive}}};
    static constexpr Compares compares = Compares::values;
    static constexpr bool needs_linear_outputs = false;

    template <class T>
    struct For : ElementwiseLoss<For<T>, T> {
        T delta;
        explicit For(const LossSettings& s, int) : delta(T(s.parameters[0])) {}
        double value(T o, T t, int) const {
            const double difference = std::fabs(double(o) - double(t)), d = delta;
            return difference <= d ? 0.5 * difference * difference : d * (difference - 0.5 * d);
        }
        T slope(T o, T t, int) const {
            const T difference = o - t;
            return difference > delta ? delta : difference < -delta ? -delta : difference;
        }
    };
};

struct Pinball {
    static constexpr const char* name = "pinball";
    static constexpr const char* title = "Pinball";
    static constexpr const char* about =
        "q times the difference below the target, 1 - q times that above; one output per quantile "
        "q";
    static constexpr std::array<Parameter, 1> parameters{
        {{"quantiles", 0.5, Range::probability, true}}};
    static constexpr Compares compares = Compares::shared;
    static constexpr bool needs_linear_outputs = false;

    template <class T>
    struct For : ElementwiseLoss<For<T>, T> {
        const double* quantiles;
        explicit For(const LossSettings& s, int) : quantiles(s.parameters) {}
        double value(T o, T t, int k) const {
            const double difference = double(t) - double(o), q = quantiles[k];
            return difference >= 0 ? q * difference : (q - 1) * difference;
        }
        T slope(T o, T t, int k) const {
            return o < t ? -T(quantiles[k]) : o > t ? T(1 - quantiles[k]) : T(0);
        }
        double error(T o, T t, int k) const { return value(o, t, k); }
    };
};

struct Poisson {
    static constexpr const char* name = "poisson";
    static constexpr const char* title = "Poisson";
    static constexpr const char* about =
        "half the Poisson deviance; the outputs are logarithms of the means";
    static constexpr auto parameters = kNoParameters;
    static constexpr Compares compares = Compares::values;
    static constexpr bool needs_linear_outputs = true;
    static constexpr double lowest_target = 0;

    template <class T>
    struct For : ElementwiseLoss<For<T>, T> {
        explicit For(const LossSettings&, int) {}
        static double value(T o, T t, int) {
            const double mean = std::exp(double(o)), target = double(t);
            const double excess = target > 0 ? target * (std::log(target) - double(o)) : 0.0;
            return std::fmax(0.0, mean - target + excess);  // rounding may give a negative number
        }
        static T slope(T o, T t, int) { return T(std::exp(o)) - t; }
        static double error(T o, T t, int) {
            const double difference = std::exp(double(o)) - double(t);
            return difference * difference;
        }
    };
};

struct BinaryCrossEntropy {
    static constexpr const char* name = "binary_cross_entropy";
    static constexpr const char* title = "BinaryCrossEntropy";
    static constexpr const char* about =
        "-log of the probability of each label, which is the sigmoid of its own output";
    static constexpr std::array<Parameter, 1> parameters{
        {{"label_smoothing", 0.0, Range::fraction}}};
    static constexpr Compares compares = Compares::values;
    static constexpr bool needs_linear_outputs = true;
    static constexpr double lowest_target = 0, highest_target = 1;

    template <class T>
    struct For : ElementwiseLoss<For<T>, T> {
        T smoothing;
        explicit For(const LossSettings& s, int) : smoothing(T(s.parameters[0])) {}
        T smoothed(T t) const { return (1 - smoothing) * t + smoothing / 2; }
        double value(T o, T t, int) const {  // log(1 + exp(o)) - t o, where exp cannot overflow
            const double output = o;
            return std::log1p(std::exp(-std::fabs(output))) + std::fmax(output, 0.0) -
                   double(smoothed(t)) * output;
        }
        T slope(T o, T t, int) const {
            const double e = std::exp(-std::fabs(double(o)));
            return T((o < 0 ? e : 1) / (1 + e)) - smoothed(t);
        }
        static double error(T o, T t, int) { return (o > 0) == (t > T(0.5)) ? 0.0 : 1.0; }
    };
};

using Losses = TypeList<SquaredError, CrossEntropy, AbsoluteError, Huber, Pinball, Poisson,
                        BinaryCrossEntropy>;

// -- the interface that training uses -------------------------------------------------------

template <class T>
class LossRule {
  public:
    LossRule(const LossSettings& settings, int n_outputs)
        : settings_(settings), n_outputs_(n_outputs) {}

    int n_outputs() const { return n_outputs_; }

    template <int R>
    BNT_NOINLINE void costs(const OutputBlock<T, R>& block, const T* out, double (&loss)[R],
                            double (&error)[R]) const {
        with([&](const auto& rule) { rule.template costs<R>(block, out, loss, error); });
    }

    template <int R>
    Score score(const OutputBlock<T, R>& block, const T* out) const {
        double loss[R], error[R];
        costs<R>(block, out, loss, error);
        Score s;
        for (int r = 0; r < block.count; ++r) {
            const double w = block.weight(r);
            s.loss += w * loss[r];
            s.error += w * error[r];
            s.weight += w;
        }
        return s;
    }

    // d(scale * weight * loss)/d(output), 0 in unused lanes; slopes has n_outputs * R numbers.
    template <int R>
    BNT_NOINLINE void slopes(const OutputBlock<T, R>& block, const T* out, T scale,
                             T* slopes) const {
        T factor[R];
        for (int r = 0; r < R; ++r) factor[r] = r < block.count ? scale * block.weight(r) : T(0);
        with([&](const auto& rule) { rule.template slopes<R>(block, out, factor, slopes); });
    }

  private:
    template <class F>
    BNT_INLINE void with(F&& f) const {
        Losses::with(settings_.code, [&](auto tag) {
            f(typename decltype(tag)::type::template For<T>(settings_, n_outputs_));
        });
    }

    const LossSettings& settings_;
    int n_outputs_;
};

}  // namespace bnt::BNT_ISA
