// Training and gradients: jobs are taken from Python, and run without the GIL.
#include <deque>

#include "../dispatch.hpp"
#include "../jobs.hpp"
#include "bindings.hpp"
#include "job.hpp"
#include "settings.hpp"
#include "signals.hpp"

using namespace nanobind::literals;

namespace bnt {

namespace {

// The listener of a call of train: takes jobs from an iterator, keeps them and their results.
class PythonListener : public JobListener {
  public:
    struct Item {
        const Job* job;
        Job::Rows rows;
        Result result;
    };

    PythonListener(nb::object jobs, const Data& data, const Data* validation, nb::object on_epoch,
                   nb::object on_job, nb::object stop)
        : jobs_(nb::iter(jobs)), data_(data), validation_(validation),
          on_epoch_(std::move(on_epoch)), on_job_(std::move(on_job)), stop_(std::move(stop)),
          reports_epochs_(!on_epoch_.is_none()), reports_jobs_(!on_job_.is_none()) {}

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
            Item item{job, job->prepare(data_, validation_),
                      job->is_planned() ? Result() : job->untouched()};
            alive_.push_back(entry);
            next = &items_.emplace_back(std::move(item));
            return false;
        });
        return next;
    }

    // Ctrl-C, or a true result of `stop`, which is not called again after that.
    bool interrupted() override {
        if (stopped_ || signals_.raised()) return true;
        if (!asks_) return false;
        GilAcquire gil;
        return stopped_ = signals_.keep([&] { return as_bool(stop_(), "the result of stop"); });
    }
    bool reports_epochs() const override { return reports_epochs_; }
    bool reports_jobs() const override { return reports_jobs_; }

    bool epoch_done(int number, const EpochReport& r) override {
        GilAcquire gil;
        return signals_.keep([&] {
            const size_t n = size_t(r.n_parameters);
            nb::object weights = items_[number].job->single_precision()
                                     ? new_array(static_cast<const float*>(r.theta), {n})
                                     : new_array(static_cast<const double*>(r.theta), {n});
            return as_bool(
                on_epoch_(number, r.epoch, r.train_loss, r.train_error, r.val_loss, r.val_error,
                          r.learning_rate, weights, new_array(r.leaf_input, {size_t(r.n_leaves)})),
                "the result of a callback");
        });
    }

    bool job_done(int number) override {
        GilAcquire gil;
        return signals_.keep([&] {
            return as_bool(on_job_(number, Result(items_[number].result)),
                           "the result of a callback");
        });
    }

    // The results of all jobs so far, and the exception that Python raised or None.
    nb::tuple outcome() {
        nb::list results;
        for (Item& item : items_) {
            const bool never_ran = item.job->is_planned() && !item.result.structure;
            results.append(nb::cast(never_ran ? item.job->untouched() : std::move(item.result)));
        }
        return nb::make_tuple(results, signals_.exception());
    }

  private:
    nb::iterator jobs_;
    const Data& data_;
    const Data* validation_;
    nb::object on_epoch_, on_job_, stop_;
    bool reports_epochs_, reports_jobs_, asks_ = !stop_.is_none(), stopped_ = false;
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
                item->job->run(item->rows, n, hooks, item->result);
                item->rows.training_rows.rows = {};  // a forest has many jobs
                item->rows.validation_rows.rows = {};
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
        SignalCheck signals;
        {
            GilRelease release;
            value = engine().kernels<T>().gradient(t, weighted.theta<T>(), sample, settings,
                                                   n_threads, g.data(), signals.hooks());
        }
        signals.rethrow();
        return nb::make_tuple(value, new_array(g.data(), {g.size()}));
    };
    return weighted.is_single() ? run_in(float{}) : run_in(double{});
}

}  // namespace

void bind_training(nb::module_& m) {
    m.def("train", &train, "jobs"_a, "n_expected"_a, "data"_a, "validation"_a.none(), "n_threads"_a,
          "on_epoch"_a.none(), "on_job"_a.none(), "stop"_a = nb::none(),
          "Train trees; return the results and the exception that was raised, or None.\n\n"
          "Jobs are taken from an iterable when a thread is about to become free; `n_expected` "
          "is their number. `stop` is called several times a second; true ends the training.",
          nb::sig("def train(jobs: collections.abc.Iterable[Job], n_expected: int, data: Data, "
                  "validation: Data | None, n_threads: int, "
                  "on_epoch: collections.abc.Callable[..., bool] | None, "
                  "on_job: collections.abc.Callable[[int, Result], bool] | None, "
                  "stop: collections.abc.Callable[[], bool] | None = None) -> "
                  "tuple[list[Result], BaseException | None]"));
    m.def("gradient", &gradient, "tree"_a, "data"_a, "weights"_a.none(), "loss"_a,
          "loss_parameters"_a, "n_threads"_a, "Return the mean loss of all rows and its gradient.",
          nb::sig("def gradient(tree: WeightedTree, data: Data, weights: "
                  "numpy.typing.NDArray[typing.Any] | None, loss: str, "
                  "loss_parameters: list[float], n_threads: int) -> "
                  "tuple[float, numpy.typing.NDArray[typing.Any]]"));
}

}  // namespace bnt
