"""Real short runs, made once for all tests of the report."""

import os
import shutil

import pytest

from bges.config.run import RunConfig
from bges.core.problem import Problem
from bges.report import write_report
from bges.training.local import run_alone
from tests.distributed.conftest import tree
from tests.evolution.conftest import merged

ITERATIONS = 12
NEEDED = "needs chromium and chromedriver on the PATH (Debian and Ubuntu: apt-get install chromium chromium-driver)"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,1000",
]
KEPT = {"iterations": ITERATIONS, "checkpoint": {"every": 4}}
REPULSION = {
    "algorithm": "repulsion",
    "embedding": {"name": "mean_displacement", "kwargs": {"axis": 0}},
    "repulsion": {"trajectories": 6},
    "checkpoint": {"keep_every": 4},
}


def make_run(path, changes):
    return run_alone(Problem.of(RunConfig.parse(tree(merged(KEPT, changes)))), path).path


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """By name: two seeds of BGES and ES on the point, one of NSR-ES, BGES in other spaces of behaviour, and others."""
    folder = tmp_path_factory.mktemp("runs")
    made = {
        f"{algorithm}-{seed}": make_run(folder / f"{algorithm}-{seed}", {"algorithm": algorithm, "seed": seed})
        for algorithm in ("bges", "es")
        for seed in (0, 1)
    }
    made["nsres-0"] = make_run(folder / "nsres-0", {"algorithm": "nsres"})
    plane = {"env": {"id": "bges_envs:MultiGoal-v0"}}
    made["plane"] = make_run(folder / "plane", plane)
    made["line"] = make_run(folder / "line", {"env": {"id": "tests.report.plain:Plain"}})
    made["many"] = make_run(folder / "many", {"embedding": {"name": "reward_to_go"}})
    made["divergence"] = make_run(folder / "divergence", {"novelty": {"name": "hellinger"}})
    made["bgpg"] = make_run(folder / "bgpg", {"algorithm": "bgpg", "policy": {"action_noise": 0.0}})
    made["repulsion"] = make_run(folder / "repulsion", {**plane, **REPULSION})
    return made


@pytest.fixture(scope="session")
def comparison(runs, tmp_path_factory):
    """The report of three methods over seeds, with a clip."""
    names = ("bges-0", "bges-1", "es-0", "es-1", "nsres-0")
    return write_report([runs[name] for name in names], tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture
def copy(runs, tmp_path):
    """A run that a test may damage."""
    return lambda name: shutil.copytree(runs[name], tmp_path / name, symlinks=True)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Headless Chromium. Where there is none, what needs it is skipped, or fails with BGES_NEED_BROWSER=1."""
    found = [shutil.which("chromium") or shutil.which("chromium-browser"), shutil.which("chromedriver")]
    if not all(found):
        if os.environ.get("BGES_NEED_BROWSER"):
            pytest.fail(NEEDED)
        pytest.skip(NEEDED)
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = found[0]
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(found[1]))
    yield driver
    driver.quit()
