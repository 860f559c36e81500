// Threads, jobs and CSV cells.
#include <atomic>
#include <cstring>
#include <stdexcept>

#include "../csv.hpp"
#include "../jobs.hpp"
#include "../random.hpp"
#include "../threads.hpp"
#include "check.hpp"

namespace bnt::tests {

namespace {

struct Count : JobListener {
    explicit Count(int n) : done(size_t(n)) {}
    void* next_job() override { return next < int(done.size()) ? &done[size_t(next++)] : nullptr; }
    bool interrupted() override { return false; }
    bool reports_epochs() const override { return false; }
    bool epoch_done(int, const EpochReport&) override { return false; }
    bool reports_jobs() const override { return true; }
    bool job_done(int) override {
        reported += 1;
        return false;
    }
    std::vector<std::atomic<int>> done;
    int next = 0, reported = 0;
};

}  // namespace

BNT_TEST(a_team_does_every_item_once) {
    for (const int n_threads : {1, 4}) {
        ThreadTeam team(n_threads);
        for (int round = 0; round < 50; ++round) {
            std::vector<std::atomic<int>> done(37);
            team.each(37, [&](int item, int) { done[size_t(item)] += 1; });
            for (const auto& n : done) CHECK(n == 1);
        }
    }
}

BNT_TEST(every_job_is_run_and_reported) {
    for (const int n_threads : {1, 4}) {
        Count jobs(25);
        run_jobs(
            25, n_threads,
            [](void* job, int, const Hooks&) { *static_cast<std::atomic<int>*>(job) += 1; }, jobs);
        for (const auto& n : jobs.done) CHECK(n == 1);
        CHECK(jobs.reported == 25);
    }
}

BNT_TEST(epochs_visit_every_row) {
    std::vector<int32_t> order(100), counts(100);
    epoch_order(3, 1, 100, 0, order.data());
    for (const int32_t row : order) counts[size_t(row)] += 1;
    for (const int32_t n : counts) CHECK(n == 1);
}

BNT_TEST(cells_of_a_table_are_numbers) {
    const char* text = "1.5,-2e3\n, 7 \n";
    const auto* bytes = reinterpret_cast<const uint8_t*>(text);
    const CsvCells cells = scan_csv(bytes, std::strlen(text), ',', 0, true);
    CHECK(cells.problem == CsvProblem::none && cells.width == 2 && cells.start.size() == 4);
    const ParsedNumbers numbers =
        parse_numbers(bytes, cells.start.data(), cells.end.data(), cells.start.size(), '.');
    CHECK(numbers.value[0] == 1.5 && numbers.value[1] == -2000 && numbers.value[3] == 7);
    CHECK(std::isnan(numbers.value[2]) && numbers.odd.empty());
}

}  // namespace bnt::tests
