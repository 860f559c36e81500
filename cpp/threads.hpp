// A team of threads that runs one function at a time. Compiled once, for every processor.
//
// With BNT_NO_THREADS (for WebAssembly) a team is the calling thread, and no header of threads is
// included: some standard libraries have none.
#pragma once

#include <atomic>
#include <exception>
#include <vector>
#if !defined(BNT_NO_THREADS)
#include <thread>
#endif

namespace bnt {

class ThreadTeam {
  public:
    using Work = void (*)(void* context, int item, int thread);

    explicit ThreadTeam(int n_threads);
    ~ThreadTeam();
    ThreadTeam(const ThreadTeam&) = delete;
    ThreadTeam& operator=(const ThreadTeam&) = delete;

    int size() const;

    // Runs work(context, item, thread) for every item; throws what one of them throws. Which thread
    // takes which item is not fixed, so results must not depend on it. `thread` is 0 in the calling
    // thread.
    void run(Work work, void* context, int n_items);

    // The same for any callable f(item, thread).
    template <class F>
    void each(int n_items, F&& f) {
        run([](void* c, int item, int thread) { (*static_cast<F*>(c))(item, thread); },
            const_cast<void*>(static_cast<const void*>(&f)), n_items);
    }

#if !defined(BNT_NO_THREADS)
  private:
    void close();
    void take_items(int thread);
    void serve(int thread);

    std::vector<std::thread> workers_;
    Work work_ = nullptr;
    void* context_ = nullptr;
    int n_items_ = 0;
    std::atomic<int> next_item_{0}, busy_{0};
    std::atomic<unsigned> round_{0};
    std::atomic<bool> closing_{false}, has_failed_{false};
    std::exception_ptr failed_;
#endif
};

}  // namespace bnt
