// Checks for Ctrl-C during long calls.
#pragma once

#include <chrono>

#include "../engine.hpp"

namespace bnt::BNT_ISA {

// Checks at intervals whether the caller requests a stop.
class Interrupts {
    using Clock = std::chrono::steady_clock;

  public:
    explicit Interrupts(const Hooks& hooks) : hooks_(hooks), next_(Clock::now() + kInterval) {}

    bool stopped() const { return stopped_; }

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

}  // namespace bnt::BNT_ISA
