// Releasing and taking the GIL, also while the interpreter ends.
//
// A thread that requests the GIL while the interpreter is finalizing is terminated by Python with
// an exception that must not be caught and cannot pass nanobind: the process would abort. Such a
// thread sleeps instead until the process ends, as in Python itself from 3.14 on.
#pragma once

#include <nanobind/nanobind.h>

#if defined(__GLIBCXX__) || defined(_LIBCPP_VERSION)
#include <cxxabi.h>
#endif

#if defined(BNT_NO_THREADS)
#include <cstdlib>
#else
#include <chrono>
#include <thread>
#endif

#if defined(Py_LIMITED_API) && Py_LIMITED_API < 0x030d0000
#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif
#endif

namespace bnt {

[[noreturn]] inline void sleep_forever() {
#if defined(BNT_NO_THREADS)
    std::abort();  // the only thread is that of the interpreter: this is never reached
#else
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
#endif
}

#if defined(Py_LIMITED_API) && Py_LIMITED_API < 0x030d0000
// A function of the interpreter by its name, null if it has none.
inline void* interpreter_function(const char* name) {
#if defined(_WIN32)
    for (const char* library : {"python3.dll", "python312.dll"}) {
        if (HMODULE module = GetModuleHandleA(library)) {
            if (auto function = GetProcAddress(module, name)) {
                return reinterpret_cast<void*>(function);
            }
        }
    }
    return nullptr;
#else
    return dlsym(RTLD_DEFAULT, name);
#endif
}
#endif

inline bool interpreter_is_finalizing() {
#if defined(Py_LIMITED_API) && Py_LIMITED_API < 0x030d0000
    // The stable ABI has the function from 3.13 on. 3.12 has it by its private name.
    using Function = int (*)();
    static const Function function = [] {
        void* symbol = interpreter_function("Py_IsFinalizing");
        return Function(symbol ? symbol : interpreter_function("_Py_IsFinalizing"));
    }();
    return function && function();
#elif PY_VERSION_HEX >= 0x030d0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

inline bool interpreter_is_ending() { return interpreter_is_finalizing() || !Py_IsInitialized(); }

// Calls f, which takes the GIL or runs Python code.
template <class F>
auto unless_ending(F&& f) {
#if defined(__GLIBCXX__)
    try {
        return f();
    } catch (const abi::__forced_unwind&) {
        sleep_forever();
    }
#else
    return f();
#endif
}

class GilRelease {
  public:
    GilRelease() : state_(PyEval_SaveThread()) {}
    ~GilRelease() {
        if (interpreter_is_ending()) sleep_forever();
        unless_ending([this] { PyEval_RestoreThread(state_); });
    }
    GilRelease(const GilRelease&) = delete;
    GilRelease& operator=(const GilRelease&) = delete;

  private:
    PyThreadState* state_;
};

class GilAcquire {
  public:
    GilAcquire() {
        if (interpreter_is_ending()) sleep_forever();
        state_ = unless_ending([] { return PyGILState_Ensure(); });
    }
    ~GilAcquire() { PyGILState_Release(state_); }
    GilAcquire(const GilAcquire&) = delete;
    GilAcquire& operator=(const GilAcquire&) = delete;

  private:
    PyGILState_STATE state_;
};

}  // namespace bnt
