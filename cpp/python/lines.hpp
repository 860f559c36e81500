// Inputs that are limited lines of the columns of a table, checked once.
#pragma once

#include <cmath>
#include <vector>

#include "arrays.hpp"

namespace bnt {

class InputLines {
  public:
    // Everything is copied: kernels use `first` as an index.
    InputLines(nb::handle first, nb::handle offset, nb::handle factor, nb::handle low,
               nb::handle high) {
        const In<int32_t> starts = as_array<int32_t>(first, "first");
        first_.assign(starts.data(), starts.data() + starts.size());
        if (first_.empty() || first_[0] != 0) fail("first must start with 0");
        for (size_t i = 1; i < first_.size(); ++i)
            if (first_[i] < first_[i - 1]) fail("first must not decrease");
        const auto copied = [&](nb::handle numbers, const char* name) {
            const In<double> array = as_array<double>(numbers, name, size_t(first_.back()));
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
        lines_ = {int(first_.size()) - 1, first_.back(), first_.data(), offset_.data(),
                  factor_.data(),         low_.data(),   high_.data()};
    }
    InputLines(const InputLines&) = delete;

    const Lines& lines() const { return lines_; }

  private:
    std::vector<int32_t> first_;
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
