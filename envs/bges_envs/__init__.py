"""Gymnasium environments of the behaviour-guided experiments, registered on import.

`AntTrap-v0`, `DeceptivePoint-v0`, `DeceptiveQuadruped-v0`, `Maze-v0` and `MultiGoal-v0`, each as a single environment
and, by `gymnasium.make_vec(..., vectorization_mode="vector_entry_point")`, as a native vector environment.
"""

import gymnasium

for _name, _module in (
    ("AntTrap", "ant_trap"),
    ("DeceptivePoint", "point"),
    ("DeceptiveQuadruped", "quadruped"),
    ("Maze", "maze"),
    ("MultiGoal", "multi_goal"),
):
    gymnasium.register(
        id=f"{_name}-v0",
        entry_point=f"bges_envs.{_module}:{_name}Env",
        vector_entry_point=f"bges_envs.{_module}:{_name}VectorEnv",
    )
