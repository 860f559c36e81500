// Settings: names and numbers are checked here, once.
#include "settings.hpp"

#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "bindings.hpp"

using namespace nanobind::literals;

namespace bnt {

namespace {

template <class E>
E one_of(nb::handle value, const std::string& name, std::initializer_list<const char*> known) {
    const std::string text = as_text(value, name);
    int i = 0;
    for (const char* candidate : known) {
        if (text == candidate) return E(i);
        ++i;
    }
    fail(name + " is '" + text + "', which is not known");
}

int code_of(nb::handle value, const std::string& name, const std::vector<Entry>& entries) {
    const std::string text = as_text(value, name);
    for (size_t i = 0; i < entries.size(); ++i)
        if (text == entries[i].name) return int(i);
    fail(name + " '" + text + "' is not known");
}

// Writes the parameters of a registered entry to `to`; returns how many there are.
int read_parameters(nb::handle values, const std::string& name, const Entry& entry, double* to,
                    int most) {
    const nb::object numbers = nb::steal(PySequence_List(values.ptr()));
    if (!numbers.is_valid()) {
        PyErr_Clear();
        fail_type(name + " must be a list of numbers");
    }
    const bool is_list = !entry.parameters.empty() && entry.parameters[0].is_list;
    const size_t n = nb::len(numbers);
    if (is_list ? n == 0 || n > size_t(most) : n != entry.parameters.size())
        fail(name + " of '" + entry.name + "' has " + std::to_string(n) + " numbers");
    for (size_t i = 0; i < n; ++i) to[i] = as_number(numbers[i], name);
    return int(n);
}

}  // namespace

LossSettings as_loss(nb::handle name, nb::handle parameters) {
    LossSettings loss;
    loss.code = code_of(name, "loss", registry().losses);
    loss.n_parameters = read_parameters(parameters, "loss_parameters", registry().losses[loss.code],
                                        loss.parameters, kMaxLossParameters);
    return loss;
}

namespace {

Settings as_settings(const nb::dict& given) {
    Settings s;
    nb::object loss_parameters = nb::list(), optimizer_parameters = nb::list();
    nb::object loss = nb::none();
    constexpr int64_t most = INT32_MAX;
    for (auto [key, value] : given) {
        const std::string name = as_text(key, "the name of a setting");
        if (name == "loss") loss = nb::borrow(value);
        else if (name == "loss_parameters") loss_parameters = nb::borrow(value);
        else if (name == "optimizer")
            s.optimizer.code = code_of(value, name, registry().optimizers);
        else if (name == "optimizer_parameters") optimizer_parameters = nb::borrow(value);
        else if (name == "learning_rate") s.learning_rate = as_number(value, name);
        else if (name == "schedule")
            s.schedule = one_of<Schedule>(value, name, {"constant", "cosine"});
        else if (name == "weight_decay") s.weight_decay = as_number(value, name);
        else if (name == "clip_norm") s.clip_norm = as_number(value, name);
        else if (name == "batch_size") s.batch_size = as_whole(value, name, 0, INT64_MAX);
        else if (name == "block_rows") s.block_rows = as_whole(value, name, 0, most);
        else if (name == "max_epochs") s.max_epochs = int(as_whole(value, name, 0, most));
        else if (name == "select")
            s.select = one_of<Select>(value, name, {"never", "epoch", "update"});
        else if (name == "monitor") s.monitor = one_of<Monitor>(value, name, {"loss", "error"});
        else if (name == "patience") s.patience = int(as_whole(value, name, 0, most));
        else if (name == "repeat_first_row") s.repeat_first_row = as_bool(value, name);
        else if (name == "leaf_moves") s.leaf_moves = int(as_whole(value, name, 0, most));
        else if (name == "moving_share") s.moving_share = as_number(value, name);
        else if (name == "score_all_rows") s.score_all_rows = as_bool(value, name);
        else fail("unknown setting '" + name + "'");
    }
    s.loss = as_loss(loss, loss_parameters);
    read_parameters(optimizer_parameters, "optimizer_parameters",
                    registry().optimizers[s.optimizer.code], s.optimizer.parameters, 4);
    return s;
}

}  // namespace

void bind_settings(nb::module_& m) {
    nb::class_<Settings>(m, "Settings", "How a tree is trained, checked and ready for use.")
        .def(
            "__init__",
            [](Settings* self, const nb::dict& settings) {
                new (self) Settings(as_settings(settings));
            },
            "settings"_a, nb::sig("def __init__(self, settings: dict[str, typing.Any]) -> None"));
}

}  // namespace bnt
