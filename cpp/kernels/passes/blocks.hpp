// The rows of a table in blocks of R, shared out among threads.
#pragma once

#include <algorithm>
#include <atomic>

#include "../../threads.hpp"
#include "../interrupts.hpp"
#include "rows.hpp"

namespace bnt::BNT_ISA {

inline int column_of(const Lines& lines, int input) {
    int column = 0;
    while (lines.first[column + 1] <= input) ++column;
    return column;
}

template <class T>
Position find_not_finite(const Table& table, int64_t first, int64_t last) {
    Buffer<T> x(table.n_inputs());
    for (int64_t row = first; row < last; ++row) {
        load_row(table, row, x.get());
        for (int i = 0; i < table.n_inputs(); ++i)
            if (!(x[i] * T(0) == T(0))) return {row, table.lines ? column_of(*table.lines, i) : i};
    }
    return {};
}

// The lowest of the numbers that several threads offer.
class Lowest {
  public:
    explicit Lowest(int64_t none) : value_(none) {}
    void offer(int64_t candidate) {
        int64_t lowest = value_;
        while (candidate < lowest && !value_.compare_exchange_weak(lowest, candidate)) {}
    }
    int64_t get() const { return value_; }

  private:
    std::atomic<int64_t> value_;
};

// Calls f(x, memory, row, count) for each block: x [n_inputs][R] has its rows, memory has `room`
// numbers for the use of f, and f returns whether all that it computed is finite. `work` is the
// number of multiply-adds for one row.
template <class T, int R, class F>
ForwardProblem each_block(const Table& table, int64_t work, size_t room, int n_threads,
                          const Hooks& hooks, F&& f) {
    // items of some 100,000 multiply-adds: large enough for a thread, small enough to distribute
    const int64_t rows_per_item =
        std::clamp<int64_t>(200'000 / std::max<int64_t>(work, 1) / R * R, R, 512);
    const int n_items = int((table.n_rows + rows_per_item - 1) / rows_per_item);
    ThreadTeam team(std::min(n_threads, n_items));
    const size_t block = size_t(table.n_inputs()) * R;
    Buffer<T> buffer(size_t(team.size()) * (block + room));
    Interrupts interrupts(hooks);
    Lowest bad_input(table.n_rows), bad_output(table.n_rows);
    team.each(n_items, [&](int item, int thread) {
        T* x = buffer.get() + size_t(thread) * (block + room);
        const int64_t last = std::min(table.n_rows, (item + 1) * rows_per_item);
        for (int64_t row = item * rows_per_item; row < last && !interrupts.stopped(); row += R) {
            const int count = int(std::min<int64_t>(R, last - row));
            load_block<T, R>(table, nullptr, row, count, x);
            if (!all_finite(x, int64_t(table.n_inputs()) * R)) return bad_input.offer(row);
            if (!f(x, x + block, row, count)) bad_output.offer(row);
        }
        interrupts.interrupted(thread);
    });
    ForwardProblem problem;
    problem.interrupted = interrupts.stopped();
    if (bad_input.get() < table.n_rows)
        problem.input =
            find_not_finite<T>(table, bad_input.get(), std::min(table.n_rows, bad_input.get() + R));
    else if (bad_output.get() < table.n_rows) problem.output = bad_output.get();
    return problem;
}

}  // namespace bnt::BNT_ISA
