"""Forests that grow batch by batch: stream decision forests and forgetful forests."""
