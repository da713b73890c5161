"""Two clouds of behaviours and their test functions, on a line and in the plane, for docs/behavior.md.

python benchmarks/wasserstein_pictures.py
"""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from bges.behavior import TestFunctions

IMAGES = Path(__file__).parent.parent / "docs" / "img"
MU, NU, INK = "#1b7f79", "#c8553d", "#333333"
SOLVERS = {
    "sgd": "sgd: Algorithm 1,\n100 single-pair steps",
    "adam": "adam: all pairs,\n300 steps",
    "sinkhorn": "sinkhorn:\nexact",
}
STYLE = {
    "font.size": 11,
    "axes.edgecolor": "#999999",
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def fitted(solver: str, x: Any, y: Any) -> TestFunctions:
    functions = TestFunctions(x.shape[1], solver=solver, standardize=False)
    functions.fit(x, y)
    return functions


def picture_line() -> None:
    """λ_μ and λ_ν of two clouds on the line, one column a solver."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(-1.0, 0.6, size=(200, 1)), rng.normal(1.0, 0.9, size=(200, 1))
    grid = np.linspace(-3.2, 4.0, 400)[:, None]
    bins = np.linspace(-3.2, 4.0, 37)
    figure, axes = plt.subplots(
        2, 3, figsize=(11, 5), sharex=True, height_ratios=[3, 1], gridspec_kw={"hspace": 0.08, "wspace": 0.2}
    )
    for column, (solver, title) in enumerate(SOLVERS.items()):
        functions = fitted(solver, x, y)
        top, bottom = axes[0, column], axes[1, column]
        top.plot(grid, functions.score_mu(grid), color=MU, lw=2.2, label=r"$\lambda_\mu$")
        top.plot(grid, functions.score_nu(grid), color=NU, lw=2.2, label=r"$\lambda_\nu$")
        top.axhline(0.0, color="#cccccc", lw=0.8, zorder=0)
        top.set_title(title, fontsize=11)
        bottom.hist(x[:, 0], bins, color=MU, alpha=0.65, label=r"$\mu$")
        bottom.hist(y[:, 0], bins, color=NU, alpha=0.65, label=r"$\nu$")
        bottom.set_yticks([])
        bottom.spines["left"].set_visible(False)
        bottom.set_xlabel("behaviour")
        top.tick_params(bottom=False)
        top.spines["bottom"].set_visible(False)
    axes[0, 0].set_ylabel("score")
    axes[0, 0].legend(frameon=False, loc="upper right")
    axes[1, 0].legend(frameon=False, loc="upper right", ncols=2, fontsize=9, borderaxespad=0.0)
    save(figure, "behavior-line.png")


def picture_plane() -> None:
    """λ_μ and λ_ν of a ring and a blob in the plane, one column a solver, one row a function."""
    rng = np.random.default_rng(1)
    angle = rng.uniform(0.25 * np.pi, 1.75 * np.pi, 200)
    x = 1.6 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.18 * rng.normal(size=(200, 2))
    y = np.array([1.6, 0.0]) + 0.45 * rng.normal(size=(200, 2))
    side = np.linspace(-3.0, 3.4, 120)
    grid = np.stack(np.meshgrid(side, side, indexing="xy"), axis=-1).reshape(-1, 2)
    figure, axes = plt.subplots(
        2, 3, figsize=(11, 6.3), sharex=True, sharey=True, gridspec_kw={"hspace": 0.06, "wspace": 0.2}
    )
    for column, (solver, title) in enumerate(SOLVERS.items()):
        functions = fitted(solver, x, y)
        for row, (name, score) in enumerate(
            ((r"$\lambda_\mu$", functions.score_mu), (r"$\lambda_\nu$", functions.score_nu))
        ):
            axis = axes[row, column]
            values = score(grid).reshape(len(side), len(side))
            image = axis.contourf(side, side, values, levels=14, cmap="PuOr_r", alpha=0.8)
            axis.contour(side, side, values, levels=14, colors="white", linewidths=0.5, linestyles="solid")
            axis.scatter(*x.T, s=13, color=MU, edgecolor="white", lw=0.4, label=r"$\mu$")
            axis.scatter(*y.T, s=13, color=NU, edgecolor="white", lw=0.4, label=r"$\nu$")
            axis.set_aspect("equal")
            axis.set_xticks([])
            axis.set_yticks([])
            for spine in axis.spines.values():
                spine.set_visible(False)
            bar = figure.colorbar(image, ax=axis, fraction=0.045, pad=0.03)
            bar.outline.set_visible(False)
            bar.ax.tick_params(labelsize=8, length=0)
            bar.ax.locator_params(nbins=5)
            bar.ax.yaxis.set_major_formatter("{x:.2g}")
            if column == 0:
                axis.set_ylabel(name, fontsize=16, rotation=0, labelpad=16, va="center")
        axes[0, column].set_title(title, fontsize=11)
    axes[0, 0].legend(frameon=True, framealpha=0.85, edgecolor="none", loc="upper right", markerscale=1.8)
    save(figure, "behavior-plane.png")


def save(figure: Any, name: str) -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / name, dpi=130, bbox_inches="tight", facecolor="white")
    plt.close(figure)
    print(f"written to {IMAGES / name}")


if __name__ == "__main__":
    with plt.rc_context(STYLE):
        picture_line()
        picture_plane()
