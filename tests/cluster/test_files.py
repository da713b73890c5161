"""Cluster files: those of the project are sound, and every mistake is one line."""

import re
from pathlib import Path

import pytest

from bges.cluster.files import KuberayFile, LauncherFile, LocalFile, read_cluster
from bges.errors import InputError

ROOT = Path(__file__).parents[2]
FILES = {path.stem: path for path in sorted((ROOT / "cluster").glob("*.yaml"))}
KINDS = {"local": LocalFile, "onprem": LauncherFile, "aws": LauncherFile, "gcp": LauncherFile, "kuberay": KuberayFile}


def edited(name, folder, old="", new=""):
    """A file as a user fills it in, with a change."""
    text = re.sub(r"\bEDIT\b(?=[^#\n]*(#|\n))", "mine", FILES[name].read_text())
    assert old in text
    path = folder / f"{name}.yaml"
    path.write_text(text.replace(old, new) if old else text)
    return path


@pytest.mark.parametrize("name", KINDS)
def test_every_file_is_sound_once_it_is_filled_in(name, tmp_path):
    assert isinstance(read_cluster(edited(name, tmp_path)), KINDS[name])
    assert KINDS.keys() == FILES.keys()


@pytest.mark.parametrize("name", ["aws", "gcp", "kuberay"])
def test_what_is_not_filled_in_is_refused(name):
    with pytest.raises(InputError, match=r"EDIT.*: replace it with your own value"):
        read_cluster(FILES[name])


@pytest.mark.parametrize("path", [*FILES.values(), ROOT / "cluster" / "Dockerfile"], ids=lambda path: path.stem)
def test_versions_are_those_of_the_lock(path):
    text = path.read_text()
    ray = re.search(r"^ray==(.+)$", (ROOT / "requirements.lock").read_text(), re.MULTILINE)[1]
    python = re.search(r"python_requires = >=(.+)$", (ROOT / "setup.cfg").read_text(), re.MULTILINE)[1]
    versions = re.findall(r"ray\[default\]==([\d.]+)|ray:?([\d.]+)-py|rayVersion: \"([\d.]+)\"", text)
    assert {version for found in versions for version in found if version} <= {ray}
    assert bool(versions) == (path.stem != "local")
    pythons = re.findall(r"python(3\.\d+)|-py3(\d+)", text)
    assert {old or f"3.{new}" for old, new in pythons} <= {python}


@pytest.mark.parametrize("name", ["onprem", "aws", "gcp"])
def test_nodes_install_the_project_and_the_dashboard_stays_on_loopback(name):
    text = FILES[name].read_text()
    assert "pip install -q -c ~/bges/requirements.lock" in text
    assert '"~/bges": "."' in text
    assert "--dashboard-host=127.0.0.1" in text
    assert not re.search(r"\b0\.0\.0\.0\b", text)


MISTAKES = [
    ("local", "raylets", "raylet", "provider.type is 'raylet' (did you mean 'raylets'?)"),
    ("local", "nodes:", "node:", "unknown key 'node' (did you mean 'nodes'?)"),
    ("local", "[1, 1, 1]", "[1, many]", "nodes is 'many': input should be a valid integer"),
    ("local", "[1, 1, 1]", "[]", "nodes is []"),
    ("local", "nodes: [1, 1, 1]", "", "nodes is missing"),
    ("local", "cluster_name: local", "cluster_name: ../local", "cluster_name is '../local'"),
    ("aws", "type: aws", "type: asw", "provider.type is 'asw' (did you mean 'aws'?)"),
    ("aws", "  region: us-east-1", "  regon: us-east-1", "provider.region is missing; aws needs it"),
    ("aws", "max_workers: 9\nidle", "max_worker: 9\nidle", "('max_worker' was unexpected)"),
    ("aws", "max_workers: 9\nidle", "max_workers: many\nidle", "max_workers: 'many' is not of type 'integer'"),
    ("aws", "head_node_type: head", "head_node_type: hed", "`head_node_type` must be one of"),
    ("aws", "min_workers: 0", "min_workers: 12", "smaller than the sum of `min_workers`"),
    ("aws", "token ray start --add", "none ray start --add", "worker_start_ray_commands starts Ray without RAY_AUTH"),
    ("gcp", "project_id: mine", "projct_id: mine", "provider.project_id is missing; gcp needs it"),
    ("onprem", "  head_ip", "  head_pi", "provider.head_ip is missing; local needs it"),
    ("onprem", "auth:\n", "auht:\n", "('auht' was unexpected)"),
    ("kuberay", "mode: token", "mode: none", "spec.authOptions.mode is 'none': input should be 'token'"),
    ("kuberay", "ClusterIP", "LoadBalancer", "spec.headGroupSpec.serviceType is 'LoadBalancer'"),
    ("kuberay", "rayVersion", "rayVersoin", "unknown key 'spec.rayVersoin' (did you mean 'rayVersion'?)"),
    ("kuberay", "maxReplicas: 9", "maxReplicas: lots", "'lots': input should be a valid integer"),
    ("kuberay", "      replicas: 0", "      replicas: 20", "replicas is 20, expected 0 to 9"),
    ("kuberay", "kind: RayCluster", "kind: RayClutser", "kind is 'RayClutser': input should be 'RayCluster'"),
    ("local", "nodes:", "nodes: [", "local.yaml is not YAML"),
]


@pytest.mark.parametrize(("name", "old", "new", "said"), MISTAKES)
def test_a_mistake_is_one_line_that_says_what_is_wrong(name, old, new, said, tmp_path):
    with pytest.raises(InputError) as caught:
        read_cluster(edited(name, tmp_path, old, new))
    message = str(caught.value)
    assert said in message
    assert message.startswith(str(tmp_path / name))
    assert "\n" not in message


@pytest.mark.parametrize("text", ["", "- 1", "{}", "a: 1\n---\nb: 2"])
def test_what_is_not_a_cluster_is_refused(text, tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match="expected"):
        read_cluster(path)
