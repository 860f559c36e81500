"""Flash, RAM and time of models that learn on microcontrollers.

    python -m benchmarks.learning_devices

compiles trees that learn (`to_c(..., learning=...)`, float) for AVR processors (avr-gcc -Os, run by
simavr, which counts cycles) and for a Cortex-M4 (arm-none-eabi-gcc -Os, run by qemu, which counts
instructions), and prints a table. Flash is what prediction and update add to a program that does
neither, with the mathematical functions and without the weights, which are listed by themselves.
RAM has the weights and all variables; the stack is listed by itself. The weights after the updates
are printed by the device, and compared with those of the engine.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.microcontroller import ARM_FLAGS, INSTRUCTIONS_PER_TICK, LINKER

AVR = """\
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>
#include <string.h>
$INCLUDE
#define ROM PROGMEM
#define BYTE(p) pgm_read_byte(p)
#define COPY(to, from) memcpy_P(to, from, sizeof(to))
extern uint8_t __heap_start;
static void put(char c)
{
    while (!(UCSR0A & (1 << UDRE0))) {
    }
    UDR0 = c;
}
static void begin(void)
{
    UCSR0B = 1 << TXEN0;
    TCCR1A = 0;
    TCCR1B = 5; /* 1024 cycles */
}
static uint32_t now(void) { return TCNT1; }
static uint32_t elapsed(uint32_t start) { return (uint16_t)(TCNT1 - start); }
static uint8_t *stack(void) { return (uint8_t *)SP - 8; }
#define LOWEST (&__heap_start)
static void finish(void)
{
    cli();
    sleep_mode();
}
"""

ARM = """\
#include <stdint.h>
#include <string.h>
$INCLUDE
#define ROM
#define BYTE(p) (*(p))
#define COPY(to, from) memcpy(to, from, sizeof(to))
int main(void);
extern char data_start, data_end, data_load, bss_start, bss_end;
void reset(void)
{
    memcpy(&data_start, &data_load, (unsigned)(&data_end - &data_start));
    memset(&bss_start, 0, (unsigned)(&bss_end - &bss_start));
    main();
}
extern char stack_top;
__attribute__((section(".vectors"), used)) static const void *const vectors[2] = {
    &stack_top, (const void *)reset};
static void put(char c)
{
    register int r0 __asm__("r0") = 3;
    register const char *r1 __asm__("r1") = &c;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}
#define SYST_CSR (*(volatile uint32_t *)0xE000E010)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018)
#define CPACR (*(volatile uint32_t *)0xE000ED88)
static void begin(void)
{
    CPACR |= 0xF << 20;
    SYST_RVR = 0xFFFFFF;
    SYST_CVR = 0;
    SYST_CSR = 5;
}
static uint32_t now(void) { return SYST_CVR; }
static uint32_t elapsed(uint32_t start) { return (start - SYST_CVR) & 0xFFFFFF; }
static uint8_t *stack(void)
{
    uint8_t *sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    return sp - 16;
}
#define LOWEST (stack() - 2000)
static void finish(void)
{
    register int r0 __asm__("r0") = 0x18;
    register int r1 __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xAB" : : "r"(r0), "r"(r1));
}
"""

ARM_LINKER = (
    LINKER.partition("SECTIONS")[0]
    + """\
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } > FLASH
  .data : { data_start = .; *(.data*) . = ALIGN(4); data_end = .; } > RAM AT> FLASH
  data_load = LOADADDR(.data);
  .bss (NOLOAD) : { bss_start = .; *(.bss*) *(COMMON) . = ALIGN(4); bss_end = .; } > RAM
  stack_top = 0x20010000;
}
"""
)

MAIN = """\
static void hex(uint32_t v, uint8_t digits)
{
    while (digits--)
        put("0123456789abcdef"[(v >> (4 * digits)) & 15]);
    put(' ');
}
__attribute__((noinline)) static int learn(const float *x, const TARGET *y)
{
#if LEARNS
    return m_update(x, ARGUMENT, RATE);
#else
    return *(const uint8_t *)x + *(const uint8_t *)y; /* without floating-point arithmetic */
#endif
}
__attribute__((noinline)) static int predict(const float *x)
{
#if LEARNS
    return (int)m_predict(x);
#else
    return *(const uint8_t *)x;
#endif
}
static volatile int sink;
int main(void)
{
    uint16_t i;
    uint32_t start, ticks = 0, used = 0;
    float x[N_FEATURES];
    TARGET y[1];
    begin();
    for (i = 0; i < N_UPDATES; i++) {
        volatile uint8_t *q, *sp = stack();
        COPY(x, rows[BYTE(order + i)]);
        COPY(y, targets + BYTE(order + i));
        if (i == 0)
            for (q = LOWEST; q < sp; q++)
                *q = 0xA5;
        start = now();
        sink = learn(x, y);
        if (i < N_TIMED)
            ticks += elapsed(start);
        if (i == 0) {
            for (q = LOWEST; q < sp && *q == 0xA5; q++) {
            }
            used = (uint32_t)(sp - q);
        }
    }
    sink = predict(x);
    put('#');
    hex(ticks, 8);
    hex(used, 8);
#if LEARNS
    for (i = 0; i < M_N_WEIGHTS; i++) {
        uint32_t bits;
        if (i % 8 == 0) {
            put('\\n');
            put('#');
        }
        memcpy(&bits, m_weights() + i, 4);
        hex(bits, 8);
    }
    hex(m_refused(), 8);
#endif
    put('\\n');
    finish();
    return 0;
}
"""

#: Updates whose time is measured.
N_TIMED = 10

AVR_FLAGS = ["-Os", "-std=gnu99", "-mrelax", "-mcall-prologues"]


class Costs(NamedTuple):
    """What a model that learns costs on a device, in bytes; time is that of an update."""

    flash: int  # without the weights
    weights: int  # those that learn, and the others
    ram: int  # with the weights
    stack: int
    time: float  # cycles (AVR) or instructions (ARM)
    learnt: np.ndarray
    n_refused: int


def measure_learning(model, rows, targets, order, rule, device="atmega328p", rate=0.003, **options):
    """Return the costs of learning from rows in an order; `device` is an AVR or "cortex-m4"."""
    is_avr = device != "cortex-m4"
    targets = np.asarray(targets)
    target_type = "int16_t" if model.model_.task == "classes" else "float"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = {"libm": is_avr, **options}
        model.to_c(folder / "m.h", name="m", dtype="float", learning=rule, **options)
        (folder / "rows.h").write_text(_data(rows, targets, order, target_type))
        (folder / "link.ld").write_text(ARM_LINKER)
        sizes = {}
        for learns in (0, 1):
            defined = {"LEARNS": learns, "TARGET": target_type, "ARGUMENT": "y[0]"}
            defined |= {"N_FEATURES": rows.shape[1], "N_UPDATES": len(order)}
            defined |= {"N_TIMED": N_TIMED, "RATE": f"{np.float32(rate)!s}f"}
            lines = [f"#define {key} {value}" for key, value in defined.items()]
            lines += ["#include <stdint.h>", '#include "m.h"' if learns else ""]
            head = (AVR if is_avr else ARM).replace("$INCLUDE", "\n".join(lines))
            (folder / "p.c").write_text(f'{head}#include "rows.h"\n{MAIN}')
            sizes[learns] = _build(folder, device)
        ticks, stack, *numbers = _run(folder, device)
    *weights, refused = (int(number, 16) for number in numbers)
    learnt = np.array(weights, dtype=np.uint32).view(np.float32)
    text, data, bss = (after - before for before, after in zip(*sizes.values(), strict=True))
    unit = 1024 if is_avr else INSTRUCTIONS_PER_TICK
    time = int(ticks, 16) * unit / min(N_TIMED, len(order))
    initial = 4 * model.n_parameters_  # those that do not learn are constants
    flash = text + data - initial
    return Costs(flash, initial, data + bss, int(stack, 16), time, learnt, refused)


def _data(rows, targets, order, target_type):
    table = ",\n".join("{" + ", ".join(f"{v!r}f" for v in row) + "}" for row in rows.tolist())
    goals = ", ".join(f"{value!r}" for value in targets.tolist())
    indices = ", ".join(map(str, np.asarray(order).tolist()))
    return (
        f"static const float rows[{len(rows)}][{rows.shape[1]}] ROM = {{{table}}};\n"
        f"static const {target_type} targets[{len(rows)}] ROM = {{{goals}}};\n"
        f"static const uint8_t order[{len(order)}] ROM = {{{indices}}};\n"
    )


def _build(folder, device, options=()):
    """Compile the program; return the sizes of its code, initialized and other variables."""
    if device != "cortex-m4":
        command = ["avr-gcc", f"-mmcu={device}", *AVR_FLAGS, *options, "p.c", "-o", "p.elf", "-lm"]
    else:
        flags = [flag for flag in ARM_FLAGS if flag != "-fno-builtin"]
        command = ["arm-none-eabi-gcc", *flags, *options, "p.c", "-T", "link.ld", "-o", "p.elf"]
        command += ["-lc", "-lgcc"]
    subprocess.run(command, cwd=folder, check=True)
    size = "avr-size" if device != "cortex-m4" else "arm-none-eabi-size"
    shown = subprocess.run([size, "p.elf"], cwd=folder, check=True, capture_output=True, text=True)
    return tuple(map(int, shown.stdout.splitlines()[1].split()[:3]))


def _run(folder, device):
    """Return the numbers that the program prints."""
    if device != "cortex-m4":
        command = ["simavr", "-m", device, "-f", "16000000", "p.elf"]
    else:
        command = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-icount", "shift=0"]
        command += ["-semihosting-config", "enable=on,target=native", "-kernel", "p.elf"]
    run = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    text = (run.stdout + run.stderr).decode(errors="replace")
    return [number for line in re.findall(r"#([\da-f ]+)", text) for number in line.split()]


NEIGHBOURS = """\
#if LEARNS
#define EML_LOG_ENABLE 0
#include <eml_neighbors.h>
static int16_t data[N_ITEMS * 4], labels[N_ITEMS];
static EmlNeighborsDistanceItem distances[N_ITEMS];
static EmlNeighborsModel model = {4, 0, N_ITEMS, data, labels, 3};
#endif
static void hex(uint32_t v)
{
    int8_t digits = 8;
    while (digits--)
        put("0123456789abcdef"[(v >> (4 * digits)) & 15]);
    put(' ');
}
int main(void)
{
    volatile int16_t row[4] = {1, 2, 3, 4};
    uint32_t start, ticks = 0;
    int16_t i, j, label = 0;
    begin();
#if LEARNS
    for (i = 0; i < N_ITEMS; i++) {
        row[i % 4] = (int16_t)((row[i % 4] * 31 + i) % 100); /* larger ones take for ever */
        eml_neighbors_add_item(&model, (const int16_t *)row, 4, i % 3);
    }
#endif
    for (j = 0; j < N_TIMED; j++) {
        row[j % 4] = (int16_t)(row[j % 4] + j);
        start = now();
#if LEARNS
        eml_neighbors_predict(&model, (const int16_t *)row, 4, distances, N_ITEMS, &label);
#endif
        ticks += elapsed(start);
    }
    put('#');
    hex(ticks);
    hex((uint32_t)label);
    put('\\n');
    finish();
    return 0;
}
"""


def measure_neighbours(device, n_items=75):
    """Return flash, RAM and time of a prediction of emlearn's nearest neighbours, which learn."""
    import emlearn

    is_avr, sizes = device != "cortex-m4", {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "link.ld").write_text(ARM_LINKER)
        for learns in (0, 1):
            defined = {"LEARNS": learns, "N_ITEMS": n_items, "N_TIMED": N_TIMED}
            lines = [f"#define {key} {value}" for key, value in defined.items()]
            lines += ["#include <stdint.h>"]
            head = (AVR if is_avr else ARM).replace("$INCLUDE", "\n".join(lines))
            (folder / "p.c").write_text(head + NEIGHBOURS)
            sizes[learns] = _build(folder, device, [f"-I{emlearn.includedir}"])
        ticks, _ = _run(folder, device)
    text, data, bss = (after - before for before, after in zip(*sizes.values(), strict=True))
    unit = 1024 if is_avr else INSTRUCTIONS_PER_TICK
    return text + data, data + bss, int(ticks, 16) * unit / N_TIMED


def main():
    """Print the table, for trees of 300 weights."""
    from sklearn.datasets import load_diabetes, load_iris

    from bneuralt import BNeuralTClassifier, BNeuralTRegressor

    order = np.arange(N_TIMED)
    print("| data | learns | device | flash | weights | RAM | stack | cycles or instructions |")
    print("| --- | --- | --- |" + " ---: |" * 5)
    for name, estimator, load in (
        ("iris", BNeuralTClassifier, load_iris),
        ("diabetes", BNeuralTRegressor, load_diabetes),
    ):
        X, y = load(return_X_y=True)
        model = estimator(n_weights=300, max_epochs=5, ramps=0, random_state=0).fit(X, y)
        rows = slice(None, None, len(X) // N_TIMED)
        for device in ("atmega328p", "atmega1284p", "cortex-m4"):
            for rule, learns in (
                ("sgd", "all"),
                ("rmsprop", "all"),
                ("sgd", "outputs"),
                ("sgd", "biases"),
            ):
                if (device == "atmega328p") != (rule == "sgd") and device != "cortex-m4":
                    continue  # the state of RMSprop does not fit into 2 kB
                data = X[rows][:N_TIMED], y[rows][:N_TIMED]
                costs = measure_learning(model, *data, order, rule, device, learns=learns)
                assert costs.n_refused == 0
                print(
                    f"| {name} | {rule}, {learns} | {device} | {costs.flash:,} | "
                    f"{costs.learnt.size} | {costs.ram:,} | {costs.stack} | {costs.time:,.0f} |",
                    flush=True,
                )
    try:
        for device in ("atmega1284p", "cortex-m4"):
            flash, ram, time = measure_neighbours(device)
            print(f"emlearn, 3 neighbours of 75 on {device}: {flash:,}, {ram:,}, {time:,.0f}")
    except ImportError:
        print("emlearn is not installed")


if __name__ == "__main__":
    main()
