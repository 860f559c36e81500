"""The data sets of the paper: facts about them, loading and downloading."""

from bneuralt_paper.datasets.loading import (
    Dataset,
    DatasetNotFoundError,
    DatasetStatus,
    content_checksum,
    data_folder,
    data_status,
    list_datasets,
    load_dataset,
)

__all__ = [
    "Dataset",
    "DatasetNotFoundError",
    "DatasetStatus",
    "content_checksum",
    "data_folder",
    "data_status",
    "list_datasets",
    "load_dataset",
]
