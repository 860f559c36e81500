// Multilayer perceptrons: every optimizer learns, and the best weights are returned.
#include "../mlp_dispatch.hpp"
#include "tests/check.hpp"
#include "tests/random_trees.hpp"

namespace bnt::tests {

namespace {

constexpr int kRows = 60, kInputs = 3, kHidden = 21, kOutputs = 5;

// Rows whose class, or whose value, is a matter of their first input.
struct Perceptron {
    std::vector<float> X, values, W1, b1, W2, b2;
    std::vector<int32_t> labels;
    std::vector<double> curves;
    MlpTask task{};

    Perceptron(Random& random, bool classify, int max_epochs)
        : X(kRows * kInputs), values(kRows), W1(kInputs * kHidden), b1(kHidden),
          W2(kOutputs * kHidden), b2(kOutputs), labels(kRows), curves(4 * size_t(max_epochs)) {
        for (float& x : X) x = float(random.between(0, 1));
        for (std::vector<float>* weights : {&W1, &W2})
            for (float& w : *weights) w = float(random.between(-0.5, 0.5));
        for (int r = 0; r < kRows; ++r) {
            values[r] = X[r * kInputs];
            labels[r] = int(values[r] * kOutputs);
        }
        task.n_inputs = kInputs;
        task.n_hidden = kHidden;
        task.n_outputs = classify ? kOutputs : 1;
        task.W1 = W1.data();
        task.b1 = b1.data();
        task.W2 = W2.data();
        task.b2 = b2.data();
        task.training = {X.data(), classify ? labels.data() : nullptr,
                         classify ? nullptr : values.data(), kRows};
        task.monitored = task.training;
        task.optimizer = MlpOptimizer::adam;
        task.learning_rate = 0.02;
        task.patience = 3;
        task.max_epochs = max_epochs;
        task.seed = 5;
        task.curves = curves.data();
    }

    MlpOutcome train() { return mlp_trainings().code()(task, {}); }
};

}  // namespace

BNT_TEST(every_optimizer_trains_perceptrons) {
    for (int optimizer = 0; optimizer < 6; ++optimizer)
        for (const MlpActivation activation : {MlpActivation::sigmoid, MlpActivation::relu})
            for (const bool classify : {true, false}) {
                Random random(21);
                Perceptron p(random, classify, 40);
                p.task.optimizer = MlpOptimizer(optimizer);
                p.task.activation = activation;
                CHECK(p.train().n_epochs == 40);
                CHECK(p.curves[4 * 39] < p.curves[0]);
                CHECK(p.curves[4 * 39] == p.curves[4 * 39 + 2]);  // the same rows
            }
}

BNT_TEST(perceptrons_stop_and_are_selected) {
    for (const MlpStopping stopping :
         {MlpStopping::patience, MlpStopping::epoch, MlpStopping::update}) {
        Random random(22);
        Perceptron p(random, true, 30);
        p.task.stopping = stopping;
        p.task.penalty = 0.001;
        p.task.dropout = 0.3;
        const int n = p.train().n_epochs;
        CHECK(n == 30 || (stopping == MlpStopping::patience && n >= 3));
        // one more epoch with a rate of 0 measures the selected weights
        double best = p.curves[3];
        for (int epoch = 0; epoch < n; ++epoch) best = std::fmin(best, p.curves[4 * epoch + 3]);
        p.task.max_epochs = 1;
        p.task.learning_rate = 0;
        p.task.optimizer = MlpOptimizer::gd;
        p.train();
        if (stopping == MlpStopping::epoch) CHECK(p.curves[3] == best);
        if (stopping == MlpStopping::update) CHECK(p.curves[3] <= best);
    }
}

}  // namespace bnt::tests
