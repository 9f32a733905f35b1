"""Forests: `stream` and `forgetful` learn in batches, `extra_trees` replaces trees one by one."""
