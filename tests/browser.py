"""The browser that tests open pages with, if there is one, and how it is started: quiet, and without a network."""

from __future__ import annotations

import shutil

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MISSING = "chromium is not installed, so no page can be opened; on Debian: apt-get install chromium"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
OPTIONS += ["--disable-sync", "--no-first-run"]
PATIENCE = 240_000  # ms for a page to load or to train: a machine on which all other tests run has been 60 s late
