// The door from Python: checks shapes and dtypes, releases the GIL, calls one kernel.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <variant>

#include "engine.hpp"
#include "model.hpp"
#include "random.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace bnt {
namespace {

const Engine* chosen_engine = nullptr;

bool supported(const char* name) {
#if defined(BNT_X86)
    __builtin_cpu_init();
    if (!std::strcmp(name, "avx512"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (!std::strcmp(name, "avx2"))
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return !std::strcmp(name, "baseline");
}

const Engine& engine_named(const char* name) {
#if defined(BNT_X86)
    if (!std::strcmp(name, "avx512")) return engine_avx512();
    if (!std::strcmp(name, "avx2")) return engine_avx2();
#endif
    return engine_baseline();
}

constexpr const char* kEngines[] = {"avx512", "avx2", "baseline"};

void use_engine(const std::string& name) {
    for (const char* known : kEngines)
        if (name == known && supported(known)) {
            chosen_engine = &engine_named(known);
            return;
        }
    throw nb::value_error(("no instruction set '" + name + "' on this processor").c_str());
}

template <class T>
const Kernels<T>& kernels() {
    if constexpr (sizeof(T) == 4)
        return chosen_engine->f32;
    else
        return chosen_engine->f64;
}

template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

template <class T>
nb::object new_array(const T* data, std::initializer_list<size_t> shape) {
    size_t n = 1;
    for (size_t s : shape) n *= s;
    T* copy = new T[n];
    if (data) std::memcpy(copy, data, n * sizeof(T));
    nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(copy, shape, owner));
}

[[noreturn]] void fail(const std::string& message) { throw nb::value_error(message.c_str()); }

Table as_table(const AnyArray& X, int n_inputs, const char* name) {
    Table table;
    if (X.dtype() == nb::dtype<double>()) table.dtype = Dtype::float64;
    else if (X.dtype() == nb::dtype<float>()) table.dtype = Dtype::float32;
    else if (X.dtype() == nb::dtype<uint8_t>()) table.dtype = Dtype::uint8;
    else throw nb::type_error((std::string(name) + " must be float64, float32 or uint8").c_str());
    if (X.ndim() != 1 && X.ndim() != 2)
        fail(std::string(name) + " must have one or two dimensions, it has " + std::to_string(X.ndim()));
    const size_t columns = X.shape(X.ndim() - 1);
    if (columns != size_t(n_inputs))
        fail(std::string(name) + " has " + std::to_string(columns) + " features, but the tree has " +
             std::to_string(n_inputs) + " inputs");
    table.data = X.data();
    table.n_rows = X.ndim() == 2 ? int64_t(X.shape(0)) : 1;
    if (table.n_rows >= int64_t(1) << 31) fail(std::string(name) + " has more than 2^31 rows");
    table.n_columns = n_inputs;
    return table;
}

// Ctrl-C and callbacks, from a call that runs without the GIL. What Python raised is kept, and
// raised when the call is over and its results are safe.
struct PythonHooks {
    nb::object on_epoch;  // None, or called with the numbers and the weights of an epoch
    nb::object (*weights)(const EpochReport&) = nullptr;
    std::vector<EpochReport> history;
    std::exception_ptr raised;

    static bool interrupted(void* context) {
        auto* self = static_cast<PythonHooks*>(context);
        nb::gil_scoped_acquire gil;
        try {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        } catch (...) {
            self->raised = std::current_exception();
        }
        return self->raised != nullptr;
    }

    static bool epoch_done(void* context, const EpochReport& r) {
        auto* self = static_cast<PythonHooks*>(context);
        self->history.push_back(r);
        if (!self->weights) return false;
        nb::gil_scoped_acquire gil;
        try {
            nb::object stop = self->on_epoch(r.epoch, *numbers(r), self->weights(r));
            return nb::cast<bool>(nb::bool_(stop));
        } catch (...) {
            self->raised = std::current_exception();
            return true;
        }
    }

    static nb::tuple numbers(const EpochReport& r) {
        return nb::make_tuple(r.train_loss, r.train_error, r.val_loss, r.val_error,
                              r.learning_rate);
    }

    nb::list history_as_list() const {
        nb::list rows;
        for (const EpochReport& r : history) rows.append(numbers(r));
        return rows;
    }

    Hooks hooks() { return {this, &interrupted, &epoch_done}; }
};

class Model {
  public:
    using Parameters = std::variant<std::vector<double>, std::vector<float>>;

    Model(int n_inputs, int n_outputs, In<int32_t> parent, In<uint8_t> activation,
          In<int32_t> leaf_parent, In<int32_t> leaf_input, AnyArray parameters)
        : structure_(n_inputs, n_outputs, copy(parent), copy(activation), copy(leaf_parent),
                     copy(leaf_input)) {
        if (int64_t(parameters.size()) != n_parameters(tree()))
            fail("the tree has " + std::to_string(n_parameters(tree())) + " parameters, got " +
                 std::to_string(parameters.size()));
        if (parameters.dtype() == nb::dtype<float>())
            parameters_ = filled<float>(parameters);
        else if (parameters.dtype() == nb::dtype<double>())
            parameters_ = filled<double>(parameters);
        else
            throw nb::type_error("parameters must be float64 or float32");
    }

    const Tree& tree() const { return structure_.tree(); }

    nb::object forward(const AnyArray& X, int n_threads, bool softmax) const {
        return std::visit(
            [&](const auto& theta) { return forward_in(theta, X, n_threads, softmax); },
            parameters_);
    }

    template <class... Args>
    nb::object gradient(Args&&... args) const {
        return std::visit([&](const auto& theta) { return gradient_in(theta, args...); },
                          parameters_);
    }

    template <class... Args>
    nb::object train(Args&&... args) const {
        return std::visit([&](const auto& theta) { return train_in(theta, args...); }, parameters_);
    }

  private:
    template <class T>
    static std::vector<T> copy(const In<T>& a) {
        return std::vector<T>(a.data(), a.data() + a.size());
    }

    template <class T>
    static std::vector<T> filled(const AnyArray& a) {
        const T* data = static_cast<const T*>(a.data());
        return std::vector<T>(data, data + a.size());
    }

    template <class T>
    nb::object forward_in(const std::vector<T>& theta, const AnyArray& X, int n_threads,
                          bool softmax) const {
        const Table table = as_table(X, tree().n_inputs, "X");
        const size_t n = size_t(table.n_rows), k = size_t(tree().n_outputs);
        T* out = new T[n * k];
        nb::capsule owner(out, [](void* p) noexcept { delete[] static_cast<T*>(p); });
        PythonHooks python;
        Position bad;
        bool interrupted = false;
        const auto run = [&] {
            bad = kernels<T>().forward(tree(), theta.data(), table, softmax, out,
                                       std::max(1, n_threads), python.hooks(), &interrupted);
        };
        if (n == 1) {
            run();  // over before another thread could use the GIL
        } else if (n > 1) {
            nb::gil_scoped_release release;
            run();
        }
        if (interrupted) std::rethrow_exception(python.raised);
        if (bad.row >= 0) report_bad_input(X, bad, "X", sizeof(T) == 4);
        if (X.ndim() == 1) return nb::cast(nb::ndarray<nb::numpy, T>(out, {k}, owner));
        return nb::cast(nb::ndarray<nb::numpy, T>(out, {n, k}, owner));
    }

    [[noreturn]] static void report_bad_input(const AnyArray& X, Position at, const char* name,
                                              bool single) {
        const size_t i = size_t(at.row) * X.shape(X.ndim() - 1) + size_t(at.column);
        const double value = X.dtype() == nb::dtype<float>()
                                 ? double(static_cast<const float*>(X.data())[i])
                                 : static_cast<const double*>(X.data())[i];
        char digits[32];
        std::snprintf(digits, sizeof digits, "%g", value);
        const std::string where = std::string(name) + " has the value " + digits + " in row " + std::to_string(at.row) + ", column " +
                                  std::to_string(at.column);
        if (std::isfinite(value) && single)
            fail(where + ", too large for float32: scale the column, or use a float64 tree");
        fail(where + "; inputs must be finite");
    }

    template <class T>
    Targets<T> as_targets(const nb::object& y, const nb::object& weights, int64_t n,
                          const char* name) const {
        Targets<T> targets;
        if (tree().n_outputs > 1) {
            auto labels = nb::cast<In<int32_t>>(y);
            require_rows(labels.size(), n, name);
            for (size_t i = 0; i < labels.size(); ++i)
                if (labels.data()[i] < 0 || labels.data()[i] >= tree().n_outputs)
                    fail(std::string(name) + "[" + std::to_string(i) + "] is " +
                         std::to_string(labels.data()[i]) + ", but classes run from 0 to " +
                         std::to_string(tree().n_outputs - 1));
            targets.labels = labels.data();
        } else {
            auto values = nb::cast<In<T>>(y);
            require_rows(values.size(), n, name);
            targets.values = values.data();
        }
        if (!weights.is_none()) {
            auto w = nb::cast<In<T>>(weights);
            require_rows(w.size(), n, "the weights");
            targets.weights = w.data();
        }
        return targets;
    }

    static void require_rows(size_t got, int64_t n, const char* name) {
        if (int64_t(got) != n)
            fail(std::string(name) + " has " + std::to_string(got) + " entries, X has " +
                 std::to_string(n) + " rows");
    }

    void check_loss(const Settings& s) const {
        if (s.loss == Loss::cross_entropy &&
            (tree().n_outputs == 1 || tree().activation[0] != kLinear))
            fail("cross_entropy needs at least two linear outputs");
    }

    template <class T>
    nb::object gradient_in(const std::vector<T>& theta, const AnyArray& X, const nb::object& y,
                           const nb::object& weights, const Settings& settings) const {
        check_loss(settings);
        const Table table = as_table(X, tree().n_inputs, "X");
        if (table.n_rows == 0) fail("X has no rows");
        const Targets<T> targets = as_targets<T>(y, weights, table.n_rows, "y");
        std::vector<T> g(theta.size());
        double loss;
        {
            nb::gil_scoped_release release;
            loss = kernels<T>().gradient(tree(), theta.data(), table, targets, settings, g.data());
        }
        return nb::make_tuple(loss, new_array(g.data(), {g.size()}));
    }

    template <class T>
    nb::object train_in(const std::vector<T>& start, const AnyArray& X, const nb::object& y,
                        const nb::object& weights, const nb::object& X_val,
                        const nb::object& y_val, const nb::object& weights_val,
                        const nb::object& offset, const nb::object& factor,
                        const nb::object& state_in, int64_t step, const Settings& settings,
                        const nb::object& on_epoch) const {
        check_loss(settings);
        Table table = as_table(X, tree().n_inputs, "X"), validation;
        if (table.n_rows == 0) fail("X has no rows");
        const Targets<T> targets = as_targets<T>(y, weights, table.n_rows, "y");
        Targets<T> val_targets;
        AnyArray held_out;
        if (!X_val.is_none()) {
            held_out = nb::cast<AnyArray>(X_val);
            validation = as_table(held_out, tree().n_inputs, "X_val");
            val_targets = as_targets<T>(y_val, weights_val, validation.n_rows, "y_val");
        }
        if (settings.select != Select::never && validation.n_rows == 0)
            fail("selection needs validation rows");
        if (!offset.is_none()) {
            auto o = nb::cast<In<double>>(offset), f = nb::cast<In<double>>(factor);
            if (int(o.size()) != tree().n_inputs || int(f.size()) != tree().n_inputs)
                fail("input_scaling needs one offset and one factor per input");
            table.offset = validation.offset = o.data();
            table.factor = validation.factor = f.data();
        }
        std::vector<T> theta = start, state(2 * start.size());
        if (!state_in.is_none()) {
            auto given = nb::cast<In<T>>(state_in);
            if (given.size() != state.size()) fail("optimizer_state is of another tree");
            std::memcpy(state.data(), given.data(), state.size() * sizeof(T));
        }
        PythonHooks python;
        if (!on_epoch.is_none()) {
            python.on_epoch = on_epoch;
            python.weights = [](const EpochReport& r) {
                return new_array(static_cast<const T*>(r.theta), {size_t(r.n_parameters)});
            };
        }
        Outcome outcome;
        {
            nb::gil_scoped_release release;
            outcome = kernels<T>().train(tree(), theta.data(), state.data(), &step, table, targets,
                                         validation, val_targets, settings, python.hooks());
        }
        nb::object error = nb::none();
        if (python.raised) {
            try {
                std::rethrow_exception(python.raised);
            } catch (nb::python_error& e) {
                error = nb::borrow(e.value());
            }
        }
        constexpr const char* kStatus[] = {"completed", "early_stopped", "callback", "diverged",
                                           "interrupted"};
        return nb::make_tuple(new_array(theta.data(), {theta.size()}),
                              new_array(state.data(), {state.size()}), step,
                              kStatus[int(outcome.status)], outcome.n_epochs, outcome.best_epoch,
                              python.history_as_list(), error);
    }

    Structure structure_;
    Parameters parameters_;
};

template <class E>
E choice(const std::string& value, std::initializer_list<const char*> names, const char* what) {
    int i = 0;
    for (const char* name : names) {
        if (value == name) return E(i);
        ++i;
    }
    fail("unknown " + std::string(what) + " '" + value + "'");
}

void fill(Settings& s, const nb::dict& d) {
    for (auto [key, value] : d) {
        const auto name = nb::cast<std::string>(key);
        const auto text = [&] { return nb::cast<std::string>(value); };
        const auto number = [&] { return nb::cast<double>(value); };
        if (name == "loss") s.loss = choice<Loss>(text(), {"squared_error", "cross_entropy"}, "loss");
        else if (name == "label_smoothing") s.label_smoothing = number();
        else if (name == "optimizer")
            s.rule = choice<Rule>(text(), {"gd", "momentum", "nesterov", "adagrad", "rmsprop",
                                           "adam", "adam_paper"}, "optimizer");
        else if (name == "gamma") s.gamma = number();
        else if (name == "beta" || name == "beta1") s.beta1 = number();
        else if (name == "beta2") s.beta2 = number();
        else if (name == "epsilon") s.epsilon = number();
        else if (name == "learning_rate") s.learning_rate = number();
        else if (name == "schedule") s.schedule = choice<Schedule>(text(), {"constant", "cosine"}, "schedule");
        else if (name == "weight_decay") s.weight_decay = number();
        else if (name == "clip_norm") s.clip_norm = number();
        else if (name == "batch_size") s.batch_size = nb::cast<int64_t>(value);
        else if (name == "max_epochs") s.max_epochs = nb::cast<int>(value);
        else if (name == "select") s.select = choice<Select>(text(), {"never", "epoch", "update"}, "select");
        else if (name == "monitor") s.monitor = choice<Monitor>(text(), {"loss", "error"}, "monitor");
        else if (name == "patience") s.patience = nb::cast<int>(value);
        else if (name == "repeat_first_row") s.repeat_first_row = nb::cast<bool>(value);
        else if (name == "score_all_rows") s.score_all_rows = nb::cast<bool>(value);
        else if (name == "seed") s.seed = nb::cast<uint64_t>(value);
        else if (name == "n_threads") s.n_threads = std::max(1, nb::cast<int>(value));
        else fail("unknown setting '" + name + "'");
    }
}

nb::object order_of_epoch(uint64_t seed, uint64_t epoch, int64_t n) {
    if (n < 0 || n >= int64_t(1) << 31) fail("n must lie between 0 and 2^31");
    std::vector<int32_t> order(n);
    epoch_order(seed, epoch, n, order.data());
    return new_array(order.data(), {size_t(n)});
}

// (row, column) of the first value that is not finite, or None.
nb::object first_not_finite(const AnyArray& X) {
    const auto scan = [&](auto sample) -> int64_t {
        using S = decltype(sample);
        const S* x = static_cast<const S*>(X.data());
        constexpr int64_t kStride = 4096;
        const int64_t n = int64_t(X.size());
        for (int64_t first = 0; first < n; first += kStride) {
            const int64_t last = std::min(n, first + kStride);
            bool bad = false;
            for (int64_t i = first; i < last; ++i) bad |= !(x[i] * S(0) == S(0));
            if (!bad) continue;
            for (int64_t i = first; i < last; ++i)
                if (!std::isfinite(double(x[i]))) return i;
        }
        return -1;
    };
    int64_t at = -1;
    {
        nb::gil_scoped_release release;
        if (X.dtype() == nb::dtype<double>()) at = scan(double{});
        else if (X.dtype() == nb::dtype<float>()) at = scan(float{});
    }
    if (at < 0) return nb::none();
    const int64_t columns = X.ndim() > 1 ? int64_t(X.shape(1)) : 1;
    return nb::make_tuple(at / columns, at % columns);
}

}  // namespace

NB_MODULE(_core, m) {
    nb::set_leak_warnings(false);  // trees at module level live until the interpreter ends
    m.doc() = "The compiled core: trees as arrays, their outputs, gradients and training.";
    for (const char* name : kEngines)
        if (supported(name)) {
            chosen_engine = &engine_named(name);
            break;
        }

    nb::class_<Model>(m, "Model")
        .def(nb::init<int, int, In<int32_t>, In<uint8_t>, In<int32_t>, In<int32_t>, AnyArray>(),
             "n_inputs"_a, "n_outputs"_a, "parent"_a, "activation"_a, "leaf_parent"_a,
             "leaf_input"_a, "parameters"_a)
        .def("forward", &Model::forward, "X"_a.noconvert(), "n_threads"_a = 1,
             "softmax"_a = false)
        .def("gradient",
             [](const Model& m, const AnyArray& X, nb::object y, nb::object weights,
                const nb::dict& settings) {
                 Settings s;
                 fill(s, settings);
                 return m.gradient(X, y, weights, s);
             },
             "X"_a.noconvert(), "y"_a, "weights"_a.none(), "settings"_a)
        .def("train",
             [](const Model& m, const AnyArray& X, nb::object y, nb::object weights,
                nb::object X_val, nb::object y_val, nb::object weights_val, nb::object offset,
                nb::object factor, nb::object state, int64_t step, const nb::dict& settings,
                nb::object on_epoch) {
                 Settings s;
                 fill(s, settings);
                 return m.train(X, y, weights, X_val, y_val, weights_val, offset, factor, state,
                                step, s, on_epoch);
             },
             "X"_a.noconvert(), "y"_a, "weights"_a.none(), "X_val"_a.none(), "y_val"_a.none(),
             "weights_val"_a.none(), "offset"_a.none(), "factor"_a.none(), "state"_a.none(),
             "step"_a, "settings"_a, "on_epoch"_a.none());

    m.def("epoch_order", &order_of_epoch, "seed"_a, "epoch"_a, "n"_a);
    m.def("first_not_finite", &first_not_finite, "X"_a.noconvert());
    m.def("engine", [] { return chosen_engine->name; });
    m.def("use_engine", &use_engine, "name"_a);
    m.def("engines", [] {
        nb::list names;
        for (const char* name : kEngines)
            if (supported(name)) names.append(name);
        return names;
    });
}

}  // namespace bnt
