"""A report in a real browser: opened, looked at, and its controls used."""


def opened(browser, path, *, width=1280, dark=False):
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 500}
    scheme = {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
    browser.get(path if str(path).startswith("http") else path.as_uri())
    return browser


def find(browser, what):
    return browser.find_elements("css selector", what)


def shown(browser, what):
    return [part for part in find(browser, what) if part.is_displayed()]


def change(browser, what, value):
    script = (
        "const e=document.querySelector(arguments[0]);e.value=arguments[1];"
        "e.dispatchEvent(new Event(e.type==='range'?'input':'change'))"
    )
    browser.execute_script(script, what, value)


def drawn(browser):
    """How many points each visible map shows, and what its canvas holds."""
    script = "return [...document.querySelectorAll('figure.run:not([hidden]):not(.off) .plot.points')]"
    counts = f"{script}.map(p => Number(p.dataset.drawn))"
    pixels = f"{script}.map(p => p.querySelector('canvas').toDataURL())"
    return browser.execute_script(counts), browser.execute_script(pixels)
