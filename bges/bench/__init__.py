"""Experiments that regenerate the paper's figures: `bges bench NAME`."""
