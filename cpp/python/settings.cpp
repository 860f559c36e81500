// Checks and descriptions of settings, from their table (../settings.hpp).
#include "settings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "bindings.hpp"

using namespace nanobind::literals;

namespace bnt {

namespace {

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

OptimizerSettings as_optimizer(nb::handle name, nb::handle parameters) {
    OptimizerSettings optimizer;
    optimizer.code = code_of(name, "optimizer", registry().optimizers);
    read_parameters(parameters, "the parameters of the optimizer",
                    registry().optimizers[optimizer.code], optimizer.parameters,
                    int(std::extent_v<decltype(optimizer.parameters)>));
    return optimizer;
}

// -- values of settings ----------------------------------------------------------------------

const char* text_of(SettingKind kind) {
    constexpr const char* names[] = {"loss", "optimizer", "number", "whole", "choice", "flag"};
    return names[int(kind)];
}

// The shortest text that represents the number.
std::string text_of(double number) {
    return nb::cast<std::string>(nb::str(number == std::floor(number) && std::abs(number) < 1e15
                                             ? nb::object(nb::int_(int64_t(number)))
                                             : nb::object(nb::float_(number))));
}

std::string range_of(const Setting& s) {
    if (s.is_above_low && s.high == DBL_MAX) return " above " + text_of(s.low);
    if (s.high == DBL_MAX) return ", " + text_of(s.low) + " or above";
    return " from " + text_of(s.low) + " to " + text_of(s.high);
}

// The valid values of a setting, for messages and documentation.
std::string allowed(const Setting& s) {
    std::string text;
    switch (s.kind) {
        case SettingKind::loss: text = "the name of a loss and its parameters"; break;
        case SettingKind::optimizer: text = "the name of an optimizer and its parameters"; break;
        case SettingKind::number: text = "a number" + range_of(s); break;
        case SettingKind::whole: text = "a whole number" + range_of(s); break;
        case SettingKind::flag: text = "True or False"; break;
        case SettingKind::choice:
            for (const char* choice : s.choices)
                if (choice) text += (text.empty() ? "'" : " or '") + std::string(choice) + "'";
    }
    return s.may_be_none ? text + ", or None" : text;
}

// The value as Python writes it, if that is short.
std::string shown(nb::handle value) {
    nb::object text = nb::steal(PyObject_Repr(value.ptr()));
    std::string shown;
    if (!text.is_valid() || !nb::try_cast<std::string>(text, shown) || shown.size() > 80) {
        PyErr_Clear();
        shown = "of type " + nb::cast<std::string>(nb::str(value.type().attr("__name__")));
    }
    return shown;
}

std::string refusal(const Setting& s, nb::handle value) {
    return std::string(s.name) + " is " + shown(value) + ", it must be " + allowed(s);
}

bool is_bool(nb::handle value) {  // of Python or of NumPy
    const auto type = nb::cast<std::string>(nb::str(value.type().attr("__name__")));
    return PyBool_Check(value.ptr()) || type == "bool" || type == "bool_";
}

// The number that a value is stored as.
double number_of(const Setting& s, nb::handle value) {
    if (s.may_be_none && value.is_none()) return 0;
    if (!s.read) fail_type(refusal(s, value));
    const auto require = [&](bool has_type, bool is_allowed) {
        if (PyErr_Occurred()) PyErr_Clear();
        if (!has_type) fail_type(refusal(s, value));
        if (!is_allowed) fail(refusal(s, value));
    };
    if (s.kind == SettingKind::flag) {
        require(is_bool(value), true);
        return PyObject_IsTrue(value.ptr()) == 1;
    }
    if (s.kind == SettingKind::choice) {
        require(PyUnicode_Check(value.ptr()), true);
        size_t i = 0;
        while (i < s.choices.size() &&
               !(s.choices[i] && PyUnicode_CompareWithASCIIString(value.ptr(), s.choices[i]) == 0))
            ++i;
        require(true, i < s.choices.size());
        return double(i);
    }
    if (s.kind == SettingKind::whole) {
        const nb::object index = nb::steal(is_bool(value) ? nullptr : PyNumber_Index(value.ptr()));
        require(index.is_valid(), true);
        int overflow = 0;
        const double number = double(PyLong_AsLongLongAndOverflow(index.ptr(), &overflow));
        require(true, !overflow && s.allows(number));
        return number;
    }
    const double number = is_bool(value) ? NAN : PyFloat_AsDouble(value.ptr());
    const bool is_too_large = PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError);
    require(!is_bool(value) && (is_too_large || !PyErr_Occurred()), true);
    require(true, !is_too_large && s.allows(number));
    return number;
}

// The value as a plain Python object.
nb::object value_of(const Setting& s, double number) {
    if (s.may_be_none && number == 0) return nb::none();
    switch (s.kind) {
        case SettingKind::flag: return nb::bool_(number != 0);
        case SettingKind::whole: return nb::int_(int64_t(number));
        case SettingKind::choice: return nb::str(s.choices[size_t(number)]);
        default: return nb::float_(number);
    }
}

nb::object limit(const Setting& s, double number) {
    if (s.kind == SettingKind::whole) return nb::int_(int64_t(number));
    return nb::float_(number);
}

nb::object default_of(const Setting& s) {
    return s.read ? value_of(s, s.read(Settings{})) : nb::object(nb::str(s.standard));
}

const Setting& setting_of(nb::handle key) {
    const std::string name = as_text(key, "the name of a setting");
    for (const Setting& s : setting_table())
        if (name == s.name) return s;
    fail("unknown setting '" + name + "'");
}

// A loss or an optimizer is a pair of its name and its parameters.
std::pair<nb::object, nb::object> name_and_parameters(const Setting& s, nb::handle value) {
    if (!PyTuple_Check(value.ptr()) || PyTuple_Size(value.ptr()) != 2) fail_type(refusal(s, value));
    return {nb::borrow(PyTuple_GetItem(value.ptr(), 0)),
            nb::borrow(PyTuple_GetItem(value.ptr(), 1))};
}

Settings as_settings(const nb::dict& values, nb::handle score_all_rows) {
    Settings settings;
    bool has_loss = false, has_optimizer = false;
    for (auto [key, value] : values) {
        const Setting& s = setting_of(key);
        if (s.write) {
            s.write(settings, number_of(s, value));
            continue;
        }
        const auto [name, parameters] = name_and_parameters(s, value);
        if (s.kind == SettingKind::loss) {
            settings.loss = as_loss(name, parameters);
            has_loss = true;
        } else {
            settings.optimizer = as_optimizer(name, parameters);
            has_optimizer = true;
        }
    }
    if (!has_loss || !has_optimizer) fail("settings need a loss and an optimizer");
    settings.score_all_rows = as_bool(score_all_rows, "score_all_rows");
    return settings;
}

}  // namespace

LossSettings as_loss(nb::handle name, nb::handle parameters) {
    LossSettings loss;
    loss.code = code_of(name, "loss", registry().losses);
    loss.n_parameters =
        read_parameters(parameters, "the parameters of the loss", registry().losses[loss.code],
                        loss.parameters, kMaxLossParameters);
    return loss;
}

void bind_settings(nb::module_& m) {
    nb::class_<Setting>(m, "Setting", "A setting of a training, as the core declares it.")
        .def_prop_ro("name", [](const Setting& s) { return std::string(s.name); })
        .def_prop_ro("about", [](const Setting& s) { return std::string(s.about); })
        .def_prop_ro(
            "kind", [](const Setting& s) { return std::string(text_of(s.kind)); },
            "One of loss, optimizer, number, whole, choice, flag.")
        .def_prop_ro("default", &default_of, nb::sig("def default(self) -> typing.Any"))
        .def_prop_ro("allowed", &allowed, "Its valid values, in words.")
        .def_prop_ro(
            "low", [](const Setting& s) { return limit(s, s.low); },
            nb::sig("def low(self) -> float"))
        .def_prop_ro(
            "high", [](const Setting& s) { return limit(s, s.high); },
            nb::sig("def high(self) -> float"))
        .def_ro("is_above_low", &Setting::is_above_low, "Whether `low` itself is excluded.")
        .def_ro("may_be_none", &Setting::may_be_none)
        .def_prop_ro("choices",
                     [](const Setting& s) {
                         std::vector<std::string> names;
                         for (const char* choice : s.choices)
                             if (choice) names.push_back(choice);
                         return names;
                     })
        .def(
            "checked",
            [](const Setting& s, nb::handle value) { return value_of(s, number_of(s, value)); },
            "value"_a.none(), "Return the value as a plain Python object, if it is allowed.",
            nb::sig("def checked(self, value: typing.Any) -> typing.Any"));
    m.def("settings", [] { return setting_table(); }, "Return the settings of a training.");
    nb::class_<Settings>(m, "Settings", "How a tree is trained, checked and ready for use.")
        .def(
            "__init__",
            [](Settings* self, const nb::dict& values, nb::handle score_all_rows) {
                new (self) Settings(as_settings(values, score_all_rows));
            },
            "values"_a, "score_all_rows"_a = false,
            nb::sig("def __init__(self, values: dict[str, typing.Any], score_all_rows: bool = "
                    "False) -> None"));
}

}  // namespace bnt
