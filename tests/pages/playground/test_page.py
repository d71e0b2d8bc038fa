"""The playground in a real browser with the network off: it loads, draws, answers to sliders and trains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pages.playground import build
from tests.browser import CHROMIUM, MISSING, OPTIONS, PATIENCE

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'nalm[dev]'")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason=MISSING)


def test_the_page_is_built_from_its_parts_and_asks_for_nothing_else() -> None:
    page = build.PAGE.read_text(encoding="utf-8")
    assert page == build.page(), "run `make docs`"
    assert len(page.encode()) < 1_000_000
    assert "://" not in page
    assert "{{" not in page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield chromium
        chromium.close()


class Visit:
    """One open page and what it complained about."""

    def __init__(self, browser: Any, width: int = 1280, scheme: str = "light") -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, reduced_motion="reduce"
        )
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("requestfailed", lambda request: self.complaints.append(request.url))
        self.page.goto(build.PAGE.as_uri())
        self.page.wait_for_timeout(300)  # the landscape is refined when nothing moves

    def text(self, place: str) -> str:
        text: str = self.page.inner_text(place)
        return " ".join(text.split())

    def formula(self) -> str:
        """The live formula as plain text, without spaces."""
        text: str = self.page.text_content("#formula")
        return "".join(text.split()).replace("\u2062", "")  # an invisible times

    def weights(self) -> list[float]:
        values: list[float] = self.page.eval_on_selector_all("[data-parameter]", "all => all.map(s => +s.value)")
        return values

    def set_slider(self, place: str, value: float) -> None:
        self.page.eval_on_selector(
            place, "(s, v) => { s.value = v; s.dispatchEvent(new Event('input', { bubbles: true })); }", value
        )
        self.page.wait_for_timeout(150)

    def colours(self, canvas: str) -> int:
        """How many different colours a canvas shows, in steps of eight."""
        count: int = self.page.eval_on_selector(
            canvas,
            """c => {
              const copy = Object.assign(document.createElement('canvas'), { width: c.width, height: c.height });
              const context = copy.getContext('2d', { willReadFrequently: true });
              context.drawImage(c, 0, 0);
              const data = context.getImageData(0, 0, c.width, c.height).data, seen = new Set();
              for (let i = 0; i < data.length; i += 4)
                if (data[i + 3]) seen.add((data[i] >> 3) << 10 | (data[i + 1] >> 3) << 5 | data[i + 2] >> 3);
              return seen.size;
            }""",
        )
        return count


@pytest.fixture
def visit(browser: Any) -> Iterator[Visit]:
    opened = Visit(browser)
    yield opened
    assert opened.complaints == []
    opened.context.close()


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(375, "dark"), (768, "light"), (1280, "light"), (1280, "dark")])
def test_it_fits_the_screen_and_every_picture_is_drawn(browser: Any, width: int, scheme: str) -> None:
    visit = Visit(browser, width, scheme)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    assert visit.page.evaluate("document.documentElement.dataset.theme") == scheme
    assert visit.colours("#map") > 100  # a landscape with its scale, not a blank frame
    assert visit.colours("#surface") > 30
    assert visit.colours("#errors") > 2  # axes only: nothing has been trained
    assert visit.complaints == []
    visit.context.close()


@needs_browser
def test_sliders_change_formula_and_output(visit: Visit) -> None:
    visit.set_slider("[data-parameter='0']", 0.25)
    result = visit.text("#result")
    assert "0.250a+0.750" in visit.formula()
    visit.set_slider("[data-parameter='0']", 1)
    visit.set_slider("[data-parameter='1']", 1)
    assert visit.formula() == "y=a·b"
    assert "exact" in visit.text("#reading")
    assert visit.text("#result") != result
    before = visit.text("#result")
    visit.set_slider("[data-input='0']", -2)
    assert visit.text("#result") != before
    assert "a = −2" in visit.text("#result")


@needs_browser
def test_the_map_is_moved_by_pointer_and_by_keys(visit: Visit) -> None:
    before = visit.weights()
    visit.page.locator("#map").click(position={"x": 120, "y": 120})
    visit.page.wait_for_timeout(150)
    clicked = visit.weights()
    assert clicked != before
    visit.page.focus("#map")
    visit.page.keyboard.press("ArrowRight")
    visit.page.wait_for_timeout(100)
    assert visit.weights()[0] > clicked[0]
    assert visit.weights()[1] == pytest.approx(clicked[1])


@needs_browser
def test_adam_falls_into_the_trap_and_the_rule_does_not(visit: Visit) -> None:
    page = visit.page
    page.click("[data-id='trap']")
    start = visit.weights()
    bare = visit.colours("#errors")
    page.click("#train")
    page.wait_for_function("document.querySelector('#story').textContent.includes('● Adam')")
    assert visit.weights() == pytest.approx([0, 0])
    assert visit.weights() != start
    assert "Adam: stuck" in visit.text("#story")
    assert "not the target" in visit.text("#reading")
    page.click("#rule")
    page.wait_for_function("document.querySelector('#story').textContent.includes('◆ The rule')")
    assert visit.weights() == pytest.approx([1, 1])
    assert "exact" in visit.text("#reading")
    assert "The rule: exact" in visit.text("#story")
    assert visit.colours("#errors") > bare  # both curves


@needs_browser
def test_stopping_a_training_keeps_the_weights_where_they_are(visit: Visit) -> None:
    page = visit.page
    page.click("[data-id='plateau']")
    page.click("#train")
    page.wait_for_function("document.querySelector('#status').textContent.includes('Adam, step')")
    page.click("#train")
    stopped = visit.formula()
    page.wait_for_timeout(300)
    assert visit.formula() == stopped
    assert visit.text("#train") == "▶ Train with Adam"


@needs_browser
def test_every_unit_shows_its_formula_and_every_story_starts(visit: Visit) -> None:
    page = visit.page
    for name, operations in build.UNITS.items():
        page.select_option("#unit", name)
        for operation in operations:
            page.select_option("#operation", operation)
            assert visit.formula().startswith("y=")
            assert len(visit.weights()) >= 2
    for story in page.query_selector_all("#stories button"):
        story.click()
        assert story.get_attribute("aria-pressed") == "true"
        assert story.query_selector("b").inner_text() in visit.text("#story")
        assert visit.colours("#map") > 60


@needs_browser
def test_a_gated_unit_hands_over_to_one_the_rule_can_train(visit: Visit) -> None:
    visit.page.click("[data-id='gate']")
    assert "NAU" in visit.text("#rule")
    visit.page.click("#rule")
    visit.page.wait_for_function("document.querySelector('#story').textContent.includes('◆ The rule')")
    assert visit.formula() == "y=a+b"
    assert visit.page.input_value("#unit") == "NAU"


@needs_browser
def test_noise_moves_the_landscape_of_the_stochastic_unit_only(visit: Visit) -> None:
    assert not visit.page.is_visible("#noise")
    visit.page.click("[data-id='noise']")
    visit.page.wait_for_timeout(300)
    before = visit.page.eval_on_selector("#map", "c => c.toDataURL()")
    visit.page.click("#noise")
    visit.page.wait_for_timeout(300)
    assert visit.page.eval_on_selector("#map", "c => c.toDataURL()") != before


@needs_browser
def test_the_theme_can_be_switched(visit: Visit) -> None:
    page = visit.page

    def look() -> tuple[str, str, str]:
        ground: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return page.evaluate("document.documentElement.dataset.theme"), ground, visit.text("#theme")

    light = look()
    page.click("#theme")
    dark = look()
    assert (light[0], dark[0]) == ("light", "dark")
    assert light[1] != dark[1]
    assert light[2] != dark[2]
    page.click("#theme")
    assert look() == light


@needs_browser
def test_squashed_weights_are_shown_on_their_hill(visit: Visit) -> None:
    assert not visit.page.is_visible("#hill")
    visit.page.click("[data-id='plateau']")
    assert visit.page.is_visible("#hill")
    assert visit.colours("#hill") > 60
    before = visit.page.eval_on_selector("#hill", "c => c.toDataURL()")
    visit.set_slider("[data-parameter='2']", 4)
    assert visit.page.eval_on_selector("#hill", "c => c.toDataURL()") != before


@needs_browser
def test_a_link_opens_its_story(browser: Any) -> None:
    visit = Visit(browser)
    visit.page.click("[data-id='abyss']")
    address = visit.page.url
    assert address.endswith("#story=abyss")
    visit.page.goto("about:blank")
    visit.page.goto(address)
    assert visit.page.get_attribute("[data-id='abyss']", "aria-pressed") == "true"
    assert visit.complaints == []
    visit.context.close()


@needs_browser
def test_every_control_can_be_reached_and_named(visit: Visit) -> None:
    unnamed = visit.page.evaluate(
        """[...document.querySelectorAll('button, select, input, canvas')]
          .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label')))
          .map(e => e.outerHTML)"""
    )
    assert unnamed == []
    assert visit.page.evaluate("document.querySelector('#map').tabIndex") == 0
