// The kernels of one instruction set: this file is compiled once for each.
#include "explaining/attributions.hpp"
#include "explaining/jacobian.hpp"
#include "passes/forest.hpp"
#include "training/train.hpp"

namespace bnt::BNT_ISA {

template <class T>
double gradient(const Tree& t, const T* theta, const Sample& rows, const LossSettings& loss,
                int n_threads, T* out, const Hooks& hooks) {
    const Layout layout = Layout::padded<T>(t);
    const SampleView<T> sample(rows);
    const LossRule<T> rule(loss, t.n_outputs);
    Buffer<T> working(layout.size), g(layout.size);
    Buffer<int32_t> positions(rows.n);
    for (int64_t i = 0; i < rows.n; ++i) positions[i] = int32_t(i);
    layout.pack(theta, working.get());
    Score score;
    if (rows.n == 1) {
        RowGradient<T> one(t, layout, sample, rule);
        score = one.compute(working.get(), positions.get(), 1, g.get());
    } else {
        ThreadTeam team(std::min(n_threads, BatchGradient<T, 32>::chunks(rows.n)));
        Interrupts interrupts(hooks);
        BatchGradient<T, 32> batch(t, layout, sample, rule, team, rows.n, interrupts);
        score = batch.compute(working.get(), positions.get(), rows.n, g.get());
    }
    layout.unpack(g.get(), out);
    return score.loss / double(rows.n);
}

template <class T>
Outcome train(const TrainingTask<T>& task, const Hooks& hooks) {
    return Trainer<T>(task, hooks).run();
}

template <class T>
constexpr Kernels<T> kernels() {
    return {&forward<T>, &attributions<T>, &jacobian<T>, &gradient<T>, &train<T>};
}

#define BNT_STRING(x) #x
#define BNT_NAME(x) BNT_STRING(x)
#define BNT_PASTE(a, b) a##b
#define BNT_JOIN(a, b) BNT_PASTE(a, b)

static const Engine engine{BNT_NAME(BNT_ISA), kernels<float>(), kernels<double>()};

}  // namespace bnt::BNT_ISA

namespace bnt {

const Engine& BNT_JOIN(engine_, BNT_ISA)() { return BNT_ISA::engine; }

}  // namespace bnt
