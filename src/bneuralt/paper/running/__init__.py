"""Running experiments: the store of results, claims on work, workers, progress."""
