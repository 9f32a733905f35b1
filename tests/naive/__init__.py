"""Slow, obvious versions of the algorithms, for the fast ones to agree with."""
