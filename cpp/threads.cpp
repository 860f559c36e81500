#include "threads.hpp"

#include <chrono>
#include <system_error>
#include <utility>

namespace bnt {

#if defined(BNT_NO_THREADS)

ThreadTeam::ThreadTeam(int) {}

ThreadTeam::~ThreadTeam() = default;

int ThreadTeam::size() const { return 1; }

void ThreadTeam::run(Work work, void* context, int n_items) {
    for (int i = 0; i < n_items; ++i) work(context, i, 0);
}

#else

namespace {

// Batches follow each other within microseconds, so a thread spins that long before it sleeps. A
// pause takes from 10 to 140 cycles, so the clock decides, which is read once in a while.
constexpr auto kSpinTime = std::chrono::microseconds(50);
constexpr int kPausesPerLook = 32;

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");  // `yield` is no pause on most of these processors
#elif defined(__arm__)
    asm volatile("yield");
#endif
}

template <class V>
void wait_while_equal(std::atomic<V>& value, V old) {
    const auto until = std::chrono::steady_clock::now() + kSpinTime;
    do {
        for (int i = 0; i < kPausesPerLook; ++i) {
            if (value.load(std::memory_order_acquire) != old) return;
            relax();
        }
    } while (std::chrono::steady_clock::now() < until);
    while (value.load(std::memory_order_acquire) == old) value.wait(old);
}

}  // namespace

ThreadTeam::ThreadTeam(int n_threads) {
    try {
        for (int t = 1; t < n_threads; ++t) workers_.emplace_back([this, t] { serve(t); });
    } catch (const std::system_error&) {
        // the system cannot create more threads: continue with those that exist
    } catch (...) {
        close();  // a thread that is not joined would end the process
        throw;
    }
}

ThreadTeam::~ThreadTeam() { close(); }

int ThreadTeam::size() const { return int(workers_.size()) + 1; }

void ThreadTeam::close() {
    closing_ = true;
    round_.fetch_add(1);
    round_.notify_all();
    for (auto& worker : workers_) worker.join();
}

// An exception of an item is kept for the calling thread; the remaining items are not started.
void ThreadTeam::take_items(int thread) {
    try {
        for (int i; (i = next_item_.fetch_add(1)) < n_items_;) work_(context_, i, thread);
    } catch (...) {
        next_item_ = n_items_;
        if (!has_failed_.exchange(true)) failed_ = std::current_exception();
    }
}

void ThreadTeam::serve(int thread) {
    unsigned round = 0;
    for (;;) {
        wait_while_equal(round_, round);
        round += 1;
        if (closing_) return;
        take_items(thread);
        if (busy_.fetch_sub(1) == 1) busy_.notify_all();
    }
}

void ThreadTeam::run(Work work, void* context, int n_items) {
    if (workers_.empty() || n_items == 1) {
        for (int i = 0; i < n_items; ++i) work(context, i, 0);
        return;
    }
    work_ = work;
    context_ = context;
    n_items_ = n_items;
    next_item_ = 0;
    busy_ = int(workers_.size());
    round_.fetch_add(1);
    round_.notify_all();
    take_items(0);
    for (int left; (left = busy_.load(std::memory_order_acquire)) != 0;)
        wait_while_equal(busy_, left);
    if (has_failed_.exchange(false)) std::rethrow_exception(std::exchange(failed_, nullptr));
}

#endif

}  // namespace bnt
