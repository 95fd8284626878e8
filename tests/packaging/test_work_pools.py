"""The base job templates of work pools: what they ask for is a variable of theirs, and their jobs are closed in."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "infra/work_pools").glob("*.json"))
VERSION = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)


def template(name: str) -> dict[str, Any]:
    return dict(json.loads((ROOT / f"infra/work_pools/{name}.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_uses_each_of_its_variables_and_no_other(path: Path) -> None:
    found = template(path.stem)
    used = set(re.findall(r"{{ (\w+) }}", json.dumps(found["job_configuration"])))
    variables = found["variables"]["properties"]
    assert used == set(variables)
    assert variables["image"]["default"] == f"promptaudit:{VERSION[1] if VERSION else ''}"
    assert all(each["title"] for each in variables.values())
    assert "PREFECT_HOME" in variables["env"]["default"]  # the root of the file system is read only, /tmp is not


def test_a_job_of_kubernetes_is_closed_in_and_runs_prefects_command() -> None:
    worker = pytest.importorskip("prefect_kubernetes.worker", reason="the extra kubernetes is not installed")
    from prefect.client.schemas.objects import FlowRun

    made = worker.KubernetesWorkerJobConfiguration.from_template_and_values(template("kubernetes"), {}, client=object())
    job = asyncio.run(made)
    job.prepare_for_flow_run(FlowRun(id=uuid.uuid4(), flow_id=uuid.uuid4(), name="ask mine shard 1 of 4"))
    pod = job.job_manifest["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert [*container["command"], *container["args"]] == ["/usr/bin/env", "prefect", "flow-run", "execute"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["restartPolicy"] == "Never"


def test_a_container_of_docker_is_closed_in_and_runs_prefects_command() -> None:
    worker = pytest.importorskip("prefect_docker.worker", reason="prefect-docker is not installed")
    made = worker.DockerWorkerJobConfiguration.from_template_and_values(template("docker"), {}, client=object())
    container = asyncio.run(made)
    assert container.container_create_kwargs["entrypoint"] == ["/usr/bin/env"]
    assert container.container_create_kwargs["read_only"]
    assert not container.privileged
