"""An S3 server for tests that runs as a pod, and the values of a service with its checkpoint there."""

from __future__ import annotations

from dataclasses import dataclass

from cluster.kube import Namespace
from cluster.manifests import container, headless_service, pod, secret
from cluster.polling import poll_until

POD = "s3"
PORT = 9000
BUCKET = "checkpoints"
SECRET = "s3-login"
KEYS = {"AWS_ACCESS_KEY_ID": "access-of-the-test", "AWS_SECRET_ACCESS_KEY": "secret-of-the-test"}

_CLIENT = f"import boto3; s3 = boto3.client('s3', endpoint_url='http://127.0.0.1:{PORT}', region_name='us-east-1')\n"


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """The server in a namespace. Its objects are lost with its pod."""

    namespace: Namespace

    def start_for(self, service: str, tag: str) -> list[str]:
        """Run the server, create bucket and Secret, and return helm's values for a service with its checkpoint there.

        Args:
            tag: Tag of the images of the server and of the service, which contains the jars.
        """
        server = container(POD, f"forebay-s3:{tag}", PORT)
        self.namespace.create(pod(POD, [server]), headless_service(POD, {"http": PORT}), secret(SECRET, KEYS))
        poll_until(lambda: self.namespace.is_ready(POD), "the object store is ready", 180)
        self._ask(f"s3.create_bucket(Bucket={BUCKET!r})")
        spark = {"endpoint": f"http://{POD}:{PORT}", "path.style.access": "true"}
        return [
            f"{service}.image.tag={tag}",
            f"{service}.checkpoint.url=s3a://{BUCKET}/{service}",
            f"{service}.checkpoint.existingSecret={SECRET}",
            *(f"{service}.spark.{_escape(f'spark.hadoop.fs.s3a.{name}')}={value}" for name, value in spark.items()),
        ]

    def objects(self) -> list[str]:
        """Return the names of all objects."""
        item = f"s3.get_paginator('list_objects_v2').paginate(Bucket={BUCKET!r})"
        return self._ask(f"[print(each['Key']) for page in {item} for each in page.get('Contents', [])]").splitlines()

    def _ask(self, code: str) -> str:
        keys = [f"{name}={value}" for name, value in KEYS.items()]
        return self.namespace.kubectl("exec", POD, "--", "env", *keys, "python", "-c", _CLIENT + code)


def _escape(name: str) -> str:
    """Return a name escaped for helm's --set, in which a dot separates levels."""
    return name.replace(".", r"\.")
