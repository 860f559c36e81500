"""Draw the picture of `which_estimator.md`: ``python docs/choice.py`` writes docs/choice.svg."""

from pathlib import Path
from xml.sax.saxutils import escape

#: (question, answer, what to use, a line about it), from top to bottom
STEPS = [
    (
        "Do rows arrive one at a time?",
        "yes",
        "bneuralt.river, partial_fit",
        "learns on; also as C on a device",
    ),
    (
        "Will people read it, or is it\nfor a device or a database?",
        "no",
        "BNeuralForest…",
        "ten trees: the best predictions",
    ),
    (
        "Is every weight worth\nseconds of searching?",
        "yes",
        "EvolvedTree…",
        "searches the structure: 10 to 40 weights",
    ),
    (
        "Must it fit on one page?",
        "yes",
        "BNeuralT…, n_weights='readable'",
        "few weights, rounded numbers",
    ),
]
LAST = ("BNeuralT…", "one tree: a few hundred weights")

LEFT, RIGHT, WIDTH, HEIGHT, GAP = 20, 410, 290, 66, 34
STYLE = """
text { font: 15px system-ui, sans-serif; fill: #1f2430; }
.small { font-size: 13px; fill: #5b6472; }
.name { font: 600 15px ui-monospace, monospace; fill: #14508c; }
.question { fill: #f3f5f8; stroke: #8a94a3; }
.use { fill: #e4effa; stroke: #2f78c4; }
line { stroke: #8a94a3; stroke-width: 1.5; }
.head { fill: #8a94a3; }
@media (prefers-color-scheme: dark) {
  text { fill: #e3e7ee; }
  .small { fill: #a3adbb; }
  .name { fill: #9ccbf7; }
  .question { fill: #20252e; }
  .use { fill: #16304a; }
}
"""


def lines(x, y, texts, kinds):
    """Return lines of text around the middle (x, y)."""
    top = y - 10 * (len(texts) - 1)
    return [
        f'<text x="{x}" y="{top + 20 * i}" class="{kind}" text-anchor="middle" '
        f'dominant-baseline="central">{escape(text)}</text>'
        for i, (text, kind) in enumerate(zip(texts, kinds, strict=True))
    ]


def box(x, y, kind, texts, kinds):
    shape = f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="8" class="{kind}"/>'
    return [shape, *lines(x + WIDTH / 2, y + HEIGHT / 2, texts, kinds)]


def arrow(x0, y0, x1, y1, label):
    head = f"{x1},{y1} " + (
        f"{x1 - 8},{y1 - 5} {x1 - 8},{y1 + 5}"
        if y0 == y1
        else f"{x1 - 5},{y1 - 8} {x1 + 5},{y1 - 8}"
    )
    middle = ((x0 + x1) / 2, y0 - 10) if y0 == y1 else (x0 + 18, (y0 + y1) / 2)
    return [
        f'<line x1="{x0}" y1="{y0}" x2="{x1}" y2="{y1}"/>',
        f'<polygon points="{head}" class="head"/>',
        *lines(*middle, [label], ["small"]),
    ]


def picture():
    parts = []
    for i, (question, answer, name, about) in enumerate(STEPS):
        y = 12 + i * (HEIGHT + GAP)
        questions = question.split("\n")
        parts += box(LEFT, y, "question", questions, [""] * len(questions))
        parts += box(RIGHT, y, "use", [name, about], ["name", "small"])
        parts += arrow(LEFT + WIDTH, y + HEIGHT / 2, RIGHT, y + HEIGHT / 2, answer)
        middle = LEFT + WIDTH / 2
        otherwise = "no" if answer == "yes" else "yes"
        parts += arrow(middle, y + HEIGHT, middle, y + HEIGHT + GAP, otherwise)
    parts += box(LEFT, 12 + len(STEPS) * (HEIGHT + GAP), "use", LAST, ["name", "small"])
    width, height = RIGHT + WIDTH + 20, 24 + (len(STEPS) + 1) * HEIGHT + len(STEPS) * GAP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="Which estimator to use">'
    )
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>", ""])


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(picture(), encoding="utf-8")
