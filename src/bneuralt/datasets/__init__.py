"""The data sets of the paper: which there are, where they come from, how they are loaded."""

from bneuralt.datasets.loading import (
    Dataset,
    DatasetNotFoundError,
    data_folder,
    data_status,
    list_datasets,
    load_dataset,
)

__all__ = [
    "Dataset",
    "DatasetNotFoundError",
    "data_folder",
    "data_status",
    "list_datasets",
    "load_dataset",
]
