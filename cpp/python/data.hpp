// Tables with their targets, and which of their rows a training uses.
//
// Arrays of indices are copied before they are checked: another thread may change an array at any
// time, and must not be able to make an index invalid.
#pragma once

#include <optional>

#include "../dispatch.hpp"
#include "lines.hpp"
#include "problems.hpp"

namespace bnt {

// A table with targets: class labels, or one or more values for each row.
class Data {
  public:
    Data(nb::handle X, nb::handle y, nb::handle lines)
        : X_(as_rows(X, "X")), lines_(nb::borrow(lines)),
          table_(with_lines(as_table(X_, "X"), lines)) {
        if (table_.n_rows == 0) fail("X has no rows");
        In<int32_t> labels;
        if (nb::try_cast<In<int32_t>>(y, labels, false)) {
            require_rows(labels.ndim() == 1 ? labels.size() : 0);
            labels_.assign(labels.data(), labels.data() + labels.size());
            targets_.labels = labels_.data();
            const auto [low, high] = std::minmax_element(labels_.begin(), labels_.end());
            lowest_ = *low;
            highest_ = *high;
            return;
        }
        values_ = as_array<double>(y, "y (class labels are int32, values)");
        if (values_.ndim() != 1 && values_.ndim() != 2) fail("y must have one or two dimensions");
        require_rows(values_.shape(0));
        targets_.values = values_.data();
        if (values_.ndim() == 2 && values_.shape(1) >= size_t(1) << 31)
            fail("y has more than 2^31 columns");
        targets_.n_targets = values_.ndim() == 2 ? int(values_.shape(1)) : 1;
        if (targets_.n_targets == 0) fail("y has no columns");
    }

    const Table& table() const { return table_; }
    const Targets& targets() const { return targets_; }

    // Whether a tree can be trained on these rows with this loss.
    void check_fits(const Tree& t, const LossSettings& loss) const {
        if (table_.n_inputs() != t.n_inputs) fail_features(table_, t);
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
    nb::object lines_;  // keeps alive what the table points to
    Table table_;
    std::vector<int32_t> labels_;
    In<double> values_;
    Targets targets_;
    int32_t lowest_ = 0, highest_ = 0;
};

// Which rows of the data a job uses, and how much they count.
struct RowChoice {
    std::vector<int32_t> rows;  // empty: all
    In<double> weights;
    int64_t n = 0;

    RowChoice() = default;
    RowChoice(nb::handle row_array, nb::handle weight_array, const Data& data, const char* name) {
        const int64_t n_rows = data.table().n_rows;
        n = n_rows;
        if (!row_array.is_none()) {
            const In<int32_t> positions = as_array<int32_t>(row_array, name);
            rows.assign(positions.data(), positions.data() + positions.size());
            n = int64_t(rows.size());
            if (n == 0) fail(std::string(name) + " is empty");
            const auto [low, high] = std::minmax_element(rows.begin(), rows.end());
            if (*low < 0 || *high >= n_rows)
                fail(std::string(name) + " must lie between 0 and " + std::to_string(n_rows - 1));
        }
        weights = as_optional_array<double>(weight_array, "the weights of the rows", size_t(n));
    }

    Sample sample(const Data& data) const {
        return {data.table(),
                data.targets(),
                rows.empty() ? nullptr : rows.data(),
                weights.is_valid() ? weights.data() : nullptr,
                n,
                nullptr,
                nullptr};
    }
};

}  // namespace bnt
