"""RecBole: data that load for longer than the store waits, and a checkpoint read half-written."""

from __future__ import annotations

from rehearsals.environments import RECBOLE
from rehearsals.situation import Patches, Situation, SituationRemedy
from unhang.model.causes import Cause
from unhang.model.phases import Phase

_PATCHES: Patches = {
    "names_of_numpy_1": {},
    "no_ray_tune": {},
    "recbole_on_cpu": {},
    "ddp_on_cpu": {},
    "trusted_checkpoints": {},
}
_REAL = (
    "RecBole's quick start, data set, trainer and BPR on the ml-100k that it ships; `mp.spawn`, "
    "DDP over gloo. The folders of its logs are made beforehand: its processes race to make them, "
    "and the second one ends with FileExistsError."
)

_IMPORT = "from recbole.quick_start import run\n"
_WAIT = """import torch.distributed as dist
from recbole.quick_start import run
from recbole.trainer import Trainer

save = Trainer._save_checkpoint


def save_and_wait(self, *args, **kwargs):
    \"\"\"All ranks go on once rank 0 has written, with the name of its file.\"\"\"
    save(self, *args, **kwargs)
    if dist.is_initialized():
        name = [self.saved_model_file]
        dist.broadcast_object_list(name, src=0)
        self.saved_model_file = name[0]


Trainer._save_checkpoint = save_and_wait
"""

SITUATIONS = (
    Situation(
        name="recbole-slow-loading",
        summary="RecBole: rank 0 loads its data for 25 s, the others wait at most 12 s",
        environment=RECBOLE,
        packages=("recbole",),
        job="recbole",
        patches={**_PATCHES, "default_timeout": {"seconds": 12}},
        fault={"slow_csv": {"rank": 0, "seconds": 25}},
        cause=Cause.DATA_SLOW,
        culprits=frozenset({0}),
        phase=Phase.DATA,
        accept=("timeout_short",),
        fails_with="Timed out waiting 12000ms",
        finishes_with="training finished",
        remedy=SituationRemedy(
            says="The data are prepared once, by one process; `unhang fix` lets RecBole keep them.",
            files=("bpr.yaml",),
            first=("python", "run_recbole.py", "--nproc", "1"),
        ),
        real=_REAL,
        played="The storage: rank 0 gets the table in small portions for 25 s. The timeout is "
        "12 s: RecBole has no setting. Gloo connects when the group is made, so the words of NCCL "
        "(`store->get('0')`) do not occur.",
    ),
    Situation(
        name="recbole-host-memory",
        summary="RecBole: four processes hold all data each, and the host has memory for three",
        environment=RECBOLE,
        packages=("recbole",),
        job="recbole",
        command=("sh", "train-clicks.sh"),
        world=4,
        patches={**_PATCHES, "awaited_checkpoint": {}},
        fault={"host_memory": {"rank": 3, "copies": 3, "data_mib": 500}},
        cause=Cause.HOST_OOM,
        culprits=frozenset({3}),
        phase=None,
        accept=("rank_crash",),
        legitimate=False,
        fails_with="terminated with signal SIGKILL",
        finishes_with="training finished",
        remedy=SituationRemedy(
            says="`unhang fix` halves the processes of the launch script: each holds all data.",
            files=("train-clicks.sh", "bpr.yaml", "clicks.yaml"),
        ),
        real="RecBole's quick start, data set, trainer and BPR on 1.5 million made clicks, with "
        "`mp.spawn` and DDP over gloo. Every process reads the whole table and keeps it, as "
        "RecBole does, and the kernel's own out-of-memory killer ends one (as root).",
        played="The host: a control group of the memory of three processes with their data. The "
        "kernel is told to spare the other ranks, so that the drill knows whom it ends. There is "
        "no swap; with swap on network storage the ranks would come late in place of dying.",
    ),
    Situation(
        name="recbole-save-load-race",
        summary="RecBole: rank 1 loads the best model while rank 0 still writes it",
        environment=RECBOLE,
        packages=("recbole",),
        job="recbole",
        command=("sh", "train-and-save.sh"),
        patches={**_PATCHES, "default_timeout": {"seconds": 30}},
        fault={"slow_torch_save": {"seconds": 6}},
        cause=Cause.RANK_EXCEPTION,
        culprits=frozenset({1}),
        phase=None,
        legitimate=False,
        fails_with="terminated with the following error",
        finishes_with="training finished",
        remedy=SituationRemedy(
            says="All ranks wait for the file, and agree on its name, which holds the second at "
            "which each of them began. RecBole has no setting for it, and `run` does not pass "
            "`saved=False` on to the processes that it spawns: the script adds a broadcast.",
            files=("train-and-save.sh", "bpr.yaml", "one-epoch.yaml", "run_recbole.py"),
            written=False,
            edits=(("run_recbole.py", _IMPORT, _WAIT),),
        ),
        settle_s=4.0,
        real=_REAL
        + " The race is RecBole's own: rank 0 saves, no barrier follows, all ranks load.",
        played="The storage: `torch.save` of rank 0 writes for 6 s, which makes the race certain.",
    ),
)
