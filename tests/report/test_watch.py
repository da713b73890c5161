"""The live report: served on loopback only, renewed when the run has new data, stopped by Ctrl-C."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading

import pytest

from bges.errors import InputError
from bges.report.watch import make_server
from tests.report.browsing import find, opened
from tests.runs.test_directory import Session


@contextlib.contextmanager
def serving(path, seconds=0.0):
    with make_server(path, 0, seconds=seconds) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def get(server, path="/", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("GET", path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


@pytest.fixture
def session(tmp_path):
    session = Session(tmp_path / "run").step(2).save()
    yield session
    session.close()


def test_the_page_is_new_when_the_run_has_moved_on(session, tmp_path):
    with serving(tmp_path / "run") as server:
        status, page = get(server)
        assert (status, "1, 1 running" in page) == (200, True)
        stamp = get(server, "/stamp")
        assert get(server)[1] == page
        session.step(2).save()
        assert get(server, "/stamp") != stamp
        assert get(server)[1] != page


def test_it_is_not_drawn_again_all_the_time(session, tmp_path):
    with serving(tmp_path / "run", seconds=1000.0) as server:
        page, stamp = get(server), get(server, "/stamp")
        session.step(2).save()
        assert (get(server), get(server, "/stamp")) == (page, stamp)


def test_it_answers_this_machine_by_its_own_name_only(session, tmp_path):
    with serving(tmp_path / "run") as server:
        assert server.server_address[0] == "127.0.0.1"
        assert get(server, host=f"evil.example:{server.server_port}")[0] == 403
        assert get(server, host=f"localhost:{server.server_port}")[0] == 200
        assert get(server, "/config.yaml")[0] == 404
        assert get(server, "/../config.yaml")[0] == 404


def test_a_run_that_has_nothing_yet_is_watched_too(tmp_path):
    session = Session(tmp_path / "run")
    with serving(tmp_path / "run") as server:
        assert "it has no metrics yet" in get(server)[1]
    session.close()


def test_what_cannot_be_served_is_refused(session, tmp_path):
    with pytest.raises(InputError, match="is not a run directory"):
        make_server(tmp_path, 0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="--port is"):
            make_server(tmp_path / "run", taken.getsockname()[1])


def test_the_open_page_reloads_and_keeps_its_controls(browser, session, tmp_path):
    from selenium.webdriver.support.ui import WebDriverWait

    session.writer.checkpoint(session.local.strategy)
    with serving(tmp_path / "run") as server:
        opened(browser, f"http://127.0.0.1:{server.server_port}/")
        find(browser, "#curves summary")[0].click()
        before = find(browser, "#until")[0].get_attribute("max")
        # The page has to have seen one stamp to notice the next.
        browser.execute_async_script("setTimeout(arguments[0], 4000)")
        session.step(3).save()
        patient = WebDriverWait(browser, 60, ignored_exceptions=[Exception])
        patient.until(lambda driver: find(driver, "#until")[0].get_attribute("max") != before)
        assert browser.execute_script("return document.querySelector('#curves details').open")
        assert browser.get_log("browser") == []


def test_ctrl_c_ends_the_command(session, tmp_path):
    command = [sys.executable, "-m", "bges.cli", "watch", str(tmp_path / "run"), "--port", "0"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
        # A suite that was started in the background ignores SIGINT, and so would this.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == (0, "", "")
