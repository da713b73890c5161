"""An embedding that takes its time until a file says that it need not."""

import time
from pathlib import Path


def final(trajectories, flag="", seconds=0.1):
    if not Path(flag).exists():
        time.sleep(seconds)
    return trajectories.observations[:, -1]


final.needs = ("observations",)
