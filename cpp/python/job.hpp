// One tree to be trained, and what came of it.
#pragma once

#include <chrono>
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

// What came of a job. Arrays are views of what this object owns.
struct Result {
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

// One tree to be trained. Python objects are kept alive by the caller's list of jobs, arrays here.
class Job {
  public:
    Job(nb::handle start, nb::handle settings, nb::handle seed, nb::handle rows, nb::handle weights,
        nb::handle val_rows, nb::handle val_weights, nb::handle input_offset,
        nb::handle input_factor, nb::handle target_offset, nb::handle target_factor,
        nb::handle state, nb::handle step, nb::handle may_move_to, nb::handle node_sign,
        nb::handle input_sign)
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
        may_move_to_ = as_optional_array<uint8_t>(may_move_to, "may_move_to", n_inputs);
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
        if (!target_offset.is_none()) {
            target_offset_ = as_array<double>(target_offset, "the offsets of the targets");
            target_factor_ = as_array<double>(target_factor, "the factors of the targets",
                                              target_offset_.size());
        }
    }

    const Tree& tree() const { return nb::cast<const WeightedTree&>(weighted_).tree(); }
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
        Rows own;
        own.tree = &tree();
        own.settings = &settings();
        data.check_fits(tree(), settings().loss);
        own.training_rows = RowChoice(rows_, weights_, data, "rows");
        own.training = own.training_rows.sample(data);
        const bool wants = validation || !val_rows_.is_none();
        if (wants) {
            const Data& held_out = validation ? *validation : data;
            held_out.check_fits(tree(), settings().loss);
            own.validation_rows = RowChoice(val_rows_, val_weights_, held_out, "validation_rows");
            own.validation = own.validation_rows.sample(held_out);
        } else if (settings().select != Select::never) {
            fail("selection needs validation rows");
        }
        for (Sample* sample : {&own.training, &own.validation}) {
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
        return own;
    }

    // Trains; runs without the GIL, on any thread.
    void run(const Rows& rows, int n_threads, const Hooks& hooks, Result& result) const {
        const auto started = std::chrono::steady_clock::now();
        Recorder recorder{hooks, result.history, result.moves};
        const Hooks own{&recorder, hooks.interrupted ? &Recorder::interrupted : nullptr,
                        &Recorder::epoch_done, &Recorder::leaf_moved};
        std::visit(
            [&](auto& theta) {
                using T = typename std::decay_t<decltype(theta)>::value_type;
                const TrainingTask<T> task{rows.tree,
                                           theta.data(),
                                           std::get<std::vector<T>>(result.state).data(),
                                           &result.step,
                                           &rows.training,
                                           &rows.validation,
                                           rows.settings,
                                           result.leaf_input.data(),
                                           may_move_to_.is_valid() ? may_move_to_.data() : nullptr,
                                           seed_,
                                           n_threads,
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
        const Tree& t = weighted.tree();
        result.leaf_input.assign(t.leaf_input, t.leaf_input + t.n_leaves);
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

    nb::object weighted_, settings_, rows_, weights_, val_rows_, val_weights_;
    uint64_t seed_;
    int64_t step_;
    size_t n_parameters_ = 0, n_state_ = 0;
    std::optional<Vector> state_;  // none: zeros
    In<double> input_offset_, input_factor_, target_offset_, target_factor_;
    In<uint8_t> may_move_to_;
    In<int8_t> node_sign_, input_sign_;
    Signs signs_;
};

}  // namespace bnt
