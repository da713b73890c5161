"""The configuration of policy gradients: the section `pg` of a run's tree."""

from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from bges.runs.sections import Count, NotNegative, Positive, Section, Share

Method = Literal["bgpg", "trpo", "noisynet_trpo", "particles", "pg"]
METHODS: tuple[Method, ...] = get_args(Method)


class GradientConfig(Section):
    batch: Count = Field(2048, description="environment steps sampled in each iteration")
    slots: Count = Field(8, description="independent chains of episodes that make a batch")
    chunk: Count = Field(4, description="slots that a worker plays at once")
    initial_std: Positive = Field(1.0, description="first standard deviation of actions, in halves of their range")

    discount: Annotated[float, Field(ge=0, lt=1)] = Field(0.99, description="how much a reward counts a step later")
    gae_lambda: Share = Field(0.95, description="advantages: 0 trusts the value function, 1 the sampled rewards")
    value_hidden: tuple[Count, ...] = Field((64, 64), description="hidden layers of the value function")
    value_rate: Positive = Field(1e-3, description="step of Adam for the value function")
    value_epochs: Count = Field(10, description="passes over a batch when the value function is fitted")
    value_minibatch: Count = Field(128, description="states in each of its steps")

    updates: Count = Field(100, description="pg, bgpg, particles: steps of the policy in each iteration")
    minibatch: Count = Field(128, description="pg, bgpg, particles: states in each of these steps")
    optimizer: Literal["adam", "sgd"] = Field(
        "adam", description="pg, bgpg, particles: what makes a step of a gradient"
    )
    learning_rate: Positive = Field(
        1e-3, description="pg, bgpg, particles: size of an iteration's first step of the policy; goes down to 0 in it"
    )

    beta: Positive = Field(1.0, description="bgpg, particles: weight of the penalty, or where its adaptation starts")
    target: Positive | None = Field(
        0.02,
        description="bgpg: distance, summed over action dimensions, that beta is adapted to (a KL divergence of 0.01 "
        "is about 0.02); null keeps beta fixed and changes no update",
    )
    beta_rate: NotNegative = Field(0.5, description="bgpg: how fast log beta follows the distance, per iteration")
    embedding: Literal["actions", "state_actions", "trajectories"] = Field(
        "actions",
        description="bgpg: behaviour is what is done in the states seen (off-policy), that with the state itself, "
        "or the run's embedding of whole episodes (on-policy)",
    )
    actions: Count = Field(10, description="bgpg: actions drawn in each state")
    points: Literal["cloud", "concatenated"] = Field(
        "cloud", description="bgpg: the actions of a state are a cloud of points, or one long vector"
    )
    standardize: bool = Field(True, description="bgpg: see actions from the old policy, in units of its spread")
    common_noise: bool = Field(True, description="bgpg: old and new policy draw their actions by the same noise")
    pairs: Literal["per_state", "pooled", "product"] = Field(
        "per_state",
        description="bgpg: a distance for each state, one of all pairs within states, or one of pairs across states",
    )
    debias: bool = Field(True, description="bgpg: take off the distances of the two behaviours from themselves")
    gamma: Positive = Field(1.0, description="bgpg, particles: smoothing of the Wasserstein distance")
    dual: Literal["sinkhorn", "adam", "sgd"] = Field(
        "sinkhorn",
        description="bgpg: test functions that are exact in each state, random features by Adam on the log-sum-exp "
        "dual, or by Algorithm 1",
    )
    dual_rate: Positive = Field(0.003, description="bgpg: step of the test functions (adam, sgd)")
    features: Count = Field(100, description="bgpg: random features of the test functions")
    width: Positive | Literal["median"] = Field("median", description="bgpg: kernel width, or its median heuristic")
    sinkhorn_steps: Count = Field(20, description="bgpg with sinkhorn, particles: iterations for each distance")

    max_kl: Positive = Field(0.01, description="trpo: largest mean KL divergence of an update")
    cg_steps: Count = Field(15, description="trpo: conjugate gradient steps")
    cg_damping: NotNegative = Field(0.1, description="trpo: added to the diagonal of the Fisher matrix")
    line_search: Count = Field(10, description="trpo, bgpg, particles: step sizes tried")
    shrink: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.8, description="trpo, bgpg, particles: ratio of two step sizes"
    )
    noise_scale: NotNegative = Field(0.5, description="noisynet_trpo: first spread of weights, divided by root inputs")
    particles: Count = Field(16, description="particles: actions that stand for the policy in a state")
    radius: Positive = Field(
        0.02, description="particles: largest distance of an update, summed over action dimensions"
    )

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.batch % self.slots:
            raise ValueError(f"batch is {self.batch}, expected a multiple of slots, {self.slots}")
        if self.points == "concatenated" and self.pairs == "per_state":
            raise ValueError("pairs is 'per_state', expected pooled or product where actions are concatenated")
        if self.dual == "sinkhorn" and self.pairs != "per_state":
            raise ValueError(f"pairs is {self.pairs!r}, expected per_state with dual sinkhorn")
        return self

    @property
    def steps(self) -> int:
        """Environment steps of a slot."""
        return self.batch // self.slots


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
