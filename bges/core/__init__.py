"""What every algorithm shares: typed work, the two roles that deal with it, and a run's problem.

A `Learner` asks for units of work and learns from what came of them; a `Player` plays them. `work` has the units, what
goes with them and what comes back; `problem` is a configuration with its names resolved; `snapshot` a policy worth
keeping; `state` the arrays of a checkpoint. No Ray, no JAX, no disk.
"""
