// Gradients compared with central differences, and training with every optimizer.
#include <limits>

#include "../dispatch.hpp"
#include "../jobs.hpp"
#include "check.hpp"
#include "random_trees.hpp"

namespace bnt::tests {

namespace {

constexpr int kRows = 120, kInputs = 4, kOutputs = 2;

struct Problem {
    std::vector<double> rows, values;
    Sample sample;

    explicit Problem(Random& random) : rows(kRows * kInputs), values(kRows * kOutputs) {
        for (double& x : rows) x = random.between(-2, 2);
        for (int r = 0; r < kRows; ++r) {
            values[r * kOutputs] = std::tanh(rows[r * kInputs] - rows[r * kInputs + 1]);
            values[r * kOutputs + 1] = 0.5 * rows[r * kInputs + 2];
        }
        sample.table = {rows.data(), Dtype::float64, kRows, kInputs};
        sample.targets = {nullptr, values.data(), kOutputs};
        sample.n = kRows;
    }
};

double gradient(const RandomTree& made, const std::vector<double>& theta, const Sample& sample,
                std::vector<double>& slopes, int n_threads = 1) {
    LossSettings loss;  // the first one: squared error
    slopes.resize(theta.size());
    return engine().f64.gradient(made.tree(), theta.data(), sample, loss, n_threads, slopes.data(),
                                 {});
}

template <class T>
double trained_loss(const RandomTree& made, const Sample& sample, int optimizer, int n_threads,
                    std::vector<T>* result = nullptr) {
    Settings settings;
    settings.optimizer.code = optimizer;
    const Entry& entry = registry().optimizers[optimizer];
    for (size_t p = 0; p < entry.parameters.size(); ++p)
        settings.optimizer.parameters[p] = entry.parameters[p].standard;
    settings.batch_size = 40;
    settings.max_epochs = 60;
    const Tree& tree = made.tree();
    std::vector<T> theta = made.weights<T>();
    std::vector<T> state(size_t(std::max(1, entry.n_state)) * theta.size());
    std::vector<int32_t> leaf_input(tree.leaf_input, tree.leaf_input + tree.n_leaves);
    int64_t step = 0;
    const Sample none;
    const TrainingTask<T> task{&tree, theta.data(), state.data(),      &step,   &sample,
                               &none, &settings,    leaf_input.data(), nullptr, false,
                               7,     n_threads};
    const Outcome outcome = engine().kernels<T>().train(task, {});
    CHECK(outcome.status == Status::completed && outcome.n_epochs == 60);
    if (result) *result = theta;
    std::vector<double> slopes;
    return gradient(made, {theta.begin(), theta.end()}, sample, slopes);
}

}  // namespace

BNT_TEST(gradients_equal_differences) {
    Random random(11);
    const Problem problem(random);
    for (const char* smooth :
         {"linear", "sigmoid", "tanh", "gaussian", "linear_tanh", "unipolar"}) {
        int code = 0;
        while (std::string(registry().activations[code].name) != smooth) ++code;
        const RandomTree made = random_tree(random, kInputs, kOutputs, 15, code);
        std::vector<double> slopes, again, unused;
        gradient(made, made.theta, problem.sample, slopes);
        gradient(made, made.theta, problem.sample, again, 2);
        CHECK(slopes == again);
        for (size_t i = 0; i < made.theta.size(); i += 3) {
            std::vector<double> up = made.theta, down = made.theta;
            up[i] += 1e-6;
            down[i] -= 1e-6;
            const double difference = gradient(made, up, problem.sample, unused) -
                                      gradient(made, down, problem.sample, unused);
            CHECK_CLOSE(slopes[i], difference / 2e-6, 1e-6);
        }
    }
}

BNT_TEST(every_optimizer_lowers_the_loss) {
    Random random(12);
    const Problem problem(random);
    const RandomTree made = random_tree(random, kInputs, kOutputs, 10, 2);
    std::vector<double> slopes;
    const double before = gradient(made, made.theta, problem.sample, slopes);
    for (int code = 0; code < int(registry().optimizers.size()); ++code) {
        CHECK(trained_loss<double>(made, problem.sample, code, 1) < before);
        CHECK(trained_loss<float>(made, problem.sample, code, 1) < before);
    }
}

BNT_TEST(threads_change_no_weight) {
    Random random(13);
    const Problem problem(random);
    const RandomTree made = random_tree(random, kInputs, kOutputs, 10, 1);
    std::vector<float> one, three;
    trained_loss<float>(made, problem.sample, 0, 1, &one);
    trained_loss<float>(made, problem.sample, 0, 3, &three);
    CHECK(one == three);
}

// Saturated neurons make gradients far below the normal range: while training they are 0, and
// afterwards the caller's numbers are as they were.
BNT_TEST(denormals_are_flushed_in_training_only) {
    Random random(14);
    Problem problem(random);
    RandomTree tiny{
        std::make_unique<Structure>(kInputs, kOutputs, std::vector<int32_t>(2, -1),
                                    std::vector<uint8_t>(2, 0), std::vector<int32_t>{0, 1},
                                    std::vector<int32_t>{0, 1}, std::vector<double>{}, false),
        {}};
    const double least = std::numeric_limits<double>::min();
    tiny.theta.assign(size_t(n_parameters(tiny.tree())), 0);
    for (double& value : problem.values) value = least / 4;  // a denormal residual for every row
    std::vector<double> slopes;
    gradient(tiny, tiny.theta, problem.sample, slopes);
#if defined(__SSE2__) || defined(__aarch64__)
    for (const double slope : slopes) CHECK(slope == 0);
#endif
    volatile double small = least;
    small = small / 4;
    CHECK(small > 0);
}

}  // namespace bnt::tests
