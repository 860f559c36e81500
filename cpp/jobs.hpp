// Many trainings in one call, scheduled over threads and monitored by the calling thread.
#pragma once

#include "engine.hpp"

namespace bnt {

// The caller's side. All methods are called from the calling thread only, one at a time.
class JobListener {
  public:
    virtual ~JobListener() = default;
    // The next job, for `run`; null: there are no more. Jobs are numbered in this order. Called
    // while other jobs are running, so preparing one costs the threads nothing.
    virtual void* next_job() = 0;
    virtual bool interrupted() = 0;  // several times a second; true: stop all
    virtual bool reports_epochs() const = 0;  // whether to call epoch_done at all
    virtual bool epoch_done(int job, const EpochReport&) = 0;  // true: stop this job
    virtual bool reports_jobs() const = 0;  // whether to call job_done at all
    virtual bool job_done(int job) = 0;  // true: start no more, stop the others
};

// Calls run(job, n_threads, hooks) for every job, on up to n_threads worker threads. With fewer
// jobs than threads (n_expected is the number of jobs), each job gets several threads. Exceptions
// of run are rethrown here, after all threads have ended.
using RunJob = void (*)(void* job, int n_threads, const Hooks& hooks);
void run_jobs(int n_expected, int n_threads, RunJob run, JobListener& listener);

// Processors that this process may use.
int available_processors();

}  // namespace bnt
