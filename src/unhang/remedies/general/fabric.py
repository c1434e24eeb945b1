"""Cures of links and devices: interfaces, InfiniBand, peer-to-peer, shared memory, GPUs."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.model.events import (
    DeviceFault,
    GlooFault,
    GlooProblem,
    InterfaceUsed,
    KernelEvent,
    NcclFailure,
    NcclReason,
    PythonException,
    SettingSeen,
    StoreFault,
    StoreProblem,
)
from unhang.remedies.context import RemedyContext
from unhang.remedies.cures import Cure, GeneralCure, PatchLanguage, Recipe
from unhang.rules.shared.addresses import leads_nowhere
from unhang.settings.versions import at_least

_SLOW_PATHS = (
    "NCCL_IB_DISABLE",
    "NCCL_P2P_DISABLE",
    "NCCL_SHM_DISABLE",
    "NCCL_NET_GDR_LEVEL",
    "NCCL_PXN_DISABLE",
    "NCCL_BUFFSIZE",
    "NCCL_ALGO",
    "NCCL_PROTO",
)

_TRANSPORT = """
# Which way does the data take? Look for `via P2P`, `via SHM`, `via NET/IB`, `via NET/Socket`.
NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH bash launch.sh 2>&1 | grep -E "via |Using network"
# And how fast is it without the training? (https://github.com/NVIDIA/nccl-tests)
all_gather_perf -b 1M -e 1G -f 2 -g "$(nvidia-smi -L | wc -l)"
nvidia-smi topo -m
"""

_INTERFACE = """
# In a container first: docker run --network host, or `hostNetwork: true` for a pod. Then set
# nothing; or exclude what reaches no other host: export NCCL_SOCKET_IFNAME=^docker0,lo
# Else, on each node, before the launch command: the interface that reaches rank 0's host.
command -v ip > /dev/null || apt-get install --yes iproute2
address=$(getent ahostsv4 "${MASTER_ADDR:?}" | awk 'NR == 1 {print $1}')
nic=$(ip -o route get "$address" | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')
if [ "$nic" = lo ]; then  # this is rank 0's host: the interface that has the address
    nic=$(ip -o -4 address | awk -v a="$address/" 'index($4, a) == 1 {print $2}')
fi
[ -n "$nic" ] && export NCCL_SOCKET_IFNAME="=$nic" GLOO_SOCKET_IFNAME="$nic"
ip -br address show dev "$nic"
"""

_MEMLOCK = """
ulimit -l unlimited    # in the shell that starts the ranks
# Slurm: PropagateResourceLimitsExcept=MEMLOCK in slurm.conf; systemd: LimitMEMLOCK=infinity
# Docker: docker run --ulimit memlock=-1 --cap-add=IPC_LOCK
ulimit -l
"""

_GID = """
unset NCCL_IB_GID_INDEX   # NCCL 2.21 and later finds the index itself
show_gids                 # the RoCE v2 index must be the same port by port on every node
"""

_ACS = """
# As the administrator: is ACS on (SrcValid+), does the IOMMU translate?
lspci -vvv 2>/dev/null | grep -c "SrcValid+"
grep -o "iommu=[a-z]*" /proc/cmdline
# Off in the BIOS, or: iommu=pt on the kernel's command line, and ACS off on the PCIe bridges
# (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html)
"""

_SHM = """
df -h /dev/shm
# Docker: one of
docker run --shm-size=16g "$IMAGE"
# docker run --ipc=host "$IMAGE"
"""

_SHM_POD = """
spec:
  containers:
    - name: pytorch
      volumeMounts:
        - name: shm
          mountPath: /dev/shm
  volumes:
    - name: shm
      emptyDir:
        medium: Memory
        sizeLimit: 16Gi
"""

_GPU = """
nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER | grep -vE ": (0|N/A|No)$"
nvidia-smi nvlink --status
dmesg -T | grep -E "NVRM|Xid" | tail -n 20
dcgmi diag --run 3
"""

_FABRIC = """
systemctl status nvidia-fabricmanager
nvidia-smi -q | grep -A 3 -i "fabric"
# As the administrator; its version must be that of the driver:
systemctl restart nvidia-fabricmanager
"""

_BLOCKING = """
# One run that names the kernel: the error then appears at the line that caused it.
CUDA_LAUNCH_BLOCKING=1 TORCH_USE_CUDA_DSA=1 bash launch.sh
# An index out of range? The same batch on the CPU names it.
"""

_ENDPOINT = """
# The same three arguments on every node; the endpoint is one host that all of them reach.
torchrun --nnodes "$NNODES" --nproc-per-node "$GPUS" --rdzv-id "$JOB_ID" \\
    --rdzv-backend c10d --rdzv-endpoint "$HEAD_NODE:29500" train.py
# From every other node:
getent hosts "$HEAD_NODE" && timeout 3 bash -c "</dev/tcp/$HEAD_NODE/29500" && echo reachable
"""

_GLOO = """
# Gloo could not resolve the host's own name, and took the loopback address. On each node, before
# the program starts: the interface that has the address of this node.
name=$(ip -o -4 address | awk -v a="$NODE_IP/" 'index($4, a) == 1 {print $2}')
export GLOO_SOCKET_IFNAME="$name"
"""

_PORT = """
# A free port, the same on every node of this job and another for the next one.
export MASTER_PORT=$((20000 + ${SLURM_JOB_ID:-$$} % 20000))
torchrun --master-port "$MASTER_PORT" "$@"
# Who holds it: ss -ltnp | grep ":$MASTER_PORT "
"""

_LONGER_RENDEZVOUS = (
    'torchrun --rdzv-backend c10d --rdzv-endpoint "$HEAD_NODE:29500" \\\n'
    '    --rdzv-conf join_timeout=1800,read_timeout=300 "$@"'
)


def _fast_path(case: RemedyContext) -> Recipe | None:
    """Unset what was seen to be set; nothing to say where nothing was."""
    seen = {e.name for e in case.incident.all(SettingSeen)}
    names = [name for name in _SLOW_PATHS if name in seen]
    return Recipe(form=PatchLanguage.SHELL, text=f"unset {' '.join(names)}") if names else None


def _gid_index(case: RemedyContext) -> Recipe | None:
    if at_least(case.nccl, "2.21") is False:
        return Recipe(form=PatchLanguage.ENV, settings={"NCCL_IB_GID_INDEX": "3"})
    return Recipe(form=PatchLanguage.SHELL, text=_GID.strip())


def _memlock(case: RemedyContext) -> Recipe | None:
    """Only where registering memory failed."""
    text = " ".join(e.source.text for e in case.incident.all(NcclFailure)).lower()
    if "cannot allocate memory" in text or "reg_mr" in text:
        return Recipe(form=PatchLanguage.SHELL, text=_MEMLOCK.strip())
    return None


def _fabric_manager(case: RemedyContext) -> Recipe | None:
    """Only where NVSwitch or its manager is spoken of."""
    told = (DeviceFault, KernelEvent, NcclFailure, PythonException)
    texts = " ".join(e.source.text.lower() for e in case.incident.events if isinstance(e, told))
    words = ("fabric", "nvswitch", "multicast", "nvls", "error 802", "not yet initialized")
    if any(word in texts for word in words):
        return Recipe(form=PatchLanguage.SHELL, text=_FABRIC.strip())
    return None


def _free_port(case: RemedyContext) -> Recipe | None:
    faults = case.incident.all(StoreFault)
    taken = [e for e in faults if e.problem is StoreProblem.PORT_IN_USE]
    if faults and not taken:
        return None
    ports = sorted({e.port for e in taken if e.port})
    told = f"# Port {ports[0]} was taken.\n" if len(ports) == 1 else ""
    return Recipe(form=PatchLanguage.SHELL, text=told + _PORT.strip())


def _interface(case: RemedyContext) -> Recipe:
    """With what the evidence says of the names in force."""
    missing = any(e.reason is NcclReason.NO_INTERFACE for e in case.incident.all(NcclFailure))
    names = {e.value for e in case.incident.all(SettingSeen) if e.name == "NCCL_SOCKET_IFNAME"}
    text = _INTERFACE.strip()
    if missing and len(names) == 1:
        text = f"# No interface is called {names.pop()}.\n{text}"
    used = [u for u in case.incident.all(InterfaceUsed) if u.library == "nccl"]
    astray = {u.interface for u in used if leads_nowhere(u.interface)}
    if not names and len(astray) == 1:
        text = f"# NCCL meets at {astray.pop()}, which reaches no other host.\n{text}"
    if any(e.problem is GlooProblem.RESOLVE_FAILED for e in case.incident.all(GlooFault)):
        text = f"{_GLOO.strip()}\n{text}"
    return Recipe(form=PatchLanguage.SHELL, text=text)


def _more_shm(case: RemedyContext) -> Recipe:
    pod = any(
        word in e.source.artifact.lower()
        for e in case.incident.events[:1]
        for word in ("pod", "k8s", "kube")
    )
    if pod:
        return Recipe(form=PatchLanguage.YAML, text=_SHM_POD.strip())
    return Recipe(form=PatchLanguage.SHELL, text=_SHM.strip())


CURES: Mapping[Cure, GeneralCure] = {
    Cure.FAST_PATH: _fast_path,
    Cure.TRANSPORT_CHECK: lambda _: Recipe(form=PatchLanguage.SHELL, text=_TRANSPORT.strip()),
    Cure.INTERFACE: _interface,
    Cure.MEMLOCK: _memlock,
    Cure.GID_INDEX: _gid_index,
    Cure.IB_PATIENCE: lambda _: Recipe(
        form=PatchLanguage.ENV, settings={"NCCL_IB_TIMEOUT": "22", "NCCL_IB_RETRY_CNT": "7"}
    ),
    Cure.IB_OFF: lambda _: Recipe(form=PatchLanguage.ENV, settings={"NCCL_IB_DISABLE": "1"}),
    Cure.P2P_OFF: lambda _: Recipe(form=PatchLanguage.ENV, settings={"NCCL_P2P_DISABLE": "1"}),
    Cure.ACS_OFF: lambda _: Recipe(form=PatchLanguage.SHELL, text=_ACS.strip()),
    Cure.MORE_SHM: _more_shm,
    Cure.GPU_CHECK: lambda _: Recipe(form=PatchLanguage.SHELL, text=_GPU.strip()),
    Cure.FABRIC_MANAGER: _fabric_manager,
    Cure.BLOCKING_LAUNCH: lambda _: Recipe(form=PatchLanguage.SHELL, text=_BLOCKING.strip()),
    Cure.ONE_ENDPOINT: lambda _: Recipe(form=PatchLanguage.SHELL, text=_ENDPOINT.strip()),
    Cure.OWN_STORE: lambda _: Recipe(
        form=PatchLanguage.ENV, settings={"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    ),
    Cure.FREE_PORT: _free_port,
    Cure.LONGER_RENDEZVOUS: lambda _: Recipe(form=PatchLanguage.SHELL, text=_LONGER_RENDEZVOUS),
}
"""By cure; None where the case does not call for it."""
