// One step of each optimizer on a whole (padded) parameter vector.
//
// An optimizer is one struct: its name, its parameters, the number of values that it keeps for
// each weight (n_state), and For<T>, which is made for every update and moves a vector of
// weights. epsilon stands inside the square root in all adaptive rules, as in the paper.
#pragma once

#include <array>
#include <cmath>
#include <optional>

#include "../mathematics/memory.hpp"

namespace bnt::BNT_ISA {

// Numbers of one update: the rate, and the powers of the first two parameters whose exponent is the
// number of the update from 1, for rules that declare `corrects_start`.
struct Update {
    double rate, power[2];
};

// x^n for n = 1, 2, ..., as the product of x^(64 i) and x^j: a call of std::pow for each update
// takes a tenth of an online update.
class Powers {
    static constexpr int64_t kStep = 64;

  public:
    explicit Powers(double x) : x_(x) {
        for (int64_t j = 0; j < kStep; ++j) low_[j] = std::pow(x, double(j));
    }

    double operator()(int64_t n) {
        if (n / kStep != i_) {
            i_ = n / kStep;
            high_ = std::pow(x_, double(i_ * kStep));
        }
        return high_ * low_[n % kStep];
    }

  private:
    double x_, high_ = 1, low_[kStep];
    int64_t i_ = 0;
};

struct GradientDescent {
    static constexpr const char* name = "gd";
    static constexpr const char* title = "GradientDescent";
    static constexpr const char* about = "Plain gradient descent: theta -= eta g";
    static constexpr auto parameters = kNoParameters;
    static constexpr int n_state = 0;
    static constexpr bool looks_ahead = false;

    template <class T>
    struct For {
        T rate;
        For(const double*, Update u) : rate(T(u.rate)) {}
        BNT_INLINE Vec<T> operator()(Vec<T> theta, Vec<T> g, Vec<T>*) const {
            return theta - rate * g;
        }
    };
};

struct Momentum {
    static constexpr const char* name = "momentum";
    static constexpr const char* title = "Momentum";
    static constexpr const char* about =
        "Gradient descent with momentum: v = gamma v + eta g;  theta -= v";
    static constexpr std::array<Parameter, 1> parameters{{{"gamma", 0.9, Range::fraction}}};
    static constexpr int n_state = 1;
    static constexpr bool looks_ahead = false;

    template <class T>
    struct For {
        T rate, gamma;
        For(const double* p, Update u) : rate(T(u.rate)), gamma(T(p[0])) {}
        BNT_INLINE Vec<T> operator()(Vec<T> theta, Vec<T> g, Vec<T>* v) const {
            v[0] = gamma * v[0] + rate * g;
            return theta - v[0];
        }
        BNT_INLINE Vec<T> ahead(Vec<T> theta, const Vec<T>* v) const {
            return theta - gamma * v[0];
        }
    };
};

struct Nesterov : Momentum {
    static constexpr const char* name = "nesterov";
    static constexpr const char* title = "Nesterov";
    static constexpr const char* about =
        "Nesterov's accelerated gradient: momentum, with g taken at theta - gamma v";
    static constexpr bool looks_ahead = true;
};

// theta -= eta g / sqrt(v + epsilon), with v = keep v + take g^2.
template <class T>
struct ScaledByRoot {
    T rate, keep, take, epsilon;
    BNT_INLINE Vec<T> operator()(Vec<T> theta, Vec<T> g, Vec<T>* v) const {
        v[0] = keep * v[0] + take * (g * g);
        return theta - (rate * g) * inverse_sqrt<T>(v[0] + epsilon);
    }
};

struct Adagrad {
    static constexpr const char* name = "adagrad";
    static constexpr const char* title = "Adagrad";
    static constexpr const char* about =
        "Rates scaled by all squared gradients: v += g^2;  theta -= eta g / sqrt(v + epsilon)";
    static constexpr std::array<Parameter, 1> parameters{{{"epsilon", 1e-8, Range::positive}}};
    static constexpr int n_state = 1;
    static constexpr bool looks_ahead = false;

    template <class T>
    struct For : ScaledByRoot<T> {
        For(const double* p, Update u) : ScaledByRoot<T>{T(u.rate), T(1), T(1), T(p[0])} {}
    };
};

struct RMSprop {
    static constexpr const char* name = "rmsprop";
    static constexpr const char* title = "RMSprop";
    static constexpr const char* about =
        "Rates scaled by recent squared gradients: v = beta v + (1 - beta) g^2;  "
        "theta -= eta g / sqrt(v + epsilon)";
    static constexpr std::array<Parameter, 2> parameters{
        {{"beta", 0.9, Range::fraction}, {"epsilon", 1e-8, Range::positive}}};
    static constexpr int n_state = 1;
    static constexpr bool looks_ahead = false;

    template <class T>
    struct For : ScaledByRoot<T> {
        For(const double* p, Update u)
            : ScaledByRoot<T>{T(u.rate), T(p[0]), T(1 - p[0]), T(p[1])} {}
    };
};

struct Adam {
    static constexpr const char* name = "adam";
    static constexpr const char* title = "Adam";
    static constexpr const char* about =
        "Running means of g (m) and g^2 (v), both corrected for their start at 0: "
        "theta -= eta m^ / sqrt(v^ + epsilon), m^ = m / (1 - beta1^t), v^ = v / (1 - beta2^t)";
    static constexpr std::array<Parameter, 3> parameters{{{"beta1", 0.9, Range::fraction},
                                                          {"beta2", 0.999, Range::fraction},
                                                          {"epsilon", 1e-8, Range::positive}}};
    static constexpr int n_state = 2;
    static constexpr bool looks_ahead = false;
    static constexpr bool corrects_start = true;

    template <class T>
    struct For {
        T keep1, take1, keep2, take2, rate1, correct2, epsilon;
        For(const double* p, Update u)
            : keep1(T(p[0])), take1(T(1 - p[0])), keep2(T(p[1])), take2(T(1 - p[1])),
              rate1(T(u.rate / (1 - u.power[0]))), correct2(T(1 / (1 - u.power[1]))),
              epsilon(T(p[2])) {}
        BNT_INLINE Vec<T> operator()(Vec<T> theta, Vec<T> g, Vec<T>* s) const {
            s[0] = keep1 * s[0] + take1 * g;
            s[1] = keep2 * s[1] + take2 * (g * g);
            return theta - (rate1 * s[0]) * inverse_sqrt<T>(s[1] * correct2 + epsilon);
        }
    };
};

// The authors' program never counts its steps: the correction is that of step 1.
struct PaperAdam : Adam {
    static constexpr bool corrects_start = false;
    static constexpr const char* name = "adam_paper";
    static constexpr const char* title = "PaperAdam";
    static constexpr const char* about =
        "Adam that corrects every update as if it were the first, as behind the paper's results";
    static constexpr std::array<Parameter, 3> parameters{{{"beta1", 0.9, Range::fraction},
                                                          {"beta2", 0.9, Range::fraction},
                                                          {"epsilon", 1e-8, Range::positive}}};
    template <class T>
    struct For : Adam::For<T> {
        For(const double* p, Update u) : Adam::For<T>(p, {u.rate, {p[0], p[1]}}) {}
    };
};

using Optimizers = TypeList<GradientDescent, Momentum, Nesterov, Adagrad, RMSprop, Adam, PaperAdam>;

template <class T>
class Optimizer {
    static constexpr int W = Simd<T>::lanes;

  public:
    Optimizer(const Settings& s, const Layout& layout) : settings_(s), layout_(layout) {
        Optimizers::with(s.optimizer.code, [&](auto tag) {
            using O = typename decltype(tag)::type;
            static_assert(O::n_state <= kMaxState);
            n_state_ = O::n_state;
            looks_ahead_ = O::looks_ahead;
            if constexpr (requires { requires O::corrects_start; })
                powers_ = {Powers(s.optimizer.parameters[0]), Powers(s.optimizer.parameters[1])};
        });
        for (int i = 0; i < n_state_; ++i) state_[i] = Buffer<T>(layout.size);
    }

    int64_t step_count = 0;

    void load_state(const T* plain, int n_parameters) {
        for (int i = 0; i < n_state_; ++i)
            layout_.pack(plain + size_t(i) * n_parameters, state_[i].get());
    }
    void save_state(T* plain, int n_parameters) const {
        for (int i = 0; i < n_state_; ++i)
            layout_.unpack(state_[i].get(), plain + size_t(i) * n_parameters);
    }

    // Resets the state of one parameter to that of the start.
    void forget(int i) {
        for (int s = 0; s < n_state_; ++s) state_[s][i] = 0;
    }

    // Nesterov takes the gradient at the weights moved by the momentum.
    bool looks_ahead() const { return looks_ahead_; }

    void look_ahead(const T* theta, T* ahead) const {
        with({0, {}}, [&](auto tag, const auto& rule) {
            using O = typename decltype(tag)::type;
            if constexpr (O::looks_ahead)
                for (int i = 0; i < layout_.size; i += W) {
                    const Vec<T> v = load(state_[0].get() + i);
                    store(ahead + i, rule.ahead(load(theta + i), &v));
                }
        });
    }

    void step(T* theta, const T* g, double rate) {
        step_count += 1;
        decay(theta, T(1 - rate * settings_.weight_decay));
        Update update{rate, {}};
        if (powers_)
            for (int i = 0; i < 2; ++i) update.power[i] = (*powers_)[i](step_count);
        with(update, [&](auto tag, const auto& rule) {
            constexpr int N = decltype(tag)::type::n_state;
            T* state[N ? N : 1];
            for (int s = 0; s < N; ++s) state[s] = state_[s].get();
            for (int i = 0; i < layout_.size; i += W) {
                Vec<T> values[N ? N : 1];
                for (int s = 0; s < N; ++s) values[s] = load(state[s] + i);
                store(theta + i, rule(load(theta + i), load(g + i), values));
                for (int s = 0; s < N; ++s) store(state[s] + i, values[s]);
            }
        });
    }

  private:
    template <class F>
    BNT_INLINE void with(Update update, F&& f) const {
        Optimizers::with(settings_.optimizer.code, [&](auto tag) {
            using O = typename decltype(tag)::type;
            f(tag, typename O::template For<T>(settings_.optimizer.parameters, update));
        });
    }

    // Decoupled weight decay: edges and leaves, not biases or activation parameters.
    void decay(T* theta, T factor) const {
        if (factor == T(1)) return;
        for (int i = layout_.edge; i < layout_.phi; i += W)
            store(theta + i, load(theta + i) * factor);
    }

    const Settings& settings_;
    Layout layout_;
    int n_state_ = 0;
    bool looks_ahead_ = false;
    Buffer<T> state_[kMaxState];
    std::optional<std::array<Powers, 2>> powers_;
};

}  // namespace bnt::BNT_ISA
