// Aligned working memory, zeroed, and the padded layout of a parameter vector.
#pragma once

#include <cstring>
#include <new>
#include <utility>

#include "../../engine.hpp"
#include "simd.hpp"

namespace bnt::BNT_ISA {

template <class T>
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(size_t n) : size_(n) {
        // one vector more than requested: vector loops may run over the end
        const size_t bytes = (n * sizeof(T) + 2 * 64 - 1) / 64 * 64;
        data_ = static_cast<T*>(::operator new(bytes, std::align_val_t(64)));
        std::memset(static_cast<void*>(data_), 0, bytes);
    }
    ~Buffer() { ::operator delete(data_, std::align_val_t(64)); }
    Buffer(Buffer&& other) noexcept : data_(other.data_), size_(other.size_) {
        other.data_ = nullptr;
        other.size_ = 0;
    }
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    T* get() { return data_; }
    const T* get() const { return data_; }
    T& operator[](size_t i) { return data_[i]; }
    const T& operator[](size_t i) const { return data_[i]; }
    size_t size() const { return size_; }

  private:
    T* data_ = nullptr;
    size_t size_ = 0;
};

// Where biases, edge weights, leaf weights and activation parameters lie. edge is indexed by node,
// so it points n_outputs before its first number.
template <class T>
struct Weights {
    T *bias, *edge, *leaf, *phi;
};

// The working layout of a parameter vector: as the public one, but each part starts at a whole
// vector and has room for one more behind its last number, so that vector loops over one part
// never reach into another. The room between is 0 in weights and gradients.
struct Layout {
    int n_nodes, n_outputs, n_leaves, n_phi, edge, leaf, phi, size;

    template <class T>
    static Layout padded(const Tree& t) {
        const auto up = [](int n) {
            return (n + 2 * Simd<T>::lanes - 1) / Simd<T>::lanes * Simd<T>::lanes;
        };
        Layout l{t.n_nodes, t.n_outputs, t.n_leaves, t.phi_is_trained ? t.n_phi : 0, 0, 0, 0, 0};
        l.edge = up(t.n_nodes);
        l.leaf = l.edge + up(t.n_nodes - t.n_outputs);
        l.phi = l.leaf + up(t.n_leaves);
        l.size = l.phi + (l.n_phi ? up(l.n_phi) : 0);
        return l;
    }

    // Where the parts of a gradient lie.
    template <class T>
    Weights<T> of(T* p) const {
        return {p, p + edge - n_outputs, p + leaf, p + phi};
    }

    // Where the parts of the weights lie; activation parameters that are not trained belong to
    // the tree itself.
    template <class T>
    Weights<const T> of(const Tree& t, const T* p) const {
        return {p, p + edge - n_outputs, p + leaf, n_phi ? p + phi : t.fixed_phi<T>()};
    }

    template <class T>
    void pack(const T* plain, T* working) const {
        each_part([&](int at, int n) {
            std::memcpy(working + at, plain, sizeof(T) * n);
            plain += n;
        });
    }

    template <class T>
    void unpack(const T* working, T* plain) const {
        each_part([&](int at, int n) {
            std::memcpy(plain, working + at, sizeof(T) * n);
            plain += n;
        });
    }

  private:
    template <class F>
    void each_part(F&& f) const {
        f(0, n_nodes);
        f(edge, n_nodes - n_outputs);
        f(leaf, n_leaves);
        f(phi, n_phi);
    }
};

template <class T>
Weights<const T> plain_weights(const Tree& t, const T* theta) {
    return {theta, theta + t.n_nodes - t.n_outputs, theta + 2 * t.n_nodes - t.n_outputs,
            t.phi_is_trained ? theta + n_weights(t) : t.fixed_phi<T>()};
}

// Numbers below the normal range cost a hundred cycles each on many processors, and gradients
// of saturated neurons are full of them: while one of these lives, they count as zero.
class FlushDenormals {
  public:
#if defined(__SSE2__)
    FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040); }
    ~FlushDenormals() { _mm_setcsr(saved_); }

  private:
    unsigned saved_;
#elif defined(__aarch64__)
    FlushDenormals() : saved_(control()) { set_control(saved_ | (uint64_t(1) << 24)); }  // FZ
    ~FlushDenormals() { set_control(saved_); }

  private:
    static uint64_t control() {
        uint64_t value;
        asm volatile("mrs %0, fpcr" : "=r"(value));
        return value;
    }
    static void set_control(uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }

    uint64_t saved_;
#else
    FlushDenormals() {}  // WebAssembly, for example, cannot
#endif
};

}  // namespace bnt::BNT_ISA
