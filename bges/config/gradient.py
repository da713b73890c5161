"""Sections of policy gradients: `pg`, whose keys depend on the algorithm, and `repulsion`."""

from typing import Annotated, ClassVar, Literal, Self, get_args

from pydantic import Field, model_validator

from bges.config.sections import Count, NotNegative, Positive, Section, Share

Method = Literal["bgpg", "trpo", "noisynet_trpo", "particles", "pg"]
METHODS: tuple[Method, ...] = get_args(Method)


class GradientConfig(Section):
    """What all policy gradients have: how steps are sampled, and how the value function is fitted."""

    batch: Count = Field(2048, description="environment steps sampled in each iteration")
    num_envs: Count = Field(8, description="environments that sample side by side, one episode after the other")
    chunk: Count = Field(4, description="environments that a worker plays at once")
    initial_std: Positive = Field(1.0, description="first standard deviation of actions, in halves of their range")

    discount: Annotated[float, Field(ge=0, lt=1)] = Field(0.99, description="how much a reward counts a step later")
    gae_lambda: Share = Field(0.95, description="advantages: 0 trusts the value function, 1 the sampled rewards")
    value_hidden: tuple[Count, ...] = Field((64, 64), description="hidden layers of the value function")
    value_rate: Positive = Field(1e-3, description="step of Adam for the value function")
    value_epochs: Count = Field(10, description="passes over a batch when the value function is fitted")
    value_minibatch: Count = Field(128, description="states in each of its steps")

    @model_validator(mode="after")
    def _whole_steps(self) -> Self:
        if self.batch % self.num_envs:
            raise ValueError(f"batch is {self.batch}, expected a multiple of num_envs, {self.num_envs}")
        return self

    @property
    def steps(self) -> int:
        """Steps of each environment in an iteration."""
        return self.batch // self.num_envs

    @property
    def compares_episodes(self) -> bool:
        """Whether behaviour is that of whole episodes, so that every environment has to finish one."""
        return False


class AscentConfig(GradientConfig):
    """What methods have that climb by the gradients of minibatches."""

    updates: Count = Field(100, description="steps of the policy in each iteration")
    minibatch: Count = Field(128, description="states in each of these steps")
    optimizer: Literal["adam", "sgd"] = Field("adam", description="what makes a step of a gradient")
    learning_rate: Positive = Field(
        1e-3, description="size of an iteration's first step of the policy; goes down to 0 within the iteration"
    )


class SearchConfig(GradientConfig):
    """What methods have that end an update by a line search."""

    line_search: Count = Field(10, description="step sizes tried")
    shrink: Annotated[float, Field(gt=0, lt=1)] = Field(0.8, description="ratio of two step sizes")


class PlainConfig(AscentConfig):
    """No trust region."""

    method: Literal["pg"] = Field("pg", exclude=True, description="set by `algorithm`")


class BgpgConfig(AscentConfig, SearchConfig):
    """A trust region by the Wasserstein distance of behaviours."""

    method: Literal["bgpg"] = Field("bgpg", exclude=True, description="set by `algorithm`")
    beta: Positive = Field(1.0, description="weight of the penalty, or where its adaptation starts")
    target: Positive | None = Field(
        0.02,
        description="distance, summed over action dimensions, that beta is adapted to (a KL divergence of 0.01 is "
        "about 0.02); null keeps beta fixed and changes no update",
    )
    beta_rate: NotNegative = Field(0.5, description="how fast log beta follows the distance, per iteration")
    embedding: Literal["actions", "state_actions", "trajectories"] = Field(
        "actions",
        description="behaviour is what is done in the states seen (off-policy), that with the state itself, or the "
        "run's embedding of whole episodes (on-policy)",
    )
    actions: Count = Field(10, description="actions drawn in each state")
    points: Literal["cloud", "concatenated"] = Field(
        "cloud", description="the actions of a state are a cloud of points, or one long vector"
    )
    standardize: bool = Field(True, description="see actions from the old policy, in units of its spread")
    common_noise: bool = Field(True, description="old and new policy draw their actions by the same noise")
    pairs: Literal["per_state", "product"] = Field(
        "per_state", description="a distance for each state, or one of pairs across states"
    )
    debias: bool = Field(True, description="take off the distances of the two behaviours from themselves")
    gamma: Positive = Field(1.0, description="smoothing of the Wasserstein distance")
    dual: Literal["sinkhorn", "adam", "sgd"] = Field(
        "sinkhorn",
        description="test functions that are exact in each state, random features by Adam on the log-sum-exp dual, or "
        "by Algorithm 1",
    )
    dual_rate: Positive = Field(0.003, description="step of the test functions (adam, sgd)")
    features: Count = Field(100, description="random features of the test functions")
    width: Positive | Literal["median"] = Field("median", description="kernel width, or its median heuristic")
    sinkhorn_steps: Count = Field(20, description="iterations for each distance (sinkhorn)")

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.points == "concatenated" and self.pairs == "per_state":
            raise ValueError("pairs is 'per_state', expected product where actions are concatenated")
        if self.dual == "sinkhorn" and self.pairs != "per_state":
            raise ValueError(f"pairs is {self.pairs!r}, expected per_state with dual sinkhorn")
        return self

    @property
    def compares_episodes(self) -> bool:
        return self.embedding == "trajectories"


class TrpoConfig(SearchConfig):
    """A trust region by the KL divergence."""

    method: Literal["trpo"] = Field("trpo", exclude=True, description="set by `algorithm`")
    max_kl: Positive = Field(0.01, description="largest mean KL divergence of an update")
    cg_steps: Count = Field(15, description="conjugate gradient steps")
    cg_damping: NotNegative = Field(0.1, description="added to the diagonal of the Fisher matrix")


class NoisyNetConfig(TrpoConfig):
    """TRPO with noisy layers."""

    method: Literal["noisynet_trpo"] = Field("noisynet_trpo", exclude=True, description="set by `algorithm`")  # type: ignore[assignment]
    noise_scale: NotNegative = Field(0.5, description="first spread of weights, divided by root inputs")


class ParticlesConfig(AscentConfig, SearchConfig):
    """A Wasserstein trust region by particles."""

    method: Literal["particles"] = Field("particles", exclude=True, description="set by `algorithm`")
    beta: Positive = Field(1.0, description="weight of the penalty")
    gamma: Positive = Field(1.0, description="smoothing of the Wasserstein distance")
    sinkhorn_steps: Count = Field(20, description="iterations for each distance")
    particles: Count = Field(16, description="actions that stand for the policy in a state")
    radius: Positive = Field(0.02, description="largest distance of an update, summed over action dimensions")

    # What `BgpgConfig` lets a user choose about the distance.
    embedding: ClassVar[Literal["actions"]] = "actions"
    points: ClassVar[Literal["cloud"]] = "cloud"
    pairs: ClassVar[Literal["per_state"]] = "per_state"
    dual: ClassVar[Literal["sinkhorn"]] = "sinkhorn"
    standardize: ClassVar[bool] = True
    common_noise: ClassVar[bool] = True
    debias: ClassVar[bool] = True

    @property
    def actions(self) -> int:
        return self.particles


# Sections that describe a Wasserstein distance of two policies' actions.
DistanceConfig = BgpgConfig | ParticlesConfig
AnyGradientConfig = Annotated[
    PlainConfig | BgpgConfig | TrpoConfig | NoisyNetConfig | ParticlesConfig,
    Field(discriminator="method", description="policy gradients, each method with its own keys"),
]
GRADIENT_SECTIONS: dict[str, type[GradientConfig]] = {
    "bgpg": BgpgConfig,
    "trpo": TrpoConfig,
    "noisynet_trpo": NoisyNetConfig,
    "particles": ParticlesConfig,
    "pg": PlainConfig,
}


class RepulsionConfig(Section):
    policies: Annotated[int, Field(ge=2)] = Field(2, description="policies that learn side by side")
    beta: Annotated[float, Field(allow_inf_nan=False)] = Field(
        10.0, description="weight of the distance beside the reward: above 0 repels, below 0 attracts, 0 neither"
    )
    trajectories: Annotated[int, Field(ge=2)] = Field(100, description="episodes of each policy in an iteration")
    chunk: Count = Field(50, description="episodes that a worker plays at once")
    noise: Positive = Field(0.1, description="standard deviation of actions, in halves of their range; stays")
    learning_rate: Positive = Field(0.01, description="step of Adam")
    settle_at: Annotated[float, Field(ge=0, le=1)] = Field(
        1.0, description="share of the run after which beta and the learning rate go down to 0 in a straight line"
    )
