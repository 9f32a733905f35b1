"""The counter-based generator in plain integers."""

GOLDEN_RATIO = 0x9E3779B97F4A7C15
WORD = (1 << 64) - 1


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


class NaiveRng:
    """The stream of random words that belongs to (seed, tree, step, purpose)."""

    def __init__(self, seed: int, tree: int, step: int, purpose: int) -> None:
        self.state = 0
        for part in (seed, tree, step, purpose):
            self.state = mix(self.state ^ ((part + GOLDEN_RATIO) & WORD))

    def next_word(self) -> int:
        self.state = (self.state + GOLDEN_RATIO) & WORD
        return mix(self.state)

    def uniform(self) -> float:
        return (self.next_word() >> 11) / (1 << 53)

    def halves(self) -> tuple[int, int]:
        word = self.next_word()
        return word & 0xFFFFFFFF, word >> 32

    def below(self, n: int) -> int:
        word = self.next_word()
        while word < (1 << 64) % n:
            word = self.next_word()
        return word % n
