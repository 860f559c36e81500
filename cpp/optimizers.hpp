// One step of each optimizer on a whole (padded) parameter vector.
//
// epsilon stands inside the square root in all adaptive rules, as in the paper.
#pragma once

#include <cmath>

#include "memory.hpp"

namespace bnt::BNT_ISA {

template <class T>
class Optimizer {
    static constexpr int W = Simd<T>::lanes;

  public:
    Optimizer(const Settings& s, const Layout& layout)
        : settings_(s), layout_(layout), first_(layout.size), second_(layout.size) {}

    T* first() { return first_.get(); }
    T* second() { return second_.get(); }
    int64_t step_count = 0;

    // Nesterov takes its gradient where the momentum is about to carry the weights.
    bool looks_ahead() const { return settings_.rule == Rule::nesterov; }

    void look_ahead(const T* theta, T* ahead) const {
        const T gamma = T(settings_.gamma);
        const T* v = first_.get();
        for (int i = 0; i < layout_.size; i += W)
            store(ahead + i, load(theta + i) - gamma * load(v + i));
    }

    void step(T* theta, const T* g, double rate) {
        step_count += 1;
        decay(theta, T(1 - rate * settings_.weight_decay));
        switch (settings_.rule) {
            case Rule::gd: gradient_descent(theta, g, T(rate)); break;
            case Rule::momentum:
            case Rule::nesterov: momentum(theta, g, T(rate)); break;
            case Rule::adagrad: scaled(theta, g, T(rate), T(1), T(1)); break;
            case Rule::rmsprop:
                scaled(theta, g, T(rate), T(settings_.beta1), T(1 - settings_.beta1));
                break;
            case Rule::adam: adam(theta, g, rate, double(step_count)); break;
            // The authors' program never counts its steps: the correction is that of step 1.
            case Rule::adam_paper: adam(theta, g, rate, 1); break;
        }
    }

  private:
    // Decoupled weight decay: edges and leaves, not biases.
    void decay(T* theta, T factor) const {
        if (factor == T(1)) return;
        for (int i = layout_.edge; i < layout_.size; i += W) store(theta + i, load(theta + i) * factor);
    }

    void gradient_descent(T* theta, const T* g, T rate) const {
        for (int i = 0; i < layout_.size; i += W)
            store(theta + i, load(theta + i) - rate * load(g + i));
    }

    void momentum(T* theta, const T* g, T rate) {
        const T gamma = T(settings_.gamma);
        T* v = first_.get();
        for (int i = 0; i < layout_.size; i += W) {
            const Vec<T> moved = gamma * load(v + i) + rate * load(g + i);
            store(v + i, moved);
            store(theta + i, load(theta + i) - moved);
        }
    }

    // Adagrad (keep 1, take 1) and RMSprop (keep beta, take 1 - beta).
    void scaled(T* theta, const T* g, T rate, T keep, T take) {
        const T epsilon = T(settings_.epsilon);
        T* v = first_.get();
        for (int i = 0; i < layout_.size; i += W) {
            const Vec<T> gradient = load(g + i);
            const Vec<T> square = keep * load(v + i) + take * (gradient * gradient);
            store(v + i, square);
            store(theta + i,
                  load(theta + i) - (rate * gradient) * inverse_sqrt<T>(square + epsilon));
        }
    }

    void adam(T* theta, const T* g, double rate, double count) {
        const double b1 = settings_.beta1, b2 = settings_.beta2;
        const T keep1 = T(b1), take1 = T(1 - b1), keep2 = T(b2), take2 = T(1 - b2);
        const T rate1 = T(rate / (1 - std::pow(b1, count)));
        const T correct2 = T(1 / (1 - std::pow(b2, count)));
        const T epsilon = T(settings_.epsilon);
        T *m = first_.get(), *v = second_.get();
        for (int i = 0; i < layout_.size; i += W) {
            const Vec<T> gradient = load(g + i);
            const Vec<T> mean = keep1 * load(m + i) + take1 * gradient;
            const Vec<T> square = keep2 * load(v + i) + take2 * (gradient * gradient);
            store(m + i, mean);
            store(v + i, square);
            store(theta + i, load(theta + i) - (rate1 * mean) *
                                                   inverse_sqrt<T>(square * correct2 + epsilon));
        }
    }

    const Settings& settings_;
    Layout layout_;
    Buffer<T> first_, second_;
};

}  // namespace bnt::BNT_ISA
