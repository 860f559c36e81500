// What an output costs, and how the cost changes with the outputs' weighted sums.
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

template <class T>
struct LossRule {
    Loss loss;
    T smoothing;

    explicit LossRule(const Settings& s) : loss(s.loss), smoothing(T(s.label_smoothing)) {}
};

// Outputs of R rows, output-major, to probabilities.
template <class T, int R>
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
    for (int k = 0; k < n_outputs; ++k)
        for (int r = 0; r < R; ++r) out[k * R + r] /= sum[r];
}

// Outputs of R rows, output-major: out[k * R + lane]; R = 1 is a single row.
template <class T, int R>
struct OutputBlock {
    const Tree& t;
    const LossRule<T>& rule;
    const Targets<T>& targets;
    const int64_t* rows;  // which row of the targets stands in a lane
    int count;

    T weight(int lane) const { return targets.weights ? targets.weights[rows[lane]] : T(1); }

    // The loss and error of every lane. error: 1 where the first largest output is not the
    // label, or the squared difference.
    void costs(const T* out, double (&loss)[R], double (&error)[R]) const {
        if (targets.labels) {
            int best[R] = {};
            T top[R];
            for (int r = 0; r < R; ++r) top[r] = out[r];
            for (int k = 1; k < t.n_outputs; ++k)
                for (int r = 0; r < R; ++r) {
                    const bool larger = out[k * R + r] > top[r];
                    top[r] = larger ? out[k * R + r] : top[r];
                    best[r] = larger ? k : best[r];
                }
            for (int r = 0; r < count; ++r) error[r] = indicator(best[r] != targets.labels[rows[r]]);
            if (rule.loss == Loss::cross_entropy) {
                cross_entropy(out, top, loss);
            } else {
                for (int r = 0; r < count; ++r) loss[r] = one_hot_distance(out, r);
            }
        } else {
            for (int r = 0; r < count; ++r) {
                const double difference = double(out[r]) - double(targets.values[rows[r]]);
                error[r] = difference * difference;
                loss[r] = 0.5 * error[r];
            }
        }
    }

    Score score(const T* out) const {
        double loss[R], error[R];
        costs(out, loss, error);
        Score s;
        for (int r = 0; r < count; ++r) {
            const double w = weight(r);
            s.loss += w * loss[r];
            s.error += w * error[r];
            s.weight += w;
        }
        return s;
    }

    // Puts d(scale * weight * loss)/d(weighted sum) in place of the outputs; 0 in unused lanes.
    void deltas(T* out, T scale) const {
        T factor[R];
        for (int r = 0; r < R; ++r) factor[r] = r < count ? scale * weight(r) : T(0);
        if (targets.labels && rule.loss == Loss::cross_entropy) {
            softmax<T, R>(out, t.n_outputs);
            const T other = rule.smoothing / T(t.n_outputs);
            for (int k = 0; k < t.n_outputs; ++k)
                for (int r = 0; r < R; ++r) out[k * R + r] -= other;
            for (int r = 0; r < count; ++r)
                out[targets.labels[rows[r]] * R + r] -= T(1) - rule.smoothing;
            for (int k = 0; k < t.n_outputs; ++k)
                for (int r = 0; r < R; ++r) out[k * R + r] *= factor[r];
        } else {
            for (int k = 0; k < t.n_outputs; ++k)
                for (int r = 0; r < R; ++r) {
                    const T value = out[k * R + r];
                    const T target = r < count ? this->target(k, r) : T(0);
                    const T slope = t.activation[k] == kSigmoid ? value * (T(1) - value) : T(1);
                    out[k * R + r] = (value - target) * slope * factor[r];
                }
        }
    }

  private:
    T target(int k, int lane) const {
        return targets.labels ? indicator(targets.labels[rows[lane]] == k) : targets.values[rows[lane]];
    }

    // 1 or 0. For a single row by looking it up: compilers would branch, and no processor can
    // predict labels.
    static BNT_INLINE T indicator(bool yes) {
        static constexpr T kNumbers[2] = {0, 1};
        if constexpr (R == 1) return kNumbers[yes];
        return T(yes);
    }

    double one_hot_distance(const T* out, int lane) const {
        double sum = 0;
        for (int k = 0; k < t.n_outputs; ++k) {
            const double difference = double(out[k * R + lane]) - double(target(k, lane));
            sum += difference * difference;
        }
        return 0.5 * sum;
    }

    void cross_entropy(const T* out, const T (&top)[R], double (&loss)[R]) const {
        constexpr int N = R < Simd<T>::lanes ? Simd<T>::lanes : R;
        T sum[N] = {}, linear[N] = {};
        for (int k = 0; k < t.n_outputs; ++k) {
            T shifted[N] = {};
            for (int r = 0; r < R; ++r) shifted[r] = out[k * R + r] - top[r];
            for (int r = 0; r < N; r += Simd<T>::lanes)
                store(sum + r, load(sum + r) + exponential<T>(load(shifted + r)));
            for (int r = 0; r < R; ++r) linear[r] += shifted[r];
        }
        for (int r = 0; r < count; ++r) {
            const double own = out[targets.labels[rows[r]] * R + r] - top[r];
            loss[r] = std::log(double(sum[r])) - (1 - rule.smoothing) * own -
                      rule.smoothing / t.n_outputs * double(linear[r]);
        }
    }
};

}  // namespace bnt::BNT_ISA
