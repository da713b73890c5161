"""An embedding that takes its time until a file says that it need not."""

import time
from pathlib import Path


def final(trajectories, flag=""):
    if not Path(flag).exists():
        time.sleep(0.1)
    return trajectories.observations[:, -1]


final.needs = ("observations",)
