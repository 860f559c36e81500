// Outputs of random trees, compared with recursion.
#include "../dispatch.hpp"
#include "check.hpp"
#include "random_trees.hpp"

namespace bnt::tests {

namespace {

constexpr int kInputs = 5, kOutputs = 3;

template <class T, class S>
std::vector<T> outputs(const RandomTree& made, const std::vector<S>& rows, Dtype dtype,
                       int n_threads, bool softmax = false) {
    const int64_t n_rows = int64_t(rows.size()) / kInputs;
    const std::vector<T> theta = made.weights<T>();
    const Tree* const trees[] = {&made.tree()};
    const T* const weights[] = {theta.data()};
    std::vector<T> out(size_t(n_rows) * kOutputs);
    const ForwardTask<T> task{trees,   weights,    1,       {rows.data(), dtype, n_rows, kInputs},
                              softmax, out.data(), nullptr, n_threads};
    const ForwardProblem problem = engine().kernels<T>().forward(task, {});
    CHECK(problem.input.row < 0 && problem.output < 0 && !problem.interrupted);
    return out;
}

template <class T>
void compare(const RandomTree& made, Random& random, int n_rows, double tolerance) {
    std::vector<double> rows(size_t(n_rows) * kInputs);
    for (double& x : rows) x = float(random.between(-3, 3));
    const auto one = outputs<T>(made, rows, Dtype::float64, 1);
    CHECK(one == outputs<T>(made, rows, Dtype::float64, 3));
    CHECK(one == outputs<T>(made, std::vector<float>(rows.begin(), rows.end()), Dtype::float32, 1));
    const auto shares = outputs<T>(made, rows, Dtype::float64, 1, true);
    for (int r = 0; r < n_rows; ++r) {
        double total = 0, sum = 0;
        for (int k = 0; k < kOutputs; ++k) {
            const double expected =
                value_of(made.tree(), made.theta.data(), k, rows.data() + r * kInputs);
            CHECK_CLOSE(double(one[r * kOutputs + k]), expected, tolerance);
            sum += double(shares[r * kOutputs + k]);
            total += std::exp(double(one[r * kOutputs + k]));
        }
        CHECK_CLOSE(sum, 1.0, tolerance);
        CHECK_CLOSE(double(shares[r * kOutputs]), std::exp(double(one[r * kOutputs])) / total,
                    tolerance);
    }
}

}  // namespace

BNT_TEST(forward_equals_recursion) {
    Random random(1);
    for (int code = kMixed; code < int(registry().activations.size()); ++code) {
        for (const int n_nodes : {3, 8, 40}) {
            const RandomTree made = random_tree(random, kInputs, kOutputs, n_nodes, code);
            for (const int n_rows : {1, 2, 33, 200}) {
                compare<double>(made, random, n_rows, 1e-12);
                compare<float>(made, random, n_rows, 1e-4);
            }
        }
    }
}

// Columns have one to three inputs, of which trees use some; inputs are scaled, or not. Each is a
// line, or the sum of one to three.
BNT_TEST(limited_lines_are_scaled) {
    Random random(4);
    constexpr int n_columns = 4, n_inputs = 9, most_lines = 16;
    const int32_t first[n_columns + 1] = {0, 3, 4, 6, 9};
    const int32_t first_line[n_inputs + 1] = {0, 1, 4, 6, 7, 8, 10, 13, 15, 16};
    std::vector<double> lines(4 * most_lines), offset(n_inputs), factor(n_inputs);
    for (int i = 0; i < most_lines; ++i) {
        lines[i] = random.between(-1, 1);
        lines[most_lines + i] = random.between(-2, 2);
        lines[2 * most_lines + i] = random.between(-1, 0);
        lines[3 * most_lines + i] = random.between(0, 1);
    }
    for (int i = 0; i < n_inputs; ++i) {
        offset[i] = random.between(-1, 1);
        factor[i] = random.between(0.5, 2);
    }
    const double* const l = lines.data();
    const auto line = [&](int i, double x) {
        return std::clamp((x - l[i]) * l[most_lines + i], l[2 * most_lines + i],
                          l[3 * most_lines + i]);
    };
    for (const int n_rows : {1, 5, 100}) {
        for (const int kind : {0, 1, 2, 3}) {
            const bool is_scaled = kind & 1, has_sums = kind & 2;
            const Lines kept{n_columns,
                             n_inputs,
                             first,
                             l,
                             l + most_lines,
                             l + 2 * most_lines,
                             l + 3 * most_lines,
                             has_sums ? first_line : nullptr};
            const RandomTree made = random_tree(random, n_inputs, kOutputs, 5, 1);
            std::vector<double> rows(size_t(n_rows) * n_columns);
            for (double& x : rows) x = random.between(-3, 3);
            const Tree* const trees[] = {&made.tree()};
            const double* const weights[] = {made.theta.data()};
            std::vector<double> out(size_t(n_rows) * kOutputs);
            const Table table{rows.data(),
                              Dtype::float64,
                              n_rows,
                              n_columns,
                              is_scaled ? offset.data() : nullptr,
                              is_scaled ? factor.data() : nullptr,
                              &kept};
            engine().f64.forward({trees, weights, 1, table, false, out.data(), nullptr, 1}, {});
            for (int r = 0; r < n_rows; ++r) {
                double inputs[n_inputs];
                for (int c = 0; c < n_columns; ++c)
                    for (int i = first[c]; i < first[c + 1]; ++i) {
                        const double x = rows[size_t(r) * n_columns + c];
                        inputs[i] = 0;
                        for (int j = kept.begin(i); j < kept.end(i); ++j) inputs[i] += line(j, x);
                        if (is_scaled) inputs[i] = (inputs[i] - offset[i]) * factor[i];
                    }
                for (int k = 0; k < kOutputs; ++k)
                    CHECK_CLOSE(out[size_t(r) * kOutputs + k],
                                value_of(made.tree(), made.theta.data(), k, inputs), 1e-12);
            }
        }
    }
}

BNT_TEST(extreme_sums_saturate) {
    Random random(2);
    const RandomTree made = random_tree(random, kInputs, kOutputs, 20, 2);
    for (const double size : {1e3, 1e10, 1e300}) {
        const std::vector<double> rows(size_t(40) * kInputs, size);
        for (const double out : outputs<double>(made, rows, Dtype::float64, 1))
            CHECK(std::fabs(out) <= 1);
    }
}

BNT_TEST(inputs_that_are_not_finite_are_found) {
    Random random(3);
    const RandomTree made = random_tree(random, kInputs, kOutputs, 6, 1);
    const std::vector<double> theta = made.theta;
    const Tree* const trees[] = {&made.tree()};
    const double* const weights[] = {theta.data()};
    for (const int n_rows : {1, 70}) {
        std::vector<double> rows(size_t(n_rows) * kInputs, 0.5);
        rows[size_t(n_rows - 1) * kInputs + 2] = n_rows == 1 ? INFINITY : NAN;
        std::vector<double> out(size_t(n_rows) * kOutputs);
        const ForwardTask<double> task{
            trees, weights,    1,       {rows.data(), Dtype::float64, n_rows, kInputs},
            false, out.data(), nullptr, 2};
        const ForwardProblem problem = engine().f64.forward(task, {});
        CHECK(problem.input.row == n_rows - 1 && problem.input.column == 2);
    }
}

}  // namespace bnt::tests
