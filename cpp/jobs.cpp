#include "jobs.hpp"

#include <algorithm>
#include <chrono>
#if !defined(BNT_NO_THREADS)
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>
#endif

#if defined(__linux__)
#include <sched.h>
#endif

namespace bnt {

int available_processors() {
#if defined(BNT_NO_THREADS)
    return 1;
#else
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
    return std::max(1u, std::thread::hardware_concurrency());
#endif
}

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kCheckInterval = std::chrono::milliseconds(40);

// One job after the other, in the calling thread.
class InTurn {
  public:
    explicit InTurn(JobListener& listener) : listener_(listener) {}

    void run(int n_threads, RunJob run) {
        const Hooks hooks{this, &interrupted, listener_.reports_epochs() ? &epoch_done : nullptr};
        for (; !stopped_; ++number_) {
            void* job = listener_.next_job();
            if (!job) break;
            run(job, n_threads, hooks);
            if (!stopped_ && listener_.reports_jobs() && listener_.job_done(number_)) break;
            check_now_and_then();
        }
    }

  private:
    // Jobs that are too short to check for Ctrl-C themselves must not delay it.
    void check_now_and_then() {
        if (Clock::now() < next_check_) return;
        next_check_ = Clock::now() + kCheckInterval;
        interrupted(this);
    }

    static bool interrupted(void* context) {
        auto* self = static_cast<InTurn*>(context);
        return self->stopped_ = self->stopped_ || self->listener_.interrupted();
    }
    static bool epoch_done(void* context, const EpochReport& report) {
        auto* self = static_cast<InTurn*>(context);
        const bool stop = self->listener_.epoch_done(self->number_, report);
        if (stop) interrupted(context);  // the callback may have raised
        return stop;
    }

    JobListener& listener_;
    int number_ = 0;
    bool stopped_ = false;
    Clock::time_point next_check_ = Clock::now() + kCheckInterval;
};

#if !defined(BNT_NO_THREADS)

// Jobs on worker threads. The calling thread prepares jobs, answers reports and checks for Ctrl-C.
// Workers never call the listener, so they do not depend on Python.
class SideBySide {
  public:
    explicit SideBySide(JobListener& listener)
        : listener_(listener), reports_epochs_(listener.reports_epochs()),
          reports_jobs_(listener.reports_jobs()) {}

    void run(int n_workers, int n_threads_each, RunJob run) {
        std::vector<std::thread> workers;
        try {
            for (int i = 0; i < n_workers; ++i)
                workers.emplace_back([=, this] { work(n_threads_each, run); });
        } catch (const std::system_error&) {
            // the system cannot create more threads: continue with those that exist
        } catch (...) {
            fail();  // the threads that exist are running
        }
        if (workers.empty() && !failed_) InTurn(listener_).run(n_threads_each, run);
        else serve_or_stop(int(workers.size()));
        for (std::thread& worker : workers) worker.join();
        if (failed_) std::rethrow_exception(failed_);
    }

  private:
    struct Ready {
        int number;
        void* job;
    };

    // A worker at the end of an epoch waits for the answer.
    struct PendingReport {
        int number;
        const EpochReport& report;
        bool answered = false, stop = false;
    };

    struct WorkerContext {
        SideBySide* all;
        int number;
    };

    void work(int n_threads, RunJob run) {
        try {
            for (Ready next; take(next);) {
                WorkerContext worker{this, next.number};
                run(next.job, n_threads,
                    {&worker, &interrupted, reports_epochs_ ? &epoch_done : nullptr});
                if (reports_jobs_ && !stop_) {
                    const std::lock_guard lock(mutex_);
                    done_.push_back(next.number);
                    to_caller_.notify_one();
                }
            }
        } catch (...) {
            fail();
        }
        const std::lock_guard lock(mutex_);
        n_ended_ += 1;
        to_caller_.notify_one();
        to_workers_.notify_all();
    }

    // The next job, as soon as one is ready; false: there are no more.
    bool take(Ready& next) {
        std::unique_lock lock(mutex_);
        to_workers_.wait(lock, [&] { return stop_ || exhausted_ || !ready_.empty(); });
        if (stop_ || ready_.empty()) return false;
        next = ready_.front();
        ready_.pop_front();
        to_caller_.notify_one();
        return true;
    }

    // Workers never wait for a calling thread that has thrown.
    void serve_or_stop(int n_workers) {
        try {
            serve(n_workers);
        } catch (...) {
            fail();
            const std::lock_guard lock(mutex_);
            abandoned_ = true;
            to_workers_.notify_all();
        }
    }

    // Keeps the first exception of any thread, and stops all of them.
    void fail() {
        const std::lock_guard lock(mutex_);
        if (!failed_) failed_ = std::current_exception();
        stop_ = true;
    }

    // The calling thread: prepares jobs and answers until all workers have ended.
    void serve(int n_workers) {
        std::unique_lock lock(mutex_);
        const auto may_prepare = [&] {
            return !exhausted_ && !stop_ && int(ready_.size()) < 2 * n_workers;
        };
        while (n_ended_ < n_workers || !done_.empty()) {
            to_caller_.wait_for(lock, kCheckInterval, [&] {
                return !pending_reports_.empty() || !done_.empty() || n_ended_ == n_workers ||
                       may_prepare();
            });
            while (!pending_reports_.empty()) {
                PendingReport* pending = pending_reports_.front();
                pending_reports_.pop_front();
                lock.unlock();
                const bool stop = stop_ || listener_.epoch_done(pending->number, pending->report);
                if (stop && !stop_ && listener_.interrupted()) stop_ = true;  // the callback raised
                lock.lock();
                pending->stop = stop;
                pending->answered = true;
                to_workers_.notify_all();
            }
            const bool prepares = may_prepare();
            const std::vector<int> done = std::exchange(done_, {});
            lock.unlock();
            for (const int number : done)
                if (!stop_ && listener_.job_done(number)) stop_ = true;
            void* job = prepares && !stop_ ? listener_.next_job() : nullptr;
            if (!stop_ && listener_.interrupted()) stop_ = true;
            lock.lock();
            if (job) ready_.push_back({n_prepared_++, job});
            else if (prepares) exhausted_ = true;
            if (prepares || stop_) to_workers_.notify_all();
        }
    }

    bool report_epoch(int number, const EpochReport& report) {
        PendingReport pending{number, report};
        std::unique_lock lock(mutex_);
        pending_reports_.push_back(&pending);
        to_caller_.notify_one();
        to_workers_.wait(lock, [&] { return pending.answered || abandoned_; });
        return pending.stop || abandoned_;
    }

    static bool interrupted(void* context) {
        return static_cast<WorkerContext*>(context)->all->stop_;
    }
    static bool epoch_done(void* context, const EpochReport& report) {
        auto* worker = static_cast<WorkerContext*>(context);
        return worker->all->report_epoch(worker->number, report);
    }

    JobListener& listener_;
    const bool reports_epochs_, reports_jobs_;
    int n_prepared_ = 0, n_ended_ = 0;
    bool exhausted_ = false, abandoned_ = false;
    std::atomic<bool> stop_{false};
    std::mutex mutex_;
    std::condition_variable to_caller_, to_workers_;
    std::deque<Ready> ready_;
    std::deque<PendingReport*> pending_reports_;
    std::vector<int> done_;
    std::exception_ptr failed_;
};

#endif

}  // namespace

void run_jobs(int n_expected, int n_threads, RunJob run, JobListener& listener) {
    n_threads = std::clamp(n_threads, 1, available_processors());
    [[maybe_unused]] const int n_workers = std::min(n_threads, n_expected);
#if !defined(BNT_NO_THREADS)
    if (n_workers > 1) return SideBySide(listener).run(n_workers, n_threads / n_workers, run);
#endif
    InTurn(listener).run(n_threads, run);
}

}  // namespace bnt
