"""Streaming tree learners for river."""
