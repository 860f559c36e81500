"""The experiments of the paper: their names and settings, the protocols, and the algorithms."""
