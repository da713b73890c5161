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
    change(browser, "#colour", "reward")
    again, by_reward = drawn(browser)
    assert again == all_points
    assert all(one != other for one, other in zip(by_iteration, by_reward, strict=True))
    assert shown(browser, "#map .bar")[0].text.startswith("reward ")
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


@pytest.mark.parametrize("name", ["line", "many", "plane", "divergence"])
def test_single_runs_of_all_kinds_open_without_errors(browser, runs, tmp_path, name):
    opened(browser, write_report([runs[name]], tmp_path / "report.html", clip=False))
    assert browser.get_log("browser") == []
    assert drawn(browser)[0][0] > 0
