"""The page of a service, in a real browser."""

import html
import importlib.resources
import json
import re
import shutil
import subprocess
import time
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from tests.tools.http_service import LINES, SAMPLES, Served, body_of, served

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
needs_chromium = pytest.mark.skipif(
    not CHROMIUM, reason="there is no Chromium on this machine to show the page"
)
HOSTILE = "<img src=x onerror=document.title='stolen'>"


def shown(service: Served, folder: Path, *options: str) -> tuple[str, str]:
    """The document after its script has run, and what the browser complained about."""
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"]
    result = subprocess.run(
        [
            *command,
            *("--enable-logging=stderr", "--v=0", "--virtual-time-budget=3000", "--dump-dom"),
            *options,
            f"http://127.0.0.1:{service.port}/",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return result.stdout, "\n".join(re.findall(r".*CONSOLE.*", result.stderr))


@needs_chromium
def test_the_page_shows_the_service(tmp_path: Path) -> None:
    """Score, memory, importances and answers are there, without an error in the console."""
    model = ret.ExtraTreesClassifier(n_models=5, seed=1)
    path = tmp_path / "m.model"
    persistence.save(model, path)
    samples = [*SAMPLES[:400], {"x": {HOSTILE: HOSTILE, **SAMPLES[0]["x"]}, "y": HOSTILE}]
    with served(path) as service:
        service.ask("/predict-learn", body_of(*samples), kind=LINES)
        while len(json.loads(service.ask("/status").body)["curve"]) < 2:  # a rate needs two looks
            time.sleep(0.1)
        document, complaints = shown(service, tmp_path / "browser")
        phone, _ = shown(service, tmp_path / "browser", "--window-size=500,900")
        score = service.ask("/status").json["now"]["recent_score"]
    assert complaints == ""
    # As JavaScript rounds: 86.25 is 86.3 there, and 86.2 in Python.
    shown_score = Decimal(100 * score).quantize(Decimal("0.1"), ROUND_HALF_UP)
    for page in (document, phone):
        assert f"<b>{shown_score} %</b>" in page
        assert "<b>401</b>" in page
        assert page.count("<svg") == 4  # with the effective memory
        assert "request_from_other_domain" in page  # a bar
        assert page.count("✓") >= 5
    # Names and labels of the stream are text, never markup.
    assert "<title>stolen" not in document
    assert html.escape(HOSTILE, quote=False)[:39] in document
    assert not re.search(r"<img", document)


def test_the_page_needs_nothing_from_elsewhere() -> None:
    """It names no other address, and has no script in its markup."""
    page = importlib.resources.files("river_extra_trees.serving").joinpath("page.html").read_bytes()
    addresses = re.findall(rb"https?://[^\"'\s]+", page)
    assert addresses == [b"http://www.w3.org/2000/svg"]  # the name of a language, fetched by nobody
    assert not re.search(rb"\son\w+=|style=", page)
