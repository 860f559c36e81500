// What the compiled core offers, as plain data and function pointers.
//
// Everything here is free of instruction-set-specific code: the kernels behind it are compiled
// several times (kernels.cpp), and `best_engine()` picks one set when the module is loaded.
#pragma once

#include <cstdint>

namespace bnt {

enum Activation : uint8_t { kLinear, kSigmoid, kTanh, kRelu, kLeakyRelu, kActivationCount };
constexpr int kMixed = -1;  // Tree::hidden_activation where the nodes differ

enum class Loss { squared_error, cross_entropy };
enum class Rule { gd, momentum, nesterov, adagrad, rmsprop, adam, adam_paper };
enum class Schedule { constant, cosine };
enum class Select { never, epoch, update };
enum class Monitor { loss, error };
enum class Status { completed, early_stopped, callback, diverged, interrupted };

// A tree as flat arrays, function nodes in breadth-first order; nodes 0..n_outputs-1 are the
// outputs. The children of a node are contiguous, and so are its leaves.
//
// Parameters are one vector: n_nodes biases, then one edge weight per node that has a parent,
// then one weight per leaf.
struct Tree {
    int n_inputs = 0, n_outputs = 0, n_nodes = 0, n_leaves = 0, n_levels = 0;
    int hidden_activation = kSigmoid;
    const uint8_t* activation = nullptr;
    const int32_t* parent = nullptr;       // [n_nodes], -1 for outputs
    const int32_t* child_start = nullptr;  // [n_nodes + 1]
    const int32_t* leaf_start = nullptr;   // [n_nodes + 1]
    const int32_t* leaf_parent = nullptr;  // [n_leaves]
    const int32_t* leaf_input = nullptr;   // [n_leaves]
    const int32_t* level_start = nullptr;  // [n_levels + 1]
};

enum class Dtype { uint8, float32, float64 };

// Rows as the user gave them. What a kernel sees is (x - offset) * factor where those are given.
struct Table {
    const void* data = nullptr;
    Dtype dtype = Dtype::float64;
    int64_t n_rows = 0;
    int n_columns = 0;
    const double* offset = nullptr;
    const double* factor = nullptr;
};

// Targets of a table's rows: class indices, or values; both with optional weights.
template <class T>
struct Targets {
    const int32_t* labels = nullptr;
    const T* values = nullptr;
    const T* weights = nullptr;
};

struct Settings {
    Loss loss = Loss::cross_entropy;
    double label_smoothing = 0;
    Rule rule = Rule::adam;
    double gamma = 0.9, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    double learning_rate = 0.02;
    Schedule schedule = Schedule::cosine;
    double weight_decay = 0, clip_norm = 0;  // 0: none
    int64_t batch_size = 16;                 // 0: all rows
    int max_epochs = 100;
    Select select = Select::never;
    Monitor monitor = Monitor::loss;
    int patience = 0;  // 0: never stop early
    bool repeat_first_row = false;
    bool score_all_rows = false;  // never give up scoring: only to test that giving up is exact
    uint64_t seed = 0;
    int n_threads = 1;
};

struct EpochReport {
    int epoch;
    double train_loss, train_error, val_loss, val_error, learning_rate;
    const void* theta;  // the weights as they are now, valid during the call only
    int n_parameters;
};

// The caller's side of a long call. Both are called from the calling thread only.
struct Hooks {
    void* context = nullptr;
    bool (*interrupted)(void*) = nullptr;  // asked several times a second
    bool (*epoch_done)(void*, const EpochReport&) = nullptr;  // true: stop
};

struct Outcome {
    Status status = Status::completed;
    int n_epochs = 0;
    int best_epoch = -1;  // -1: nothing was selected
    double best_value = 0;
};

struct Position {
    int64_t row = -1;
    int column = -1;
};

template <class T>
struct Kernels {
    // out [n_rows][n_outputs], through a softmax if wanted; returns where the first value that is
    // not finite stands, if there is one.
    Position (*forward)(const Tree&, const T* theta, const Table&, bool softmax, T* out,
                        int n_threads, const Hooks&, bool* interrupted);
    // Mean gradient of all rows, weights included; returns the mean loss.
    double (*gradient)(const Tree&, const T* theta, const Table&, const Targets<T>&,
                       const Settings&, T* gradient);
    // theta: in the start, out the result. state: 2 * n_parameters numbers, and the step count.
    Outcome (*train)(const Tree&, T* theta, T* state, int64_t* step, const Table&,
                     const Targets<T>&, const Table& validation, const Targets<T>& val_targets,
                     const Settings&, const Hooks&);
};

struct Engine {
    const char* name;
    Kernels<float> f32;
    Kernels<double> f64;
};

const Engine& engine_baseline();
const Engine& engine_avx2();
const Engine& engine_avx512();

inline int n_parameters(const Tree& t) { return 2 * t.n_nodes - t.n_outputs + t.n_leaves; }

}  // namespace bnt
