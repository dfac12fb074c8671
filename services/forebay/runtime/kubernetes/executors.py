"""Settings of a driver on Kubernetes, whose executors are pods of a Deployment, not pods that Spark creates."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from forebay.runtime.launch.addresses import host_of
from forebay.runtime.launch.rpc_secret import driver_settings

DRIVER_PORT = 7078
EXECUTOR_SLOTS = 64
"""Largest number of groups of an executor. Groups mostly wait, and a job must run with fewer executors than groups."""
BLOCK_MANAGER_PORT = 7079
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

EXECUTOR_LOSS: Mapping[str, str] = {
    "spark.decommission.enabled": "true",
    "spark.executor.decommission.forceKillTimeout": "60s",
    "spark.kubernetes.executor.missingPodDetectDelta": "3650d",
    "spark.network.timeout": "40s",
    "spark.network.timeoutInterval": "5s",
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "1s",
    "spark.stage.maxConsecutiveAttempts": "10",
    "spark.task.maxFailures": "8",
}
"""An executor may end at any time. Its tasks soon run again on other executors, and this is no failure of the job.

Executors choose their ids themselves, so Spark finds no id on their pods and must not consider the pods lost. An
executor whose node is lost is detected by its missing heartbeats, after 40 to 45 s.
"""


class NotOnKubernetes(RuntimeError):
    """This process does not run in a pod with a service account. The message names the remedy."""


@dataclass(frozen=True, slots=True)
class ExecutorPods:
    """The Deployment whose pods are the executors of this driver.

    Args:
        name: name of the Deployment; also Spark's application id, which the pods have as a label.
        driver_host: host name of this process for the executors. It begins with the name of its Deployment.
        namespace: namespace of both.
        secret: file with the secret of both sides; None: their calls are neither authenticated nor encrypted.
    """

    name: str
    driver_host: str
    namespace: str
    secret: Path | None = None

    @classmethod
    def of_this_pod(cls, name: str, driver_host: str, secret: Path | None = None) -> ExecutorPods:
        """Return the executors in the namespace of this process's pod. Raises NotOnKubernetes."""
        try:
            namespace = (SERVICE_ACCOUNT / "namespace").read_text(encoding="utf-8").strip()
        except OSError as error:
            raise NotOnKubernetes(
                f"--executors {name} needs a pod with a service account, but {error.filename} can't be read "
                f"({error.strerror}): outside of Kubernetes use --slots, in a pod set automountServiceAccountToken"
            ) from error
        return cls(name, driver_host, namespace, secret)

    def settings(self) -> dict[str, str]:
        """Return Spark's settings: master and addresses. Spark itself creates and deletes no pods."""
        return {
            "spark.master": "k8s://https://kubernetes.default.svc",
            "spark.app.id": self.name,
            "spark.executor.instances": "0",
            "spark.executor.cores": str(EXECUTOR_SLOTS),
            "spark.kubernetes.namespace": self.namespace,
            "spark.kubernetes.executor.useDriverPodIP": "false",
            "spark.kubernetes.executor.deleteOnTermination": "false",
            "spark.kubernetes.executor.disableConfigMap": "true",
            # The name may have the address of a driver that is ending, or of a lost node, too.
            "spark.driver.host": host_of(os.environ.get("POD_IP") or self.driver_host),
            "spark.driver.bindAddress": host_of(os.environ.get("SPARK_LOCAL_IP", "0.0.0.0")),
            "spark.driver.port": str(DRIVER_PORT),
            "spark.driver.blockManager.port": str(BLOCK_MANAGER_PORT),
            "spark.blockManager.port": str(BLOCK_MANAGER_PORT),
            **EXECUTOR_LOSS,
            **(driver_settings(self.secret) if self.secret is not None else {}),
        }
