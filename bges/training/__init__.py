"""Carrying out a run: the loop, who is told of it, and a pool that is this process. No Ray."""
