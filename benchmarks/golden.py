"""θ after five small iterations of every preset and of each method, to the byte: what a change of structure keeps.

`python benchmarks/golden.py record FILE` before a change, `python benchmarks/golden.py check FILE` after it. Bits are
those of one machine and its versions, so FILE is not kept in the repository.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from bges.api import load_config
from bges.config.loading import preset_names
from bges.config.migration import reads
from bges.core.problem import Problem
from bges.training.local import run_alone

SMALL_ES = {"es.population": 12, "es.chunk": 5, "es.noise_table": 100_000}
SMALL_PG = {"pg.batch": 400, "pg.num_envs": 4, "pg.chunk": 3}
SMALL = {"iterations": 5, "env.horizon": 100, "evaluation.episodes": 2}
CONSTANT = {"novelty.schedule": "constant"}
WIDE = {"novelty.base_policies": 1000, "novelty.fit_to": "base"}
FINALS = {"iterations": 12, "novelty.settle_at": 0.25, "novelty.finalists": 2, "novelty.separation": 0.0}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "es": ("point", CONSTANT | {"algorithm": "es"}),
    "es-sgd-ranks-top": (
        "point",
        {"algorithm": "es", "es.optimizer": "sgd", "es.shaping": "ranks", "es.top": 3, "es.weight_decay": 0.1},
    ),
    "es-plain": ("point", {"algorithm": "es", "es.antithetic": False, "evaluation.every": 2}),
    "nsres": ("point", CONSTANT | {"algorithm": "nsres", "nsres.members": 3}),
    "nsres-one": ("point", CONSTANT | {"algorithm": "nsres", "nsres.members": 1}),
    **{
        name: ("point", CONSTANT | {"novelty.name": name})
        for name in ("hellinger", "jensen_shannon", "kl", "l2", "random")
    },
    "total_variation": ("point", CONSTANT | {"novelty.name": "total_variation"}),
    "sinkhorn": ("point", CONSTANT | {"novelty.solver": "sinkhorn", "novelty.updates": 100}),
    "adam": ("point", CONSTANT | {"novelty.solver": "adam", "novelty.updates": 100}),
    "wide": ("point", CONSTANT | WIDE),
    "adaptive": ("point", {"novelty.schedule": "adaptive", "novelty.patience": 1}),
    "linear": ("point", {"novelty.schedule": "linear"}),
    "candidates": ("point", CONSTANT | {"evaluation.candidates": True}),
    "finalists": ("point", FINALS),
    "peak": ("point", {"novelty.settle_from": "peak", "novelty.settle_rate": 0.3}),
    "trpo": ("bgpg-pendulum", {"algorithm": "trpo"}),
    "noisynet": ("bgpg-pendulum", {"algorithm": "noisynet_trpo"}),
    "particles": ("bgpg-pendulum", {"algorithm": "particles", "pg.updates": 5}),
    "pg": ("bgpg-pendulum", {"algorithm": "pg", "pg.updates": 5}),
    "bgpg-adam": ("bgpg-pendulum", {"pg.dual": "adam", "pg.updates": 5}),
    "bgpg-trajectories": ("bgpg-pendulum", {"pg.embedding": "trajectories", "pg.updates": 5, "env.horizon": 50}),
    "bgpg-discrete": ("bgpg-pendulum", {"env.id": "CartPole-v1", "pg.updates": 5}),
}
PER_PRESET = {
    "repulsion": {"repulsion.trajectories": 8, "repulsion.chunk": 3},
    "attraction": {"repulsion.trajectories": 8, "repulsion.chunk": 3},
    "bgpg-pendulum-paper": {**SMALL_PG, "pg.updates": 5},
}
EXPERT = ("swimmer", "swimmer-imitation", "swimmer-expert")


def overrides(preset: str) -> dict[str, Any]:
    if preset in PER_PRESET:
        return SMALL | PER_PRESET[preset]
    if preset in EXPERT:
        return {"iterations": 5, "es.population": 4, "es.chunk": 2, "es.noise_table": 100_000, "evaluation.episodes": 1}
    return SMALL | ({**SMALL_PG, "pg.updates": 5} if preset.startswith("bgpg") else SMALL_ES)


def digest(source: str, changes: dict[str, Any]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        run = run_alone(Problem.of(load_config(source, changes)), Path(folder) / "run")
        members = {"nsres": 3, "repulsion": 2, "attraction": 2}.get(source, 1)
        thetas = [run.policy("last").theta] if members == 1 else [run.policy("last", member=i).theta for i in (0, 1)]
        table = run.metrics()
        numbers = [table[name].to_pylist() for name in ("score", "novelty_mean", "wd", "beta", "env_steps")]
    total = hashlib.sha256(b"".join(theta.tobytes() for theta in thetas))
    total.update(json.dumps(numbers).encode())
    return total.hexdigest()[:16]


def main() -> None:
    command, path, *only = sys.argv[1:]
    cases = {f"preset {name}": (name, overrides(name)) for name in preset_names()}
    for name, (source, changes) in METHODS.items():
        every = overrides(source) | changes
        algorithm = every.get("algorithm") or load_config(source).algorithm
        cases[name] = (source, {key: value for key, value in every.items() if reads(algorithm, key)})
    found = {}
    before = json.loads(Path(path).read_text()) if command == "check" else {}
    wrong = 0
    for name, (source, changes) in cases.items():
        if only and not name.startswith(tuple(only)):
            continue
        found[name] = digest(source, changes)
        if command == "check" and before.get(name) != found[name]:
            wrong += 1
            print(f"{name}: {before.get(name)} became {found[name]}", flush=True)
    if command == "record":
        Path(path).write_text(json.dumps(found, indent=1) + "\n")
    print(f"{len(found) - wrong} the same, {wrong} changed" if command == "check" else f"{len(found)} recorded")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
