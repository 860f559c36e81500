// Interface of the compiled core: plain data and function pointers.
//
// Everything here is free of instruction-set-specific code: the kernels behind it are compiled
// several times (kernels/kernels.cpp), and dispatch.hpp picks a set for each operation.
#pragma once

#include <cstdint>
#include <type_traits>

#include "registry.hpp"
#include "settings.hpp"

namespace bnt {

constexpr int kMixed = -1;  // Tree::hidden_activation where the nodes differ
constexpr int kMaxActivationParameters = 2;
constexpr int kMaxState = 4;           // vectors that an optimizer may keep

enum class Status { completed, early_stopped, callback, diverged, interrupted };
enum class Dtype { uint8, float32, float64 };

// A tree as flat arrays, function nodes in breadth-first order; nodes 0..n_outputs-1 are the
// outputs. The children of a node are contiguous, and so are its leaves.
//
// Parameters are one vector: n_nodes biases, then one edge weight per node that has a parent,
// then one weight per leaf, then the activation parameters, if they are trained.
struct Tree {
    int n_inputs = 0, n_outputs = 0, n_nodes = 0, n_leaves = 0, n_levels = 0;
    int hidden_activation = 0, output_activation = 0;  // codes, or kMixed
    int n_phi = 0;             // activation parameters of all nodes together
    bool phi_is_trained = false;
    bool keeps_sums = false;   // some node's backward pass needs its weighted sum
    const uint8_t* activation = nullptr;
    const int32_t* parent = nullptr;       // [n_nodes], -1 for outputs
    const int32_t* child_start = nullptr;  // [n_nodes + 1]
    const int32_t* leaf_start = nullptr;   // [n_nodes + 1]
    const int32_t* leaf_parent = nullptr;  // [n_leaves]
    const int32_t* leaf_input = nullptr;   // [n_leaves]
    const int32_t* level_start = nullptr;  // [n_levels + 1]
    const int32_t* phi_start = nullptr;    // [n_nodes + 1]
    const float* phi32 = nullptr;  // [n_phi] the values of parameters that are not trained
    const double* phi64 = nullptr;

    template <class T>
    [[gnu::always_inline]] const T* fixed_phi() const {
        if constexpr (std::is_same_v<T, float>) return phi32;
        else return phi64;
    }
};

[[gnu::always_inline]] inline int n_weights(const Tree& t) {
    return 2 * t.n_nodes - t.n_outputs + t.n_leaves;
}
[[gnu::always_inline]] inline int n_parameters(const Tree& t) {
    return n_weights(t) + (t.phi_is_trained ? t.n_phi : 0);
}

// Inputs that are limited lines of columns, min(max((x - offset) * factor, low), high), or sums of
// some of them. The inputs of column c are first[c], ..., first[c + 1] - 1; the lines of input i
// are first_line[i], ..., first_line[i + 1] - 1, at least one, or line i alone without
// `first_line`.
struct Lines {
    int n_columns = 0, n_inputs = 0;
    const int32_t* first = nullptr;  // [n_columns + 1]
    const double *offset = nullptr, *factor = nullptr, *low = nullptr, *high = nullptr;
    const int32_t* first_line = nullptr;  // [n_inputs + 1]

    int begin(int input) const { return first_line ? first_line[input] : input; }
    int end(int input) const { return first_line ? first_line[input + 1] : input + 1; }
    int n_lines() const { return first_line ? first_line[n_inputs] : n_inputs; }
};

// Rows as the user passed them. Each column is an input, or `lines` says which inputs it becomes.
// Kernels read (input - offset) * factor where these are set.
struct Table {
    const void* data = nullptr;
    Dtype dtype = Dtype::float64;
    int64_t n_rows = 0;
    int n_columns = 0;
    const double* offset = nullptr;  // [n_inputs()]
    const double* factor = nullptr;
    const Lines* lines = nullptr;

    int n_inputs() const { return lines ? lines->n_inputs : n_columns; }
};

// Targets: class indices, or n_targets values for each row.
struct Targets {
    const int32_t* labels = nullptr;
    const double* values = nullptr;
    int n_targets = 1;
};

// Rows of a table in some order, with their targets; `weights` go with the positions 0..n-1.
struct Sample {
    Table table;
    Targets targets;
    const int32_t* rows = nullptr;  // null: all rows, in their order
    const double* weights = nullptr;
    int64_t n = 0;
    const double* target_offset = nullptr;  // [n_targets]: the outputs learn (y - offset) * factor
    const double* target_factor = nullptr;
};

struct EpochReport {
    int epoch;
    double train_loss, train_error, val_loss, val_error, learning_rate;
    const void*
        theta;  // the weights and inputs of leaves as they are now, valid during the call only
    const int32_t* leaf_input;
    int n_parameters, n_leaves;
};

// A leaf that got another input.
struct LeafMove {
    int epoch, leaf, from, to;
};

// The caller's side of a long call.
struct Hooks {
    void* context = nullptr;
    bool (*interrupted)(void*) = nullptr;  // called several times a second
    bool (*epoch_done)(void*, const EpochReport&) = nullptr;  // true: stop
    void (*leaf_moved)(void*, const LeafMove&) = nullptr;
};

struct Outcome {
    Status status = Status::completed;
    int n_epochs = 0;
    int best_epoch = -1;  // -1: nothing was selected
};

// Prescribed signs: +1, -1, or 0 for free. A node has the sign of the edge above it (an output: of
// its effect on the prediction), an input that of its effect on the prediction. The sign of a leaf
// weight is the product along its path. Null where nothing is constrained.
struct Signs {
    const int8_t* node = nullptr;  // [n_nodes]
    const int8_t* input = nullptr;  // [n_inputs]
};

// One tree to be trained. theta, state and leaf_input hold the start on entry and the result on
// return.
template <class T>
struct TrainingTask {
    const Tree* tree;
    T* theta;  // [n_parameters]
    T* state;  // [n_state][n_parameters]
    int64_t* step;  // updates made so far
    const Sample* training;
    const Sample* validation;  // n = 0: none
    const Settings* settings;
    int32_t* leaf_input;  // [n_leaves], as theta
    const uint8_t* may_move_to;  // [n_inputs] or [n_nodes][n_inputs], or null: any input
    bool moves_by_node;  // whether may_move_to has a row for each node
    uint64_t seed;
    int n_threads;
    Signs signs = {};
};

struct Position {
    int64_t row = -1;
    int column = -1;
};

// Evaluation of trees on the rows of one table.
template <class T>
struct ForwardTask {
    const Tree* const* trees;
    const T* const* theta;
    int n_trees;
    Table table;
    bool softmax;  // of the outputs of each tree
    T* out;  // [n_trees][n_rows][n_outputs], or null
    double* sum;  // [n_rows][n_outputs]: the outputs of all trees are added here, or null
    int n_threads;
};

struct ForwardProblem {
    Position input;  // the first input that is not finite, if there is one
    int64_t output = -1;  // the first row with an output that is not finite
    bool interrupted = false;
};

// The attributions of leaves in the difference between the outputs for rows and for a baseline row.
template <class T>
struct AttributionTask {
    const Tree* tree;
    const T* theta;
    Table table;
    const T* baseline;  // [n_inputs]
    // Attributions are summed in cells: that of each leaf [n_leaves], and how many there are.
    const int32_t* cell;
    int n_cells;
    // Integrated gradients: positions between baseline (0) and row (1), and their weights. None:
    // the rescale rule.
    const T *position, *weight;
    int n_positions;
    T* out;  // [n_rows][n_cells]
    int n_threads;
};

// The derivatives of outputs by parameters. Each parameter belongs to one output only.
template <class T>
struct JacobianTask {
    const Tree* tree;
    const T* theta;
    Table table;
    T* out;  // [n_rows][n_parameters]
    int n_threads;
};

template <class T>
struct Kernels {
    ForwardProblem (*forward)(const ForwardTask<T>&, const Hooks&);
    ForwardProblem (*attributions)(const AttributionTask<T>&, const Hooks&);
    ForwardProblem (*jacobian)(const JacobianTask<T>&, const Hooks&);
    // Mean gradient of all rows, weights included; returns the mean loss. Of a part of the rows
    // if it is interrupted.
    double (*gradient)(const Tree&, const T* theta, const Sample&, const LossSettings&,
                       int n_threads, T* gradient, const Hooks&);
    Outcome (*train)(const TrainingTask<T>&, const Hooks&);
};

struct Engine {
    const char* name;
    Kernels<float> f32;
    Kernels<double> f64;

    template <class T>
    const Kernels<T>& kernels() const {
        if constexpr (std::is_same_v<T, float>) return f32;
        else return f64;
    }
};

const Engine& engine_baseline();
const Engine& engine_avx2();
const Engine& engine_avx512();

// The registered entries, the same for every instruction set.
const Registry& registry();
// Whether the backward pass of an activation needs the node's weighted sum.
bool keeps_sum(int activation_code);
// The values of an activation, in place of n weighted sums.
void activation_values(int code, const double* parameters, int n, double* values);

}  // namespace bnt
