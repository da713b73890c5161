"""The test functions that a configuration describes."""

from bges.behavior import Cost, TestFunctions, make_cost, make_solver
from bges.config.run import RunConfig
from bges.plugins import is_plugin
from bges.randomness import Stream, generator


def make_test_functions(config: RunConfig, dim: int, *keys: int) -> TestFunctions:
    """Those of the section `novelty`; `keys` tell several of a run apart."""
    novelty = config.novelty
    return TestFunctions(
        dim=dim,
        features=novelty.features,
        width=novelty.width,
        gamma=novelty.gamma,
        cost=novelty.cost,
        solver=make_solver(novelty.solver, **novelty.solver_kwargs),
        standardize=config.embedding.standardize,
        seed=int(generator(config.seed, Stream.TEST_FUNCTIONS, *keys).integers(2**63)),
    )


def own_cost(name: str) -> Cost | None:
    """A user's cost is code and not stored: it is loaded again from its name."""
    return make_cost(name) if is_plugin(name) else None
