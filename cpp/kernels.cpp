// The kernels of one instruction set: this file is compiled once for each.
#include "train.hpp"

namespace bnt::BNT_ISA {

template <class T>
Position find_not_finite(const Table& table, int64_t first, int64_t last) {
    Buffer<T> x(table.n_columns);
    for (int64_t row = first; row < last; ++row) {
        load_row(table, row, x.get());
        for (int c = 0; c < table.n_columns; ++c)
            if (!(x[c] * T(0) == T(0))) return {row, c};
    }
    return {};
}

// Many rows, R at a time.
template <class T, int R>
Position forward_blocks(const Tree& t, const T* theta, const Table& table, bool to_softmax, T* out,
                        int n_threads, const Hooks& hooks, bool* interrupted) {
    constexpr int64_t kRowsPerItem = 512;
    const Weights<const T> w = plain_weights(t, theta);
    const int n_items = int((table.n_rows + kRowsPerItem - 1) / kRowsPerItem);
    ThreadTeam team(std::min(n_threads, n_items));
    Buffer<T> x(size_t(team.size()) * table.n_columns * R), h(size_t(team.size()) * t.n_nodes * R);
    Pulse pulse(hooks);
    std::atomic<bool> stop{false};
    std::atomic<int64_t> bad_row{table.n_rows};
    auto work = [&](int item, int thread) {
        T* own_x = x.get() + size_t(thread) * table.n_columns * R;
        T* own_h = h.get() + size_t(thread) * t.n_nodes * R;
        const int64_t last = std::min(table.n_rows, (item + 1) * kRowsPerItem);
        for (int64_t row = item * kRowsPerItem; row < last && !stop; row += R) {
            const int count = int(std::min<int64_t>(R, last - row));
            load_block<T, R>(table, nullptr, row, count, own_x);
            if (!all_finite(own_x, table.n_columns * R)) {
                int64_t seen = bad_row;
                while (row < seen && !bad_row.compare_exchange_weak(seen, row)) {}
                return;
            }
            forward_block<T, R>(t, w, own_x, own_h);
            if (to_softmax) softmax<T, R>(own_h, t.n_outputs);
            for (int r = 0; r < count; ++r)
                for (int k = 0; k < t.n_outputs; ++k)
                    out[(row + r) * t.n_outputs + k] = own_h[k * R + r];
        }
        if (thread == 0 && pulse.interrupted()) stop = true;
    };
    team.run([](void* c, int item, int thread) { (*static_cast<decltype(work)*>(c))(item, thread); },
             &work, n_items);
    *interrupted = stop;
    if (bad_row < table.n_rows)
        return find_not_finite<T>(table, bad_row, std::min(table.n_rows, bad_row + R));
    return {};
}

template <class T>
Position forward(const Tree& t, const T* theta, const Table& table, bool to_softmax, T* out,
                 int n_threads, const Hooks& hooks, bool* interrupted) {
    if (table.n_rows > 1) {
        constexpr int R = 8 * Simd<T>::lanes;  // enough vectors that none waits for its exponential
        const auto blocks = table.n_rows > R / 2 ? forward_blocks<T, R> : forward_blocks<T, 16>;
        return blocks(t, theta, table, to_softmax, out, n_threads, hooks, interrupted);
    }
    OneRow<T> one(t);
    load_row(table, 0, one.x());
    if (!all_finite(one.x(), table.n_columns)) return find_not_finite<T>(table, 0, 1);
    one.forward(plain_weights(t, theta));
    if (to_softmax) softmax<T, 1>(one.outputs(), t.n_outputs);
    std::memcpy(out, one.outputs(), sizeof(T) * t.n_outputs);
    return {};
}

template <class T>
double gradient(const Tree& t, const T* theta, const Table& table, const Targets<T>& targets,
                const Settings& settings, T* out) {
    const Layout layout = Layout::padded<T>(t);
    const LossRule<T> rule(settings);
    ThreadTeam team(settings.n_threads);
    Buffer<T> working(layout.size), g(layout.size);
    Buffer<int32_t> rows(table.n_rows);
    for (int64_t i = 0; i < table.n_rows; ++i) rows[i] = int32_t(i);
    layout.pack(theta, working.get());
    Score score;
    if (table.n_rows == 1) {
        RowGradient<T> one(t, layout, table, targets, rule);
        score = one.compute(working.get(), rows.get(), 1, g.get());
    } else {
        BatchGradient<T, 32> batch(t, layout, table, targets, rule, team, table.n_rows, nullptr);
        score = batch.compute(working.get(), rows.get(), table.n_rows, g.get());
    }
    layout.unpack(g.get(), out);
    return score.loss / double(table.n_rows);
}

template <class T>
Outcome train(const Tree& t, T* theta, T* state, int64_t* step, const Table& table,
              const Targets<T>& targets, const Table& validation, const Targets<T>& val_targets,
              const Settings& settings, const Hooks& hooks) {
    Trainer<T> trainer(t, table, targets, validation, val_targets, settings, hooks);
    return trainer.run(theta, state, step);
}

template <class T>
constexpr Kernels<T> kernels() {
    return {&forward<T>, &gradient<T>, &train<T>};
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
