import numpy as np
import pytest

from bges.core.optimizers import Adam, Sgd


def adam_written_out(gradients, rate):
    """Kingma and Ba's algorithm 1, as printed."""
    m = v = theta = np.zeros(gradients.shape[1])
    for t, g in enumerate(gradients, start=1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        theta = theta + rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return theta


def test_adam_is_adam(rng):
    gradients = rng.normal(size=(20, 5))
    adam, theta = Adam(5, 0.03), np.zeros(5)
    for gradient in gradients:
        theta = theta + adam.step(gradient)
    np.testing.assert_allclose(theta, adam_written_out(gradients, 0.03), rtol=1e-12)


def test_momentum_converges_to_the_gradients_own_scale():
    sgd = Sgd(1, 0.1, momentum=0.9)
    for _ in range(300):
        step = sgd.step(np.array([2.0]))
    np.testing.assert_allclose(step, 0.2, rtol=1e-6)


@pytest.mark.parametrize("make", [lambda: Adam(3, 0.1), lambda: Sgd(3, 0.1)])
def test_both_climb_a_quadratic(make):
    optimizer, theta = make(), np.array([3.0, -2.0, 1.0])
    for _ in range(500):
        theta = theta + optimizer.step(-2 * theta)
    assert np.abs(theta).max() < 0.1


@pytest.mark.parametrize("make", [lambda rate: Adam(3, rate), lambda rate: Sgd(3, rate)])
def test_state_goes_on_byte_for_byte(make, rng):
    gradients = rng.normal(size=(10, 3))
    one = make(0.1)
    for gradient in gradients[:5]:
        one.step(gradient)
    other = make(99.0)
    other.restore({name: np.array(array) for name, array in one.state().items()})
    for gradient in gradients[5:]:
        assert one.step(gradient).tobytes() == other.step(gradient).tobytes()
