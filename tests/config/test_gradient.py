import pytest
from pydantic import ValidationError

from bges.config.gradient import GradientConfig


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch": 100}, "batch is 100, expected a multiple of slots, 8"),
        ({"points": "concatenated"}, "expected pooled or product where actions are concatenated"),
        ({"dual": "sinkhorn", "pairs": "pooled"}, "expected per_state with dual sinkhorn"),
        ({"discount": 1.0}, "less than 1"),
        ({"betta": 1.0}, "Extra inputs are not permitted"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        GradientConfig(**changes)


def test_every_key_is_described():
    for name, field in GradientConfig.model_fields.items():
        assert field.description, name
