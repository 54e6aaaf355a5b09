"""Manifests for Kubernetes: a Job that migrates, and a Deployment each for workers and schedulers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from string import Template
from textwrap import indent

from jobs_app.management.exports.files import File
from jobs_app.management.exports.plan import Plan

SCHEDULERS = 2  # they share the work without a leader, so the loss of a node stops no schedule
# A user id, since Kubernetes cannot tell whether the name of a user in an image is root.
POD = Template("""\
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
containers:
  - name: $component
    image: $image
    args: $args
    envFrom:
      - secretRef:
          name: $name-env
    securityContext:
      allowPrivilegeEscalation: false
      capabilities:
        drop: ["ALL"]
    resources:
      requests:
        cpu: $cpu
        memory: $memory
      limits:
        memory: $most_memory
""")
# A worker that hangs for a minute is started anew. One that drains, or has no database, is only not ready.
PROBES = Template("""\
    ports:
      - name: metrics
        containerPort: $port
    livenessProbe:
      httpGet:
        path: /livez
        port: metrics
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 6
    readinessProbe:
      httpGet:
        path: /readyz
        port: metrics
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 3
""")
DEPLOYMENT = Template("""\
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: $name-$component
$namespace  labels:
    app.kubernetes.io/name: $label
    app.kubernetes.io/component: $component
spec:
  replicas: $replicas
  selector:
    matchLabels:
      app.kubernetes.io/name: $label
      app.kubernetes.io/component: $component
  template:
    metadata:
      labels:
        app.kubernetes.io/name: $label
        app.kubernetes.io/component: $component
      annotations:
        prometheus.io/scrape: "true"
        prometheus.io/port: "$port"
        prometheus.io/path: /metrics
    spec:
      terminationGracePeriodSeconds: $stop_seconds
$pod""")
MIGRATION = Template("""\
---
apiVersion: batch/v1
kind: Job
metadata:
  name: $name-migrate
$namespace  labels:
    app.kubernetes.io/name: $label
    app.kubernetes.io/component: migrate
spec:
  backoffLimit: 3
  ttlSecondsAfterFinished: 3600
  template:
    metadata:
      labels:
        app.kubernetes.io/name: $label
        app.kubernetes.io/component: migrate
    spec:
      restartPolicy: Never
$pod""")
SIZES = {  # cpu and memory asked for, and the memory that a container may take
    "migrate": ("100m", "256Mi", "512Mi"),
    "worker": ("250m", "256Mi", "1Gi"),
    "scheduler": ("100m", "256Mi", "512Mi"),
}


def make(plan: Plan, *, image: str, namespace: str | None) -> list[File]:
    place = f"  namespace: {json.dumps(namespace)}\n" if namespace else ""
    common = {"name": plan.name, "label": json.dumps(plan.name), "namespace": place}

    def deployment(component: str, replicas: int, words: Sequence[str]) -> File:
        pod = _pod(plan, component, image, words) + PROBES.substitute(port=plan.metrics_port)
        content = DEPLOYMENT.substitute(
            common,
            component=component,
            replicas=replicas,
            port=plan.metrics_port,
            stop_seconds=plan.stop_seconds,
            pod=indent(pod, " " * 6),
        )
        return File(f"{plan.name}-{component}.yaml", content)

    pod = indent(_pod(plan, "migrate", image, ["migrate", "--noinput"]), " " * 6)
    return [
        File(f"{plan.name}-migrate.yaml", MIGRATION.substitute(common, pod=pod)),
        deployment("worker", plan.replicas, plan.worker(plan.metrics_port)),
        deployment("scheduler", SCHEDULERS, plan.scheduler(plan.metrics_port)),
    ]


def _pod(plan: Plan, component: str, image: str, words: Sequence[str]) -> str:
    """Strings of JSON are strings of YAML."""
    cpu, memory, most_memory = SIZES[component]
    return POD.substitute(
        name=plan.name,
        component=component,
        image=json.dumps(image),
        args=json.dumps(["python", "manage.py", *words]),
        cpu=cpu,
        memory=memory,
        most_memory=most_memory,
    )
