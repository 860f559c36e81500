// One tree to be trained, and the result.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <variant>

#include "data.hpp"
#include "weighted_tree.hpp"

namespace bnt {

using Vector = std::variant<std::vector<float>, std::vector<double>>;

inline Vector as_parameters(nb::handle object, const char* name, size_t size) {
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

// The result of a job. Arrays are views of memory that this object owns.
struct Result {
    std::shared_ptr<Structure> structure;  // of a tree that was planned
    Vector parameters, state;
    std::vector<int32_t> leaf_input, moves;  // moves: epoch, leaf, from, to of each
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

// The fields of a job by name, as Python gives them; None counts as missing.
class Fields {
  public:
    explicit Fields(const nb::dict& values) : values_(values) {}

    nb::object optional(const char* name) {
        nb::object value = nb::borrow(PyDict_GetItemString(values_.ptr(), name));
        names_.push_back(name);
        return value.is_valid() ? value : nb::none();
    }

    template <class T>
    nb::object instance(const char* name, const char* type) {
        nb::object value = optional(name);
        as_instance<T>(value, name, type);
        return value;
    }

    // Two objects or none.
    std::optional<std::pair<nb::object, nb::object>> pair(const char* name) {
        const nb::object value = optional(name);
        if (value.is_none()) return {};
        if (!PyTuple_Check(value.ptr()) || PyTuple_Size(value.ptr()) != 2)
            fail_type(std::string(name) + " must be a tuple of two");
        return std::pair{nb::borrow(PyTuple_GetItem(value.ptr(), 0)),
                         nb::borrow(PyTuple_GetItem(value.ptr(), 1))};
    }

    // Call after all fields have been read.
    void require_no_other() const {
        for (auto [key, value] : values_) {
            const std::string name = as_text(key, "the name of a field");
            if (std::find(names_.begin(), names_.end(), name) == names_.end())
                fail_type("a job has no field '" + name + "'");
        }
    }

  private:
    const nb::dict& values_;
    std::vector<std::string> names_;
};

// One tree to be trained. Python objects are kept alive by the caller's list of jobs, arrays here.
class Job {
  public:
    // The only list of the fields of a job in the core.
    explicit Job(Fields fields)
        : tree_(fields.optional("tree")),
          settings_(fields.instance<Settings>("settings", "Settings")),
          rows_(fields.optional("rows")), weights_(fields.optional("sample_weight")),
          val_rows_(fields.optional("validation_rows")),
          val_weights_(fields.optional("validation_weight")),
          seed_(as_seed(fields.optional("seed"))) {
        if (nb::isinstance<PlannedTree>(tree_))
            planned_ = &as_instance<PlannedTree>(tree_, "tree", "PlannedTree");
        else weighted_ = &as_instance<WeightedTree>(tree_, "tree", "WeightedTree");
        const size_t n_inputs = size_t(tree().n_inputs);
        if (const auto state = fields.pair("optimizer_state")) {
            if (planned_) fail("a tree that is not grown yet has no optimizer_state");
            state_ = as_parameters(state->first, "optimizer_state", n_state(tree()));
            if ((state_->index() == 0) != single_precision())
                fail_type("optimizer_state is of another dtype");
            step_ = as_whole(state->second, "the step of optimizer_state", 0, INT64_MAX);
        }
        if (const auto scaling = fields.pair("input_scaling")) {
            input_offset_ = as_array<double>(scaling->first, "the offsets of the inputs", n_inputs);
            input_factor_ =
                as_array<double>(scaling->second, "the factors of the inputs", n_inputs);
        }
        if (const auto scaling = fields.pair("target_scaling")) {
            target_offset_ = as_array<double>(scaling->first, "the offsets of the targets");
            target_factor_ = as_array<double>(scaling->second, "the factors of the targets",
                                              target_offset_.size());
        }
        if (const nb::object allowed = fields.optional("may_move_to"); !allowed.is_none()) {
            may_move_to_ = as_array<uint8_t>(allowed, "may_move_to");
            moves_by_node_ = may_move_to_.size() != n_inputs;
            if (planned_ && moves_by_node_)
                fail(
                    "the nodes of a tree that is not grown yet are not known: may_move_to needs "
                    "one entry for each input");
            if (moves_by_node_ && may_move_to_.size() != n_inputs * size_t(tree().n_nodes))
                fail("may_move_to has " + std::to_string(may_move_to_.size()) +
                     " entries, it must have one for each of the " + std::to_string(n_inputs) +
                     " inputs, or for each node and input");
        }
        if (const auto signs = fields.pair("signs")) {
            if (planned_) fail("a tree that is not grown yet has no signs");
            node_sign_ =
                as_array<int8_t>(signs->first, "the signs of the nodes", size_t(tree().n_nodes));
            input_sign_ = as_array<int8_t>(signs->second, "the signs of the inputs", n_inputs);
            require_signs(node_sign_);
            require_signs(input_sign_);
            signs_ = {node_sign_.data(), input_sign_.data()};
        }
        fields.require_no_other();
    }

    // Of a planned tree, its outline.
    const Tree& tree() const { return planned_ ? planned_->outline() : weighted_->tree(); }
    bool is_planned() const { return planned_ != nullptr; }
    const Settings& settings() const { return nb::cast<const Settings&>(settings_); }

    // The rows of one run. A job itself never changes, so that several calls may share it.
    struct Rows {
        RowChoice training_rows, validation_rows;  // the arrays that the samples point to
        Sample training, validation;
        const Tree* tree = nullptr;
        const Settings* settings = nullptr;
    };

    // Checks the job against the data and prepares its rows; needs the GIL.
    Rows prepare(const Data& data, const Data* validation) const {
        Rows job_rows;
        job_rows.tree = &tree();
        job_rows.settings = &settings();
        data.check_fits(tree(), settings().loss);
        job_rows.training_rows = RowChoice(rows_, weights_, data, "rows");
        job_rows.training = job_rows.training_rows.sample(data);
        const bool has_validation = validation || !val_rows_.is_none();
        if (has_validation) {
            const Data& held_out = validation ? *validation : data;
            held_out.check_fits(tree(), settings().loss);
            job_rows.validation_rows =
                RowChoice(val_rows_, val_weights_, held_out, "validation_rows");
            job_rows.validation = job_rows.validation_rows.sample(held_out);
        } else if (settings().select != Select::never) {
            fail("selection needs validation rows");
        }
        for (Sample* sample : {&job_rows.training, &job_rows.validation}) {
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
        return job_rows;
    }

    // Trains; runs without the GIL, on any thread.
    void run(const Rows& rows, int n_threads, const Hooks& hooks, Result& result) const {
        const auto started = std::chrono::steady_clock::now();
        if (planned_) result = untouched();
        Recorder recorder{hooks, result.history, result.moves};
        const Hooks job_hooks{&recorder, hooks.interrupted ? &Recorder::interrupted : nullptr,
                              &Recorder::epoch_done, &Recorder::leaf_moved};
        std::visit(
            [&](auto& theta) {
                using T = typename std::decay_t<decltype(theta)>::value_type;
                const TrainingTask<T> task{result.structure ? &result.structure->tree() : rows.tree,
                                           theta.data(),
                                           std::get<std::vector<T>>(result.state).data(),
                                           &result.step,
                                           &rows.training,
                                           &rows.validation,
                                           rows.settings,
                                           result.leaf_input.data(),
                                           may_move_to_.is_valid() ? may_move_to_.data() : nullptr,
                                           moves_by_node_,
                                           seed_,
                                           n_threads,
                                           signs_};
                result.outcome = engine().kernels<T>().train(task, job_hooks);
            },
            result.parameters);
        result.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    }

    // The result of a job that is never run; grows a planned tree.
    Result untouched() const {
        Result result;
        std::vector<double> weights;
        if (planned_) {
            GrownTree grown = planned_->grown();
            weights = std::move(grown.weights);
            result.structure = std::make_shared<Structure>(
                tree().n_inputs, tree().n_outputs, std::move(grown.parent),
                std::move(grown.activation), std::move(grown.leaf_parent),
                std::move(grown.leaf_input), std::move(grown.activation_parameters),
                grown.trains_activations);
        }
        const Tree& t = planned_ ? result.structure->tree() : weighted_->tree();
        const auto start_in = [&](auto zero) {
            using T = decltype(zero);
            if (planned_) {
                result.parameters = std::vector<T>(weights.begin(), weights.end());
            } else {
                const T* theta = weighted_->theta<T>();
                result.parameters = std::vector<T>(theta, theta + n_parameters(t));
            }
            result.state = state_ ? *state_ : Vector(std::vector<T>(n_state(t)));
        };
        if (single_precision()) start_in(float{});
        else start_in(double{});
        result.step = step_;
        result.leaf_input.assign(t.leaf_input, t.leaf_input + t.n_leaves);
        result.outcome.status = Status::interrupted;
        return result;
    }

    bool single_precision() const {
        return planned_ ? planned_->is_single() : weighted_->is_single();
    }

  private:
    static void require_signs(const In<int8_t>& signs) {
        for (size_t i = 0; i < signs.size(); ++i)
            if (signs.data()[i] < -1 || signs.data()[i] > 1) fail("signs must be -1, 0 or 1");
    }

    // Records the figures of each epoch and passes them on.
    struct Recorder {
        const Hooks& outer;
        std::vector<double>& history;
        std::vector<int32_t>& moves;

        static void leaf_moved(void* context, const LeafMove& m) {
            auto& moves = static_cast<Recorder*>(context)->moves;
            moves.insert(moves.end(), {m.epoch, m.leaf, m.from, m.to});
        }
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

    size_t n_state(const Tree& t) const {
        return size_t(n_parameters(t)) * registry().optimizers[settings().optimizer.code].n_state;
    }

    nb::object tree_, settings_, rows_, weights_, val_rows_, val_weights_;
    uint64_t seed_;
    int64_t step_ = 0;
    const WeightedTree* weighted_ = nullptr;
    const PlannedTree* planned_ = nullptr;
    std::optional<Vector> state_;  // none: zeros
    In<double> input_offset_, input_factor_, target_offset_, target_factor_;
    In<uint8_t> may_move_to_;
    bool moves_by_node_ = false;
    In<int8_t> node_sign_, input_sign_;
    Signs signs_;
};

}  // namespace bnt
