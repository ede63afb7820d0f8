"""The layers of the package: `python -m docs.pictures.architecture`."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

BOXES = {
    # name: (x, y, width, text, colour)
    "graph by hand": (0.2, 4.2, 2.4, "your own\nPyMC model", "#f2f2f2"),
    "models": (3.2, 4.2, 2.4, "models, distributions\ngbt, gbtn, StateVector …", "#dbe9f6"),
    "command": (6.2, 4.2, 2.4, "command_line\npymc-bid fit data.csv", "#dbe9f6"),
    "graph": (0.2, 2.8, 2.4, "graph\nwhich variable is what?", "#fde3c8"),
    "steps": (3.2, 2.8, 2.4, "steps\nFlip, Swap, Noise, Weight", "#fde3c8"),
    "kernels": (3.2, 1.4, 2.4, "kernels\npure, compiled, no PyMC", "#e3f1dd"),
    "sample": (6.2, 2.8, 2.4, "pm.sample()\nPyMC runs the chains", "#f2f2f2"),
    "results": (6.2, 1.4, 2.4, "results\ndecompose, diagnostics", "#dbe9f6"),
    "plots": (6.2, 0.0, 2.4, "plots, report.html", "#dbe9f6"),
    "regression": (0.2, 1.4, 2.4, "regression\nBᵀB, BᵀA: rows only once", "#e3f1dd"),
}
ARROWS = [
    ("graph by hand", "graph"),
    ("models", "graph"),
    ("graph", "steps"),
    ("steps", "kernels"),
    ("regression", "kernels"),
    ("graph", "regression"),
    ("steps", "sample"),
    ("sample", "results"),
    ("results", "plots"),
    ("command", "sample"),
    ("command", "models"),
]
HEIGHT = 0.9


def main() -> None:
    figure, ax = plt.subplots(figsize=(9, 5.4), layout="constrained")
    for x, y, width, text, color in BOXES.values():
        ax.add_patch(plt.Rectangle((x, y), width, HEIGHT, facecolor=color, edgecolor="0.4"))
        title, *rest = text.split("\n")
        ax.text(
            x + width / 2, y + 0.6 if rest else y + 0.45, title, ha="center", va="center",
            weight="bold", fontsize=10,
        )  # fmt: skip
        ax.text(x + width / 2, y + 0.27, "\n".join(rest), ha="center", va="center", fontsize=8.5)
    for start, end in ARROWS:
        (x0, y0), (x1, y1) = _ends(BOXES[start], BOXES[end])
        ax.annotate("", (x1, y1), (x0, y0), arrowprops={"arrowstyle": "-|>", "color": "0.3"})
    ax.set(xlim=(0, 8.8), ylim=(-0.1, 5.3))
    ax.axis("off")
    figure.savefig(Path(__file__).with_name("architecture.png"), dpi=100)


def _ends(start, end):
    """Middle of the sides that face each other."""
    (x0, y0, w0, *_), (x1, y1, w1, *_) = start, end
    if y0 == y1:
        right = x1 > x0
        return (
            (x0 + w0 if right else x0, y0 + HEIGHT / 2),
            (x1 if right else x1 + w1, y1 + HEIGHT / 2),
        )
    return (x0 + w0 / 2, y0), (x1 + w1 / 2, y1 + HEIGHT)


if __name__ == "__main__":
    main()
