"""Measurements: `python -m benchmarks` for speed, `python -m benchmarks.quality` for scores."""
