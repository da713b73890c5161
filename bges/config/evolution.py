"""Sections of evolution strategies."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from bges.config.sections import Count, NotNegative, Positive, Section, Share


class NoveltyConfig(Section):
    name: Literal["wasserstein", "hellinger", "jensen_shannon", "kl", "total_variation", "l2", "random"] = Field(
        "wasserstein", description="how far a perturbed policy's behaviour is from the base policies'"
    )
    beta: Annotated[float, Field(gt=-1, lt=1)] = Field(
        0.5, description="weight of the novelty: above 0 repels from the base policies, below 0 attracts"
    )
    schedule: Literal["constant", "linear", "adaptive", "explore_then_settle"] = Field(
        "constant", description="how beta changes during the run"
    )
    settle_at: Share = Field(
        0.6,
        description="share of the iterations before the restart (explore_then_settle) or the fall (linear)",
    )
    settle_rate: Positive = Field(1.0, description="factor on es.learning_rate after the restart")
    settle_from: Literal["score", "peak"] = Field(
        "score",
        description="where the restart continues: the policies with the best score, or with the best single steps",
    )
    finalists: Count = Field(
        1,
        description="policies of different behaviour, improved in turn after the restart until the best continues",
    )
    separation: NotNegative = Field(
        0.5, description="finalists differ by this much, in units of the behaviours' spread"
    )
    patience: Count = Field(5, description="adaptive: evaluations without a better score before the weight rises")
    beta_step: Share = Field(0.05, description="adaptive: how much the weight changes at a time")
    beta_max: Share = Field(0.8, description="adaptive: largest weight")
    base_policies: Count = Field(2, description="how many previous unperturbed policies make the base")
    fit_to: Literal["last", "base"] = Field(
        "last", description="what the test functions tell new behaviours from: the last iteration's, or the base"
    )
    expert: str | None = Field(
        None,
        description="Parquet file of embedded episodes that join the base: an expert's, to be imitated (beta below 0), "
        "or behaviour that is not wanted (above 0); or the name of a shipped one",
    )
    expert_weight: Share = Field(1.0, description="share of that file in the base; the previous policies have the rest")
    paper_weights: bool = Field(False, description="weigh returns by 1-beta, as printed in the paper, not by 1-|beta|")
    gamma: Positive = Field(1.0, description="smoothing of the Wasserstein distance")
    features: Count = Field(1000, description="random features of the test functions")
    updates: Count | None = Field(
        None, description="warm-start steps of the test functions in each iteration; null takes the solver's own number"
    )
    width: Positive | Literal["median"] = Field("median", description="kernel width, or its median heuristic")
    cost: str = Field("squared_l2", description="cost between embeddings by name, or module:function of your own")
    solver: Literal["sgd", "adam", "sinkhorn"] = Field("sgd", description="how the test functions are fitted")
    solver_kwargs: dict[str, Any] = Field({}, description="arguments of the solver")

    @model_validator(mode="after")
    def _finals(self) -> Self:
        if self.finalists > 1 and self.schedule != "explore_then_settle":
            raise ValueError(f"finalists is {self.finalists}, which needs schedule to be explore_then_settle")
        if self.expert is not None and self.name == "random":
            raise ValueError(f"expert is {self.expert!r}, and name 'random' compares with nothing")
        return self


class EsConfig(Section):
    population: Count = Field(100, description="perturbed policies in each iteration")
    sigma: Positive = Field(0.02, description="standard deviation of the perturbations")
    learning_rate: Positive = Field(0.03, description="step of the optimiser")
    antithetic: bool = Field(True, description="perturb in pairs of opposite sign")
    shaping: Literal["zscore", "ranks", "none"] = Field("zscore", description="transformation of returns and novelties")
    top: Count | None = Field(None, description="use only this many best directions (ARS); null uses all")
    optimizer: Literal["adam", "sgd"] = Field("adam", description="what turns the gradient into a step")
    momentum: Share = Field(0.9, description="momentum of sgd")
    weight_decay: NotNegative = Field(0.0, description="pull of the parameters towards zero")
    chunk: Count = Field(16, description="perturbed policies that a worker plays at once")
    noise_table: Annotated[int, Field(ge=1000)] = Field(10_000_000, description="numbers in the shared noise table")

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if self.antithetic and self.population % 2:
            raise ValueError(f"population is {self.population}, expected an even number for antithetic pairs")
        directions = self.population // 2 if self.antithetic else self.population
        if self.top is not None and self.top > directions:
            raise ValueError(f"top is {self.top}, expected at most the number of directions, {directions}")
        return self


class SearchConfig(Section):
    explore: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.4,
        description="share of the iterations that explore with an archive of policies, before the best of them are "
        "improved; 0 is the paper's algorithm, which a section novelty stands for, too",
    )
    archive: Count = Field(1000, description="policies that the archive holds")
    neighbors: Count = Field(5, description="nearest behaviours in the archive that define novelty")
    greed: NotNegative = Field(2.0, description="exponent of novelty in the choice of parents; 0 chooses evenly")
    merit: Share = Field(0.4, description="share of the parents that are chosen by what they earn instead")
    climb: Share = Field(0.3, description="share of the exploring policies that perturb one and improve it")
    patience: Count = Field(
        20, description="that one is exchanged when so many iterations were no better than as many before"
    )
    first_sigma: Positive = Field(
        0.1, description="perturbations of the first one that climbs, which begins as policies begin"
    )
    first_scale: Positive = Field(0.5, description="standard deviation of the first policies' parameters, within e^0.7")
    step: Positive = Field(0.2, description="noise of a new policy, as a share of its parent's parameters")
    line: NotNegative = Field(0.2, description="step of a new policy towards a second parent")
    episodes: Count = Field(5, description="episodes that judge each candidate after exploring")
    finalists: Annotated[int, Field(ge=1, le=16)] = Field(
        4,
        description="candidates that are improved side by side; the worse half goes after each round until one is left",
    )
    separation: NotNegative = Field(0.3, description="finalists differ by this much, in units of behaviours' spread")
    sigma: Positive = Field(
        0.05, description="perturbations of a policy that is improved, as a share of its parameters"
    )
    sigma_end: Positive = Field(0.02, description="the same at the end of the run")
    rate: Positive = Field(0.02, description="step of Adam, as a share of its parameters")


class NsresConfig(Section):
    members: Count = Field(5, description="policies that are evolved side by side")
    neighbors: Count = Field(10, description="nearest archive points that define novelty")
