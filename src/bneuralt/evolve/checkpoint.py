"""Checkpoint files, from which a search can be continued."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from bneuralt.files import (
    ModelFileError,
    check_format,
    check_keys,
    format_json,
    parse_json,
    write_atomically,
)

__all__ = ["CheckpointError", "read_checkpoint", "write_checkpoint"]

FORMAT = "bneuralt-search"
VERSION = 1


class CheckpointError(ValueError):
    """A file does not belong to this search; it is not changed."""


def write_checkpoint(
    path: str | PathLike[str], search: dict[str, Any], state: dict[str, Any]
) -> None:
    """Write the state of a search; an existing file is replaced atomically.

    Parameters
    ----------
    path : str or path-like
    search : dict
        What the search depends on: its settings, and the checksum of its table.
    state : dict
    """
    content = {"format": FORMAT, "version": VERSION, "search": search, "state": state}
    write_atomically(path, format_json(content) + "\n")


def read_checkpoint(path: str | PathLike[str], search: dict[str, Any]) -> dict[str, Any] | None:
    """Return the state of a search, or None if there is no file yet.

    Parameters
    ----------
    path : str or path-like
    search : dict
        What the search depends on; the file must have been written with the same.

    Raises
    ------
    CheckpointError
        If the file is damaged, or belongs to another version, table or search.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "search.json")
    ...     write_checkpoint(path, {"table": "a"}, {"n_done": 3})
    ...     read_checkpoint(path, {"table": "a"})
    {'n_done': 3}
    """
    try:
        text = Path(path).read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise CheckpointError(f"checkpoint={str(path)!r} is not a {FORMAT} file") from None
    try:
        content = parse_json(text)
        check_format(content, FORMAT, VERSION)
        check_keys(content, ("format", "version", "search", "state"), "the checkpoint")
        if not isinstance(content["search"], dict) or not isinstance(content["state"], dict):
            raise ModelFileError('"search" and "state" must be objects')
    except ModelFileError as error:
        raise CheckpointError(
            f"checkpoint={str(path)!r} cannot be continued: {error}. Delete the file to start again"
        ) from None
    for name in {**content["search"], **search}:
        stored, current = content["search"].get(name), search.get(name)
        if stored != current:
            what = "on another table" if name == "table" else f"with {name}={stored!r:.60}"
            now = "" if name == "table" else f", not {current!r:.60}"
            raise CheckpointError(
                f"checkpoint={str(path)!r} belongs to a search {what}{now}: use another path, or "
                "delete the file to start again"
            )
    state: dict[str, Any] = content["state"]
    return state
