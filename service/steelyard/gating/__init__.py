"""The gate: criteria and held-out evidence in, a verdict that anybody can recompute.

Pure and total: no clock, no randomness, no file is opened here. See docs/gate.md.
"""
