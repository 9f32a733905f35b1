IDLE: int
NO_GROWTH: tuple[int, ...]
