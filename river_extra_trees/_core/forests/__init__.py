"""Forests: `stream` and `forgetful` learn in batches, `memories` replaces trees one by one."""
