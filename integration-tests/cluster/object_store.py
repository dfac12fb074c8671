"""An S3 server made for tests, as a pod, and what a service needs to keep its checkpoint there."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from kube import Namespace
from polling import poll_until

POD = "s3"
PORT = 9000
BUCKET = "checkpoints"
SECRET = "s3-login"
KEYS = {"AWS_ACCESS_KEY_ID": "access-of-the-test", "AWS_SECRET_ACCESS_KEY": "secret-of-the-test"}

_CLIENT = f"import boto3; s3 = boto3.client('s3', endpoint_url='http://127.0.0.1:{PORT}', region_name='us-east-1')\n"


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """The server in a namespace; its objects go with its pod."""

    namespace: Namespace

    def start_for(self, service: str, tag: str) -> list[str]:
        """Run the server, make bucket and Secret; give helm's values for a service with its checkpoint there.

        Args:
            tag: of the server's image, and of the service's, which holds the jars.
        """
        self.namespace.create(_pod(f"forebay-s3:{tag}"), _service(), _secret())
        poll_until(lambda: self.namespace.is_ready(POD), "the object store is ready", 180)
        self._ask(f"s3.create_bucket(Bucket={BUCKET!r})")
        spark = {"endpoint": f"http://{POD}:{PORT}", "path.style.access": "true"}
        return [
            f"{service}.image.tag={tag}",
            f"{service}.checkpoint.url=s3a://{BUCKET}/{service}",
            f"{service}.checkpoint.existingSecret={SECRET}",
            *(f"{service}.spark.{_escaped(f'spark.hadoop.fs.s3a.{name}')}={value}" for name, value in spark.items()),
        ]

    def objects(self) -> list[str]:
        """Give the names of all objects."""
        each = f"s3.get_paginator('list_objects_v2').paginate(Bucket={BUCKET!r})"
        return self._ask(f"[print(each['Key']) for page in {each} for each in page.get('Contents', [])]").splitlines()

    def _ask(self, code: str) -> str:
        keys = [f"{name}={value}" for name, value in KEYS.items()]
        return self.namespace.kubectl("exec", POD, "--", "env", *keys, "python", "-c", _CLIENT + code)


def _escaped(name: str) -> str:
    """Give a name as helm's --set takes it: a dot would begin another level."""
    return name.replace(".", r"\.")


def _pod(image: str) -> dict[str, object]:
    container = {
        "name": POD,
        "image": image,
        "ports": [{"containerPort": PORT}],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    spec = {
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": POD, "labels": {"app": POD}}, "spec": spec}


def _service() -> dict[str, object]:
    spec = {"selector": {"app": POD}, "ports": [{"port": PORT}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": POD}, "spec": spec}


def _secret() -> dict[str, object]:
    data = {name: base64.b64encode(value.encode()).decode() for name, value in KEYS.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "data": data}
