"""Execution of experiments: tasks, worker processes, progress, and the store of results."""
