"""A PyTorchJob of Kubernetes, with what a test needs in its containers."""

from __future__ import annotations

from textwrap import indent

HEAD = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
spec:
  pytorchReplicaSpecs:
"""
REPLICA = """\
    {name}:
      template:
        spec:
          containers:
            - name: pytorch
"""


def pytorch_job(*, master: str, worker: str, after: str = "") -> str:
    """The manifest of two containers; `after` stands behind those of the worker."""
    containers = (("Master", master), ("Worker", worker))
    written = (REPLICA.format(name=name) + indent(text, " " * 14) for name, text in containers)
    return HEAD + "".join(written) + indent(after, " " * 10)
