// Arrays and numbers from Python: checked by name, kept alive while they are used.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "../engine.hpp"
#include "../jobs.hpp"

namespace bnt {

namespace nb = nanobind;

template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

[[noreturn]] inline void fail(const std::string& message) {
    throw nb::value_error(message.c_str());
}
[[noreturn]] inline void fail_type(const std::string& message) {
    throw nb::type_error(message.c_str());
}

template <class T>
constexpr const char* type_name() {
    if constexpr (std::is_same_v<T, float>) return "float32";
    else if constexpr (std::is_same_v<T, double>) return "float64";
    else if constexpr (std::is_same_v<T, uint8_t>) return "uint8";
    else return "int32";
}

// An array of exactly this type: a conversion would make a temporary copy, which dies too early.
template <class T>
In<T> as_array(nb::handle object, const char* name) {
    In<T> array;
    if (!nb::try_cast<In<T>>(object, array, false))
        fail_type(std::string(name) + " must be a C-contiguous array of " + type_name<T>());
    return array;
}

template <class T>
In<T> as_array(nb::handle object, const char* name, size_t size) {
    In<T> array = as_array<T>(object, name);
    if (array.size() != size)
        fail(std::string(name) + " has " + std::to_string(array.size()) + " entries, " +
             std::to_string(size) + " are needed");
    return array;
}

// The same, or an empty array for None.
template <class T>
In<T> as_optional_array(nb::handle object, const char* name, size_t size) {
    return object.is_none() ? In<T>() : as_array<T>(object, name, size);
}

template <class T>
std::vector<T> as_vector(nb::handle object, const char* name) {
    const In<T> array = as_array<T>(object, name);
    if (array.ndim() != 1) fail(std::string(name) + " must have one dimension");
    return std::vector<T>(array.data(), array.data() + array.size());
}

template <class T>
nb::object new_array(const T* data, std::initializer_list<size_t> shape) {
    size_t n = 1;
    for (size_t s : shape) n *= s;
    T* copy = new T[n];
    if (data && n) std::memcpy(copy, data, n * sizeof(T));
    nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(copy, shape, owner));
}

// A whole number between two limits, of Python or of NumPy.
inline int64_t as_whole(nb::handle value, const std::string& name, int64_t low, int64_t high) {
    if (PyBool_Check(value.ptr())) fail_type(name + " must be a whole number, not a bool");
    nb::object index = nb::steal(PyNumber_Index(value.ptr()));
    if (!index.is_valid()) {
        PyErr_Clear();
        fail_type(name + " must be a whole number, not " +
                  nb::cast<std::string>(nb::str(value.type().attr("__name__"))));
    }
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    if (overflow || number < low || number > high)
        fail(name + " is " + nb::cast<std::string>(nb::str(index)) + ", it must lie between " +
             std::to_string(low) + " and " + std::to_string(high));
    return number;
}

inline uint64_t as_seed(nb::handle value) {
    nb::object index = nb::steal(PyNumber_Index(value.ptr()));
    if (!index.is_valid()) {
        PyErr_Clear();
        fail_type("seed must be a whole number");
    }
    const uint64_t number = PyLong_AsUnsignedLongLong(index.ptr());
    if (PyErr_Occurred()) {
        PyErr_Clear();
        fail("seed is " + nb::cast<std::string>(nb::str(index)) +
             ", it must lie between 0 and 2**64 - 1");
    }
    return number;
}

inline double as_number(nb::handle value, const std::string& name) {
    const double number = PyFloat_AsDouble(value.ptr());
    if (number == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        fail_type(name + " must be a number");
    }
    if (!(number * 0 == 0)) fail(name + " must be finite");
    return number;
}

inline bool as_bool(nb::handle value, const std::string& name) {
    const int truth = PyObject_IsTrue(value.ptr());
    if (truth < 0) {
        PyErr_Clear();
        fail_type(name + " must be true or false");
    }
    return truth == 1;
}

inline std::string as_text(nb::handle value, const std::string& name) {
    if (!PyUnicode_Check(value.ptr())) fail_type(name + " must be a str");
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (!text) {
        PyErr_Clear();
        fail(name + " must be text that UTF-8 can write");
    }
    return std::string(text, size_t(size));
}

inline Dtype dtype_of(const AnyArray& X, const char* name) {
    if (X.dtype() == nb::dtype<double>()) return Dtype::float64;
    if (X.dtype() == nb::dtype<float>()) return Dtype::float32;
    if (X.dtype() == nb::dtype<uint8_t>()) return Dtype::uint8;
    fail_type(std::string(name) + " must be float64, float32 or uint8");
}

// An object of one of our classes; one whose __init__ was never called is refused as well.
template <class T>
const T& as_instance(nb::handle object, const char* name, const char* type) {
    const T* instance = nullptr;
    if (!nb::isinstance<T>(object) || !nb::inst_ready(object) ||
        !nb::try_cast<const T*>(object, instance, false) || !instance)
        fail_type(std::string(name) + " must be a " + type);
    return *instance;
}

// A table of rows, read as it is.
inline Table as_table(const AnyArray& X, const char* name) {
    Table table;
    table.dtype = dtype_of(X, name);
    if (X.ndim() != 2)
        fail(std::string(name) + " must have two dimensions, it has " + std::to_string(X.ndim()));
    if (X.shape(0) >= size_t(1) << 31) fail(std::string(name) + " has more than 2^31 rows");
    if (X.shape(1) >= size_t(1) << 31) fail(std::string(name) + " has more than 2^31 columns");
    table.data = X.data();
    table.n_rows = int64_t(X.shape(0));
    table.n_columns = int(X.shape(1));
    return table;
}

// A single row as a table.
inline Table as_row(const AnyArray& x, const char* name) {
    Table table;
    table.dtype = dtype_of(x, name);
    if (x.size() >= size_t(1) << 31) fail(std::string(name) + " has more than 2^31 columns");
    table.data = x.data();
    table.n_rows = 1;
    table.n_columns = int(x.size());
    return table;
}

inline AnyArray as_rows(nb::handle X, const char* name) {
    AnyArray rows;
    if (!nb::try_cast<AnyArray>(X, rows, false))
        fail_type(std::string(name) + " must be a C-contiguous array of float64, float32 or uint8");
    return rows;
}

// A number of threads, at most one for each processor.
inline int as_threads(nb::handle value) {
    return int(
        std::min<int64_t>(as_whole(value, "n_threads", 1, INT32_MAX), available_processors()));
}

}  // namespace bnt
