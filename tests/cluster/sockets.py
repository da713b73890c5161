"""Which addresses the processes of a cluster listen at, from /proc."""

import contextlib
import os
from ipaddress import ip_address
from pathlib import Path

LISTENS = "0A"


def family(pids):
    """The processes and all that descend from them."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found = set(pids)
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def listening(pids):
    """Addresses at which any of the processes listens."""
    inodes = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            inodes |= {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENS and f"socket:[{fields[9]}]" in inodes:
                found.add(address(fields[1].partition(":")[0]))
    return found


def address(text):
    """The kernel writes words of four bytes, each the wrong way round."""
    words = [bytes.fromhex(text[start : start + 8])[::-1] for start in range(0, len(text), 8)]
    made = ip_address(b"".join(words))
    return getattr(made, "ipv4_mapped", None) or made
