// The outputs of one tree or of many for the rows of a table, in one pass: each block of rows is
// loaded once and evaluated by all trees.
#pragma once

#include <algorithm>

#include "blocks.hpp"
#include "forward.hpp"
#include "losses.hpp"
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

// Which inputs the leaves of some tree have; empty if all are loaded in any case.
template <class T>
Buffer<uint8_t> used_inputs(const ForwardTask<T>& task) {
    if (!task.table.lines) return {};
    Buffer<uint8_t> used(task.table.n_inputs());
    for (int i = 0; i < task.n_trees; ++i) {
        const Tree& t = *task.trees[i];
        for (int l = 0; l < t.n_leaves; ++l) used[t.leaf_input[l]] = 1;
    }
    return used;
}

// Many rows, R at a time.
template <class T, int R>
ForwardProblem forward_blocks(const ForwardTask<T>& task, const Hooks& hooks) {
    const Table& table = task.table;
    int most_nodes = 0;
    int64_t work = 0;
    for (int i = 0; i < task.n_trees; ++i) {
        most_nodes = std::max(most_nodes, task.trees[i]->n_nodes);
        work += n_weights(*task.trees[i]);
    }
    const Buffer<uint8_t> used = used_inputs(task);
    return each_block<T, R>(
        table, work, size_t(most_nodes) * R, task.n_threads, hooks,
        [&](const T* x, T* h, int64_t row, int count) {
            bool finite = true;
            for (int i = 0; i < task.n_trees; ++i) {
                const Tree& t = *task.trees[i];
                forward_block<T, R>(t, plain_weights(t, task.theta[i]), x, h);
                finite &= deliver<T, R>(task, i, row, count, h);
            }
            return finite;
        },
        used.get());
}

template <class T>
ForwardProblem forward(const ForwardTask<T>& task, const Hooks& hooks) {
    const int64_t n_rows = task.table.n_rows;
    if (n_rows == 0) return {};
    constexpr int R = 8 * Simd<T>::lanes;  // enough vectors that none waits for its exponential
    if (n_rows > R / 2) return forward_blocks<T, R>(task, hooks);
    if (n_rows > 1) return forward_blocks<T, 16>(task, hooks);
    ForwardProblem problem;
    for (int i = 0; i < task.n_trees; ++i) {
        const Tree& t = *task.trees[i];
        OneRow<T> one(t);
        load_row(task.table, 0, one.x());
        if (!all_finite(one.x(), task.table.n_inputs())) {
            problem.input = find_not_finite<T>(task.table, 0, 1);
            return problem;
        }
        one.forward(plain_weights(t, task.theta[i]));
        if (!deliver<T, 1>(task, i, 0, 1, one.outputs())) problem.output = 0;
    }
    return problem;
}

}  // namespace bnt::BNT_ISA
