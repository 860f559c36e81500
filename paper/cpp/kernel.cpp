// Multilayer perceptrons, one example per update. The hidden units are in the vector lanes. This
// file is compiled once per instruction set.
#include "kernels/interrupts.hpp"
#include "kernels/mathematics/activations.hpp"
#include "kernels/mathematics/memory.hpp"
#include "mlp.hpp"
#include "optimizers.hpp"
#include "random.hpp"

namespace bnt::BNT_ISA {

namespace {

using V = Vec<float>;
constexpr int W = Simd<float>::lanes;

// Where the weights lie: rows of `width` numbers, a whole number of vectors. The first rows are
// those of the inputs, then come the biases of the hidden units, and one row for each output. What
// is left over at the end of rows stays 0.
struct MlpLayout {
    int n_inputs, n_hidden, n_outputs, width, bias, output, output_bias, size;

    explicit MlpLayout(const MlpTask& t)
        : n_inputs(t.n_inputs), n_hidden(t.n_hidden), n_outputs(t.n_outputs),
          width(up(t.n_hidden, W)), bias(n_inputs * width), output(bias + width),
          output_bias(output + up(n_outputs, 4) * width),  // outputs are summed four at a time
          size(output_bias + up(n_outputs, W)) {}

    // Calls f(number in the network, its place in the layout, how many follow).
    template <class F>
    void each_part(const MlpTask& t, F&& f) const {
        for (int i = 0; i < n_inputs; ++i) f(t.W1 + size_t(i) * n_hidden, i * width, n_hidden);
        f(t.b1, bias, n_hidden);
        for (int k = 0; k < n_outputs; ++k)
            f(t.W2 + size_t(k) * n_hidden, output + k * width, n_hidden);
        f(t.b2, output_bias, n_outputs);
    }

    static int up(int n, int step) { return (n + step - 1) / step * step; }
};

template <class Optimizer, class Activation>
class MlpTrainer {
  public:
    MlpTrainer(const MlpTask& task, const Hooks& hooks)
        : task_(task), layout_(task), interrupts_(hooks), optimizer_(task.learning_rate),
          theta_(layout_.size), best_(layout_.size), hidden_(layout_.width), sent_(layout_.width),
          back_(layout_.width), exists_(layout_.width), kept_(layout_.width),
          output_(MlpLayout::up(layout_.n_outputs, 16)), drawn_(layout_.n_hidden),
          order_(task.training.n), monitored_order_(task.monitored.n) {
        for (int s = 0; s < Optimizer::n_state; ++s) {
            state_[s] = Buffer<float>(layout_.size);
            for (int i = 0; i < layout_.size; ++i) state_[s][i] = Optimizer::initial_state;
        }
        layout_.each_part(task, [&](const float* part, int at, int n) {
            std::memcpy(theta_.get() + at, part, sizeof(float) * n);
        });
        for (int i = 0; i < task.monitored.n; ++i) monitored_order_[i] = i;
        copy(theta_, best_);
        for (int j = 0; j < layout_.n_hidden; ++j) exists_[j] = kept_[j] = 1;
    }

    MlpOutcome run() {
        const FlushDenormals flush;
        MlpOutcome outcome;
        bool goes_on = true;
        while (goes_on && outcome.n_epochs < task_.max_epochs) {
            if (!train_epoch(outcome.n_epochs)) {
                outcome.interrupted = true;
                break;
            }
            double* curve = task_.curves + 4 * size_t(outcome.n_epochs);
            measure(task_.training, curve);
            measure(task_.monitored, curve + 2);
            if (task_.stopping == MlpStopping::patience) {
                keep_if_better(curve[2]);
                goes_on = waited_ < task_.patience;
            } else if (task_.stopping == MlpStopping::epoch) {
                keep_if_better(curve[3]);
            }
            outcome.n_epochs += 1;
        }
        const float* result = (task_.stopping == MlpStopping::never ? theta_ : best_).get();
        layout_.each_part(task_, [&](float* part, int at, int n) {
            std::memcpy(part, result + at, sizeof(float) * n);
        });
        return outcome;
    }

  private:
    // False if the caller requests a stop.
    bool train_epoch(int epoch) {
        const MlpRows& rows = task_.training;
        epoch_order(task_.seed, uint64_t(epoch), rows.n, 0, order_.get());
        for (int64_t i = 0; i < rows.n; ++i) {
            if (i % 256 == 0 && interrupts_.interrupted()) return false;
            if (task_.dropout > 0) drop_units();
            update(rows, order_[i]);
            if (task_.stopping == MlpStopping::update) keep_if_better(error_below(best_value_));
        }
        return true;
    }

    // Unit j is dropped in the t-th update if number t * n_hidden + j is below the share.
    void drop_units() {
        const int n = layout_.n_hidden;
        uniforms(~task_.seed, n_drawn_, n, drawn_.get());
        n_drawn_ += uint64_t(n);
        const float scale = float(1 / (1 - task_.dropout));
        for (int j = 0; j < n; ++j) kept_[j] = drawn_[j] < task_.dropout ? 0.0f : scale;
    }

    // N vectors of hidden units from j on.
    template <int N>
    BNT_INLINE void forward_units(const float* x, const float* kept, int j) {
        const float* theta = theta_.get() + j;
        const int width = layout_.width, n_inputs = layout_.n_inputs;
        V z[N];
        for (int c = 0; c < N; ++c) z[c] = load(theta + layout_.bias + c * W);
        for (int i = 0; i < n_inputs; ++i)
            for (int c = 0; c < N; ++c) z[c] += x[i] * load(theta + i * width + c * W);
        for (int c = 0; c < N; ++c) {
            const V h = Activation::template value<float>(z[c], {});
            store(hidden_.get() + j + c * W, h);
            store(sent_.get() + j + c * W, h * load(kept + j + c * W));
        }
    }

    // The values of hidden units, the values after dropout (times `kept`), and the sums of outputs.
    BNT_INLINE void forward(const float* x, const float* kept) {
        const float* W2 = theta_.get() + layout_.output;
        const float* sent = sent_.get();
        float* output = output_.get();
        const int width = layout_.width;
        int j = 0;
        for (; j + 4 * W <= width; j += 4 * W) forward_units<4>(x, kept, j);
        for (; j + 2 * W <= width; j += 2 * W) forward_units<2>(x, kept, j);
        for (; j < width; j += W) forward_units<1>(x, kept, j);
        for (int k = 0; k < layout_.n_outputs; k += 4) {
            V sums[4] = {};
            for (int j = 0; j < width; j += W) {
                const V h = load(sent + j);
                for (int c = 0; c < 4; ++c) sums[c] += h * load(W2 + (k + c) * width + j);
            }
            float totals[4];
            sum_each_of_four<float>(sums, totals);
            std::memcpy(output + k, totals, sizeof totals);
        }
        for (int k = 0; k < layout_.n_outputs; k += W)
            store(output + k, load(output + k) + load(theta_.get() + layout_.output_bias + k));
    }

    int highest_output() const {
        int highest = 0;
        for (int k = 1; k < layout_.n_outputs; ++k)
            if (output_[k] > output_[highest]) highest = k;
        return highest;
    }

    // exp(output - highest) in place of the outputs; returns their sum.
    float exponentiate(float highest) {
        for (int k = 0; k < layout_.n_outputs; k += W)
            store(output_.get() + k, exponential<float>(load(output_.get() + k) - highest));
        float sum = 0;
        for (int k = 0; k < layout_.n_outputs; ++k) sum += output_[k];
        return sum;
    }

    float first_output_as_sigmoid() const {
        return sigmoid<float>(broadcast<float>(output_[0]))[0];
    }

    void update(const MlpRows& rows, int64_t row) {
        const float* x = rows.X + row * layout_.n_inputs;
        forward(x, kept_.get());
        // from here on, output_ holds the derivatives of the loss by the sums of outputs
        if (rows.label) {
            const float share = 1 / exponentiate(output_[highest_output()]);
            for (int k = 0; k < layout_.n_outputs; ++k) output_[k] *= share;
            output_[rows.label[row]] -= 1;
        } else {
            const float y = first_output_as_sigmoid();
            output_[0] = 2 * (y - rows.value[row]) * y * (1 - y);
        }
        for (size_t k = size_t(layout_.n_outputs); k < output_.size(); ++k) output_[k] = 0;
        optimizer_.next_update();
        backward(x);
    }

    void backward(const float* x) {
        const float *delta = output_.get(), *hidden = hidden_.get(), *sent = sent_.get(),
                    *kept = kept_.get();
        float* back = back_.get();
        const MlpLayout layout = layout_;
        const int width = layout.width;
        const auto move = mover();
        for (int j = 0; j < width; j += W) {
            V sum{};
            for (int k = 0; k < layout.n_outputs; ++k) {
                const int at = layout.output + k * width + j;
                sum += delta[k] * move.weights(at);
                move(at, delta[k] * load(sent + j));
            }
            const V slope = Activation::template slope<float>(V{}, load(hidden + j), {});
            store(back + j, sum * slope * load(kept + j));
            move(layout.bias + j, load(back + j));
        }
        for (int k = 0; k < layout.n_outputs; k += W) move(layout.output_bias + k, load(delta + k));
        const float penalty = float(task_.penalty);
        for (int i = 0; i < layout.n_inputs; ++i)
            for (int j = 0; j < width; j += W) {
                V g = x[i] * load(back + j);
                if (penalty != 0) g += penalty * slope_of_penalty(move.weights(i * width + j));
                move(i * width + j, g);
            }
    }

    // Moves vectors of weights; a copy of everything that it needs, so that the compiler can keep
    // it in registers.
    struct Mover {
        Optimizer optimizer;
        float *theta, *state[2];

        BNT_INLINE V weights(int at) const { return load(theta + at); }
        BNT_INLINE void operator()(int at, V g) const {
            V values[2];
            for (int s = 0; s < Optimizer::n_state; ++s) values[s] = load(state[s] + at);
            store(theta + at, optimizer(load(theta + at), g, values));
            for (int s = 0; s < Optimizer::n_state; ++s) store(state[s] + at, values[s]);
        }
    };
    Mover mover() { return {optimizer_, theta_.get(), {state_[0].get(), state_[1].get()}}; }

    static BNT_INLINE V slope_of_penalty(V w) {
        const V one = broadcast<float>(1);
        return 2 * w + (w > 0 ? one : V{}) - (w < 0 ? one : V{});
    }

    double penalty() const {
        if (task_.penalty == 0) return 0;
        V sum{};
        for (int at = 0; at < layout_.bias; at += W) {
            const V w = load(theta_.get() + at);
            sum += maximum<float>(w, -w) + w * w;
        }
        double total = 0;
        for (int c = 0; c < W; ++c) total += sum[c];
        return task_.penalty * total;
    }

    // Of the row whose outputs were computed last: 0 or 1, or the squared error.
    double error_of(const MlpRows& rows, int64_t row) const {
        if (rows.label) return highest_output() != rows.label[row];
        const double difference = first_output_as_sigmoid() - rows.value[row];
        return difference * difference;
    }

    // The mean loss with the penalty, and the mean error; NaN if there are no rows.
    void measure(const MlpRows& rows, double* loss_and_error) {
        double loss = 0, error = 0;
        for (int64_t row = 0; row < rows.n; ++row) {
            forward(rows.X + row * layout_.n_inputs, exists_.get());
            error += error_of(rows, row);
            if (rows.label) {
                const float highest = output_[highest_output()],
                            of_label = output_[rows.label[row]];
                loss += __builtin_log(double(exponentiate(highest))) - double(of_label - highest);
            }
        }
        loss_and_error[0] = (rows.label ? loss : error) / double(rows.n) + penalty();
        loss_and_error[1] = error / double(rows.n);
    }

    // The sum of the errors of monitored rows, or, if it is not below `limit`, any number that is
    // not. Rows with a large error come first the next time, so that the sum is soon high enough.
    double error_below(double limit) {
        const MlpRows& rows = task_.monitored;
        const double large = limit / double(rows.n);
        double sum = 0;
        int64_t n_large = 0;
        for (int64_t i = 0; i < rows.n && !(sum >= limit); ++i) {
            const int32_t row = monitored_order_[i];
            forward(rows.X + row * int64_t(layout_.n_inputs), exists_.get());
            const double error = error_of(rows, row);
            sum += error;
            if (error > large) {
                monitored_order_[i] = monitored_order_[n_large];
                monitored_order_[n_large++] = row;
            }
        }
        return sum;
    }

    void keep_if_better(double value) {
        waited_ += 1;
        if (!(value < best_value_)) return;  // NaN is never better
        best_value_ = value;
        waited_ = 0;
        copy(theta_, best_);
    }

    void copy(const Buffer<float>& from, Buffer<float>& to) const {
        std::memcpy(to.get(), from.get(), sizeof(float) * size_t(layout_.size));
    }

    const MlpTask& task_;
    const MlpLayout layout_;
    Interrupts interrupts_;
    Optimizer optimizer_;
    Buffer<float> theta_, best_, state_[2];
    Buffer<float> hidden_, sent_, back_, exists_, kept_, output_;
    Buffer<double> drawn_;
    Buffer<int32_t> order_, monitored_order_;
    uint64_t n_drawn_ = 0;
    double best_value_ = INFINITY;
    int64_t waited_ = 0;
};

}  // namespace

MlpOutcome train_mlp(const MlpTask& task, const Hooks& hooks) {
    MlpOutcome outcome;
    MlpOptimizers::with(int(task.optimizer), [&](auto tag) {
        using Optimizer = typename decltype(tag)::type;
        outcome = task.activation == MlpActivation::sigmoid
                      ? MlpTrainer<Optimizer, Sigmoid>(task, hooks).run()
                      : MlpTrainer<Optimizer, Relu>(task, hooks).run();
    });
    return outcome;
}

}  // namespace bnt::BNT_ISA
