// Training and gradients: settings, data and jobs as Python objects.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <optional>
#include <variant>

#include "../dispatch.hpp"
#include "../jobs.hpp"
#include "../order.hpp"
#include "bindings.hpp"
#include "signals.hpp"
#include "weighted_tree.hpp"

using namespace nanobind::literals;

namespace bnt {

namespace {

// -- settings ---------------------------------------------------------------------------------

template <class E>
E one_of(nb::handle value, const std::string& name, std::initializer_list<const char*> known) {
    const std::string text = as_text(value, name);
    int i = 0;
    for (const char* candidate : known) {
        if (text == candidate) return E(i);
        ++i;
    }
    fail(name + " is '" + text + "', which is not known");
}

int code_of(nb::handle value, const std::string& name, const std::vector<Entry>& entries) {
    const std::string text = as_text(value, name);
    for (size_t i = 0; i < entries.size(); ++i)
        if (text == entries[i].name) return int(i);
    fail(name + " '" + text + "' is not known");
}

// Writes the parameters of a registered entry to `to`; returns how many there are.
int read_parameters(nb::handle values, const std::string& name, const Entry& entry, double* to,
                    int most) {
    const nb::object numbers = nb::steal(PySequence_List(values.ptr()));
    if (!numbers.is_valid()) {
        PyErr_Clear();
        fail_type(name + " must be a list of numbers");
    }
    const bool is_list = !entry.parameters.empty() && entry.parameters[0].is_list;
    const size_t n = nb::len(numbers);
    if (is_list ? n == 0 || n > size_t(most) : n != entry.parameters.size())
        fail(name + " of '" + entry.name + "' has " + std::to_string(n) + " numbers");
    for (size_t i = 0; i < n; ++i) to[i] = as_number(numbers[i], name);
    return int(n);
}

LossSettings as_loss(nb::handle name, nb::handle parameters) {
    LossSettings loss;
    loss.code = code_of(name, "loss", registry().losses);
    loss.n_parameters = read_parameters(parameters, "loss_parameters", registry().losses[loss.code],
                                        loss.parameters, kMaxLossParameters);
    return loss;
}

Settings as_settings(const nb::dict& given) {
    Settings s;
    nb::object loss_parameters = nb::list(), optimizer_parameters = nb::list();
    nb::object loss = nb::none();
    constexpr int64_t most = INT32_MAX;
    for (auto [key, value] : given) {
        const std::string name = as_text(key, "the name of a setting");
        if (name == "loss") loss = nb::borrow(value);
        else if (name == "loss_parameters") loss_parameters = nb::borrow(value);
        else if (name == "optimizer")
            s.optimizer.code = code_of(value, name, registry().optimizers);
        else if (name == "optimizer_parameters") optimizer_parameters = nb::borrow(value);
        else if (name == "learning_rate") s.learning_rate = as_number(value, name);
        else if (name == "schedule")
            s.schedule = one_of<Schedule>(value, name, {"constant", "cosine"});
        else if (name == "weight_decay") s.weight_decay = as_number(value, name);
        else if (name == "clip_norm") s.clip_norm = as_number(value, name);
        else if (name == "batch_size") s.batch_size = as_whole(value, name, 0, INT64_MAX);
        else if (name == "max_epochs") s.max_epochs = int(as_whole(value, name, 0, most));
        else if (name == "select")
            s.select = one_of<Select>(value, name, {"never", "epoch", "update"});
        else if (name == "monitor") s.monitor = one_of<Monitor>(value, name, {"loss", "error"});
        else if (name == "patience") s.patience = int(as_whole(value, name, 0, most));
        else if (name == "repeat_first_row") s.repeat_first_row = as_bool(value, name);
        else if (name == "score_all_rows") s.score_all_rows = as_bool(value, name);
        else fail("unknown setting '" + name + "'");
    }
    s.loss = as_loss(loss, loss_parameters);
    read_parameters(optimizer_parameters, "optimizer_parameters",
                    registry().optimizers[s.optimizer.code], s.optimizer.parameters, 4);
    return s;
}

// -- data -------------------------------------------------------------------------------------

// A table with targets: class labels, or one or more values for each row.
class Data {
  public:
    Data(nb::handle X, nb::handle y) : X_(as_rows(X, "X")), table_(as_table(X_, "X")) {
        if (table_.n_rows == 0) fail("X has no rows");
        if (nb::try_cast<In<int32_t>>(y, labels_, false)) {
            require_rows(labels_.ndim() == 1 ? labels_.size() : 0);
            targets_.labels = labels_.data();
            const auto [low, high] =
                std::minmax_element(labels_.data(), labels_.data() + labels_.size());
            lowest_ = *low;
            highest_ = *high;
            return;
        }
        values_ = as_array<double>(y, "y (class labels are int32, values)");
        if (values_.ndim() != 1 && values_.ndim() != 2) fail("y must have one or two dimensions");
        require_rows(values_.shape(0));
        targets_.values = values_.data();
        targets_.n_targets = values_.ndim() == 2 ? int(values_.shape(1)) : 1;
        if (targets_.n_targets == 0) fail("y has no columns");
    }

    const Table& table() const { return table_; }
    const Targets& targets() const { return targets_; }

    // Whether a tree can be trained on these rows with this loss.
    void check_fits(const Tree& t, const LossSettings& loss) const {
        if (table_.n_columns != t.n_inputs)
            fail("X has " + std::to_string(table_.n_columns) + " features, but the tree has " +
                 std::to_string(t.n_inputs) + " inputs");
        const Entry& entry = registry().losses[loss.code];
        const std::string name = "loss '" + std::string(entry.name) + "'";
        if (entry.needs_linear_outputs && t.output_activation != 0)
            fail(name + " needs linear outputs");
        if (targets_.labels) {
            if (entry.compares != Compares::labels && entry.compares != Compares::either)
                fail(name + " needs values, and y holds class labels");
            if (t.n_outputs < 2) fail("class labels need a tree of two or more outputs");
            if (lowest_ < 0 || highest_ >= t.n_outputs)
                fail("y has the label " + std::to_string(lowest_ < 0 ? lowest_ : highest_) +
                     ", but classes run from 0 to " + std::to_string(t.n_outputs - 1));
            return;
        }
        if (entry.compares == Compares::labels) fail(name + " needs class labels (int32)");
        if (entry.compares == Compares::shared) {
            if (targets_.n_targets != 1 || loss.n_parameters != t.n_outputs)
                fail(name + " needs one target and one output for each of its " +
                     std::to_string(loss.n_parameters) + " parameters");
        } else if (targets_.n_targets != t.n_outputs) {
            fail("y has " + std::to_string(targets_.n_targets) + " columns, but the tree has " +
                 std::to_string(t.n_outputs) + " outputs");
        }
    }

  private:
    void require_rows(size_t got) const {
        if (int64_t(got) != table_.n_rows)
            fail("y has " + std::to_string(got) + " entries, X has " +
                 std::to_string(table_.n_rows) + " rows");
    }

    AnyArray X_;
    Table table_;
    In<int32_t> labels_;
    In<double> values_;
    Targets targets_;
    int32_t lowest_ = 0, highest_ = 0;
};

// Which rows of the data a job uses, and how much they count.
struct RowChoice {
    In<int32_t> rows;
    In<double> weights;
    int64_t n = 0;

    RowChoice() = default;
    RowChoice(nb::handle rows_given, nb::handle weights_given, const Data& data, const char* name) {
        const int64_t n_rows = data.table().n_rows;
        n = n_rows;
        if (!rows_given.is_none()) {
            rows = as_array<int32_t>(rows_given, name);
            n = int64_t(rows.size());
            if (n == 0) fail(std::string(name) + " is empty");
            const auto [low, high] = std::minmax_element(rows.data(), rows.data() + n);
            if (*low < 0 || *high >= n_rows)
                fail(std::string(name) + " must lie between 0 and " + std::to_string(n_rows - 1));
        }
        weights = as_optional_array<double>(weights_given, "the weights of the rows", size_t(n));
    }

    Sample sample(const Data& data) const {
        return {data.table(),
                data.targets(),
                rows.is_valid() ? rows.data() : nullptr,
                weights.is_valid() ? weights.data() : nullptr,
                n,
                nullptr,
                nullptr};
    }
};

// -- jobs -------------------------------------------------------------------------------------

using Vector = std::variant<std::vector<float>, std::vector<double>>;

Vector as_parameters(nb::handle object, const char* name, size_t size) {
    const auto copied = [&](const auto& array) -> Vector {
        if (array.size() != size)
            fail(std::string(name) + " has " + std::to_string(array.size()) + " entries, " +
                 std::to_string(size) + " are needed");
        using T = std::decay_t<decltype(array.data()[0])>;
        return std::vector<T>(array.data(), array.data() + array.size());
    };
    In<float> single;
    if (nb::try_cast<In<float>>(object, single, false)) return copied(single);
    return copied(as_array<double>(object, name));
}

nb::object as_numpy(const Vector& vector, nb::handle owner) {
    return std::visit(
        [&](const auto& v) {
            using T = typename std::decay_t<decltype(v)>::value_type;
            return nb::cast(nb::ndarray<nb::numpy, const T>(v.data(), {v.size()}, owner));
        },
        vector);
}

// What came of a job. Arrays are views of what this object owns.
struct Result {
    Vector parameters, state;
    int64_t step = 0;
    Outcome outcome;
    std::vector<double> history;  // kFigures numbers for each epoch
    double seconds = 0;

    static constexpr int kFigures = 5;

    const char* status() const {
        constexpr const char* names[] = {"completed", "early_stopped", "callback", "diverged",
                                         "interrupted"};
        return names[int(outcome.status)];
    }
};

// One tree to be trained. Python objects are kept alive by the caller's list of jobs, arrays here.
class Job {
  public:
    Job(nb::handle start, nb::handle settings, nb::handle seed, nb::handle rows, nb::handle weights,
        nb::handle val_rows, nb::handle val_weights, nb::handle input_offset,
        nb::handle input_factor, nb::handle target_offset, nb::handle target_factor,
        nb::handle state, nb::handle step, nb::handle node_sign, nb::handle input_sign)
        : weighted_(nb::borrow(start)), settings_(nb::borrow(settings)), rows_(nb::borrow(rows)),
          weights_(nb::borrow(weights)), val_rows_(nb::borrow(val_rows)),
          val_weights_(nb::borrow(val_weights)), seed_(as_seed(seed)),
          step_(as_whole(step, "step", 0, INT64_MAX)) {
        const auto& weighted = nb::cast<const WeightedTree&>(weighted_);
        n_parameters_ = size_t(n_parameters(weighted.tree()));
        n_state_ = n_parameters_ * registry().optimizers[this->settings().optimizer.code].n_state;
        if (!state.is_none()) {
            state_ = as_parameters(state, "optimizer_state", n_state_);
            if ((state_->index() == 0) != weighted.is_single())
                fail_type("optimizer_state is of another dtype");
        }
        const size_t n_inputs = size_t(tree().n_inputs);
        input_offset_ =
            as_optional_array<double>(input_offset, "the offsets of the inputs", n_inputs);
        input_factor_ =
            as_optional_array<double>(input_factor, "the factors of the inputs", n_inputs);
        if (input_offset_.is_valid() != input_factor_.is_valid())
            fail("input scaling needs offsets and factors");
        if (!target_offset.is_none()) {
            target_offset_ = as_array<double>(target_offset, "the offsets of the targets");
            target_factor_ = as_array<double>(target_factor, "the factors of the targets",
                                              target_offset_.size());
        }
        node_sign_ =
            as_optional_array<int8_t>(node_sign, "the signs of the nodes", size_t(tree().n_nodes));
        input_sign_ = as_optional_array<int8_t>(input_sign, "the signs of the inputs", n_inputs);
        if (node_sign_.is_valid() != input_sign_.is_valid())
            fail("signs are needed for the nodes and for the inputs");
        if (node_sign_.is_valid()) {
            require_signs(node_sign_);
            require_signs(input_sign_);
            signs_ = {node_sign_.data(), input_sign_.data()};
        }
    }

    const Tree& tree() const { return nb::cast<const WeightedTree&>(weighted_).tree(); }
    const Settings& settings() const { return nb::cast<const Settings&>(settings_); }

    // Checks the job against the data and prepares its samples; needs the GIL.
    void prepare(const Data& data, const Data* validation) {
        data.check_fits(tree(), settings().loss);
        training_rows_ = RowChoice(rows_, weights_, data, "rows");
        training_ = training_rows_.sample(data);
        validation_rows_ = {};
        validation_ = {};
        const bool wants = validation || !val_rows_.is_none();
        if (wants) {
            const Data& held_out = validation ? *validation : data;
            held_out.check_fits(tree(), settings().loss);
            validation_rows_ = RowChoice(val_rows_, val_weights_, held_out, "validation_rows");
            validation_ = validation_rows_.sample(held_out);
        } else if (settings().select != Select::never) {
            fail("selection needs validation rows");
        }
        for (Sample* sample : {&training_, &validation_}) {
            if (input_offset_.is_valid()) {
                sample->table.offset = input_offset_.data();
                sample->table.factor = input_factor_.data();
            }
            if (target_offset_.is_valid()) {
                if (int(target_offset_.size()) != sample->targets.n_targets && sample->n > 0)
                    fail("target scaling needs one offset and one factor for each target");
                sample->target_offset = target_offset_.data();
                sample->target_factor = target_factor_.data();
            }
        }
        tree_ = &tree();
        settings_used_ = &settings();
    }

    // Trains; runs without the GIL, on any thread.
    void run(int n_threads, const Hooks& hooks, Result& result) const {
        const auto started = std::chrono::steady_clock::now();
        Recorder recorder{hooks, result.history};
        const Hooks own{&recorder, hooks.interrupted ? &Recorder::interrupted : nullptr,
                        &Recorder::epoch_done};
        std::visit(
            [&](auto& theta) {
                using T = typename std::decay_t<decltype(theta)>::value_type;
                const TrainingTask<T> task{
                    tree_,          theta.data(), std::get<std::vector<T>>(result.state).data(),
                    &result.step,   &training_,   &validation_,
                    settings_used_, seed_,        n_threads,
                    signs_};
                result.outcome = engine().kernels<T>().train(task, own);
            },
            result.parameters);
        result.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    }

    // What the job gives if it is never run.
    Result untouched() const {
        Result result;
        const auto& weighted = nb::cast<const WeightedTree&>(weighted_);
        const auto start_in = [&](auto zero) {
            using T = decltype(zero);
            const T* theta = weighted.theta<T>();
            result.parameters = std::vector<T>(theta, theta + n_parameters_);
            result.state = state_ ? *state_ : Vector(std::vector<T>(n_state_));
        };
        if (weighted.is_single()) start_in(float{});
        else start_in(double{});
        result.step = step_;
        result.outcome.status = Status::interrupted;
        return result;
    }

    bool single_precision() const { return nb::cast<const WeightedTree&>(weighted_).is_single(); }

  private:
    static void require_signs(const In<int8_t>& signs) {
        for (size_t i = 0; i < signs.size(); ++i)
            if (signs.data()[i] < -1 || signs.data()[i] > 1) fail("signs must be -1, 0 or 1");
    }

    // Writes down what each epoch gave, and passes it on.
    struct Recorder {
        const Hooks& outer;
        std::vector<double>& history;

        static bool interrupted(void* context) {
            const Hooks& outer = static_cast<Recorder*>(context)->outer;
            return outer.interrupted(outer.context);
        }
        static bool epoch_done(void* context, const EpochReport& r) {
            auto* self = static_cast<Recorder*>(context);
            self->history.insert(self->history.end(), {r.train_loss, r.train_error, r.val_loss,
                                                       r.val_error, r.learning_rate});
            return self->outer.epoch_done && self->outer.epoch_done(self->outer.context, r);
        }
    };

    nb::object weighted_, settings_, rows_, weights_, val_rows_, val_weights_;
    uint64_t seed_;
    int64_t step_;
    size_t n_parameters_ = 0, n_state_ = 0;
    std::optional<Vector> state_;  // none: zeros
    In<double> input_offset_, input_factor_, target_offset_, target_factor_;
    In<int8_t> node_sign_, input_sign_;
    Signs signs_;
    RowChoice training_rows_, validation_rows_;  // the arrays that the samples point to
    Sample training_, validation_;
    const Tree* tree_ = nullptr;
    const Settings* settings_used_ = nullptr;
};

// Python's side of a call of train: takes jobs from an iterator, keeps them and their results.
class PythonListener : public JobListener {
  public:
    struct Item {
        Job* job;
        Result result;
    };

    PythonListener(nb::object jobs, const Data& data, const Data* validation, nb::object on_epoch,
                   nb::object on_job, nb::object stop)
        : jobs_(nb::iter(jobs)), data_(data), validation_(validation),
          on_epoch_(std::move(on_epoch)), on_job_(std::move(on_job)), stop_(std::move(stop)),
          wants_epochs_(!on_epoch_.is_none()), wants_jobs_(!on_job_.is_none()) {}

    void* next_job() override {
        GilAcquire gil;
        void* next = nullptr;
        signals_.keep([&] {
            nb::object entry = nb::steal(PyIter_Next(jobs_.ptr()));
            if (!entry.is_valid()) {
                if (PyErr_Occurred()) throw nb::python_error();
                return false;
            }
            Job* job = nullptr;
            if (!nb::try_cast<Job*>(entry, job) || !job) fail_type("jobs must be Job objects");
            job->prepare(data_, validation_);
            alive_.push_back(entry);
            next = &items_.emplace_back(Item{job, job->untouched()});
            return false;
        });
        return next;
    }

    // Ctrl-C, or what `stop` says; once it has said yes, it is not asked again.
    bool interrupted() override {
        if (stopped_ || signals_.raised()) return true;
        if (!asks_) return false;
        GilAcquire gil;
        return stopped_ = signals_.keep([&] { return as_bool(stop_(), "what stop returns"); });
    }
    bool wants_epochs() const override { return wants_epochs_; }
    bool wants_jobs() const override { return wants_jobs_; }

    bool epoch_done(int number, const EpochReport& r) override {
        GilAcquire gil;
        return signals_.keep([&] {
            const size_t n = size_t(r.n_parameters);
            nb::object weights = items_[number].job->single_precision()
                                     ? new_array(static_cast<const float*>(r.theta), {n})
                                     : new_array(static_cast<const double*>(r.theta), {n});
            return as_bool(on_epoch_(number, r.epoch, r.train_loss, r.train_error, r.val_loss,
                                     r.val_error, r.learning_rate, weights),
                           "what a callback returns");
        });
    }

    bool job_done(int number) override {
        GilAcquire gil;
        return signals_.keep([&] {
            return as_bool(on_job_(number, Result(items_[number].result)),
                           "what a callback returns");
        });
    }

    // What came of all jobs so far, and what Python raised meanwhile or None.
    nb::tuple outcome() {
        nb::list results;
        for (Item& item : items_) results.append(nb::cast(std::move(item.result)));
        return nb::make_tuple(results, signals_.exception());
    }

  private:
    nb::iterator jobs_;
    const Data& data_;
    const Data* validation_;
    nb::object on_epoch_, on_job_, stop_;
    bool wants_epochs_, wants_jobs_, asks_ = !stop_.is_none(), stopped_ = false;
    std::deque<Item> items_;  // items stay where they are: workers write to them
    std::vector<nb::object> alive_;
    SignalCheck signals_;
};

nb::tuple train(nb::object jobs, nb::handle expected, const Data& data, const Data* validation,
                nb::handle threads, nb::object on_epoch, nb::object on_job, nb::object stop) {
    const int n_threads = as_threads(threads);
    const int n_expected = int(as_whole(expected, "n_expected", 0, INT32_MAX));
    PythonListener listener(std::move(jobs), data, validation, std::move(on_epoch),
                            std::move(on_job), std::move(stop));
    {
        GilRelease release;
        run_jobs(
            n_expected, n_threads,
            [](void* job, int n, const Hooks& hooks) {
                auto* item = static_cast<PythonListener::Item*>(job);
                item->job->run(n, hooks, item->result);
            },
            listener);
    }
    return listener.outcome();
}

nb::tuple gradient(const WeightedTree& weighted, const Data& data, nb::handle weights,
                   nb::handle loss, nb::handle loss_parameters, nb::handle threads) {
    const Tree& t = weighted.tree();
    const LossSettings settings = as_loss(loss, loss_parameters);
    data.check_fits(t, settings);
    const RowChoice choice(nb::none(), weights, data, "rows");
    const Sample sample = choice.sample(data);
    const int n_threads = as_threads(threads);
    const auto run_in = [&](auto zero) {
        using T = decltype(zero);
        std::vector<T> g(size_t(n_parameters(t)));
        double value;
        {
            GilRelease release;
            value = engine().kernels<T>().gradient(t, weighted.theta<T>(), sample, settings,
                                                   n_threads, g.data());
        }
        return nb::make_tuple(value, new_array(g.data(), {g.size()}));
    };
    return weighted.is_single() ? run_in(float{}) : run_in(double{});
}

nb::object order_of_epoch(nb::handle seed, nb::handle epoch, nb::handle n_rows) {
    const int64_t n = as_whole(n_rows, "n_rows", 0, INT32_MAX);
    std::vector<int32_t> order(n);
    epoch_order(as_seed(seed), uint64_t(as_whole(epoch, "epoch", 0, INT64_MAX)), n, order.data());
    return new_array(order.data(), {size_t(n)});
}

// (row, column) of the first value that is not finite, or None.
nb::object first_not_finite(nb::handle rows) {
    const AnyArray X = as_rows(rows, "X");
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
        GilRelease release;
        if (X.dtype() == nb::dtype<double>()) at = scan(double{});
        else if (X.dtype() == nb::dtype<float>()) at = scan(float{});
    }
    if (at < 0) return nb::none();
    const int64_t columns = X.ndim() > 1 ? int64_t(X.shape(1)) : 1;
    return nb::make_tuple(at / columns, at % columns);
}

}  // namespace

void bind_training(nb::module_& m) {
    nb::class_<Settings>(m, "Settings", "How a tree is trained, checked and ready for use.")
        .def(
            "__init__",
            [](Settings* self, const nb::dict& settings) {
                new (self) Settings(as_settings(settings));
            },
            "settings"_a, nb::sig("def __init__(self, settings: dict[str, typing.Any]) -> None"));
    nb::class_<Data>(m, "Data", "A table with its targets: int32 class labels, or float64 values.")
        .def(
            "__init__", [](Data* self, nb::handle X, nb::handle y) { new (self) Data(X, y); },
            "X"_a, "y"_a,
            nb::sig("def __init__(self, X: numpy.typing.NDArray[typing.Any], "
                    "y: numpy.typing.NDArray[typing.Any]) -> None"));
    nb::class_<Job>(m, "Job", "One tree to be trained.")
        .def(
            "__init__",
            [](Job* self, nb::handle tree, nb::handle settings, nb::handle seed, nb::handle rows,
               nb::handle weights, nb::handle val_rows, nb::handle val_weights,
               nb::handle input_offset, nb::handle input_factor, nb::handle target_offset,
               nb::handle target_factor, nb::handle state, nb::handle step, nb::handle node_sign,
               nb::handle input_sign) {
                as_instance<WeightedTree>(tree, "tree", "WeightedTree");
                as_instance<Settings>(settings, "settings", "Settings");
                new (self) Job(tree, settings, seed, rows, weights, val_rows, val_weights,
                               input_offset, input_factor, target_offset, target_factor, state,
                               step, node_sign, input_sign);
            },
            "tree"_a, "settings"_a, "seed"_a, "rows"_a.none(), "weights"_a.none(),
            "val_rows"_a.none(), "val_weights"_a.none(), "input_offset"_a.none(),
            "input_factor"_a.none(), "target_offset"_a.none(), "target_factor"_a.none(),
            "state"_a.none(), "step"_a, "node_sign"_a = nb::none(), "input_sign"_a = nb::none(),
            nb::sig("def __init__(self, tree: WeightedTree, settings: Settings, seed: int, rows: "
                    "numpy.typing.NDArray[typing.Any] | None, "
                    "weights: numpy.typing.NDArray[typing.Any] | None, "
                    "val_rows: numpy.typing.NDArray[typing.Any] | None, "
                    "val_weights: numpy.typing.NDArray[typing.Any] | None, "
                    "input_offset: numpy.typing.NDArray[typing.Any] | None, "
                    "input_factor: numpy.typing.NDArray[typing.Any] | None, "
                    "target_offset: numpy.typing.NDArray[typing.Any] | None, "
                    "target_factor: numpy.typing.NDArray[typing.Any] | None, "
                    "state: numpy.typing.NDArray[typing.Any] | None, step: int, "
                    "node_sign: numpy.typing.NDArray[typing.Any] | None = None, "
                    "input_sign: numpy.typing.NDArray[typing.Any] | None = None) -> None"));
    nb::class_<Result>(m, "Result", "What came of a job.")
        .def_prop_ro(
            "parameters",
            [](nb::handle self) {
                return as_numpy(nb::cast<const Result&>(self).parameters, self);
            },
            nb::sig("def parameters(self) -> numpy.typing.NDArray[typing.Any]"))
        .def_prop_ro(
            "state",
            [](nb::handle self) { return as_numpy(nb::cast<const Result&>(self).state, self); },
            nb::sig("def state(self) -> numpy.typing.NDArray[typing.Any]"))
        .def_ro("step", &Result::step)
        .def_prop_ro("status", [](const Result& r) { return std::string(r.status()); })
        .def_prop_ro("n_epochs", [](const Result& r) { return r.outcome.n_epochs; })
        .def_prop_ro("best_epoch", [](const Result& r) { return r.outcome.best_epoch; })
        .def_prop_ro(
            "history",
            [](nb::handle self) {
                const auto& h = nb::cast<const Result&>(self).history;
                constexpr size_t n = Result::kFigures;
                return nb::cast(
                    nb::ndarray<nb::numpy, const double>(h.data(), {h.size() / n, n}, self));
            },
            nb::sig("def history(self) -> numpy.typing.NDArray[numpy.float64]"))
        .def_ro("seconds", &Result::seconds);
    m.def("train", &train, "jobs"_a, "n_expected"_a, "data"_a, "validation"_a.none(), "n_threads"_a,
          "on_epoch"_a.none(), "on_job"_a.none(), "stop"_a = nb::none(),
          "Train trees; return the results and what was raised meanwhile, or None.\n\n"
          "Jobs are taken from an iterable when a thread is about to become free; `n_expected` "
          "says how many there will be. `stop` is asked several times a second whether to end.",
          nb::sig("def train(jobs: collections.abc.Iterable[Job], n_expected: int, data: Data, "
                  "validation: Data | None, n_threads: int, "
                  "on_epoch: collections.abc.Callable[..., bool] | None, "
                  "on_job: collections.abc.Callable[[int, Result], bool] | None, "
                  "stop: collections.abc.Callable[[], bool] | None = None) -> "
                  "tuple[list[Result], BaseException | None]"));
    m.def(
        "untouched", [](const Job& job) { return job.untouched(); }, "job"_a,
        "Return what a job gives if it is never run.");
    m.def("gradient", &gradient, "tree"_a, "data"_a, "weights"_a.none(), "loss"_a,
          "loss_parameters"_a, "n_threads"_a, "Return the mean loss of all rows and its gradient.",
          nb::sig("def gradient(tree: WeightedTree, data: Data, weights: "
                  "numpy.typing.NDArray[typing.Any] | None, loss: str, "
                  "loss_parameters: list[float], n_threads: int) -> "
                  "tuple[float, numpy.typing.NDArray[typing.Any]]"));
    m.def("epoch_order", &order_of_epoch, "seed"_a, "epoch"_a, "n_rows"_a,
          "Return the order in which training takes the rows in an epoch.",
          nb::sig("def epoch_order(seed: int, epoch: int, n_rows: int) -> "
                  "numpy.typing.NDArray[numpy.int32]"));
    m.def(
        "first_not_finite", &first_not_finite, "X"_a,
        "Return (row, column) of the first value that is not finite, or None.",
        nb::sig(
            "def first_not_finite(X: numpy.typing.NDArray[typing.Any]) -> tuple[int, int] | None"));
}

}  // namespace bnt
