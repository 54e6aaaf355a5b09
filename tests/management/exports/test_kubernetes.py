"""The manifests for Kubernetes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from jobs_app.conf import get_settings
from jobs_app.management.exports.kubernetes import make
from jobs_app.management.exports.plan import Plan


def manifests(image: str = "shop:1", namespace: str | None = None, **chosen: Any) -> dict[str, Any]:
    usual = {"name": "shop", "queues": (), "concurrency": None, "metrics_port": 9100, "grace": 25, "replicas": 3}
    files = make(Plan(**usual | chosen), image=image, namespace=namespace)
    return {file.name: yaml.safe_load(file.content) for file in files}


def pod(manifest: dict[str, Any]) -> dict[str, Any]:
    return manifest["spec"]["template"]["spec"]


def container(manifest: dict[str, Any]) -> dict[str, Any]:
    (one,) = pod(manifest)["containers"]
    return one


def test_a_job_migrates_and_deployments_work_and_schedule() -> None:
    found = manifests()
    told = {name: (each["apiVersion"], each["kind"], each["metadata"]["name"]) for name, each in found.items()}
    assert told == {
        "shop-migrate.yaml": ("batch/v1", "Job", "shop-migrate"),
        "shop-worker.yaml": ("apps/v1", "Deployment", "shop-worker"),
        "shop-scheduler.yaml": ("apps/v1", "Deployment", "shop-scheduler"),
    }
    assert container(found["shop-migrate.yaml"])["args"] == ["python", "manage.py", "migrate", "--noinput"]
    assert pod(found["shop-migrate.yaml"])["restartPolicy"] == "Never"
    assert [found[name]["spec"]["replicas"] for name in ("shop-worker.yaml", "shop-scheduler.yaml")] == [3, 2]


def test_the_command_says_what_was_chosen() -> None:
    chosen = manifests(queues=("mail", "sync.*"), concurrency=4, grace=60)
    worker = container(chosen["shop-worker.yaml"])["args"]
    assert worker[:6] == ["python", "manage.py", "jobs", "worker", "--metrics-port", "9100"]
    assert worker[6:] == ["--grace", "60", "--queues", "mail,sync.*", "--concurrency", "4"]
    scheduler = container(chosen["shop-scheduler.yaml"])["args"]
    assert scheduler == ["python", "manage.py", "jobs", "scheduler", "--metrics-port", "9100"]


@pytest.mark.parametrize("name", ["shop-worker.yaml", "shop-scheduler.yaml"])
def test_a_deployment_is_probed_scraped_and_has_time_to_stop(name: str) -> None:
    manifest = manifests(grace=300)[name]
    one, template = container(manifest), manifest["spec"]["template"]
    assert manifest["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
    assert one["ports"] == [{"name": "metrics", "containerPort": 9100}]
    assert one["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "metrics"}
    assert one["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "metrics"}
    assert template["metadata"]["annotations"] == {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": "9100",
        "prometheus.io/path": "/metrics",
    }
    assert template["spec"]["terminationGracePeriodSeconds"] > 300 + get_settings().final_scrape_seconds


@pytest.mark.parametrize("name", ["shop-migrate.yaml", "shop-worker.yaml", "shop-scheduler.yaml"])
def test_a_container_has_its_secret_its_size_and_no_rights(name: str) -> None:
    manifest = manifests(image="registry:5000/shop@sha256:0", namespace="123")[name]
    one = container(manifest)
    assert one["image"] == "registry:5000/shop@sha256:0"
    assert one["envFrom"] == [{"secretRef": {"name": "shop-env"}}]
    assert set(one["resources"]) == {"requests", "limits"}
    assert pod(manifest)["securityContext"]["runAsNonRoot"] is True
    assert pod(manifest)["automountServiceAccountToken"] is False
    assert one["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert manifest["metadata"]["namespace"] == "123"


def test_without_a_namespace_that_of_kubectl_is_used_and_a_name_of_digits_stays_a_text() -> None:
    metadata = manifests(name="123")["123-worker.yaml"]["metadata"]
    assert "namespace" not in metadata
    assert metadata["labels"]["app.kubernetes.io/name"] == "123"
