// The training loop: epochs, batches, selection, stopping.
#pragma once

#include <chrono>
#include <optional>

#include "backward.hpp"
#include "online.hpp"
#include "optimizers.hpp"
#include "random.hpp"
#include "scoring.hpp"

namespace bnt::BNT_ISA {

// Asks the caller now and then whether to go on.
class Pulse {
    using Clock = std::chrono::steady_clock;

  public:
    explicit Pulse(const Hooks& hooks) : hooks_(hooks), next_(Clock::now() + kInterval) {}

    bool interrupted() {
        if (stopped_ || Clock::now() < next_) return stopped_;
        next_ = Clock::now() + kInterval;
        return stopped_ = hooks_.interrupted && hooks_.interrupted(hooks_.context);
    }

  private:
    static constexpr auto kInterval = std::chrono::milliseconds(40);
    const Hooks& hooks_;
    Clock::time_point next_;
    bool stopped_ = false;
};

// The gradient of a batch of any size. The batch is cut into blocks of R rows, the blocks into
// at most kMaxChunks chunks; each chunk has a gradient of its own, and they are added in their
// order. Neither the cuts nor the order depend on the number of threads.
template <class T, int R>
class BatchGradient {
    static constexpr int kMaxChunks = 16;

  public:
    BatchGradient(const Tree& t, const Layout& layout, const Table& table,
                  const Targets<T>& targets, const LossRule<T>& rule, ThreadTeam& team,
                  int64_t batch_size, Pulse* pulse)
        : t_(t), layout_(layout), table_(table), targets_(targets), rule_(rule), team_(team),
          pulse_(pulse), n_chunks_(chunks(batch_size)),
          x_(size_t(team.size()) * table.n_columns * R), h_(size_t(team.size()) * t.n_nodes * R),
          gradients_(size_t(n_chunks_) * layout.size), scores_(n_chunks_) {}

    // Gradient of the mean weighted loss of these rows; returns their score.
    Score compute(const T* theta, const int32_t* rows, int64_t n, T* gradient) {
        theta_ = theta;
        rows_ = rows;
        n_ = n;
        const int used = chunks(n);
        team_.run([](void* self, int chunk, int thread) {
            static_cast<BatchGradient*>(self)->run_chunk(chunk, thread);
        }, this, used);
        Score total = scores_[0];
        for (int c = 1; c < used; ++c) total.add(scores_[c]);
        for (int i = 0; i < layout_.size; i += Simd<T>::lanes) {
            Vec<T> sum = load(gradients_.get() + i);
            for (int c = 1; c < used; ++c)
                sum += load(gradients_.get() + size_t(c) * layout_.size + i);
            store(gradient + i, sum);
        }
        return total;
    }

  private:
    static int blocks(int64_t n) { return int((n + R - 1) / R); }
    static int chunks(int64_t n) { return std::min(blocks(n), kMaxChunks); }

    void run_chunk(int chunk, int thread) {
        FlushDenormals flush;
        const int64_t n_blocks = blocks(n_), used = chunks(n_);
        T* x = x_.get() + size_t(thread) * table_.n_columns * R;
        T* h = h_.get() + size_t(thread) * t_.n_nodes * R;
        T* g = gradients_.get() + size_t(chunk) * layout_.size;
        Score score;
        const int64_t first = chunk * n_blocks / used;
        for (int64_t b = first; b < (chunk + 1) * n_blocks / used; ++b) {
            int64_t lanes[R];
            const int32_t* rows = rows_ + b * R;
            const int count = int(std::min<int64_t>(R, n_ - b * R));
            for (int r = 0; r < count; ++r) lanes[r] = rows[r];
            load_block<T, R>(table_, rows, 0, count, x);
            forward_block<T, R>(t_, layout_.of(theta_), x, h);
            const OutputBlock<T, R> out{t_, rule_, targets_, lanes, count};
            score.add(out.score(h));
            out.deltas(h, T(1) / T(n_));
            if (b == first) BackwardBlock<T, R, false>::run(t_, layout_.of(theta_), x, h, layout_.of(g));
            else BackwardBlock<T, R, true>::run(t_, layout_.of(theta_), x, h, layout_.of(g));
            if (thread == 0 && pulse_ && pulse_->interrupted()) break;
        }
        scores_[chunk] = score;
    }

    const Tree& t_;
    const Layout& layout_;
    const Table& table_;
    const Targets<T>& targets_;
    const LossRule<T>& rule_;
    ThreadTeam& team_;
    Pulse* pulse_;
    int n_chunks_;
    Buffer<T> x_, h_, gradients_;
    Buffer<Score> scores_;
    const T* theta_ = nullptr;
    const int32_t* rows_ = nullptr;
    int64_t n_ = 0;
};

// The gradient of one row, by the kernels that run along the levels of the tree.
template <class T>
class RowGradient {
  public:
    RowGradient(const Tree& t, const Layout& layout, const Table& table,
                const Targets<T>& targets, const LossRule<T>& rule)
        : t_(t), layout_(layout), table_(table), targets_(targets), rule_(rule), one_(t) {}

    Score compute(const T* theta, const int32_t* rows, int64_t, T* gradient) {
        const int64_t row = rows[0];
        load_row(table_, row, one_.x());
        one_.forward(layout_.of(theta));
        const OutputBlock<T, 1> out{t_, rule_, targets_, &row, 1};
        const Score score = out.score(one_.outputs());
        out.deltas(one_.outputs(), T(1));
        one_.backward(layout_.of(theta), layout_.of(gradient));
        return score;
    }

  private:
    const Tree& t_;
    const Layout& layout_;
    const Table& table_;
    const Targets<T>& targets_;
    const LossRule<T>& rule_;
    std::conditional_t<(kPermuteReach * Simd<T>::lanes >= 8), PermutedRow<T>, OneRow<T>> one_;
};

template <class T>
class Trainer {
    static constexpr int W = Simd<T>::lanes;

  public:
    Trainer(const Tree& t, const Table& table, const Targets<T>& targets, const Table& validation,
            const Targets<T>& val_targets, const Settings& settings, const Hooks& hooks)
        : t_(t), table_(table), targets_(targets), validation_(validation),
          val_targets_(val_targets), settings_(settings), hooks_(hooks), rule_(settings),
          layout_(Layout::padded<T>(t)), team_(settings.n_threads), pulse_(hooks),
          optimizer_(settings, layout_), theta_(layout_.size), plain_(layout_.size), ahead_(layout_.size),
          gradient_(layout_.size), best_(layout_.size), order_(table.n_rows),
          batch_size_(settings.batch_size > 0 && settings.batch_size < table.n_rows
                          ? settings.batch_size
                          : table.n_rows) {}

    Outcome run(T* theta, T* state, int64_t* step) {
        FlushDenormals flush;
        layout_.pack(theta, theta_.get());
        layout_.pack(state, optimizer_.first());
        layout_.pack(state + n_parameters(t_), optimizer_.second());
        optimizer_.step_count = *step;
        keep_best();
        // The kernels for one row know nothing of threads or blocks, and are faster at it.
        if (batch_size_ == 1) {
            RowGradient<T> gradient(t_, layout_, table_, targets_, rule_);
            epochs(gradient);
        } else if (batch_size_ <= 16) {
            BatchGradient<T, 16> gradient(t_, layout_, table_, targets_, rule_, team_, batch_size_,
                                          &pulse_);
            epochs(gradient);
        } else {
            BatchGradient<T, 32> gradient(t_, layout_, table_, targets_, rule_, team_, batch_size_,
                                          &pulse_);
            epochs(gradient);
        }
        layout_.unpack(theta_.get(), theta);
        layout_.unpack(optimizer_.first(), state);
        layout_.unpack(optimizer_.second(), state + n_parameters(t_));
        *step = optimizer_.step_count;
        return outcome_;
    }

  private:
    bool selecting() const { return settings_.select != Select::never; }

    template <class Gradient>
    void epochs(Gradient& gradient) {
        std::optional<UpdateScorer<T>> scorer;
        if (settings_.select == Select::update)
            scorer.emplace(t_, validation_, val_targets_, settings_);
        const int64_t per_epoch = (table_.n_rows + batch_size_ - 1) / batch_size_ +
                                  (settings_.repeat_first_row ? 1 : 0);
        total_updates_ = per_epoch * settings_.max_epochs;
        for (int epoch = 0; epoch < settings_.max_epochs; ++epoch) {
            epoch_ = epoch;
            const Score score = one_epoch(gradient, scorer ? &*scorer : nullptr);
            if (pulse_.interrupted()) return finish(Status::interrupted);
            if (!std::isfinite(score.loss) || !all_finite(theta_.get(), layout_.size))
                return finish(Status::diverged);
            outcome_.n_epochs = epoch + 1;
            if (scorer) scorer->arrange();
            if (end_of_epoch(score)) return;
        }
        finish(Status::completed);
    }

    template <class Gradient>
    Score one_epoch(Gradient& gradient, UpdateScorer<T>* scorer) {
        epoch_order(settings_.seed, uint64_t(epoch_), table_.n_rows, order_.get());
        Score score;
        int64_t until_pulse = 0;
        for (int64_t first = 0; first < table_.n_rows; first += batch_size_) {
            const int64_t n = std::min(batch_size_, table_.n_rows - first);
            score.add(update(gradient, order_.get() + first, n));
            if (scorer) select_after_update(*scorer);
            if (--until_pulse < 0) {  // the clock costs as much as a tenth of a small update
                until_pulse = batch_size_ == 1 ? 31 : 0;
                if (pulse_.interrupted()) return score;
            }
        }
        if (settings_.repeat_first_row) {
            const int32_t first_row = 0;
            update(gradient, &first_row, 1);
            if (scorer) select_after_update(*scorer);
        }
        return score;
    }

    template <class Gradient>
    Score update(Gradient& gradient, const int32_t* rows, int64_t n) {
        const T* at = theta_.get();
        if (optimizer_.looks_ahead()) {
            optimizer_.look_ahead(theta_.get(), ahead_.get());
            at = ahead_.get();
        }
        const Score score = gradient.compute(at, rows, n, gradient_.get());
        if (settings_.clip_norm > 0) clip();
        optimizer_.step(theta_.get(), gradient_.get(), rate());
        updates_ += 1;
        return score;
    }

    double rate() const {
        if (settings_.schedule == Schedule::constant) return settings_.learning_rate;
        const double pi = 3.14159265358979323846;
        return settings_.learning_rate * 0.5 *
               (1 + std::cos(pi * double(updates_) / double(total_updates_)));
    }

    void clip() {
        double square = 0;
        for (int i = 0; i < layout_.size; ++i) square += double(gradient_[i]) * double(gradient_[i]);
        const double norm = std::sqrt(square);
        if (norm <= settings_.clip_norm) return;
        const T factor = T(settings_.clip_norm / norm);
        for (int i = 0; i < layout_.size; ++i) gradient_[i] *= factor;
    }

    void select_after_update(UpdateScorer<T>& scorer) {
        const double value = scorer.score(layout_.of(static_cast<const T*>(theta_.get())), best_value_);
        if (value < best_value_ && all_finite(theta_.get(), layout_.size)) {
            accept(value);
        }
    }

    // Reports the epoch, selects and stops; true when training is over.
    bool end_of_epoch(const Score& train) {
        EpochReport report{epoch_, train.loss / train.weight, train.error / train.weight,
                           NAN, NAN, rate(), plain_.get(), n_parameters(t_)};
        layout_.unpack(theta_.get(), plain_.get());
        if (validation_.n_rows > 0) {
            const Score val = score_table<T, 32>(t_, layout_.of(static_cast<const T*>(theta_.get())),
                                                 validation_, val_targets_, rule_, team_);
            report.val_loss = val.loss / val.weight;
            report.val_error = val.error / val.weight;
            if (settings_.select == Select::epoch) {
                const double value =
                    settings_.monitor == Monitor::loss ? report.val_loss : report.val_error;
                if (value < best_value_) accept(value);
            }
        }
        if (!selecting()) keep_best();
        const bool stop = hooks_.epoch_done && hooks_.epoch_done(hooks_.context, report);
        if (stop) finish(Status::callback);
        const bool stale = settings_.patience > 0 && settings_.select == Select::epoch &&
                           epoch_ - std::max(outcome_.best_epoch, 0) >= settings_.patience;
        if (!stop && stale) finish(Status::early_stopped);
        return stop || stale;
    }

    void accept(double value) {
        best_value_ = value;
        outcome_.best_epoch = epoch_;
        outcome_.best_value = value;
        keep_best();
    }

    void keep_best() { std::memcpy(best_.get(), theta_.get(), sizeof(T) * layout_.size); }

    // The weights that are given back: the selected ones; without selection the last, unless
    // they are not finite any more.
    void finish(Status status) {
        outcome_.status = status;
        const bool last_is_best = !selecting() && status != Status::diverged &&
                                  all_finite(theta_.get(), layout_.size);
        if (!last_is_best) std::memcpy(theta_.get(), best_.get(), sizeof(T) * layout_.size);
    }

    const Tree& t_;
    const Table& table_;
    const Targets<T>& targets_;
    const Table& validation_;
    const Targets<T>& val_targets_;
    const Settings& settings_;
    const Hooks& hooks_;
    LossRule<T> rule_;
    Layout layout_;
    ThreadTeam team_;
    Pulse pulse_;
    Optimizer<T> optimizer_;
    Buffer<T> theta_, plain_, ahead_, gradient_, best_;
    Buffer<int32_t> order_;
    int64_t batch_size_, updates_ = 0, total_updates_ = 1;
    int epoch_ = 0;
    double best_value_ = INFINITY;
    Outcome outcome_;
};

}  // namespace bnt::BNT_ISA
