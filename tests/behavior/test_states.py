import pickle

import numpy as np
import pytest

from bges.behavior.states import load_arrays, pack, save_arrays, unpack
from bges.errors import InputError


def test_round_trip(tmp_path, rng):
    state = pack({"kind": "thing", "x": 0.1}, {"part": {"a": rng.normal(size=3), "n": np.array(7)}})
    save_arrays(tmp_path / "state.npz", state)
    settings, parts = unpack(load_arrays(tmp_path / "state.npz"), "thing")
    assert settings == {"kind": "thing", "x": 0.1}
    assert parts["part"]["a"].tobytes() == state["part/a"].tobytes()
    assert int(parts["part"]["n"]) == 7


def test_the_wrong_kind_is_named():
    with pytest.raises(InputError, match="saved state of thing, expected other"):
        unpack(pack({"kind": "thing"}, {}), "other")
    with pytest.raises(InputError, match="not the saved state of other"):
        unpack({"settings": np.array("not json")}, "other")


class Trap:
    def __reduce__(self):
        return pytest.fail, ("a file was executed",)


def test_nothing_in_a_file_is_executed(tmp_path):
    np.savez(tmp_path / "trap.npz", settings=np.array([Trap()], dtype=object))
    (tmp_path / "pickle.npz").write_bytes(pickle.dumps(Trap()))
    for name in ("trap.npz", "pickle.npz"):
        with pytest.raises(InputError, match="not a readable file of arrays"):
            load_arrays(tmp_path / name)


@pytest.mark.parametrize("keep", [0, 10, 200])
def test_a_truncated_file_is_refused(keep, tmp_path):
    path = tmp_path / "state.npz"
    save_arrays(path, pack({"kind": "thing"}, {"part": {"a": np.arange(100.0)}}))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match="not a readable file of arrays"):
        load_arrays(path)


def test_an_old_file_survives_a_failed_write(tmp_path):
    path = tmp_path / "state.npz"
    save_arrays(path, {"a": np.arange(3)})
    with pytest.raises(ValueError, match="allow_pickle"):
        save_arrays(path, {"a": np.array([object()])})
    assert load_arrays(path)["a"].tolist() == [0, 1, 2]


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.npz does not exist"):
        load_arrays(tmp_path / "nothing.npz")
