// Checks for Ctrl-C during long calls.
#pragma once

#include <atomic>
#include <chrono>

#include "../engine.hpp"

namespace bnt::BNT_ISA {

// Checks at intervals whether the caller requests a stop. One thread asks, all may look.
class Interrupts {
    using Clock = std::chrono::steady_clock;

  public:
    explicit Interrupts(const Hooks& hooks) : hooks_(hooks), next_(Clock::now() + kInterval) {}

    bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

    bool interrupted() {
        if (stopped() || Clock::now() < next_) return stopped();
        next_ = Clock::now() + kInterval;
        stopped_ = hooks_.interrupted && hooks_.interrupted(hooks_.context);
        return stopped();
    }

    // The same for a team, whose first thread asks.
    bool interrupted(int thread) { return thread == 0 ? interrupted() : stopped(); }

  private:
    static constexpr auto kInterval = std::chrono::milliseconds(40);
    const Hooks& hooks_;
    Clock::time_point next_;
    std::atomic<bool> stopped_{false};
};

}  // namespace bnt::BNT_ISA
