// The rows of one training, in the form in which kernels read them.
#pragma once

#include <algorithm>

#include "../mathematics/losses.hpp"
#include "rows.hpp"

namespace bnt::BNT_ISA {

// Positions 0..n-1 of a sample. Targets and weights are copied into the order of the positions
// (and into T) unless they can be read where they are.
template <class T>
class SampleView {
  public:
    explicit SampleView(const Sample& sample)
        : sample_(sample), table_(sample.table), rows_(sample.rows) {
        const int64_t n = sample.n;
        view_.n_targets = sample.targets.n_targets;
        if (sample.targets.labels) {
            if (sample.rows) {
                labels_ = Buffer<int32_t>(n);
                for (int64_t i = 0; i < n; ++i) labels_[i] = sample.targets.labels[sample.rows[i]];
            }
            view_.labels = sample.rows ? labels_.get() : sample.targets.labels;
        } else if (sample.targets.values) {
            const int width = sample.targets.n_targets;
            values_ = Buffer<T>(size_t(n) * width);
            for (int64_t i = 0; i < n; ++i) {
                const double* row_values = sample.targets.values + row(i) * width;
                for (int k = 0; k < width; ++k)
                    values_[i * width + k] = T(scaled(row_values[k], k));
            }
            view_.values = values_.get();
        }
        if (sample.weights) {
            weights_ = Buffer<T>(n);
            for (int64_t i = 0; i < n; ++i) weights_[i] = T(sample.weights[i]);
            view_.weights = weights_.get();
        }
    }

    int64_t size() const { return sample_.n; }
    int n_columns() const { return sample_.table.n_columns; }  // as the user has them
    const Table& table() const { return table_; }
    const Lines* lines() const { return sample_.table.lines; }  // how columns become inputs
    const TargetView<T>& targets() const { return view_; }
    int64_t row(int64_t position) const { return rows_ ? rows_[position] : position; }

    // Copies a small table: its rows in their order, as scaled inputs of type T. A training that
    // reads them many times scales them once, and keeps them in the cache.
    void keep_copy() {
        constexpr int R = 32;
        const size_t n_inputs = table_.n_inputs(), bytes = size() * n_inputs * sizeof(T);
        if (bytes > kLargestCopy) return;
        Buffer<T> copy(size() * n_inputs), block(R * n_inputs);
        for (int64_t first = 0; first < size(); first += R) {
            const int count = int(std::min<int64_t>(R, size() - first));
            int32_t positions[R];
            for (int r = 0; r < count; ++r) positions[r] = int32_t(first + r);
            load<R>(positions, count, block.get());
            for (int r = 0; r < count; ++r)
                for (size_t i = 0; i < n_inputs; ++i)
                    copy[(first + r) * n_inputs + i] = block[i * R + r];
        }
        copy_ = std::move(copy);
        const Dtype dtype = sizeof(T) == 4 ? Dtype::float32 : Dtype::float64;
        table_ = {copy_.get(), dtype, size(), int(n_inputs)};
        rows_ = nullptr;
    }

    // Loads the R rows at these positions; lanes from count on repeat the first one. `used`: the
    // inputs that are needed, null for all.
    template <int R>
    void load(const int32_t* positions, int count, T* x, const uint8_t* used = nullptr) const {
        if (!rows_) return load_block<T, R>(table_, positions, 0, count, x, used);
        int32_t rows[R];
        for (int r = 0; r < count; ++r) rows[r] = rows_[positions[r]];
        load_block<T, R>(table_, rows, 0, count, x, used);
    }

  private:
    static constexpr size_t kLargestCopy = size_t(1) << 21;

    double scaled(double value, int k) const {
        if (!sample_.target_offset) return value;
        return (value - sample_.target_offset[k]) * sample_.target_factor[k];
    }

    const Sample& sample_;
    Table table_;
    const int32_t* rows_;
    TargetView<T> view_;
    Buffer<int32_t> labels_;
    Buffer<T> values_, weights_, copy_;
};

}  // namespace bnt::BNT_ISA
