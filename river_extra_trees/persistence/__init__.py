"""Saving a model to a file, and loading it again: safe, whole, and the same to the last bit.

A model file is made of numbers, not of code: loading one never runs what it holds, and a file that
is damaged or forged raises `ModelFileError`. `docs/model_files.md` says what is promised.

>>> import tempfile, pathlib
>>> import river_extra_trees as ret
>>> from river import datasets
>>> from river_extra_trees import persistence

>>> model = ret.StreamDecisionForestClassifier(seed=42)
>>> for x, y in datasets.Phishing().take(500):
...     model.learn_one(x, y)
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder) / "phishing.model"
...     persistence.save(model, path)
...     loaded = persistence.load(path)
>>> loaded.predict_proba_one(x) == model.predict_proba_one(x)
True
"""

from __future__ import annotations

from .files import ModelFileError, load, load_bytes, save, save_bytes

__all__ = ["ModelFileError", "load", "load_bytes", "save", "save_bytes"]
