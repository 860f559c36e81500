// Input and output of the kernels that train multilayer perceptrons with one hidden layer, one
// example at a time. They are the paper's baseline, and follow Keras.
#pragma once

#include <cstdint>

#include "engine.hpp"

namespace bnt {

// The names in the order of the codes.
enum class MlpActivation { sigmoid, relu };
constexpr const char* kMlpActivations[] = {"sigmoid", "relu"};
enum class MlpOptimizer { gd, momentum, nesterov, adagrad, rmsprop, adam };
constexpr const char* kMlpOptimizers[] = {"gd",      "momentum", "nesterov",
                                          "adagrad", "rmsprop",  "adam"};
// When to stop and which weights to return: never early and the last ones; once the loss of the
// monitored rows has not improved for `patience` epochs, and the best ones; never early, and those
// of the lowest error of the monitored rows after an epoch or an update.
enum class MlpStopping { never, patience, epoch, update };
constexpr const char* kMlpStoppings[] = {"never", "patience", "epoch", "update"};

// Rows with class labels (cross-entropy of a softmax), or with values (squared error of a sigmoid).
struct MlpRows {
    const float* X = nullptr;  // [n][n_inputs]
    const int32_t* label = nullptr;  // [n], or null
    const float* value = nullptr;  // [n], or null
    int64_t n = 0;
};

struct MlpTask {
    int n_inputs, n_hidden, n_outputs;
    float *W1, *b1, *W2, *b2;  // [inputs][hidden], [hidden], [outputs][hidden], [outputs]:
                               // the start on entry and the result on return
    MlpRows training, monitored;
    MlpActivation activation;
    MlpOptimizer optimizer;
    double learning_rate;
    double penalty;  // times the sum of |w| + w^2 over W1
    double dropout;  // the share of hidden units that are dropped in an update
    MlpStopping stopping;
    int patience, max_epochs;
    uint64_t seed;
    double* curves;  // [max_epochs][4]: loss and error of training rows, then of monitored rows
};

struct MlpOutcome {
    int n_epochs = 0;
    bool interrupted = false;
};

// Compiled for each instruction set.
namespace baseline {
MlpOutcome train_mlp(const MlpTask& task, const Hooks& hooks);
}
namespace avx2 {
MlpOutcome train_mlp(const MlpTask& task, const Hooks& hooks);
}
namespace avx512 {
MlpOutcome train_mlp(const MlpTask& task, const Hooks& hooks);
}

}  // namespace bnt
