// The settings of a training. Each is a member of `Settings` and a line of `setting_table`, which
// has its name, its meaning and its valid values. The checks of the core and everything in Python
// that concerns a setting follow from that table.
#pragma once

#include <cfloat>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace bnt {

constexpr int kMaxLossParameters = 64;

enum class Schedule { constant, cosine };
enum class Select { never, epoch, update };
enum class Monitor { loss, error };

struct LossSettings {
    int code = 0;
    int n_parameters = 0;
    double parameters[kMaxLossParameters] = {};
};

struct OptimizerSettings {
    int code = 0;
    double parameters[4] = {};
};

// Where a setting may be None, that is stored as 0.
struct Settings {
    LossSettings loss;
    OptimizerSettings optimizer;
    double learning_rate = 0.02;
    Schedule schedule = Schedule::cosine;
    double weight_decay = 0;
    double clip_norm = 0;
    int batch_size = 16;
    int max_epochs = 100;
    Select select = Select::never;
    Monitor monitor = Monitor::loss;
    int patience = 0;
    bool repeat_first_row = false;
    int leaf_moves = 0;
    double moving_share = 0.3;
    int block_rows = 0;
    // Not in the table: tests set it to show that giving up early on scoring is exact.
    bool score_all_rows = false;
};

enum class SettingKind { loss, optimizer, number, whole, choice, flag };

// Description of a setting. Values are exchanged as numbers: a choice is its position, a flag
// is 0 or 1.
struct Setting {
    const char* name;
    const char* about;
    SettingKind kind;
    double (*read)(const Settings&) = nullptr;  // null: a loss or an optimizer
    void (*write)(Settings&, double) = nullptr;
    double low = 0, high = 0;  // of numbers
    bool is_above_low = false;  // whether `low` itself is excluded
    bool may_be_none = false;
    std::vector<const char*> choices = {};  // null: None
    const char* standard = nullptr;  // name of the default loss or optimizer

    bool allows(double number) const {
        return (is_above_low ? number > low : number >= low) && number <= high;
    }
};

// Functions that make the lines of the table; `member` is the member of Settings.
namespace declare {

struct Range {
    double low, high;
    bool is_above_low = false;
    bool may_be_none = false;

    constexpr Range or_none() const { return {low, high, is_above_low, true}; }
};

constexpr Range positive{0, DBL_MAX, true}, not_negative{0, DBL_MAX}, share{0, 1};
constexpr Range count_from(int low, double most = INT32_MAX) { return {double(low), most}; }

template <auto member>
using TypeOf = std::decay_t<decltype(std::declval<Settings>().*member)>;

template <auto member>
Setting of_kind(SettingKind kind, const char* name, const char* about) {
    return {name, about, kind, [](const Settings& s) { return static_cast<double>(s.*member); },
            [](Settings& s, double value) { s.*member = static_cast<TypeOf<member>>(value); }};
}

template <auto member>
Setting number(const char* name, Range range, const char* about) {
    constexpr bool is_real = std::is_same_v<TypeOf<member>, double>;
    Setting s = of_kind<member>(is_real ? SettingKind::number : SettingKind::whole, name, about);
    s.low = range.low;
    s.high = range.high;
    s.is_above_low = range.is_above_low;
    s.may_be_none = range.may_be_none;
    return s;
}

template <auto member>
Setting choice(const char* name, std::vector<const char*> choices, const char* about) {
    Setting s = of_kind<member>(SettingKind::choice, name, about);
    s.may_be_none = choices[0] == nullptr;
    s.choices = std::move(choices);
    return s;
}

template <auto member>
Setting flag(const char* name, const char* about) {
    return of_kind<member>(SettingKind::flag, name, about);
}

inline Setting registered(SettingKind kind, const char* name, const char* standard,
                          const char* about) {
    Setting s{name, about, kind};
    s.standard = standard;
    return s;
}

}  // namespace declare

inline const std::vector<Setting>& setting_table() {
    using namespace declare;
    using S = Settings;
    static const std::vector<Setting> table{
        registered(SettingKind::loss, "loss", "cross_entropy", "What training minimises."),
        registered(SettingKind::optimizer, "optimizer", "adam",
                   "How the weights follow from the gradients."),
        number<&S::learning_rate>("learning_rate", positive, "Rate of the first updates."),
        choice<&S::schedule>("schedule", {"constant", "cosine"},
                             "How the rate changes: not at all, or down to 0 along a cosine over "
                             "all updates."),
        number<&S::weight_decay>("weight_decay", not_negative,
                                 "Before each update, edge and leaf weights (not biases) shrink "
                                 "by this share of the rate."),
        number<&S::clip_norm>("clip_norm", positive.or_none(),
                              "Gradients longer than this are shortened to it. None: no limit."),
        number<&S::batch_size>("batch_size", count_from(1).or_none(),
                               "Rows per update: 1 is the paper's online training, None takes all "
                               "rows at once."),
        number<&S::max_epochs>("max_epochs", count_from(0),
                               "Passes over the training rows, at most."),
        choice<&S::select>("select", {nullptr, "epoch", "update"},
                           "Return the weights that did best on validation rows, scored after "
                           "every epoch or after every single update. None: the last weights."),
        choice<&S::monitor>("monitor", {"loss", "error"},
                            "What 'best on validation rows' means: the lowest loss, or the lowest "
                            "error rate (of numbers: mean squared error)."),
        number<&S::patience>("patience", count_from(1).or_none(),
                             "With select='epoch': stop after this many epochs without a new "
                             "best. None: never stop early."),
        flag<&S::repeat_first_row>("repeat_first_row",
                                   "One more update, on row 0, at the end of every epoch, as the "
                                   "paper's program made."),
        // a move costs as much as many updates: a million of them would take too long
        number<&S::leaf_moves>("leaf_moves", count_from(0, 1e6),
                               "How often leaves move during the first half of the updates: those "
                               "of the smallest weights are given the inputs with the largest "
                               "gradients at their nodes. 0: leaves stay where they are."),
        number<&S::moving_share>("moving_share", share,
                                 "Share of the leaves that move the first time; it falls to 0 "
                                 "along a cosine."),
        number<&S::block_rows>("block_rows", count_from(1).or_none(),
                               "Take blocks of this many neighbouring rows together: the blocks "
                               "are shuffled, and then the rows of 64 blocks at a time, so that a "
                               "table in a file need not fit into memory. None: all rows are "
                               "shuffled."),
    };
    return table;
}

}  // namespace bnt
