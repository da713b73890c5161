"""Sections that every algorithm has."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from bges.config.sections import Count, NotNegative, Positive, Section


class EnvConfig(Section):
    id: str = Field("bges_envs:DeceptivePoint-v0", description="Gymnasium id, or module:factory of your own")
    kwargs: dict[str, Any] = Field({}, description="arguments of the environment")
    horizon: Count | None = Field(None, description="longest episode; null takes the environment's own limit")
    episodes: Count = Field(1, description="episodes that each perturbed policy plays")


class PolicyConfig(Section):
    name: str = Field("mlp", description="linear, mlp, toeplitz, features, or module:class of your own")
    hidden: tuple[Count, ...] | None = Field(None, description="sizes of the hidden layers (mlp, toeplitz)")
    squash: Literal["clip", "tanh"] = Field("clip", description="how outputs are brought into the action's bounds")
    kwargs: dict[str, Any] = Field({}, description="further arguments of the policy")
    action_noise: NotNegative = Field(0.0, description="standard deviation of the noise added to actions in training")
    normalize_observations: bool = Field(False, description="centre and scale what the policy sees by running moments")


class EmbeddingConfig(Section):
    name: str = Field("final_state", description="a behaviour embedding by name, or module:function of your own")
    kwargs: dict[str, Any] = Field({}, description="arguments of the embedding")
    standardize: bool = Field(True, description="put embeddings in units of their running mean and spread")
    scale: Positive = Field(1.0, description="divide embeddings by this before anything else")


class EvaluationConfig(Section):
    every: Count = Field(1, description="iterations between evaluations of the unperturbed policy")
    episodes: Count = Field(4, description="episodes of an evaluation")
    candidates: bool = Field(
        False, description="also evaluate the last iteration's best perturbed policy, which may become the best"
    )


class CheckpointConfig(Section):
    every: Count = Field(10, description="iterations between checkpoints")
    keep: Count = Field(3, description="how many of the latest are kept, besides the best")
    keep_every: Annotated[int, Field(ge=0)] = Field(0, description="also keep those of every n-th iteration; 0 none")
    behaviors_every: Annotated[int, Field(ge=0)] = Field(
        1, description="record behaviours of every n-th iteration; 0 none"
    )
    storage: str | None = Field(
        None,
        description="copy the run's directory below this URI, as URI/NAME, with each checkpoint: file:///mnt/runs, "
        "s3://bucket/runs, gs://bucket/runs",
    )

    @model_validator(mode="after")
    def _uri(self) -> Self:
        if self.storage is not None and "://" not in self.storage:
            raise ValueError(f"storage is {self.storage!r}, expected a URI such as s3://bucket/runs")
        return self


class FaultsConfig(Section):
    attempts: Count = Field(3, description="tries before a chunk that fails everywhere stops the run")
    chunk_seconds: Positive = Field(300.0, description="a worker that takes longer for a chunk is replaced")
    start_seconds: Positive = Field(180.0, description="how long to wait for the first worker to start")
    min_workers: Annotated[int, Field(ge=0)] = Field(
        0,
        description="with fewer workers the run waits, however long, and says so; 0 plays with any number and gives up "
        "after start_seconds without one",
    )
