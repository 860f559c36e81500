// The Python module bneuralt_paper._mlp.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "mlp_dispatch.hpp"
#include "python/arrays.hpp"
#include "python/gil.hpp"
#include "python/signals.hpp"

using namespace nanobind::literals;

namespace bnt {

namespace {

// The code of a name.
template <class Code, size_t N>
Code as_choice(nb::handle value, const char* name, const char* const (&choices)[N]) {
    const std::string text = as_text(value, name);
    std::string names;
    for (size_t i = 0; i < N; ++i) {
        if (text == choices[i]) return Code(i);
        names += (i ? ", " : "") + std::string(choices[i]);
    }
    fail(std::string(name) + "='" + text + "' is unknown: choose one of " + names);
}

In<float> as_matrix(nb::handle object, const char* name) {
    const In<float> array = as_array<float>(object, name);
    if (array.ndim() != 2) fail(std::string(name) + " must have two dimensions");
    if (array.size() >= size_t(1) << 31) fail(std::string(name) + " has 2^31 numbers or more");
    if (!array.shape(1)) fail(std::string(name) + " has no columns");
    return array;
}

// The rows of a table with their labels or values, kept alive while they are used.
class LabelledRows {
  public:
    LabelledRows(nb::handle X, nb::handle y, bool has_labels, size_t n_inputs, size_t n_outputs,
                 const std::string& suffix)
        : X_(as_matrix(X, ("X" + suffix).c_str())) {
        const std::string name = "y" + suffix;
        if (X_.shape(1) != n_inputs)
            fail("X" + suffix + " has " + std::to_string(X_.shape(1)) + " columns, W1 has " +
                 std::to_string(n_inputs) + " rows");
        if (has_labels) {
            // copied before they are checked: kernels use them as indices
            const In<int32_t> array = as_array<int32_t>(y, name.c_str(), X_.shape(0));
            labels_.assign(array.data(), array.data() + array.size());
            for (int32_t label : labels_)
                if (label < 0 || size_t(label) >= n_outputs)
                    fail(name + " has the label " + std::to_string(label) + ", the network has " +
                         std::to_string(n_outputs) + " outputs");
        } else {
            values_ = as_array<float>(y, name.c_str(), X_.shape(0));
            value_ = values_.data();
            if (n_outputs != 1) fail(name + " has values, for which W2 must have one row");
        }
    }

    MlpRows rows() const {
        return {X_.data(), value_ ? nullptr : labels_.data(), value_, int64_t(X_.shape(0))};
    }

  private:
    In<float> X_, values_;
    const float* value_ = nullptr;
    std::vector<int32_t> labels_;
};

nb::tuple train_mlp(nb::handle W1, nb::handle b1, nb::handle W2, nb::handle b2, nb::handle X,
                    nb::handle y, nb::handle X_monitored, nb::handle y_monitored,
                    nb::handle activation, nb::handle optimizer, nb::handle learning_rate,
                    nb::handle penalty, nb::handle dropout, nb::handle stopping,
                    nb::handle patience, nb::handle max_epochs, nb::handle seed) {
    const In<float> first = as_matrix(W1, "W1"), second = as_matrix(W2, "W2");
    const size_t n_inputs = first.shape(0), n_hidden = first.shape(1), n_outputs = second.shape(0);
    if (!n_inputs || !n_outputs) fail("W1 and W2 must have rows");
    // kernels count the padded weights in an int
    if ((n_inputs + n_outputs + 5) * (n_hidden + 16) >= size_t(1) << 31)
        fail("the network has too many weights");
    if (second.shape(1) != n_hidden)
        fail("W1 has " + std::to_string(n_hidden) + " columns, W2 has " +
             std::to_string(second.shape(1)));
    const In<float> first_bias = as_array<float>(b1, "b1", n_hidden),
                    second_bias = as_array<float>(b2, "b2", n_outputs);
    In<int32_t> labels;
    const bool has_labels = nb::try_cast<In<int32_t>>(y, labels, false);
    const LabelledRows training(X, y, has_labels, n_inputs, n_outputs, ""),
        monitored(X_monitored, y_monitored, has_labels, n_inputs, n_outputs, "_monitored");

    MlpTask task{};
    task.n_inputs = int(n_inputs);
    task.n_hidden = int(n_hidden);
    task.n_outputs = int(n_outputs);
    task.training = training.rows();
    task.monitored = monitored.rows();
    task.activation = as_choice<MlpActivation>(activation, "activation", kMlpActivations);
    task.optimizer = as_choice<MlpOptimizer>(optimizer, "optimizer", kMlpOptimizers);
    task.learning_rate = as_number(learning_rate, "learning_rate");
    task.penalty = as_number(penalty, "penalty");
    task.dropout = as_number(dropout, "dropout");
    task.stopping = as_choice<MlpStopping>(stopping, "stopping", kMlpStoppings);
    task.patience = int(as_whole(patience, "patience", 1, INT32_MAX));
    task.max_epochs = int(as_whole(max_epochs, "max_epochs", 1, 1 << 20));
    task.seed = as_seed(seed);
    if (!task.training.n) fail("X has no rows");
    if (task.dropout < 0 || task.dropout >= 1) fail("dropout must lie in [0, 1)");
    if (task.stopping != MlpStopping::never && !task.monitored.n)
        fail("X_monitored has no rows, which stopping='" + as_text(stopping, "stopping") +
             "' needs");

    const auto copy_of = [](const In<float>& a) {
        return std::vector<float>(a.data(), a.data() + a.size());
    };
    std::vector<float> parts[4] = {copy_of(first), copy_of(first_bias), copy_of(second),
                                   copy_of(second_bias)};
    task.W1 = parts[0].data();
    task.b1 = parts[1].data();
    task.W2 = parts[2].data();
    task.b2 = parts[3].data();
    std::vector<double> curves(4 * size_t(task.max_epochs));
    task.curves = curves.data();
    SignalCheck signals;
    MlpOutcome outcome;
    {
        GilRelease release;
        outcome = mlp_trainings().code()(task, signals.hooks());
    }
    signals.rethrow();
    return nb::make_tuple(new_array(task.W1, {n_inputs, n_hidden}), new_array(task.b1, {n_hidden}),
                          new_array(task.W2, {n_outputs, n_hidden}),
                          new_array(task.b2, {n_outputs}),
                          new_array(curves.data(), {size_t(outcome.n_epochs), 4}));
}

}  // namespace

}  // namespace bnt

NB_MODULE(_mlp, m) {
    m.doc() = "Training of the paper's multilayer perceptrons.";
    m.def(
        "engines", [] { return bnt::mlp_trainings().names(); },
        "Return the instruction sets that this processor runs, widest first.");
    m.def(
        "use_engine", [](const std::string& name) { bnt::mlp_trainings().use(name); }, "name"_a,
        "Use another instruction set; 'auto' is the widest.");
    m.def("train_mlp", &bnt::train_mlp, "W1"_a, "b1"_a, "W2"_a, "b2"_a, "X"_a, "y"_a,
          "X_monitored"_a, "y_monitored"_a, "activation"_a, "optimizer"_a, "learning_rate"_a,
          "penalty"_a, "dropout"_a, "stopping"_a, "patience"_a, "max_epochs"_a, "seed"_a,
          "Train a perceptron with one hidden layer; return W1, b1, W2, b2 and the curves.\n\n"
          "Targets are class labels or values. The columns of the curves are the loss and the "
          "error of the training rows, and those of the monitored rows, after each epoch.",
          nanobind::sig(
              "def train_mlp(W1: numpy.typing.NDArray[numpy.float32], "
              "b1: numpy.typing.NDArray[numpy.float32], "
              "W2: numpy.typing.NDArray[numpy.float32], "
              "b2: numpy.typing.NDArray[numpy.float32], "
              "X: numpy.typing.NDArray[numpy.float32], y: numpy.typing.NDArray[typing.Any], "
              "X_monitored: numpy.typing.NDArray[numpy.float32], "
              "y_monitored: numpy.typing.NDArray[typing.Any], activation: str, "
              "optimizer: str, learning_rate: float, penalty: float, dropout: float, "
              "stopping: str, patience: int, max_epochs: int, seed: int) -> "
              "tuple[numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float32], "
              "numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float32], "
              "numpy.typing.NDArray[numpy.float64]]"));
}
