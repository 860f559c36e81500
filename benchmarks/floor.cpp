// The floors of the speed tables: the arithmetic of an update and nothing else.
//
// Plain contiguous arrays, no tree, no order in which anything has to happen. An online update: one
// RMSprop step on n_weights numbers, n_exponentials exponentials, three multiply-adds per edge. A
// batch has three parts: forward (exponentials, and one multiply-add per edge and row), backward
// (two per edge and row) and one Adam step. Compiled by core_speed.py with the flags of the
// engine's own kernels.
#include "../cpp/kernels/mathematics/memory.hpp"

namespace {

using namespace bnt::BNT_ISA;

// Tells the compiler that memory may have changed, so that no round is optimised away.
inline void touch(void* p) { asm volatile("" : : "g"(p) : "memory"); }

template <class T>
void multiply_adds(T* a, const T* b, const T* c, int n) {
    for (int i = 0; i < n; i += Simd<T>::lanes)
        store(a + i, load(b + i) * load(c + i) + load(a + i));
}

template <class T>
void exponentials(T* a, const T* b, int n) {
    for (int i = 0; i < n; i += Simd<T>::lanes) store(a + i, exponential<T>(load(b + i)));
}

template <class T>
void rmsprop(T* theta, T* v, const T* g, int n) {
    const T beta = T(0.9), rate = T(1e-4), epsilon = T(1e-8);
    for (int i = 0; i < n; i += Simd<T>::lanes) {
        const Vec<T> gradient = load(g + i);
        const Vec<T> square = beta * load(v + i) + (T(1) - beta) * (gradient * gradient);
        store(v + i, square);
        store(theta + i, load(theta + i) - (rate * gradient) * inverse_sqrt<T>(square + epsilon));
    }
}

template <class T>
void adam(T* theta, T* m, T* v, const T* g, int n) {
    const T beta1 = T(0.9), beta2 = T(0.999), rate = T(1e-4), correct = T(1.01), epsilon = T(1e-8);
    for (int i = 0; i < n; i += Simd<T>::lanes) {
        const Vec<T> gradient = load(g + i);
        const Vec<T> mean = beta1 * load(m + i) + (T(1) - beta1) * gradient;
        const Vec<T> square = beta2 * load(v + i) + (T(1) - beta2) * (gradient * gradient);
        store(m + i, mean);
        store(v + i, square);
        store(theta + i,
              load(theta + i) - (rate * mean) * inverse_sqrt<T>(square * correct + epsilon));
    }
}

template <class T>
void update_floor(int rounds, int n_weights, int n_exponentials, int n_edges) {
    Buffer<T> theta(n_weights + 64), v(n_weights + 64), g(n_weights + 64), a(n_weights + 64),
        b(n_weights + 64), c(n_weights + 64);
    for (int i = 0; i < n_weights; ++i) theta[i] = v[i] = g[i] = b[i] = c[i] = T(0.01) * T(i % 7);
    for (int round = 0; round < rounds; ++round) {
        multiply_adds(a.get(), b.get(), c.get(), n_edges);
        touch(a.get());
        exponentials(b.get(), c.get(), n_exponentials);
        touch(b.get());
        multiply_adds(g.get(), b.get(), c.get(), n_edges);
        touch(g.get());
        multiply_adds(a.get(), g.get(), c.get(), n_edges);
        touch(a.get());
        rmsprop(theta.get(), v.get(), g.get(), n_weights);
        touch(theta.get());
    }
}

template <class T>
void forward_floor(int rounds, int rows, int n_exponentials, int n_edges) {
    const int n = rows * (n_edges > n_exponentials ? n_edges : n_exponentials);
    Buffer<T> a(n), b(n), c(n);
    for (int i = 0; i < n; ++i) b[i] = c[i] = T(0.01) * T(i % 7);
    for (int round = 0; round < rounds; ++round) {
        multiply_adds(a.get(), b.get(), c.get(), rows * n_edges);
        touch(a.get());
        exponentials(b.get(), c.get(), rows * n_exponentials);
        touch(b.get());
    }
}

template <class T>
void backward_floor(int rounds, int rows, int n_edges) {
    const int n = rows * n_edges;
    Buffer<T> a(n), b(n), c(n), d(n);
    for (int i = 0; i < n; ++i) b[i] = c[i] = T(0.01) * T(i % 7);
    for (int round = 0; round < rounds; ++round) {
        multiply_adds(a.get(), b.get(), c.get(), n);
        touch(a.get());
        multiply_adds(d.get(), b.get(), c.get(), n);
        touch(d.get());
    }
}

template <class T>
void adam_floor(int rounds, int n_weights) {
    Buffer<T> theta(n_weights), m(n_weights), v(n_weights), g(n_weights);
    for (int i = 0; i < n_weights; ++i) theta[i] = g[i] = T(0.01) * T(i % 7);
    for (int round = 0; round < rounds; ++round) {
        adam(theta.get(), m.get(), v.get(), g.get(), n_weights);
        touch(theta.get());
    }
}

}  // namespace

extern "C" {
void update_floor_float32(int r, int w, int e, int k) { update_floor<float>(r, w, e, k); }
void update_floor_float64(int r, int w, int e, int k) { update_floor<double>(r, w, e, k); }
void forward_floor_float32(int r, int n, int e, int k) { forward_floor<float>(r, n, e, k); }
void forward_floor_float64(int r, int n, int e, int k) { forward_floor<double>(r, n, e, k); }
void backward_floor_float32(int r, int n, int k) { backward_floor<float>(r, n, k); }
void backward_floor_float64(int r, int n, int k) { backward_floor<double>(r, n, k); }
void adam_floor_float32(int r, int w) { adam_floor<float>(r, w); }
void adam_floor_float64(int r, int w) { adam_floor<double>(r, w); }
}
