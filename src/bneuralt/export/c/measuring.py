"""What a prediction in C costs: operations, and flash and stack where compilers are installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from bneuralt.model import Model

__all__ = ["operations", "sizes"]

#: Processors, and the compilers and options that they are measured with.
PROCESSORS = {
    "ATmega328P": ("avr-gcc", "-mmcu=atmega328p"),
    "Cortex-M4": (
        "arm-none-eabi-gcc",
        "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16",
    ),
}


def operations(model: Model) -> str:
    """Return the largest number of operations of a prediction as a sentence.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(2, 1, [-1], [2], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    >>> operations(Model.of_tree(tree))
    'A prediction takes at most 2 multiplications in sums and 1 activation.'
    """
    products = sum(tree.edge.size + tree.leaf_weight.size for tree in model.trees)
    nodes = sum(tree.parent.size for tree in model.trees)
    return (
        f"A prediction takes at most {products:,} multiplications in sums and {nodes:,} "
        f"activation{'s' * (nodes != 1)}."
    )


def sizes(header: str, name: str, files: Mapping[Path, str]) -> Iterator[str]:
    """Yield sentences on flash and stack, for each processor whose compiler is installed.

    Parameters
    ----------
    header : str
        Name of the header.
    name : str
        Prefix of the code.
    files : dict
        The content of the files by path.
    """
    for processor, (compiler, options) in PROCESSORS.items():
        program = shutil.which(compiler)
        if program is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for path, content in files.items():
                Path(folder, path.name).write_text(content)
            source = [path.name for path in files if path.suffix == ".c"]
            use = f'#include "{header}"\nvoid *use(void);\nvoid *use(void)\n{{\n'
            Path(folder, "use.c").write_text(f"{use}    return (void *){name}_predict;\n}}\n")
            command = [program, *options.split(), "-Os", "-std=c99", "-c", "-fstack-usage"]
            done = subprocess.run([*command, *source, "use.c"], cwd=folder, capture_output=True)
            if done.returncode:  # such as a table that is too large for the processor
                yield f"{processor}: this compiler cannot compile the code."
                continue
            objects = [path.name for path in Path(folder).glob("*.o")]
            size = shutil.which(compiler.replace("gcc", "size")) or "size"
            listed = subprocess.run(
                [size, *objects], cwd=folder, capture_output=True, text=True, check=True
            )
            rows = [line.split() for line in listed.stdout.splitlines()[1:]]
            flash = sum(int(text) + int(data) for text, data, *_ in rows)
            frames = [
                int(line.split("\t")[1])
                for path in Path(folder).glob("*.su")
                for line in path.read_text().splitlines()
            ]
        yield (
            f"{processor} ({compiler} -Os): {flash:,} bytes of flash for NAME_predict, without "
            f"functions of libraries, and at most {sum(frames):,} bytes of stack.".replace(
                "NAME", name
            )
        )
