"""What the parts of a configuration are made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A part of the tree: unknown keys are refused, values are of their type, nothing changes after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
