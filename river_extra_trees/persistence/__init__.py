"""Save a model to a file, and load it bit for bit.

A model file contains data and no code: loading it does not run anything that the file names. A
damaged or forged file raises `ModelFileError`. `docs/model_files.md` lists the guarantees.

>>> import tempfile, pathlib
>>> import river_extra_trees as ret
>>> from river import datasets
>>> from river_extra_trees import persistence

>>> model = ret.ExtraTreesClassifier(seed=42)
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
