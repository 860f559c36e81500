"""The experiments of the paper: their names, protocols, and what each one runs."""
