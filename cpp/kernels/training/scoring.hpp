// Scores on validation rows: after an epoch, or after every single update.
#pragma once

#include <algorithm>
#include <cmath>

#include "../../random.hpp"
#include "../../threads.hpp"
#include "../interrupts.hpp"
#include "../passes/forward.hpp"
#include "../passes/sample.hpp"

namespace bnt::BNT_ISA {

// Scores all rows of a sample, in parallel; the sums are taken in the order of the rows. If
// `interrupts` stops, the score is that of a part of them.
template <class T, int R>
Score score_sample(const Tree& t, Weights<const T> w, const SampleView<T>& sample,
                   const LossRule<T>& rule, ThreadTeam& team, Interrupts& interrupts) {
    const int n_inputs = sample.table().n_inputs();
    const int n_blocks = int((sample.size() + R - 1) / R);
    Buffer<Score> scores(n_blocks);
    Buffer<T> x(size_t(team.size()) * n_inputs * R), h(size_t(team.size()) * t.n_nodes * R);
    team.each(n_blocks, [&](int block, int thread) {
        if (interrupts.interrupted(thread)) return;
        FlushDenormals flush;
        T* own_x = x.get() + size_t(thread) * n_inputs * R;
        T* own_h = h.get() + size_t(thread) * t.n_nodes * R;
        int32_t positions[R];
        const int64_t first = int64_t(block) * R;
        const int count = int(std::min<int64_t>(R, sample.size() - first));
        for (int r = 0; r < count; ++r) positions[r] = int32_t(first + r);
        sample.template load<R>(positions, count, own_x);
        forward_block<T, R>(t, w, own_x, own_h);
        const OutputBlock<T, R> out{t.n_outputs, sample.targets(), positions, count};
        scores[block] = rule.template score<R>(out, own_h);
    });
    Score total;
    for (int b = 0; b < n_blocks; ++b) total.add(scores[b]);
    return total;
}

// Decides after every update whether the weights beat the best so far, and stops as soon as the
// rows scored so far cost as much as all rows did for the best. Costs are never negative, so the
// decision equals that of scoring every row. The rows that cost most recently come first, to decide
// early.
template <class T>
class UpdateScorer {
    static constexpr int R = 16;

  public:
    UpdateScorer(const Tree& t, const SampleView<T>& sample, const LossRule<T>& rule,
                 const Settings& settings)
        : t_(t), sample_(sample), rule_(rule), monitor_(settings.monitor),
          patient_(settings.score_all_rows),
          counts_(settings.monitor == Monitor::error && sample.targets().labels &&
                  !sample.targets().weights),
          n_rows_(sample.size()), order_(n_rows_), cost_(n_rows_), memory_(n_rows_),
          x_((n_rows_ + R - 1) / R * R * sample.table().n_inputs()), h_(size_t(t.n_nodes) * R) {
        const T* weights = sample.targets().weights;
        for (int64_t i = 0; i < n_rows_; ++i) order_[i] = int32_t(i);
        for (int64_t i = 0; i < n_rows_; ++i) total_weight_ += weights ? double(weights[i]) : 1.0;
        arrange();
    }

    // The mean cost if it is below `best`; anything not below `best` otherwise.
    double score(Weights<const T> w, double best) {
        if (best <= 0 && !patient_) return best;  // nothing beats a perfect score
        const double limit = most_that_may_win(best * total_weight_);
        double running = 0;
        for (int64_t first = 0; first < n_rows_; first += R) {
            running += score_block(w, first);
            if (!(running <= limit) && !patient_) return running / total_weight_;
        }
        double total = 0;
        for (int64_t i = 0; i < n_rows_; ++i) total += cost_[i];
        return total / total_weight_;
    }

    // Puts the rows that cost most first. Called when the costs have changed.
    void arrange() {
        most_costly_first(memory_.get(), n_rows_, order_.get());
        for (int64_t first = 0; first < n_rows_; first += R)
            sample_.template load<R>(order_.get() + first, count(first), block(first));
    }

  private:
    // Wrong rows are counted exactly, so a tie differs from a win; other costs are added in
    // another order here than in the final sum, which leaves room for rounding.
    double most_that_may_win(double best) const {
        return counts_ ? std::round(best) - 1 : best * (1 + 1e-9);
    }

    int count(int64_t first) const { return int(std::min<int64_t>(R, n_rows_ - first)); }
    T* block(int64_t first) { return x_.get() + first * sample_.table().n_inputs(); }

    double score_block(Weights<const T> w, int64_t first) {
        forward_block<T, R>(t_, w, block(first), h_.get());
        const int n = count(first);
        const int32_t* rows = order_.get() + first;
        const OutputBlock<T, R> out{t_.n_outputs, sample_.targets(), rows, n};
        double loss[R], error[R], sum = 0;
        rule_.template costs<R>(out, h_.get(), loss, error);
        for (int r = 0; r < n; ++r) {
            const double cost =
                double(out.weight(r)) * (monitor_ == Monitor::loss ? loss[r] : error[r]);
            cost_[rows[r]] = cost;
            memory_[rows[r]] = 0.9 * memory_[rows[r]] + (std::isfinite(cost) ? cost : 0.0);
            sum += cost;
        }
        return sum;
    }

    const Tree& t_;
    const SampleView<T>& sample_;
    const LossRule<T>& rule_;
    Monitor monitor_;
    bool patient_;
    bool counts_;
    int64_t n_rows_;
    double total_weight_ = 0;
    Buffer<int32_t> order_;
    Buffer<double> cost_, memory_;
    Buffer<T> x_, h_;
};

}  // namespace bnt::BNT_ISA
