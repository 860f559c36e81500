// Many trainings in one call: scheduled over threads, watched from the calling thread.
#pragma once

#include "engine.hpp"

namespace bnt {

// The caller's side. All methods are called from the calling thread only, one at a time.
class JobListener {
  public:
    virtual ~JobListener() = default;
    virtual bool interrupted() = 0;                           // several times a second; true: stop all
    virtual bool wants_epochs() const = 0;                    // whether to call epoch_done at all
    virtual bool epoch_done(int job, const EpochReport&) = 0; // true: stop this job
    virtual bool wants_jobs() const = 0;                      // whether to call job_done at all
    virtual bool job_done(int job) = 0;                       // true: start no more, stop the others
};

// Runs run(context, job, n_threads, hooks) for every job on so many threads, each as soon as one is
// free. Threads that are left over go to the jobs. Jobs that never started have no effect.
// What run throws is thrown here, after all threads have ended.
using RunJob = void (*)(void* context, int job, int n_threads, const Hooks& hooks);
void run_jobs(int n_jobs, int n_threads, RunJob run, void* context, JobListener& listener);

// Processors that this process may use.
int available_processors();

}  // namespace bnt
