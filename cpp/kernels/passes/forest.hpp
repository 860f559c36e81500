// The outputs of one tree or of many for the rows of a table, in one pass: each block of rows is
// loaded once and evaluated by all trees.
#pragma once

#include <algorithm>

#include "../mathematics/losses.hpp"
#include "blocks.hpp"
#include "forward.hpp"
#include "online.hpp"

namespace bnt::BNT_ISA {

// Adds the outputs of a tree for R rows to the sum of all trees. With softmax, `out` is
// proportional to the probabilities; it is divided by its sum here, once, in double precision.
template <class T, int R>
void add_votes(const T* out, int n_outputs, bool softmax, int count, double* sum) {
    for (int r = 0; r < count; ++r) {
        double total = 1;
        if (softmax) {
            total = 0;
            for (int k = 0; k < n_outputs; ++k) total += double(out[k * R + r]);
        }
        for (int k = 0; k < n_outputs; ++k)
            sum[r * n_outputs + k] +=
                softmax ? double(out[k * R + r]) / total : double(out[k * R + r]);
    }
}

// Stores or adds the outputs of one tree for R rows; returns whether they are finite.
template <class T, int R>
bool deliver(const ForwardTask<T>& task, int tree, int64_t row, int count, T* out) {
    const int n_outputs = task.trees[tree]->n_outputs;
    if (task.softmax) {
        if (task.sum) softmax<T, R, false>(out, n_outputs);
        else softmax<T, R>(out, n_outputs);
    }
    bool finite = true;
    for (int k = 0; k < n_outputs; ++k)
        for (int r = 0; r < count; ++r) finite &= out[k * R + r] * T(0) == T(0);
    if (task.sum) add_votes<T, R>(out, n_outputs, task.softmax, count, task.sum + row * n_outputs);
    if (task.out) {
        T* to = task.out + (int64_t(tree) * task.table.n_rows + row) * n_outputs;
        for (int r = 0; r < count; ++r)
            for (int k = 0; k < n_outputs; ++k) to[int64_t(r) * n_outputs + k] = out[k * R + r];
    }
    return finite;
}

// The trees of a task, numbered by the inputs that some leaf has or that are the first of their
// column: of ramps, most are not used, and rows with fewer inputs stay in the cache.
template <class T>
class UsedInputs {
  public:
    explicit UsedInputs(const ForwardTask<T>& task) : trees_(task.n_trees), table_(task.table) {
        for (int i = 0; i < task.n_trees; ++i) trees_[i] = *task.trees[i];
        if (!task.table.lines) return;
        const Lines& all = *task.table.lines;
        place_ = Buffer<int32_t>(all.n_inputs);
        for (int c = 0; c < all.n_columns; ++c)
            if (all.first[c] < all.first[c + 1]) place_[all.first[c]] = 1;
        size_t n_leaves = 0;
        for (int i = 0; i < task.n_trees; ++i) {
            const Tree& t = *task.trees[i];
            for (int l = 0; l < t.n_leaves; ++l) place_[t.leaf_input[l]] = 1;
            n_leaves += t.n_leaves;
        }
        keep_lines(all);
        leaf_input_ = Buffer<int32_t>(n_leaves);
        int32_t* next = leaf_input_.get();
        for (int i = 0; i < task.n_trees; ++i) {
            const Tree& t = *task.trees[i];
            for (int l = 0; l < t.n_leaves; ++l) next[l] = place_[t.leaf_input[l]];
            trees_[i].leaf_input = next;
            next += t.n_leaves;
        }
        table_.lines = &lines_;
    }
    UsedInputs(const UsedInputs&) = delete;

    const Table& table() const { return table_; }
    const Tree& tree(int i) const { return trees_[i]; }

  private:
    // Copies lines and scaling of the inputs that are marked in place_, and replaces the marks by
    // their positions.
    void keep_lines(const Lines& all) {
        const double* const from[6] = {all.offset, all.factor,    all.low,
                                       all.high,   table_.offset, table_.factor};
        const int n_kinds = table_.offset ? 6 : 4, n_lines = all.n_lines();
        first_ = Buffer<int32_t>(all.n_columns + 1);
        first_line_ = Buffer<int32_t>(all.n_inputs + 1);
        numbers_ = Buffer<double>(size_t(n_kinds) * n_lines);
        double* to[6];
        for (int k = 0; k < n_kinds; ++k) to[k] = numbers_.get() + size_t(k) * n_lines;
        int n = 0, line = 0;
        for (int c = 0; c < all.n_columns; ++c) {
            for (int i = all.first[c]; i < all.first[c + 1]; ++i) {
                if (!place_[i]) continue;
                for (int l = all.begin(i); l < all.end(i); ++l, ++line)
                    for (int k = 0; k < 4; ++k) to[k][line] = from[k][l];
                for (int k = 4; k < n_kinds; ++k) to[k][n] = from[k][i];
                place_[i] = n++;
                first_line_[n] = line;
            }
            first_[c + 1] = n;
        }
        lines_ = {all.n_columns, n,     first_.get(), to[0],
                  to[1],         to[2], to[3],        all.first_line ? first_line_.get() : nullptr};
        if (n_kinds > 4) table_.offset = to[4], table_.factor = to[5];
    }

    Buffer<Tree> trees_;
    Table table_;
    Lines lines_;
    Buffer<int32_t> place_, first_, first_line_, leaf_input_;
    Buffer<double> numbers_;
};

// Many rows, R at a time.
template <class T, int R>
ForwardProblem forward_blocks(const ForwardTask<T>& task, const Hooks& hooks) {
    const UsedInputs<T> used(task);
    int most_nodes = 0;
    int64_t work = 0;
    for (int i = 0; i < task.n_trees; ++i) {
        most_nodes = std::max(most_nodes, task.trees[i]->n_nodes);
        work += n_weights(*task.trees[i]);
    }
    return each_block<T, R>(used.table(), work, size_t(most_nodes) * R, task.n_threads, hooks,
                            [&](const T* x, T* h, int64_t row, int count) {
                                bool finite = true;
                                for (int i = 0; i < task.n_trees; ++i) {
                                    const Tree& t = used.tree(i);
                                    forward_block<T, R>(t, plain_weights(t, task.theta[i]), x, h);
                                    finite &= deliver<T, R>(task, i, row, count, h);
                                }
                                return finite;
                            });
}

template <class T>
ForwardProblem forward(const ForwardTask<T>& task, const Hooks& hooks) {
    const int64_t n_rows = task.table.n_rows;
    if (n_rows == 0) return {};
    constexpr int R = 8 * Simd<T>::lanes;  // enough vectors that none waits for its exponential
    if (n_rows > R / 2) return forward_blocks<T, R>(task, hooks);
    if (n_rows > 1) return forward_blocks<T, 16>(task, hooks);
    ForwardProblem problem;
    const int n_inputs = task.table.n_inputs();
    Buffer<T> x(n_inputs);
    load_row(task.table, 0, x.get());
    if (!all_finite(x.get(), n_inputs)) {
        problem.input = find_not_finite<T>(task.table, 0, 1);
        return problem;
    }
    for (int i = 0; i < task.n_trees; ++i) {
        const Tree& t = *task.trees[i];
        OneRow<T> one(t);
        std::memcpy(one.x(), x.get(), sizeof(T) * n_inputs);
        one.forward(plain_weights(t, task.theta[i]));
        if (!deliver<T, 1>(task, i, 0, 1, one.outputs())) problem.output = 0;
    }
    return problem;
}

}  // namespace bnt::BNT_ISA
