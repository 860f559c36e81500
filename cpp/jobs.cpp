#include "jobs.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace bnt {

int available_processors() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
    return std::max(1u, std::thread::hardware_concurrency());
}

namespace {

// One job after the other, in the calling thread.
class InTurn {
  public:
    explicit InTurn(JobListener& listener) : listener_(listener) {}

    void run(int n_jobs, int n_threads, RunJob run, void* context) {
        const Hooks hooks{this, &interrupted, listener_.wants_epochs() ? &epoch_done : nullptr};
        for (job_ = 0; job_ < n_jobs && !stopped_; ++job_) {
            run(context, job_, n_threads, hooks);
            if (!stopped_ && listener_.wants_jobs() && listener_.job_done(job_)) break;
        }
    }

  private:
    static bool interrupted(void* context) {
        auto* self = static_cast<InTurn*>(context);
        return self->stopped_ = self->stopped_ || self->listener_.interrupted();
    }
    static bool epoch_done(void* context, const EpochReport& report) {
        auto* self = static_cast<InTurn*>(context);
        return self->listener_.epoch_done(self->job_, report);
    }

    JobListener& listener_;
    int job_ = 0;
    bool stopped_ = false;
};

// Jobs on threads of their own. The calling thread answers them and looks for Ctrl-C; workers
// never call the listener themselves, so they know nothing of Python.
class SideBySide {
  public:
    explicit SideBySide(JobListener& listener)
        : listener_(listener), wants_epochs_(listener.wants_epochs()),
          wants_jobs_(listener.wants_jobs()) {}

    void run(int n_jobs, int n_workers, int n_threads_each, RunJob run, void* context) {
        n_jobs_ = n_jobs;
        std::vector<std::thread> workers;
        try {
            for (int i = 0; i < n_workers; ++i)
                workers.emplace_back([=, this] { work(n_threads_each, run, context); });
        } catch (const std::system_error&) {
            // the system has no more threads to give: those there are do the work
        } catch (...) {
            failed_ = std::current_exception();
            stop_ = true;
        }
        if (workers.empty() && !failed_) InTurn(listener_).run(n_jobs, n_threads_each, run, context);
        else serve(int(workers.size()));
        for (std::thread& worker : workers) worker.join();
        if (failed_) std::rethrow_exception(failed_);
    }

  private:
    // A worker at the end of an epoch waits for the answer.
    struct Question {
        int job;
        const EpochReport& report;
        bool answered = false, stop = false;
    };

    struct Asker {
        SideBySide* all;
        int job;
    };

    void work(int n_threads, RunJob run, void* context) {
        try {
            for (int job; !stop_ && (job = next_.fetch_add(1)) < n_jobs_;) {
                Asker asker{this, job};
                run(context, job, n_threads,
                    {&asker, &interrupted, wants_epochs_ ? &epoch_done : nullptr});
                if (wants_jobs_ && !stop_) {
                    const std::lock_guard lock(mutex_);
                    done_.push_back(job);
                    changed_.notify_all();
                }
            }
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!failed_) failed_ = std::current_exception();
            stop_ = true;
        }
        const std::lock_guard lock(mutex_);
        n_ended_ += 1;
        changed_.notify_all();
    }

    // The calling thread: answers until all workers have ended.
    void serve(int n_workers) {
        std::unique_lock lock(mutex_);
        while (n_ended_ < n_workers || !done_.empty()) {
            changed_.wait_for(lock, std::chrono::milliseconds(40), [&] {
                return !questions_.empty() || !done_.empty() || n_ended_ == n_workers;
            });
            while (!questions_.empty()) {
                Question* question = questions_.front();
                questions_.pop_front();
                lock.unlock();
                const bool stop = listener_.epoch_done(question->job, question->report);
                lock.lock();
                question->stop = stop;
                question->answered = true;
                changed_.notify_all();
            }
            const std::vector<int> done = std::exchange(done_, {});
            lock.unlock();
            for (const int job : done)
                if (!stop_ && listener_.job_done(job)) stop_ = true;
            if (!stop_ && listener_.interrupted()) stop_ = true;
            lock.lock();
        }
    }

    bool ask(int job, const EpochReport& report) {
        Question question{job, report};
        std::unique_lock lock(mutex_);
        questions_.push_back(&question);
        changed_.notify_all();
        changed_.wait(lock, [&] { return question.answered; });
        return question.stop;
    }

    static bool interrupted(void* context) { return static_cast<Asker*>(context)->all->stop_; }
    static bool epoch_done(void* context, const EpochReport& report) {
        auto* asker = static_cast<Asker*>(context);
        return asker->all->ask(asker->job, report);
    }

    JobListener& listener_;
    const bool wants_epochs_, wants_jobs_;
    int n_jobs_ = 0, n_ended_ = 0;
    std::atomic<int> next_{0};
    std::atomic<bool> stop_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Question*> questions_;
    std::vector<int> done_;
    std::exception_ptr failed_;
};

}  // namespace

void run_jobs(int n_jobs, int n_threads, RunJob run, void* context, JobListener& listener) {
    n_threads = std::clamp(n_threads, 1, available_processors());
    const int n_workers = std::min(n_threads, n_jobs);
    if (n_workers <= 1) InTurn(listener).run(n_jobs, n_threads, run, context);
    else SideBySide(listener).run(n_jobs, n_workers, n_threads / n_workers, run, context);
}

}  // namespace bnt
