from importlib.metadata import version

from bges.version import versions


def test_all_that_decides_numbers_is_recorded():
    told = versions()
    for name in ("numpy", "mujoco", "gymnasium", "ray", "jax", "jaxlib", "optax"):
        assert f"{name} {version(name)}" in told


def test_what_is_not_installed_is_left_out(monkeypatch):
    monkeypatch.setattr("bges.version.DECIDING", ("numpy", "no-such-package"))
    assert "no-such-package" not in versions()
    assert "numpy" in versions()
