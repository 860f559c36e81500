// Inputs that are limited lines of the columns of a table, checked once.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "arrays.hpp"

namespace bnt {

class InputLines {
  public:
    // Everything is copied: kernels use `first` and `first_line` as indices.
    InputLines(nb::handle first, nb::handle offset, nb::handle factor, nb::handle low,
               nb::handle high, nb::handle first_line) {
        const auto starts = [](nb::handle numbers, const std::string& name) {
            const In<int32_t> array = as_array<int32_t>(numbers, name.c_str());
            std::vector<int32_t> copy(array.data(), array.data() + array.size());
            if (copy.empty() || copy[0] != 0) fail(name + " must start with 0");
            for (size_t i = 1; i < copy.size(); ++i)
                if (copy[i] < copy[i - 1]) fail(name + " must not decrease");
            return copy;
        };
        first_ = starts(first, "first");
        const size_t n_inputs = size_t(first_.back());
        if (!first_line.is_none()) {
            first_line_ = starts(first_line, "first_line");
            if (first_line_.size() != n_inputs + 1)
                fail("first_line must have " + std::to_string(n_inputs + 1) + " entries");
            for (size_t i = 0; i < n_inputs; ++i)
                if (first_line_[i] == first_line_[i + 1]) fail("every input must have a line");
        }
        const size_t n_lines = first_line_.empty() ? n_inputs : size_t(first_line_.back());
        const auto copied = [&](nb::handle numbers, const char* name) {
            const In<double> array = as_array<double>(numbers, name, n_lines);
            return std::vector<double>(array.data(), array.data() + array.size());
        };
        offset_ = copied(offset, "offset");
        factor_ = copied(factor, "factor");
        low_ = copied(low, "low");
        high_ = copied(high, "high");
        for (size_t i = 0; i < offset_.size(); ++i) {
            if (!std::isfinite(offset_[i]) || !std::isfinite(factor_[i]))
                fail("offset and factor must be finite");
            if (!(low_[i] <= high_[i])) fail("low must not be above high");
        }
        lines_ = {int(first_.size()) - 1,
                  first_.back(),
                  first_.data(),
                  offset_.data(),
                  factor_.data(),
                  low_.data(),
                  high_.data(),
                  first_line_.empty() ? nullptr : first_line_.data()};
    }
    InputLines(const InputLines&) = delete;

    const Lines& lines() const { return lines_; }

  private:
    std::vector<int32_t> first_, first_line_;
    std::vector<double> offset_, factor_, low_, high_;
    Lines lines_;
};

// A table whose columns become inputs by `lines`, which may be None.
inline Table with_lines(Table table, nb::handle lines) {
    if (lines.is_none()) return table;
    table.lines = &as_instance<InputLines>(lines, "lines", "InputLines").lines();
    if (table.lines->n_columns != table.n_columns)
        fail("X has " + std::to_string(table.n_columns) + " columns, lines has " +
             std::to_string(table.lines->n_columns));
    return table;
}

}  // namespace bnt
