"""Learning and serving in workers of Ray."""
