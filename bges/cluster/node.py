"""A further raylet on loopback, in the foreground: `python -m bges.cluster.node ADDRESS CPUS STORE_BYTES AGENT_PORT`.

`ray start` refuses to add a node where Ray is told to stay on loopback; `ray.cluster_utils` does it as here.
"""

import signal
import sys
import time

from ray._private.node import Node
from ray._private.parameter import RayParams

STARTED = "Ray runtime started."


def main(address: str, cpus: int, store: int, agent_port: int) -> None:
    # The interpreter's end is what ends the raylet.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    parameters = RayParams(
        gcs_address=address,
        node_ip_address=address.rpartition(":")[0],
        num_cpus=cpus,
        num_gpus=0,
        object_store_memory=store,
        min_worker_port=0,
        max_worker_port=0,
        node_manager_port=0,
        dashboard_agent_listen_port=agent_port,
        include_log_monitor=False,  # type: ignore[arg-type]
    )
    node = Node(parameters, head=False, shutdown_at_exit=True, spawn_reaper=True)
    print(STARTED, flush=True)
    while not node.dead_processes():
        time.sleep(1)
    sys.exit("the raylet has ended")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
