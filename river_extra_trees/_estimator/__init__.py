"""What every estimator of this package does: parameters, samples, frames, inspection, snapshots."""
