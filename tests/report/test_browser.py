"""The report in a real browser: no errors, everything visible, and controls that change something."""

import time

import pytest

from bges.report import write_report
from tests.report.browsing import change, drawn, find, opened, shown
from tests.report.reading import SECTIONS


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
def test_every_section_is_visible_without_errors(browser, comparison, width, dark):
    opened(browser, comparison, width=width, dark=dark)
    for name in SECTIONS:
        (section,) = find(browser, f"#{name}")
        assert section.is_displayed()
        assert section.size["height"] > 50
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (int(ground.split("(")[1].split(",")[0]) < 60) is dark
    assert browser.execute_script("return document.querySelector('#clip img').naturalWidth") == 320


def test_methods_and_seeds_are_switched(browser, comparison):
    opened(browser, comparison)
    lines = shown(browser, "#curves figure:first-of-type [data-method='1'] .line.of-mean")
    assert len(lines) == 1
    assert len(shown(browser, "#map figure.run")) == 3
    find(browser, "input.method")[1].click()
    assert shown(browser, "#curves [data-method='1']") == []
    assert [part.text for part in shown(browser, "#map figcaption")] == ["BGES, seed 0", "NSR-ES, seed 0"]
    find(browser, "input.method")[1].click()
    change(browser, "#place", "1")
    assert [part.text for part in shown(browser, "#map figcaption")] == ["BGES, seed 1", "ES, seed 1"]
    assert all(count > 0 for count in drawn(browser)[0])


def test_mean_becomes_interquartile_mean_and_seeds_go(browser, comparison):
    opened(browser, comparison)
    assert shown(browser, "#curves .of-iqm") == []
    assert shown(browser, "#curves .seed")
    find(browser, "input[name=centre][value=iqm]")[0].click()
    assert shown(browser, "#curves .line.of-iqm")
    assert shown(browser, "#curves .of-mean") == []
    find(browser, "#seeds")[0].click()
    assert shown(browser, "#curves .seed") == []


def test_the_slider_and_the_colours_change_the_maps(browser, comparison):
    opened(browser, comparison)
    all_points, by_iteration = drawn(browser)
    assert len(all_points) == 3
    change(browser, "#until", "3")
    few, _ = drawn(browser)
    assert all(0 < some < whole for some, whole in zip(few, all_points, strict=True))
    assert find(browser, "#until-value")[0].text == "3"
    change(browser, "#until", "11")
    change(browser, "#colour", "return")
    again, by_return = drawn(browser)
    assert again == all_points
    assert all(one != other for one, other in zip(by_iteration, by_return, strict=True))
    assert shown(browser, "#map .bar")[0].text.startswith("return ")
    change(browser, "#until", "0")
    find(browser, "#play")[0].click()
    deadline = time.monotonic() + 20
    while find(browser, "#until-value")[0].text != "11":
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_pointer_reads_values_from_curves_and_maps(browser, comparison):
    from selenium.webdriver import ActionChains

    opened(browser, comparison)
    (tip,) = find(browser, "#tip")
    assert not tip.is_displayed()
    ActionChains(browser).scroll_to_element(find(browser, "#curves .plot")[0]).perform()
    ActionChains(browser).move_to_element(find(browser, "#curves .plot")[0]).perform()
    assert tip.is_displayed()
    assert all(f"{name}: -" in tip.text for name in ("BGES", "ES", "NSR-ES"))
    assert " ± " in tip.text
    find(browser, "input.method")[0].click()
    ActionChains(browser).move_to_element(find(browser, "#curves .plot")[0]).perform()
    assert "\nBGES" not in tip.text


def test_without_scripts_the_pictures_are_there(browser, comparison):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        opened(browser, comparison)
        assert len(shown(browser, "#map image.static")) == 3
        assert shown(browser, "#curves .line.of-mean")
        assert shown(browser, ".controls") == []
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("name", ["line", "many", "plane", "divergence", "bgpg", "repulsion"])
def test_single_runs_of_all_kinds_open_without_errors(browser, runs, tmp_path, name):
    page = write_report([runs[name]], tmp_path / "report.html", clip=False)
    for width in (390, 1280):
        opened(browser, page, width=width)
        assert [part.get_attribute("id") for part in shown(browser, "section")] == list(SECTIONS)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    (whole,), by_iteration = drawn(browser)
    change(browser, "#until", "3")
    assert 0 < drawn(browser)[0][0] < whole
    change(browser, "#until", "11")
    change(browser, "#colour", "return")
    assert drawn(browser)[1] != by_iteration
    assert shown(browser, "#curves details figure") == []
    find(browser, "#curves summary")[0].click()
    assert len(shown(browser, "#curves details figure")) > 5
    assert browser.get_log("browser") == []


def test_policy_gradients_are_switched_off_beside_evolution(browser, runs, tmp_path):
    opened(browser, write_report([runs["bges-0"], runs["bgpg"]], tmp_path / "report.html", clip=False))
    assert [part.text for part in shown(browser, "#map figcaption")] == ["BGES, seed 0", "BGPG, seed 0"]
    assert "environment steps" in find(browser, "#curves figure svg")[0].get_attribute("aria-label")
    find(browser, "input.method")[1].click()
    assert [part.text for part in shown(browser, "#map figcaption")] == ["BGES, seed 0"]
    assert shown(browser, "#curves [data-method='1']") == []
    assert browser.get_log("browser") == []


def test_policies_side_by_side_move_with_their_slider(browser, runs, tmp_path):
    opened(browser, write_report([runs["repulsion"]], tmp_path / "report.html", clip=False))
    seen = []
    for place, when in enumerate(["at the start", "after 4 iterations", "after 8 iterations", "after 12 iterations"]):
        change(browser, "input.frames", str(place))
        assert find(browser, "#trajectories .legend")[0].text.split("\n") == [when, "policy 0", "policy 1"]
        seen.append([path.get_attribute("d") for path in find(browser, "#trajectories g:not([hidden])>g>.walk")])
    assert [len(paths) for paths in seen] == [50] * 4, "25 episodes of two policies"
    assert len({tuple(paths) for paths in seen}) == 4
    assert browser.get_log("browser") == []
