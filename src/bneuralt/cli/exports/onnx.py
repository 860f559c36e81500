"""ONNX: see the method `to_onnx` of estimators."""

from __future__ import annotations

import argparse
from typing import Any

OPTIONS: dict[str, str] = {}


def add_arguments(group: Any) -> None:
    """Add the options of the target."""
    group.add_argument(
        "--onnx-dtype",
        choices=["double", "float"],
        default="double",
        help="numbers that the trees compute with; float for hardware that has nothing else",
    )


def export(model: Any, args: argparse.Namespace) -> dict[str, str | bytes]:
    """Return the files to write."""
    try:
        proto = model.to_onnx(args.onnx_dtype)
    except ImportError as error:
        raise ValueError(str(error)) from None
    return {args.out: proto.SerializeToString()}
