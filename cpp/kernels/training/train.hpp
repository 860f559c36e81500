// The training loop: epochs, batches, selection, stopping.
#pragma once

#include <optional>

#include "../../random.hpp"
#include "../interrupts.hpp"
#include "../passes/backward.hpp"
#include "../passes/online.hpp"
#include "../passes/shuffled.hpp"
#include "moves.hpp"
#include "optimizers.hpp"
#include "scoring.hpp"
#include "signs.hpp"

namespace bnt::BNT_ISA {

// The gradient of the mean loss of some rows. The training loop calls it through this interface, so
// that the loop is compiled once and not once for each way to compute a gradient.
template <class T>
struct Gradient {
    // Writes the gradient for the rows at these positions; returns their score.
    virtual Score compute(const T* theta, const int32_t* positions, int64_t n, T* gradient) = 0;
    // Call after leaves have got other inputs.
    virtual void leaves_moved() = 0;

  protected:
    ~Gradient() = default;
};

// Batches of at most so many rows are a single block.
constexpr int kSmallBatch = 16;

// The gradient of a batch of any size; of at most R rows, if R is kSmallBatch. The batch is cut
// into blocks of R rows, the blocks into at most kMaxChunks chunks; each chunk has its own
// gradient, and they are added in their order. Neither the cuts nor the order depend on the number
// of threads.
template <class T, int R>
class BatchGradient final : public Gradient<T> {
    static constexpr int kMaxChunks = 16;

  public:
    BatchGradient(const Tree& t, const Layout& layout, const SampleView<T>& sample,
                  const LossRule<T>& rule, ThreadTeam& team, int64_t batch_size,
                  Interrupts& interrupts)
        : t_(t), layout_(layout), sample_(sample), rule_(rule), team_(team),
          interrupts_(interrupts), n_chunks_(chunks(batch_size)),
          n_inputs_(sample.table().n_inputs()),
          room_(size_t(n_inputs_ + t.n_nodes * (t.keeps_sums ? 2 : 1) + t.n_outputs) * R),
          memory_(size_t(team.size()) * room_), gradients_(size_t(n_chunks_) * layout.size),
          scores_(n_chunks_), used_(n_inputs_) {
        learn_used();
    }

    void leaves_moved() override { learn_used(); }

    // How many pieces of a batch can be worked on at once.
    static int chunks(int64_t n) { return std::min(blocks(n), kMaxChunks); }

    Score compute(const T* theta, const int32_t* positions, int64_t n, T* gradient) override {
        const int used = chunks(n);
        if (used == 1) {
            run_chunk(theta, positions, n, 0, 0, gradient);
            return scores_[0];
        }
        team_.each(used, [&](int chunk, int thread) {
            T* chunk_gradient = gradients_.get() + size_t(chunk) * layout_.size;
            run_chunk(theta, positions, n, chunk, thread, chunk_gradient);
        });
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

    void learn_used() {
        std::memset(used_.get(), 0, n_inputs_);
        for (int l = 0; l < t_.n_leaves; ++l) used_[t_.leaf_input[l]] = 1;
    }

    void run_chunk(const T* theta, const int32_t* positions, int64_t n, int chunk, int thread,
                   T* gradient) {
        FlushDenormals flush;
        const Weights<const T> w = layout_.of(t_, theta);
        const int64_t n_blocks = blocks(n), used = chunks(n);
        T* x = memory_.get() + size_t(thread) * room_;
        T* slopes = x + size_t(n_inputs_) * R;
        T* h = slopes + size_t(t_.n_outputs) * R;
        T* sums = t_.keeps_sums ? h + size_t(t_.n_nodes) * R : nullptr;
        const Weights<T> g = layout_.of(gradient);
        Score score;
        const int64_t first = chunk * n_blocks / used, end = (chunk + 1) * n_blocks / used;
        for (int64_t b = first; b < end; ++b) {
            const int32_t* block_rows = positions + b * R;
            const int count = int(std::min<int64_t>(R, n - b * R));
            sample_.template load<R>(block_rows, count, x, used_.get());
            forward_block<T, R>(t_, w, x, h, sums);
            const OutputBlock<T, R> out{t_.n_outputs, sample_.targets(), block_rows, count};
            score.add(rule_.template score<R>(out, h));
            rule_.template slopes<R>(out, h, T(1) / T(n), slopes);
            if (R == kSmallBatch || b == first)
                BackwardBlock<T, R, false>::run(t_, w, x, slopes, h, sums, g);
            else BackwardBlock<T, R, true>::run(t_, w, x, slopes, h, sums, g);
            if (b + 1 < end && interrupts_.interrupted(thread)) break;
        }
        scores_[chunk] = score;
    }

    const Tree& t_;
    const Layout& layout_;
    const SampleView<T>& sample_;
    const LossRule<T>& rule_;
    ThreadTeam& team_;
    Interrupts& interrupts_;
    int n_chunks_, n_inputs_;
    size_t room_;
    Buffer<T> memory_, gradients_;
    Buffer<Score> scores_;
    Buffer<uint8_t> used_;  // which inputs leaves have
};

// The gradient of one row, by the kernels that run along the levels of the tree: OneRow, or
// ShuffledRow where it fits.
template <class T, class Row = OneRow<T>>
class RowGradient final : public Gradient<T> {
  public:
    RowGradient(const Tree& t, const Layout& layout, const SampleView<T>& sample,
                const LossRule<T>& rule)
        : t_(t), layout_(layout), sample_(sample), rule_(rule), one_(std::in_place, t),
          slopes_(t.n_outputs + Simd<T>::lanes) {}

    void leaves_moved() override { one_.emplace(t_); }

    Score compute(const T* theta, const int32_t* positions, int64_t, T* gradient) override {
        const Weights<const T> w = layout_.of(t_, theta);
        load_row(sample_.table(), sample_.row(positions[0]), one_->x());
        one_->forward(w);
        const OutputBlock<T, 1> out{t_.n_outputs, sample_.targets(), positions, 1};
        const Score score = rule_.template score<1>(out, one_->outputs());
        rule_.template slopes<1>(out, one_->outputs(), T(1), slopes_.get());
        one_->backward(w, slopes_.get(), layout_.of(gradient));
        return score;
    }

  private:
    const Tree& t_;
    const Layout& layout_;
    const SampleView<T>& sample_;
    const LossRule<T>& rule_;
    std::optional<Row> one_;
    Buffer<T> slopes_;
};

// The threads that a training can use: none for batches that are a single piece of work.
template <class T>
int useful_threads(const TrainingTask<T>& task, int64_t batch_size) {
    const int64_t in_batch = batch_size == 1 ? 1 : BatchGradient<T, 32>::chunks(batch_size);
    const int64_t in_scoring =
        task.settings->select == Select::update ? 1 : (task.validation->n + 31) / 32;
    return int(std::min<int64_t>(task.n_threads, std::max(in_batch, in_scoring / 16)));
}

template <class T>
class Trainer {
    static constexpr int W = Simd<T>::lanes;
    static constexpr int64_t kWorkPerCheck = 100'000;  // weights times rows, some 50 microseconds

  public:
    Trainer(const TrainingTask<T>& task, const Hooks& hooks)
        : task_(task), t_(*task.tree), leaf_input_(t_.n_leaves), best_leaf_input_(t_.n_leaves),
          settings_(*task.settings), hooks_(hooks), sample_(*task.training),
          validation_(*task.validation), rule_(settings_.loss, t_.n_outputs),
          layout_(Layout::padded<T>(t_)),
          batch_size_(settings_.batch_size > 0 && settings_.batch_size < sample_.size()
                          ? settings_.batch_size
                          : sample_.size()),
          team_(useful_threads(task, batch_size_)), interrupts_(hooks),
          optimizer_(settings_, layout_), signs_(t_, layout_, task.signs), theta_(layout_.size),
          plain_(layout_.size), ahead_(layout_.size), gradient_(layout_.size), best_(layout_.size),
          order_(sample_.size()), mover_(t_, layout_, sample_, rule_, team_, interrupts_,
                                         task.may_move_to, task.moves_by_node) {
        t_.leaf_input = leaf_input_.get();
        copy_inputs(leaf_input_.get(), task.leaf_input);
        if (batch_size_ > 1) sample_.keep_copy();
    }

    Outcome run() {
        FlushDenormals flush;
        layout_.pack(task_.theta, theta_.get());
        signs_.project(theta_.get());
        optimizer_.load_state(task_.state, n_parameters(t_));
        optimizer_.step_count = *task_.step;
        keep_best();
        if (batch_size_ == 1) online_epochs();
        else if (batch_size_ <= kSmallBatch) batch_epochs<kSmallBatch>();
        else batch_epochs<32>();
        layout_.unpack(theta_.get(), task_.theta);
        copy_inputs(task_.leaf_input, leaf_input_.get());
        optimizer_.save_state(task_.state, n_parameters(t_));
        *task_.step = optimizer_.step_count;
        return outcome_;
    }

  private:
    bool selecting() const { return settings_.select != Select::never; }

    // The kernels for one row use neither threads nor blocks, and are faster.
    void online_epochs() {
        if constexpr (ShuffledRow<T>::possible)
            if (ShuffledRow<T>::fits(t_)) {
                RowGradient<T, ShuffledRow<T>> gradient(t_, layout_, sample_, rule_);
                return epochs(gradient);
            }
        RowGradient<T> gradient(t_, layout_, sample_, rule_);
        epochs(gradient);
    }

    template <int R>
    void batch_epochs() {
        BatchGradient<T, R> gradient(t_, layout_, sample_, rule_, team_, batch_size_, interrupts_);
        epochs(gradient);
    }

    void epochs(Gradient<T>& gradient) {
        std::optional<UpdateScorer<T>> scorer;
        if (settings_.select == Select::update) scorer.emplace(t_, validation_, rule_, settings_);
        const int64_t per_epoch =
            (sample_.size() + batch_size_ - 1) / batch_size_ + (settings_.repeat_first_row ? 1 : 0);
        total_updates_ = per_epoch * settings_.max_epochs;
        next_move_ = time_of_move(1);
        for (int epoch = 0; epoch < settings_.max_epochs; ++epoch) {
            epoch_ = epoch;
            const Score score = one_epoch(gradient, scorer ? &*scorer : nullptr);
            if (interrupts_.interrupted()) return finish(Status::interrupted);
            if (!std::isfinite(score.loss) || !all_finite(theta_.get(), layout_.size))
                return finish(Status::diverged);
            outcome_.n_epochs = epoch + 1;
            if (scorer) scorer->arrange();
            if (end_of_epoch(score)) return;
        }
        finish(Status::completed);
    }

    Score one_epoch(Gradient<T>& gradient, UpdateScorer<T>* scorer) {
        epoch_order(task_.seed, uint64_t(epoch_), sample_.size(), settings_.block_rows,
                    order_.get(), hooks_);
        Score score;
        int64_t until_check = 0;
        for (int64_t first = 0; first < sample_.size(); first += batch_size_) {
            const int64_t n = std::min(batch_size_, sample_.size() - first);
            score.add(update(gradient, order_.get() + first, n));
            if (scorer) select_after_update(*scorer);
            if (updates_ == next_move_) {
                move_leaves(gradient);
                until_check = 0;  // moving takes as long as many updates
            }
            if (--until_check < 0) {  // the clock costs as much as a tenth of a small update
                until_check = scorer ? 0 : kWorkPerCheck / (batch_size_ * n_parameters(t_));
                if (interrupts_.interrupted()) return score;
            }
        }
        if (settings_.repeat_first_row) {
            const int32_t first_row = 0;
            update(gradient, &first_row, 1);
            if (scorer) select_after_update(*scorer);
        }
        return score;
    }

    Score update(Gradient<T>& gradient, const int32_t* rows, int64_t n) {
        const T* at = theta_.get();
        if (optimizer_.looks_ahead()) {
            optimizer_.look_ahead(theta_.get(), ahead_.get());
            at = ahead_.get();
        }
        const Score score = gradient.compute(at, rows, n, gradient_.get());
        if (interrupts_.stopped()) return score;  // the gradient may be that of a part of the rows
        if (settings_.clip_norm > 0) clip();
        optimizer_.step(theta_.get(), gradient_.get(), rate());
        signs_.project(theta_.get());
        updates_ += 1;
        return score;
    }

    // -- leaves that move ---------------------------------------------------------------------

    // After how many updates leaves move for the m-th time; never, if they do not.
    int64_t time_of_move(int m) const {
        if (m > settings_.leaf_moves) return -1;
        // total_updates_ * m / n, where the product need not fit
        const int64_t n = 2 * int64_t(settings_.leaf_moves);
        return std::max<int64_t>(1, total_updates_ / n * m + total_updates_ % n * m / n);
    }

    void move_leaves(Gradient<T>& gradient) {
        while (updates_ == next_move_) next_move_ = time_of_move(++n_moves_ + 1);
        const double share = 0.5 * (1 + std::cos(3.14159265358979323846 * double(n_moves_ - 1) /
                                                 double(settings_.leaf_moves)));
        const int n = int(std::lround(settings_.moving_share * share * t_.n_leaves));
        if (n == 0) return;
        const double rows_between =
            double(total_updates_) * double(batch_size_) / (2.0 * settings_.leaf_moves);
        const uint64_t seed = task_.seed + uint64_t(n_moves_) * 0x9e3779b97f4a7c15ull;
        mover_.run(theta_.get(), order_.get(),
                   mover_.rows_needed(sample_.size(), sample_.n_columns(), rows_between, share), n,
                   seed, [&](int leaf, int input) {
                       if (hooks_.leaf_moved)
                           hooks_.leaf_moved(hooks_.context,
                                             {epoch_, leaf, leaf_input_[leaf], input});
                       leaf_input_[leaf] = input;
                       theta_[layout_.leaf + leaf] = 0;
                       optimizer_.forget(layout_.leaf + leaf);
                   });
        gradient.leaves_moved();
        signs_ = SignProjection<T>(t_, layout_, task_.signs);
    }

    void copy_inputs(int32_t* to, const int32_t* from) const {
        std::memcpy(to, from, sizeof(int32_t) * t_.n_leaves);
    }

    double rate() const {
        if (settings_.schedule == Schedule::constant) return settings_.learning_rate;
        const double pi = 3.14159265358979323846;
        return settings_.learning_rate * 0.5 *
               (1 + std::cos(pi * double(updates_) / double(total_updates_)));
    }

    void clip() {
        double squares[W] = {};  // so that no addition waits for another
        for (int i = 0; i < layout_.size; i += W)
            for (int k = 0; k < W; ++k)
                squares[k] += double(gradient_[i + k]) * double(gradient_[i + k]);
        double sum = 0;
        for (const double square : squares) sum += square;
        const double norm = std::sqrt(sum);
        if (norm <= settings_.clip_norm) return;
        const T factor = T(settings_.clip_norm / norm);
        for (int i = 0; i < layout_.size; ++i) gradient_[i] *= factor;
    }

    void select_after_update(UpdateScorer<T>& scorer) {
        const double value = scorer.score(weights(), best_value_);
        if (value < best_value_ && all_finite(theta_.get(), layout_.size)) accept(value);
    }

    // Reports the epoch, selects and stops; true when training is over.
    bool end_of_epoch(const Score& train) {
        EpochReport report{epoch_,
                           train.loss / train.weight,
                           train.error / train.weight,
                           NAN,
                           NAN,
                           rate(),
                           plain_.get(),
                           leaf_input_.get(),
                           n_parameters(t_),
                           t_.n_leaves};
        layout_.unpack(theta_.get(), plain_.get());
        if (validation_.size() > 0) {
            const Score val =
                score_sample<T, 32>(t_, weights(), validation_, rule_, team_, interrupts_);
            if (interrupts_.stopped()) return interrupted_while_scoring();
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
        if (stop) finish(is_interrupted() ? Status::interrupted : Status::callback);
        const bool stale = settings_.patience > 0 && settings_.select == Select::epoch &&
                           epoch_ - std::max(outcome_.best_epoch, 0) >= settings_.patience;
        if (!stop && stale) finish(Status::early_stopped);
        return stop || stale;
    }

    // Without its score, an epoch does not count as done.
    bool interrupted_while_scoring() {
        outcome_.n_epochs = epoch_;
        finish(Status::interrupted);
        return true;
    }

    bool is_interrupted() const { return hooks_.interrupted && hooks_.interrupted(hooks_.context); }

    void accept(double value) {
        best_value_ = value;
        outcome_.best_epoch = epoch_;
        keep_best();
    }

    void keep_best() {
        std::memcpy(best_.get(), theta_.get(), sizeof(T) * layout_.size);
        copy_inputs(best_leaf_input_.get(), leaf_input_.get());
    }

    // The weights that are returned: the selected ones; without selection the last, unless they
    // are not finite.
    void finish(Status status) {
        // if no score was ever finite, nothing could be selected
        const bool no_score = selecting() && outcome_.best_epoch < 0 && outcome_.n_epochs > 0;
        outcome_.status = no_score && status != Status::interrupted ? Status::diverged : status;
        const bool last_is_best =
            !selecting() && status != Status::diverged && all_finite(theta_.get(), layout_.size);
        if (last_is_best) return;
        std::memcpy(theta_.get(), best_.get(), sizeof(T) * layout_.size);
        copy_inputs(leaf_input_.get(), best_leaf_input_.get());
    }

    Weights<const T> weights() const { return layout_.of(t_, theta_.get()); }

    const TrainingTask<T>& task_;
    Tree t_;  // its leaf_input points to leaf_input_
    Buffer<int32_t> leaf_input_, best_leaf_input_;
    const Settings& settings_;
    const Hooks& hooks_;
    SampleView<T> sample_, validation_;
    LossRule<T> rule_;
    Layout layout_;
    int64_t batch_size_;
    ThreadTeam team_;
    Interrupts interrupts_;
    Optimizer<T> optimizer_;
    SignProjection<T> signs_;
    Buffer<T> theta_, plain_, ahead_, gradient_, best_;
    Buffer<int32_t> order_;
    LeafMover<T> mover_;
    int64_t next_move_ = -1;
    int n_moves_ = 0;
    int64_t updates_ = 0, total_updates_ = 1;
    int epoch_ = 0;
    double best_value_ = INFINITY;
    Outcome outcome_;
};

}  // namespace bnt::BNT_ISA
