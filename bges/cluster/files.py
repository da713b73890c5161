"""Cluster files: their kinds, and checks that report a mistake in one line."""

import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bges.checks import check_choice
from bges.config.mistakes import explain
from bges.config.sections import Count, Section
from bges.errors import InputError

TOKEN_SETTING = "RAY_AUTH_MODE=token"
# What Ray's own validation does not ask for.
NEEDED = {
    "aws": ("region",),
    "gcp": ("region", "availability_zone", "project_id"),
    "local": ("head_ip", "worker_ips"),
    "azure": ("location", "resource_group"),
    "vsphere": ("vsphere_config",),
}
Model = TypeVar("Model", bound=BaseModel)
Name = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")]


class RayletsProvider(Section):
    type: Literal["raylets"]


class LocalFile(Section):
    """Raylets of this machine."""

    cluster_name: Name
    provider: RayletsProvider
    nodes: Annotated[tuple[Count, ...], Field(min_length=1, max_length=64)]
    object_store_mb: Annotated[int, Field(ge=100)] = 200


class _Part(BaseModel):
    """A part of a Kubernetes object, of which only what matters here is known."""

    model_config = ConfigDict(extra="allow", strict=True)


class _Metadata(_Part):
    name: str


class _PodSpec(_Part):
    containers: Annotated[list[dict[str, Any]], Field(min_length=1)]


class _Template(_Part):
    spec: _PodSpec


class _Head(_Part):
    # Others would open a port to the world.
    serviceType: Literal["ClusterIP"] = "ClusterIP"
    template: _Template


class _Workers(_Part):
    groupName: str
    replicas: Annotated[int, Field(ge=0)] = 0
    minReplicas: Annotated[int, Field(ge=0)] = 0
    maxReplicas: Annotated[int, Field(ge=1)]
    template: _Template

    @model_validator(mode="after")
    def _range(self) -> Self:
        if not self.minReplicas <= self.replicas <= self.maxReplicas:
            raise ValueError(f"replicas is {self.replicas}, expected {self.minReplicas} to {self.maxReplicas}")
        return self


class _Auth(_Part):
    mode: Literal["token"]


class _Spec(_Part):
    model_config = ConfigDict(extra="forbid", strict=True)

    rayVersion: str
    authOptions: _Auth
    enableInTreeAutoscaling: bool = False
    autoscalerOptions: dict[str, Any] = {}
    headServiceAnnotations: dict[str, str] = {}
    gcsFaultToleranceOptions: dict[str, Any] = {}
    suspend: bool = False
    headGroupSpec: _Head
    workerGroupSpecs: Annotated[list[_Workers], Field(min_length=1)]


class KuberayFile(BaseModel):
    """A RayCluster for the KubeRay operator."""

    model_config = ConfigDict(extra="forbid", strict=True)

    apiVersion: Literal["ray.io/v1"]
    kind: Literal["RayCluster"]
    metadata: _Metadata
    spec: _Spec


@dataclass(frozen=True, kw_only=True)
class LauncherFile:
    """A file for Ray's own launcher."""

    path: Path
    cluster_name: str


def read_cluster(path: Path) -> LocalFile | LauncherFile | KuberayFile:
    """Read a cluster file and check whatever can be checked without starting anything."""
    try:
        documents = [document for document in yaml.safe_load_all(path.read_text()) if document is not None]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    if not documents or not all(isinstance(document, dict) for document in documents):
        raise InputError(f"{path}: expected a mapping of keys, as in cluster/local.yaml")
    for document in documents:
        _check_edited(path, document)
    tree = documents[0]
    if "apiVersion" in tree or "kind" in tree:
        return _parse(KuberayFile, tree, path)
    if len(documents) > 1:
        raise InputError(f"{path}: expected one document, found {len(documents)}")
    provider = tree.get("provider")
    if not isinstance(provider, dict) or not isinstance(provider.get("type"), str):
        raise InputError(f"{path}: provider.type is missing, expected one of: {', '.join(sorted(_providers()))}")
    check_choice(f"{path}: provider.type", provider["type"], _providers())
    if provider["type"] == "raylets":
        return _parse(LocalFile, tree, path)
    return _check_launcher(path, tree)


def _providers() -> list[str]:
    return ["raylets", *NEEDED]


def _check_edited(path: Path, value: Any, key: str = "") -> None:
    """Refuse what a user was to fill in and has not."""
    if isinstance(value, str) and re.search(r"\bEDIT\b", value):
        raise InputError(f"{path}: {key} is {value!r}: replace it with your own value")
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        _check_edited(path, part, f"{key}.{name}".lstrip("."))


def _parse(model: type[Model], tree: Any, path: Path) -> Model:
    try:
        return model.model_validate(tree)
    except ValidationError as error:
        raise InputError(f"{path}: {explain(model, error)}") from None


def _check_launcher(path: Path, tree: dict[str, Any]) -> LauncherFile:
    kind = tree["provider"]["type"]
    for name in NEEDED[kind]:
        if not tree["provider"].get(name):
            raise InputError(f"{path}: provider.{name} is missing; {kind} needs it")
    _check_by_ray(path, tree)
    for name in ("head_start_ray_commands", "worker_start_ray_commands"):
        starts = [command for command in tree.get(name) or [] if "ray start" in command]
        if not starts or not all(TOKEN_SETTING in command for command in starts):
            raise InputError(f"{path}: {name} starts Ray without {TOKEN_SETTING}: anyone on its network could use it")
    return LauncherFile(path=path, cluster_name=tree["cluster_name"])


def _check_by_ray(path: Path, tree: dict[str, Any]) -> None:
    from jsonschema import ValidationError as SchemaError
    from ray.autoscaler._private.util import prepare_config, validate_config

    logging.getLogger("ray.autoscaler._private.util").setLevel(logging.ERROR)
    try:
        validate_config(prepare_config(tree))
    except SchemaError as error:
        where = ".".join(str(part) for part in error.absolute_path)
        raise InputError(f"{path}: {where + ': ' if where else ''}{' '.join(error.message.split())[:300]}") from None
    # Its own checks are not of one kind: a wrong type may be found by a failing sum.
    except Exception as error:
        raise InputError(f"{path}: Ray refuses it: {' '.join(str(error).split())}") from None
