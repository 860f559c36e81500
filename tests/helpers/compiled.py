"""Programs of compiled languages: they read rows from a file and write predictions to another."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from bneuralt.export.go import to_go
from bneuralt.export.java import to_java
from bneuralt.export.rust import to_rust

RUST = """
mod model;
use std::io::Read;
fn main() {
    let mut table = String::new();
    std::io::stdin().read_to_string(&mut table).unwrap();
    for line in table.split('\\x1e') {
        let row: Vec<model::Cell> = line.split('\\x1f').map(|cell| match &cell[..1] {
            "n" => model::Cell::from(cell[1..].parse::<f64>().unwrap()),
            "t" => model::Cell::from(&cell[1..]),
            _ => model::Cell::Missing,
        }).collect();
        match model::predict(&row) {
            Ok(result) => {
                let mut numbers = vec![CLASS];
                numbers.extend(result.values);
                CONTRIBUTIONS
                let words: Vec<String> = numbers.iter().map(|x| format!("{x:e}")).collect();
                println!("{}", words.join(" "));
            }
            Err(message) => println!("error {message}"),
        }
    }
}
"""

GO = """
package main

import (
    "fmt"
    "io"
    "os"
    "strconv"
    "strings"

    "example.com/model/model"
)

func main() {
    table, _ := io.ReadAll(os.Stdin)
    for _, line := range strings.Split(string(table), "\\x1e") {
        var row []any
        for _, cell := range strings.Split(line, "\\x1f") {
            switch cell[0] {
            case 'n':
                number, _ := strconv.ParseFloat(cell[1:], 64)
                row = append(row, number)
            case 't':
                row = append(row, cell[1:])
            default:
                row = append(row, nil)
            }
        }
        result, err := model.Predict(row...)
        if err != nil {
            fmt.Println("error", err)
            continue
        }
        numbers := append([]float64{CLASS}, result.Values...)
        CONTRIBUTIONS
        var words []string
        for _, number := range numbers {
            words = append(words, strconv.FormatFloat(number, 'g', -1, 64))
        }
        fmt.Println(strings.Join(words, " "))
    }
}
"""

JAVA = """
import java.nio.charset.StandardCharsets;
public final class Main {
    public static void main(String[] arguments) throws Exception {
        String table = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        StringBuilder out = new StringBuilder();
        for (String line : table.split("\\u001e", -1)) {
            String[] cells = line.split("\\u001f", -1);
            Object[] row = new Object[cells.length];
            for (int i = 0; i < row.length; i++) {
                String rest = cells[i].substring(1);
                char kind = cells[i].charAt(0);
                row[i] = kind == 't' ? rest : null;
                if (kind == 'n') row[i] = Double.parseDouble(rest);
            }
            try {
                Model.Prediction result = Model.predict(row);
                out.append(CLASS);
                for (double value : result.values()) out.append(" ").append(value);
                CONTRIBUTIONS
            } catch (IllegalArgumentException error) {
                out.append("error ").append(error.getMessage());
            }
            out.append("\\n");
        }
        System.out.write(out.toString().getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }
}
"""


class Compiled:
    """A compiled language; see `runners`."""

    def why_not(self):
        return None if shutil.which(self.compiler) else f"there is no {self.compiler}"

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def numbers(self, model, rows, contributions=False):
        """Return class, predictions and contributions of each row; texts of errors for some."""
        with tempfile.TemporaryDirectory() as folder:
            program = self.build(Path(folder), model, contributions)
            done = subprocess.run(
                program, cwd=folder, input=written(rows), capture_output=True, check=True,
                env=self.environment(),
            )  # fmt: skip
        return done.stdout.decode().splitlines()

    def environment(self):
        return dict(os.environ)

    def run(self, folder, *command):
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env=self.environment()
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def refusals(self, model, rows):
        """Return the message for each row, None if it is predicted."""
        lines = self.numbers(model, rows)
        return [line if line.startswith("error") else None for line in lines]

    def values(self, model, rows, contributions=False):
        lines = self.numbers(model, rows, contributions)
        wrong = [line for line in lines if line.startswith("error")]
        if wrong:
            raise RuntimeError(wrong[0])
        return np.array([[float(word) for word in line.split()] for line in lines])

    def predict(self, model, rows, outputs=slice(None)):
        table = self.values(model, rows)
        values = table[:, 1:]
        labels = None
        if model.task == "classes":
            labels = np.array(model.classes)[table[:, 0].astype(int)]
        elif model.task == "labels":
            labels = (values > 0.5).astype(int)
        return labels, values[:, outputs]

    def contributions(self, model, rows):
        table = self.values(model, rows, contributions=True)[:, 1 + model.n_outputs :]
        n = len(model.columns)
        values = table.reshape(len(table), -1, n)
        return values[:, 0] if values.shape[1] == 1 else values.transpose(0, 2, 1)


class Rust(Compiled):
    name, compiler = "rust", "rustc"

    def build(self, folder, model, contributions):
        (folder / "model.rs").write_text(to_rust(model, contributions=contributions))
        more = "numbers.extend(result.contributions.iter().flatten());" * contributions
        program = RUST.replace("CONTRIBUTIONS", more)
        is_class = model.task == "classes"
        program = program.replace("CLASS", "result.class as f64" if is_class else "0.0")
        (folder / "main.rs").write_text(program)
        self.run(
            folder, "rustc", "--edition", "2021", "-D", "warnings", "-A", "dead_code", "main.rs"
        )
        return ["./main"]


class Go(Compiled):
    name, compiler = "go", "go"

    def environment(self):
        return {
            **os.environ,
            "GOCACHE": os.path.join(tempfile.gettempdir(), "gocache"),
            "GOFLAGS": "-mod=mod",
        }

    def build(self, folder, model, contributions):
        (folder / "model").mkdir()
        (folder / "model" / "model.go").write_text(to_go(model, contributions=contributions))
        (folder / "go.mod").write_text("module example.com/model\n\ngo 1.18\n")
        more = "for _, row := range result.Contributions { numbers = append(numbers, row...) }"
        program = GO.replace("CONTRIBUTIONS", more * contributions)
        is_class = model.task == "classes"
        program = program.replace("CLASS", "float64(result.Class)" if is_class else "0")
        (folder / "main.go").write_text(program)
        self.run(folder, "go", "build", "-o", "main", ".")
        return ["./main"]


class Java(Compiled):
    name, compiler = "java", "javac"

    def build(self, folder, model, contributions):
        (folder / "Model.java").write_text(to_java(model, contributions=contributions))
        more = (
            "for (double[] each : result.contributions()) for (double value : each) "
            'out.append(" ").append(value);'
        )
        program = JAVA.replace("CONTRIBUTIONS", more * contributions)
        is_class = model.task == "classes"
        program = program.replace("CLASS", "result.position()" if is_class else "0")
        (folder / "Main.java").write_text(program)
        self.run(folder, "javac", "-Xlint:all", "-encoding", "utf-8", "Main.java", "Model.java")
        return ["java", "-XX:TieredStopAtLevel=1", "Main"]


def written(rows):
    """A frame as the programs read it."""

    def cell(value):
        if value is None or value is pd.NaT or value != value:
            return "m"
        if isinstance(value, pd.Timestamp):
            return "t" + value.isoformat(" ")
        if isinstance(value, (bool, np.bool_)):
            return "t" + str(value)
        return "t" + value if isinstance(value, str) else "n" + repr(float(value))

    table = rows.astype(object).to_numpy().tolist()
    return "\x1e".join("\x1f".join(map(cell, row)) for row in table).encode()


COMPILED = (Rust(), Go(), Java())
