"""Teams of threads: every task is done once, and every team ends."""

import threading

import pytest

from tests import compiled


@pytest.mark.parametrize("n_threads", [1, 2, 4, 200])
def test_every_task_of_every_job_is_done_once(n_threads: int) -> None:
    """Also with more threads than tasks."""
    assert compiled.run_jobs(n_threads, 50, 64) == [50] * 64


def test_no_thread_sleeps_through_the_end_of_its_team() -> None:
    """A thread that is about to sleep when the team ends looks once more."""

    def begin_and_end() -> None:
        for _ in range(4_000):
            compiled.run_jobs(4, 1, 4)

    teams = threading.Thread(target=begin_and_end, daemon=True)
    teams.start()
    teams.join(120)
    assert not teams.is_alive(), "a team waits for a thread that sleeps"
