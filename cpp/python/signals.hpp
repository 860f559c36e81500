// Ctrl-C during a call that runs without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <new>

#include "../engine.hpp"
#include "gil.hpp"

namespace bnt {

// Keeps an exception of Python until the call has ended and its results are safe.
class SignalCheck {
  public:
    // Whether a signal handler has raised; takes the GIL.
    bool raised() {
        GilAcquire gil;
        keep([] {
            if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
            return false;
        });
        return error_ != nullptr;
    }

    // Calls f, which may raise; true if it did, else what f returns. The GIL must be held.
    template <class F>
    bool keep(F&& f) {
        try {
            return unless_ending(f);
        } catch (...) {
            if (!error_) error_ = std::current_exception();
            return true;
        }
    }

    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

    // The kept exception as a Python object, or None.
    nanobind::object exception() const {
        if (!error_) return nanobind::none();
        try {
            std::rethrow_exception(error_);
        } catch (nanobind::python_error& e) {
            return nanobind::borrow(e.value());
        } catch (const nanobind::builtin_exception& e) {
            using Type = nanobind::exception_type;
            return error(e.type() == Type::value_error  ? PyExc_ValueError
                         : e.type() == Type::type_error ? PyExc_TypeError
                                                        : PyExc_RuntimeError,
                         e.what());
        } catch (const std::bad_alloc&) {
            return error(PyExc_MemoryError, "out of memory");
        } catch (const std::exception& e) {
            return error(PyExc_RuntimeError, e.what());
        }
    }

    Hooks hooks() {
        return {this, [](void* self) { return static_cast<SignalCheck*>(self)->raised(); },
                nullptr};
    }

  private:
    static nanobind::object error(PyObject* type, const char* message) {
        return nanobind::handle(type)(message);
    }

    std::exception_ptr error_;
};

}  // namespace bnt
