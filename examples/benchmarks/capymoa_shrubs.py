"""CapyMOA's ShrubsClassifier at its defaults on lines of numbers, the class last.

Runs where capymoa is installed; `shrub_ensemble.py capymoa` calls it. Prints CPU milliseconds per
item of predicting and learning, and the accuracy.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from capymoa.classifier import ShrubsClassifier
from capymoa.stream import NumpyStream

table = np.loadtxt(sys.stdin, delimiter=",")
stream = NumpyStream(table[:, :-1], table[:, -1].astype(int), target_type="categorical")
learner = ShrubsClassifier(schema=stream.get_schema())
right, n = 0, 0
start = time.process_time()
while stream.has_more_instances():
    instance = stream.next_instance()
    right += learner.predict(instance) == instance.y_index
    learner.train(instance)
    n += 1
print(1e3 * (time.process_time() - start) / n, right / n)
