"""The connection to Ray."""

from __future__ import annotations

import os
import sys
import typing

from .._estimator.extras import import_extra

__all__ = ["connected"]


def connected() -> typing.Any:
    """Return the module `ray`, connected to a cluster or to a new Ray on this machine.

    `ray.init` or the environment variable `RAY_ADDRESS` choose a cluster. A new Ray listens on the
    loopback interface only, unless `ray` was imported before: Ray chooses the interface when it is
    imported, by a variable that is named after the systems on which this is its default.
    """
    is_local = "RAY_ADDRESS" not in os.environ
    if is_local and "ray" not in sys.modules:
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    ray = import_extra("ray", "ray")
    if not ray.is_initialized():
        ray.init(**({"address": "local", "include_dashboard": False} if is_local else {}))
    return ray
