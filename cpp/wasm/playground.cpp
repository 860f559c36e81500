// The kernels for WebAssembly, with a small C interface: single precision, one thread.
//
// Pointers are positions in the memory of the module, which the caller fills and reads. Loss,
// optimizer and all other settings are numbers in the order of `setting_table`.
#include <cstdlib>
#include <cstring>

#include "../growth.hpp"
#include "../kernels/passes/forest.hpp"
#include "../kernels/training/train.hpp"
#include "../structure.hpp"

#define BNT_EXPORT(name) __attribute__((export_name(#name))) extern "C"

using namespace bnt;
using namespace bnt::BNT_ISA;

// Called after each epoch; a value other than 0 ends the training.
__attribute__((import_module("env"), import_name("epoch_done"))) extern "C" int bnt_epoch_done(
    int epoch, double train_loss, double train_error, double val_loss, double rate,
    const float* theta, const int32_t* leaf_input);

// There are no exceptions in WebAssembly without a run-time library for them: what would throw ends
// the worker, and the page says so.
extern "C" {
void* __cxa_allocate_exception(size_t) noexcept { abort(); }
void __cxa_throw(void*, void*, void (*)(void*)) { abort(); }
void __cxa_free_exception(void*) noexcept {}
}

namespace {

// All that one call of `train` or `forward` reads, as the caller writes it: 4 bytes each.
struct Job {
    const Structure* structure;
    float* theta;
    int32_t* leaf_input;
    const double* data;  // [n_rows][n_columns]
    int32_t n_rows, n_columns;
    const int32_t* first;  // [n_columns + 1]; see Lines
    const double* lines;   // [4][n_inputs]
    const double* offset;  // [n_inputs]: scaling of the inputs
    const double* factor;
    const int32_t* labels;  // [n_rows], or null
    const double* values;   // [n_rows], or null
    const double* target_scaling;  // offset and factor, or null
    const int32_t* rows;
    const double* weights;
    int32_t n;
    const int32_t* val_rows;
    const double* val_weights;
    int32_t n_val;
    const int8_t* node_sign;  // null: no constraint
    const int8_t* input_sign;
    const double* settings;
    const double* loss_parameters;
    int32_t n_loss_parameters;
    const double* optimizer_parameters;
    int32_t n_optimizer_parameters;
    uint32_t seed;
    const uint8_t* may_move_to;  // [n_inputs], or null: any input
};

struct Rows {
    Lines lines;
    Table table;

    explicit Rows(const Job& job) {
        const int n_inputs = job.first[job.n_columns];
        const double* l = job.lines;
        lines = {job.n_columns, n_inputs,         job.first,       l,
                 l + n_inputs,  l + 2 * n_inputs, l + 3 * n_inputs};
        table = {job.data,   Dtype::float64, job.n_rows, job.n_columns,
                 job.offset, job.factor,     &lines};
    }
};

Settings read_settings(const Job& job) {
    Settings settings;
    const double* value = job.settings;
    for (const Setting& setting : setting_table()) {
        if (setting.kind == SettingKind::loss) {
            settings.loss.code = int(*value);
            settings.loss.n_parameters = job.n_loss_parameters;
            for (int i = 0; i < job.n_loss_parameters; ++i)
                settings.loss.parameters[i] = job.loss_parameters[i];
        } else if (setting.kind == SettingKind::optimizer) {
            settings.optimizer.code = int(*value);
            for (int i = 0; i < job.n_optimizer_parameters; ++i)
                settings.optimizer.parameters[i] = job.optimizer_parameters[i];
        } else {
            setting.write(settings, *value);
        }
        ++value;
    }
    return settings;
}

bool epoch_done(void*, const EpochReport& report) {
    return bnt_epoch_done(report.epoch, report.train_loss, report.train_error, report.val_loss,
                          report.learning_rate, static_cast<const float*>(report.theta),
                          report.leaf_input) != 0;
}

}  // namespace

BNT_EXPORT(allocate) void* bnt_allocate(size_t size) { return malloc(size); }
BNT_EXPORT(release) void bnt_release(void* memory) { free(memory); }

BNT_EXPORT(new_tree)
Structure* bnt_new_tree(int n_inputs, int n_outputs, int n_nodes, int n_leaves,
                        const int32_t* parent, const uint8_t* activation,
                        const int32_t* leaf_parent, const int32_t* leaf_input) {
    return new Structure(n_inputs, n_outputs, {parent, parent + n_nodes},
                         {activation, activation + n_nodes}, {leaf_parent, leaf_parent + n_leaves},
                         {leaf_input, leaf_input + n_leaves}, {}, false);
}
BNT_EXPORT(free_tree) void bnt_free_tree(Structure* structure) { delete structure; }

// The rule of random trees as the caller writes it.
struct Growth {
    int32_t n_inputs, n_outputs, max_depth, min_children, max_children, n_weights;
    int32_t output_activation, activation, n_features;
    const int32_t* groups;   // [n_inputs], or null: every input is a feature
    const double* chances;   // [n_features]
    const int32_t* n_ramps;  // [n_inputs]
    uint32_t seed_low, seed_high;
};

// Where the parts of a grown tree are.
struct Grown {
    GrownTree tree;
    int32_t n_nodes, n_leaves;
    const int32_t *parent, *leaf_parent, *leaf_input;
    const uint8_t* activation;
    const double* weights;
};

// Draws a tree; `parts` becomes the position of the numbers and pointers of `Grown`.
BNT_EXPORT(grow)
Grown* bnt_grow(const Growth* wanted, double init_scale, double ramp_fraction, int32_t** parts) {
    const int n = wanted->n_inputs;
    GrowthRule rule;
    rule.n_inputs = n;
    rule.n_outputs = wanted->n_outputs;
    rule.max_depth = wanted->max_depth;
    rule.min_children = wanted->min_children;
    rule.max_children = wanted->max_children;
    rule.n_weights = wanted->n_weights;
    rule.deepen = true;
    if (wanted->groups) rule.groups.assign(wanted->groups, wanted->groups + n);
    rule.chances.assign(wanted->chances, wanted->chances + wanted->n_features);
    rule.n_ramps.assign(wanted->n_ramps, wanted->n_ramps + n);
    rule.ramp_fraction = ramp_fraction;
    rule.output.code = uint8_t(wanted->output_activation);
    rule.inner.resize(1);
    rule.inner[0].code = uint8_t(wanted->activation);
    rule.init_scale = init_scale;
    check_rule(rule);
    auto* grown = new Grown{};
    GrownTree& tree = grown->tree;
    tree = grow(rule, uint64_t(wanted->seed_high) << 32 | wanted->seed_low);
    grown->n_nodes = int32_t(tree.parent.size());
    grown->n_leaves = int32_t(tree.leaf_parent.size());
    grown->parent = tree.parent.data();
    grown->leaf_parent = tree.leaf_parent.data();
    grown->leaf_input = tree.leaf_input.data();
    grown->activation = tree.activation.data();
    grown->weights = tree.weights.data();
    *parts = &grown->n_nodes;
    return grown;
}
BNT_EXPORT(free_grown) void bnt_free_grown(Grown* grown) { delete grown; }

// Trains a tree in place; returns the status.
BNT_EXPORT(train) int bnt_train(const Job* job) {
    const Rows rows(*job);
    const Settings settings = read_settings(*job);
    const Tree& tree = job->structure->tree();
    Sample training, validation;
    training.table = rows.table;
    training.targets = {job->labels, job->values, 1};
    if (job->target_scaling) {
        training.target_offset = job->target_scaling;
        training.target_factor = job->target_scaling + 1;
    }
    validation = training;
    training.rows = job->rows;
    training.weights = job->weights;
    training.n = job->n;
    validation.rows = job->val_rows;
    validation.weights = job->val_weights;
    validation.n = job->n_val;
    const int n_state = registry().optimizers[settings.optimizer.code].n_state;
    std::vector<float> state(size_t(n_state) * n_parameters(tree));
    int64_t step = 0;
    const TrainingTask<float> task{&tree,
                                   job->theta,
                                   state.data(),
                                   &step,
                                   &training,
                                   &validation,
                                   &settings,
                                   job->leaf_input,
                                   job->may_move_to,
                                   false,
                                   job->seed,
                                   1,
                                   {job->node_sign, job->input_sign}};
    Hooks hooks;
    hooks.epoch_done = &epoch_done;
    return int(Trainer<float>(task, hooks).run().status);
}

// Adds the outputs, or their softmax, to sum [n_rows][n_outputs].
BNT_EXPORT(forward) void bnt_forward(const Job* job, int softmax, double* sum) {
    const Rows rows(*job);
    const Tree* tree = &job->structure->tree();
    const float* theta = job->theta;
    const ForwardTask<float> task{&tree, &theta, 1, rows.table, softmax != 0, nullptr, sum, 1};
    forward<float>(task, {});
}
