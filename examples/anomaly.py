"""Tell disturbed episodes of a policy from normal ones by a run's test functions.

python examples/anomaly.py record RUN FILE.parquet [--push 0.05] [--noise 0]    play both kinds
bges score RUN FILE.parquet --out SCORED.parquet                                score them
python examples/anomaly.py judge SCORED.parquet                                 the ROC curve's area
"""

import argparse
from pathlib import Path

import gymnasium
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import bges

EPISODES = 200


def record(run: Path, file: Path, push: float, noise: float) -> None:
    """Half of the episodes of the run's first policy are pushed along x and have noisy actions."""
    config, policy = bges.Run(run).config, bges.load_policy(run, "last", member=0)
    env = gymnasium.make(config.env.id, max_episode_steps=config.env.horizon, **config.env.kwargs)
    rng = np.random.default_rng(0)
    rows = []
    for episode in range(2 * EPISODES):
        disturbed = episode >= EPISODES
        observation, _ = env.reset(seed=episode)
        observations, actions, rewards, over = [observation], [], [], False
        while not over:
            action = policy(observation)
            if disturbed:
                shape = action.shape
                action = action + push * np.eye(shape[0])[0] + noise * rng.standard_normal(shape)
            observation, reward, terminated, truncated, _ = env.step(action.astype(np.float32))
            over = terminated or truncated
            observations.append(observation)
            actions.append(action)
            rewards.append(float(reward))
        rows.append({"observations": observations, "actions": actions, "rewards": rewards, "disturbed": disturbed})
    pq.write_table(pa.Table.from_pylist([{k: _plain(v) for k, v in row.items()} for row in rows]), file)


def _plain(value: object) -> object:
    return np.asarray(value, float).tolist() if isinstance(value, list) else value


def judge(file: Path) -> None:
    """The share of pairs, one normal and one disturbed, in which the normal one has the higher score."""
    table = pq.read_table(file).to_pydict()
    score, disturbed = np.array(table["score"]), np.array(table["disturbed"])
    normal, odd = score[~disturbed][:, None], score[disturbed]
    print(f"AUC {np.mean((normal > odd) + 0.5 * (normal == odd)):.3f}")
    for false_alarms in (0.01, 0.05, 0.1):
        threshold = np.quantile(normal, false_alarms)
        print(f"{false_alarms:4.0%} false alarms: {np.mean(odd < threshold):.0%} found")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("run", type=Path)
    recording.add_argument("file", type=Path)
    recording.add_argument("--push", type=float, default=0.05)
    recording.add_argument("--noise", type=float, default=0.0)
    judging = commands.add_parser("judge")
    judging.add_argument("file", type=Path)
    given = parser.parse_args()
    if given.command == "record":
        record(given.run, given.file, given.push, given.noise)
    else:
        judge(given.file)


if __name__ == "__main__":
    main()
