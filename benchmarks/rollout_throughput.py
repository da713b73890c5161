"""Control steps per second on one core: the raw physics, our rollouts, and a plain Gymnasium loop.

    python benchmarks/rollout_throughput.py [--quick]

All three act with the same 16-16 network; the raw loop replays the actions that our rollouts took from the states
they started in, so that it solves the same contacts. The plain loop on Ant does not end episodes early either, and is
given the same integrator as the case it stands beside. CPU seconds, the best of interleaved repeats: on a shared
machine the others are disturbed. `possible` is what a perfect rollout would gain over the plain loop: raw / gymnasium.
Ours can exceed it: it steps without MuJoCo's profiler and search for islands, which changes no bit of the physics.
"""

import argparse
import csv
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_threads] = "1"

import gymnasium
import mujoco
import numpy as np
from gymnasium.envs.mujoco.mujoco_env import MujocoEnv

import bges_envs  # noqa: F401
from bges.environments import make_vector_env, member_seeds
from bges.policies import MLP, FixedPolicy
from bges.rollouts import play
from bges_envs.point import DeceptivePoint
from bges_envs.quadruped import ANT, DeceptiveQuadruped

Timed = Callable[[], int]


def timed(run: Timed) -> float:
    """Steps per CPU second of one call."""
    start = time.process_time()
    steps = run()
    return steps / (time.process_time() - start)


def ours(env_id: str, members: int, **kwargs: Any) -> tuple[Timed, Any, FixedPolicy]:
    env = make_vector_env(env_id, members, kwargs=kwargs)
    policy = MLP(env.single_observation_space, env.single_action_space)
    theta = policy.initial(np.random.default_rng(0))
    thetas = theta + 0.1 * np.random.default_rng(1).standard_normal((members, len(theta))).astype(np.float32)
    seeds = member_seeds(0, members)

    def run(keep: tuple[str, ...] = ()) -> Any:
        return play(env, policy.batch(thetas), seeds=seeds, keep=keep, action_noise=0.3)

    return lambda: int(run().lengths.sum()), lambda: run(("observations", "actions")), FixedPolicy(policy, theta)


def raw(model: mujoco.MjModel, frame_skip: int, trajectories: Any) -> Timed:
    """`mj_step` alone on the recorded actions, one member after the other."""
    data = mujoco.MjData(model)
    size = model.nq + model.nv
    full = trajectories.observations.shape[2] >= size
    actions = trajectories.actions

    def run() -> int:
        for member in range(len(actions)):
            mujoco.mj_resetData(model, data)
            if full:
                start = trajectories.observations[member, 0]
                data.qpos[:], data.qvel[:] = start[: model.nq], start[model.nq : size]
            for action in actions[member, : trajectories.lengths[member]]:
                data.ctrl[:] = action
                mujoco.mj_step(model, data, frame_skip)
        return int(trajectories.lengths.sum())

    return run


def gymnasium_loop(make: Callable[[], gymnasium.Env[Any, Any]], steps: int) -> Timed:
    env = make()
    policy = MLP(env.observation_space, env.action_space)
    layers = [(w[0], b[0]) for w, b in policy.layers(policy.initial(np.random.default_rng(0))[None]) if b is not None]

    def act(observation: Any) -> Any:
        x = observation.astype(np.float32)
        for weights, bias in layers[:-1]:
            x = np.tanh(x @ weights + bias)
        return np.clip(x @ layers[-1][0] + layers[-1][1], -1, 1)

    def run() -> int:
        rng = np.random.default_rng(0)
        observation, _ = env.reset(seed=0)
        for _ in range(steps):
            noise = 0.3 * rng.standard_normal(env.action_space.shape[0]).astype(np.float32)
            observation, _, terminated, truncated, _ = env.step(np.clip(act(observation) + noise, -1, 1))
            if terminated or truncated:
                observation, _ = env.reset()
        return steps

    return run


class PlainPoint(MujocoEnv):
    """The deceptive point, written the way Gymnasium writes its own environments."""

    metadata = {"render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"]}  # noqa: RUF012

    def __init__(self, xml: str) -> None:
        space = gymnasium.spaces.Box(-np.inf, np.inf, (6,), np.float64)
        super().__init__(xml, 2, space)
        self.metadata = {**self.metadata, "render_fps": round(1 / self.dt)}

    def step(self, action: Any) -> Any:
        self.do_simulation(action, self.frame_skip)
        reward = -float(np.hypot(self.data.qpos[0] - 25, self.data.qpos[1]))
        return self._observation(), reward, False, False, {}

    def _observation(self) -> Any:
        return np.concatenate([self.data.qpos, self.data.qvel])

    def reset_model(self) -> Any:
        self.set_state(self.init_qpos, self.init_qvel)
        return self._observation()


def plain_point(xml: str) -> gymnasium.Env[Any, Any]:
    gymnasium.register("PlainPoint-v0", entry_point=lambda: PlainPoint(xml), max_episode_steps=50)
    return gymnasium.make("PlainPoint-v0")


def cases(folder: Path, quick: bool) -> dict[str, dict[str, Timed]]:
    members, loop = (16, 500) if quick else (64, 3000)
    result: dict[str, dict[str, Timed]] = {}

    xml = folder / "point.xml"
    task = DeceptivePoint()
    spec = task.build()
    spec.compile()
    xml.write_text(spec.to_xml())
    run, record, _ = ours("bges_envs:DeceptivePoint-v0", 100)
    result["point, euler"] = {
        "raw": raw(task.model, task.frame_skip, record()),
        "ours": run,
        "gymnasium": gymnasium_loop(lambda: plain_point(str(xml)), 2 * loop),
    }

    for integrator, name in (("euler", "Euler"), ("rk4", "RK4")):
        ant = folder / f"ant_{integrator}.xml"
        ant.write_text(ANT.read_text().replace('integrator="RK4"', f'integrator="{name}"'))
        run, record, _ = ours("bges_envs:DeceptiveQuadruped-v0", members, integrator=integrator, fall_rule=False)
        bare = DeceptiveQuadruped(integrator=integrator, observe_contacts=False)
        result[f"quadruped, {integrator}"] = {
            "raw": raw(bare.model, bare.frame_skip, record()),
            "ours": run,
            "gymnasium": gymnasium_loop(
                lambda ant=ant: gymnasium.make("Ant-v5", xml_file=str(ant), terminate_when_unhealthy=False), loop
            ),  # type: ignore[misc]
        }

    for env_id in ("HalfCheetah-v5", "Swimmer-v5"):
        run, record, _ = ours(env_id, 8 if quick else 50)
        single: Any = gymnasium.make(env_id).unwrapped
        result[env_id] = {
            "raw": raw(single.model, single.frame_skip, record()),
            "ours": run,
            "gymnasium": gymnasium_loop(lambda env_id=env_id: gymnasium.make(env_id), loop),  # type: ignore[misc]
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short repeat")
    parser.add_argument("--out", type=Path, help="also write the table to this CSV file")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for name, runs in cases(Path(folder), options.quick).items():
            rates: dict[str, list[float]] = {kind: [] for kind in runs}
            for _ in range(1 if options.quick else 7):
                for kind, run in runs.items():
                    rates[kind].append(timed(run))
            best = {kind: max(values) for kind, values in rates.items()}
            rows.append({"case": name, **{kind: round(rate) for kind, rate in best.items()}})
            rows[-1]["ours/raw"] = round(best["ours"] / best["raw"], 2)
            rows[-1]["ours/gymnasium"] = round(best["ours"] / best["gymnasium"], 1)
            rows[-1]["possible"] = round(best["raw"] / best["gymnasium"], 1)
            print("  ".join(f"{key}: {value}" for key, value in rows[-1].items()), flush=True)
    if options.out:
        note = f"python {platform.python_version()}, mujoco {mujoco.__version__}, gymnasium {gymnasium.__version__}, "
        note += f"numpy {np.__version__}, {platform.machine()}, one core, command: python {' '.join(sys.argv)}"
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*rows[0], "made_by"])
            writer.writeheader()
            writer.writerows({**row, "made_by": note} for row in rows)


if __name__ == "__main__":
    main()
