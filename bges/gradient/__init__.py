"""BGPG and its baselines: policy gradients whose steps are held back by a trust region. No Ray, no disk.

Whoever samples needs numpy only: `policy`, `sampler`, `samples`, `episodes`, `config`. Whoever learns needs JAX and
optax (the extra `bges[bgpg]`): `learner` with `PolicyGradient`, and what it is made of.
"""
