import logging
import os

import numpy as np
import pytest

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
# Read when JAX is first used. Here programs run for milliseconds and take seconds to compile.
os.environ.setdefault("PJRT_NPROC", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def local_ray():
    """One embedded Ray for all tests that do not need their own."""
    import ray

    ray.init(
        address="local",
        num_cpus=1,
        include_dashboard=False,
        logging_level=logging.ERROR,
        log_to_driver=False,
        object_store_memory=100 * 2**20,
        _node_ip_address="127.0.0.1",
    )
    yield
    ray.shutdown()
