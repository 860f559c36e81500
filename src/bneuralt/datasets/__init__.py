"""The data sets of the paper: facts about them, loading and downloading."""

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
