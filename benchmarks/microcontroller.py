"""Flash, RAM and cycles of exported models on microcontrollers.

    python -m benchmarks.microcontroller [--data FOLDER]

compiles integer and float code for an ATmega328P (avr-gcc -Os, run by simavr, which counts cycles)
and for a Cortex-M4 (arm-none-eabi-gcc -Os, run by qemu, which counts instructions), and prints a
table. Flash is what the code and its tables add to a program that predicts nothing. RAM is what is
used of the stack besides the row; there are no variables in memory. Every prediction is compared
with the one of Python.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from bneuralt import BNeuralTClassifier
from bneuralt.export.c.features import CRow
from bneuralt_paper import load_dataset

N_ROWS = 10
DTYPES = ("int8", "int16", "float")

AVR = """\
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdint.h>
$INCLUDE
static void put(char c)
{
    while (!(UCSR0A & (1 << UDRE0))) {
    }
    UDR0 = c;
}
static void number(uint16_t v)
{
    char digits[6];
    int i = 0;
    do {
        digits[i++] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    while (i)
        put(digits[--i]);
    put(' ');
}
__attribute__((noinline)) int predict(const INPUT *x) { return PREDICT(x); }
int main(void)
{
    uint8_t i;
    UCSR0B = 1 << TXEN0;
    TCCR1A = 0;
    TCCR1B = TIMER;
    for (i = 0; i < N_ROWS; i++) {
        uint16_t start, end;
        int class;
        volatile uint8_t *q, *sp = (volatile uint8_t *)SP;
        for (q = sp - 400; q < sp; q++)
            *q = 0xA5;
        start = TCNT1;
        class = predict(rows[i]);
        end = TCNT1;
        for (q = sp - 400; *q == 0xA5; q++) {
        }
        put('#');
        number((uint16_t)class);
        number((uint16_t)(end - start));
        number((uint16_t)(sp - q + 1));
        put('\\n');
    }
    cli();
    sleep_mode();
    return 0;
}
"""

ARM = """\
#include <stdint.h>
#define class class_
$INCLUDE
int main(void);
void reset(void) { main(); }
extern char stack_top;
__attribute__((section(".vectors"), used)) static const void *const vectors[2] = {
    &stack_top, (const void *)reset};
static void write(const char *text)
{
    register int r0 __asm__("r0") = 4;
    register const char *r1 __asm__("r1") = text;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}
static void number(uint32_t v)
{
    char digits[12];
    int i = 11;
    digits[i] = 0;
    digits[--i] = ' ';
    do {
        digits[--i] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    write(digits + i);
}
#define SYST_CSR (*(volatile uint32_t *)0xE000E010)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018)
#define CPACR (*(volatile uint32_t *)0xE000ED88)
static volatile int sink;
__attribute__((noinline)) int predict(const INPUT *x)
{
    __asm__ volatile("" : : "r"(x) : "memory");
    return PREDICT(x);
}
int main(void)
{
    int i, j, result;
    CPACR |= 0xF << 20;
    SYST_RVR = 0xFFFFFF;
    SYST_CVR = 0;
    SYST_CSR = 5;
    for (i = 0; i < N_ROWS; i++) {
        uint32_t start;
        volatile uint8_t *q, *sp;
        __asm__ volatile("mov %0, sp" : "=r"(sp));
        for (q = sp - 1000; q < sp; q++)
            *q = 0xA5;
        result = predict(rows[i]);
        for (q = sp - 1000; *q == 0xA5; q++) {
        }
        write("#");
        number((uint32_t)result);
        start = SYST_CVR;
        for (j = 0; j < 1000; j++)
            sink = predict(rows[i]);
        number((start - SYST_CVR) & 0xFFFFFF);
        number((uint32_t)(sp - q));
        write("\\n");
    }
    {
        register int r0 __asm__("r0") = 0x18;
        register int r1 __asm__("r1") = 0x20026;
        __asm__ volatile("bkpt 0xAB" : : "r"(r0), "r"(r1));
    }
    return 0;
}
"""

LINKER = """\
ENTRY(reset)
MEMORY { FLASH (rx) : ORIGIN = 0, LENGTH = 1M  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 64K }
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } > FLASH
  .data : { *(.data*) *(.bss*) } > RAM
  stack_top = 0x20010000;
}
"""

#: qemu's machine has a system timer of 25 MHz, and executes an instruction in a nanosecond.
INSTRUCTIONS_PER_TICK = 40

AVR_FLAGS = ["-mmcu=atmega328p", "-Os", "-std=gnu99"]
ARM_FLAGS = [
    *("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-Os", "-std=gnu99"),
    *("-ffreestanding", "-nostartfiles", "-fno-builtin"),
]


def measure(model, X, dtype, target, style="tables"):
    """Return flash and RAM in bytes, and cycles (AVR) or instructions (ARM) of a prediction."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model.to_c(folder / "m.h", dtype=dtype, style=style, libm=False)
        rows, expected = X[:N_ROWS], model.predict(X[:N_ROWS])
        if dtype == "float":
            literals = [[f"{value!r}f" for value in row] for row in rows.astype(float).tolist()]
            kind = "float"
        else:
            rounded = model.quantize(dtype)
            literals, expected = _whole_rows(rounded, rows), rounded.predict(rows)
            kind = "int16_t" if rounded.integer_model_.inputs.numbers else f"{dtype}_t"
        table = ",\n".join("{" + ", ".join(map(str, row)) + "}" for row in literals)
        text = f"static const {kind} rows[{N_ROWS}][{len(literals[0])}] = {{{table}}};\n"
        (folder / "rows.h").write_text(text)
        sizes = {}
        # Of 1, 8 or 64 cycles: the counter has 16 bits.
        timer = 3 if dtype == "float" else 2 if model.ramps != 0 else 1
        for what, include, predict in (
            ("with", '#include "m.h"', "m_predict"),
            ("without", "", "(int)*"),
        ):
            lines = f"{include}\n#define INPUT {kind}\n#define PREDICT {predict}\n"
            lines += f"#define N_ROWS {N_ROWS}\n#define TIMER {timer}\n"
            (folder / f"{what}.c").write_text(
                (AVR if target == "avr" else ARM).replace("$INCLUDE", lines + '#include "rows.h"')
            )
            _build(folder, what, target)
            size = "avr-size" if target == "avr" else "arm-none-eabi-size"
            shown = subprocess.run(
                [size, f"{what}.elf"], cwd=folder, check=True, capture_output=True, text=True
            )
            text, data = map(int, shown.stdout.splitlines()[1].split()[:2])
            sizes[what] = text + data
        lines = _run(folder, target)
    classes = [int(line[0]) for line in lines]
    assert model.classes_[classes].tolist() == expected.tolist(), "a prediction differs"
    ticks = np.array([int(line[1]) for line in lines])
    factor = INSTRUCTIONS_PER_TICK / 1000 if target == "arm" else 8 ** (timer - 1)
    ram = max(int(line[2]) for line in lines)
    return sizes["with"] - sizes["without"], ram, float(ticks.max() * factor)


def _whole_rows(rounded, rows):
    """Return rows of numbers as integer code takes them."""
    integers = rounded.integer_model_
    inputs, numbers = rounded.encode(rows), np.asarray(rows, dtype=np.float64)
    columns = []
    for feature in CRow(integers.model, is_integer=True).features:
        if feature.number is None:
            columns.append(inputs[:, feature.input])
        else:
            unit = integers.inputs.numbers[feature.number]
            columns.append(unit.encode(numbers[:, feature.number]))
    return np.stack(columns, axis=1).tolist()


def _build(folder, what, target):
    if target == "avr":
        command = ["avr-gcc", *AVR_FLAGS, f"{what}.c", "-o", f"{what}.elf", "-lm"]
    else:
        (folder / "link.ld").write_text(LINKER)
        command = ["arm-none-eabi-gcc", *ARM_FLAGS, f"{what}.c", "-T", "link.ld", "-o"]
        command += [f"{what}.elf", "-lc", "-lgcc"]
    subprocess.run(command, cwd=folder, check=True)


def _run(folder, target):
    """Return the lines that the program prints, as lists of words."""
    if target == "avr":
        command = ["simavr", "-m", "atmega328p", "-f", "16000000", "with.elf"]
    else:
        command = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-icount", "shift=0"]
        command += ["-semihosting-config", "enable=on,target=native", "-kernel", "with.elf"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    return [line.split() for line in re.findall(r"#([\d ]+)", run.stdout + run.stderr)]


def main(data_home=None):
    """Print the table."""
    for program in ("avr-gcc", "simavr", "arm-none-eabi-gcc", "qemu-system-arm"):
        if not shutil.which(program):
            raise SystemExit(f"{program} is not installed")
    print("| data | weights | type | target | flash | RAM | cycles or instructions |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for ramps in (0, "auto"):
        for name in ("australian", "iris", "vehicle"):
            data = load_dataset(name, data_home=data_home)
            model = BNeuralTClassifier(n_weights=370, ramps=ramps, random_state=0)
            model.fit(data.X, data.y)
            _print_lines(name if ramps == 0 else f"{name}, ramps", model, data.X)


def _print_lines(name, model, X):
    for target in ("avr", "arm"):
        for dtype in DTYPES:
            for style in ("tables", "code"):
                if (target, dtype, style) == ("avr", "float", "tables"):
                    continue  # tables of real numbers are in RAM there
                flash, ram, cycles = measure(model, X, dtype, target, style)
                print(
                    f"| {name} | {model.n_parameters_} | {dtype}, {style} | {target} | "
                    f"{flash:,} | {ram} | {cycles:,.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder with the data sets")
    main(parser.parse_args().data)
