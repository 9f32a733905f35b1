"""The compiled core. It knows nothing of river."""
