"""Cures that belong into the file that starts the job: containers, batch jobs, launch scripts."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import unhang
from support.manifests import pytorch_job
from unhang.errors import UsageError
from unhang.model.diagnosis import Diagnosis, Fix, FixKind, Outcome
from unhang.model.provenance import Message

NOTHING = Message(key="fix.verbatim", values={"text": ""})
COMPOSE = """\
services:
  db:
    image: postgres
  train:
    image: job  # of today
    deploy:
      resources:
        reservations:
          devices:
            - capabilities: [gpu]
"""
GPUS = "resources: {limits: {nvidia.com/gpu: 8, memory: 64Gi}}\n"
POD = pytorch_job(
    master=f"image: job\n{GPUS}",
    worker=f"image: job\nvolumeMounts:\n  - name: data\n    mountPath: /data\n{GPUS}",
    after="volumes:\n  - name: data\n    emptyDir: {}\n",
)


def fixed(folder: Path, name: str, text: str, remedy: str, patch: str = "# by hand") -> str:
    path = folder / name
    path.write_text(text)
    return unhang.fix([str(path)], verdict(remedy, patch)).after


def verdict(remedy: str, patch: str = "# by hand") -> Diagnosis:
    fix = Fix(
        title=NOTHING, kind=FixKind.CURE, framework="torch", where="shell", patch=patch,
        reaches="all ranks", risk=NOTHING, verify=NOTHING, remedy=remedy,
    )  # fmt: skip
    return Diagnosis(outcome=Outcome.CAUSE, summary=NOTHING, fixes=(fix,))


def test_the_service_with_the_gpus_gets_shared_memory(tmp_path: Path) -> None:
    after = fixed(tmp_path, "compose.yaml", COMPOSE, "more_shm")
    assert yaml.safe_load(after)["services"]["train"]["shm_size"] == "16gb"
    assert "shm_size" not in yaml.safe_load(after)["services"]["db"]
    assert "# of today" in after


def test_every_pod_of_the_job_gets_shared_memory(tmp_path: Path) -> None:
    after = fixed(tmp_path, "job.yaml", POD, "more_shm")
    replicas = yaml.safe_load(after)["spec"]["pytorchReplicaSpecs"]
    for replica in replicas.values():
        pod = replica["template"]["spec"]
        assert {"name": "dshm", "mountPath": "/dev/shm"} in pod["containers"][0]["volumeMounts"]
        volume = {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}}
        assert volume in pod["volumes"]
    assert (
        fixed(tmp_path, "again.yaml", after.replace("16Gi", "1Gi"), "more_shm").count("16Gi") == 2
    )
    # A sixteenth more would cure nothing.
    assert "30Gi" in fixed(tmp_path, "near.yaml", after.replace("16Gi", "15Gi"), "more_shm")
    with pytest.raises(UsageError, match="already has 16Gi"):
        fixed(tmp_path, "third.yaml", after, "more_shm")


def test_every_pod_of_the_job_gets_more_memory(tmp_path: Path) -> None:
    after = fixed(tmp_path, "job.yaml", POD, "more_host_memory")
    assert after == POD.replace("64Gi", "128Gi")


@pytest.mark.parametrize(
    ("remedy", "before", "after"),
    [
        ("more_shm", "docker run --gpus all i t.sh", "docker run --shm-size=16g --gpus all i t.sh"),
        ("more_shm", "docker run --shm-size 1g i", "docker run --shm-size 16g i"),
        ("more_shm", "podman run --shm-size=64m i", "podman run --shm-size=16g i"),
        (
            "interface",
            "export NCCL_SOCKET_IFNAME=docker0,bond0",
            "export NCCL_SOCKET_IFNAME=bond0",
        ),
        (
            "interface",
            "export NCCL_SOCKET_IFNAME=^docker0  # why",
            "export NCCL_SOCKET_IFNAME=^docker0,lo  # why",
        ),
        ("longer_limit", "#SBATCH --time=12:00:00", "#SBATCH --time=1-00:00:00"),
        ("longer_limit", "#SBATCH -N 2 -t 2-12", "#SBATCH -N 2 -t 5-00:00:00"),
        ("longer_limit", "#SBATCH --time=90", "#SBATCH --time=0-03:00:00"),
        ("more_host_memory", "#SBATCH --mem=64G", "#SBATCH --mem=0"),
        (
            "free_port",
            "#SBATCH -N 2\nexport MASTER_PORT=29500",
            "#SBATCH -N 2\nexport MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))",
        ),
        (
            "more_host_memory",
            "#SBATCH -N 2\nsrun python t.py",
            "#SBATCH -N 2\n#SBATCH --mem=0\nsrun python t.py",
        ),
        ("more_host_memory", "#SBATCH --mem-per-cpu=4G", "#SBATCH --mem-per-cpu=8G"),
        (
            "one_endpoint",
            "#SBATCH -N 2\nexport HEAD_ADDR=$(hostname -i)",
            "#SBATCH -N 2\nexport HEAD_ADDR="
            '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
        ),
        (
            "one_endpoint",
            '#SBATCH -N 2\nMASTER_ADDR="`hostname -I | cut -d" " -f1`"',
            "#SBATCH -N 2\n"
            'MASTER_ADDR="$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)"',
        ),
        ("requeue", "#SBATCH -N 2", "#SBATCH -N 2\n#SBATCH --requeue\n#SBATCH --open-mode=append"),
        (
            "longer_rendezvous",
            "torchrun --rdzv-id 7 t.py --a 1",
            "torchrun --rdzv-conf join_timeout=1800,read_timeout=300 --rdzv-id 7 t.py --a 1",
        ),
        # A variable of each task is left to the shell that the task runs.
        (
            "one_endpoint",
            '#SBATCH -N 2\nsrun bash -c "run --machine_rank $SLURM_PROCID --host $head"',
            '#SBATCH -N 2\nsrun bash -c "run --machine_rank \\$SLURM_PROCID --host $head"',
        ),
        ("more_host_memory", "docker run --rm -m 64g i t -m x", "docker run --rm -m 128g i t -m x"),
        ("more_host_memory", "docker run --memory=1.5g i", "docker run --memory=3g i"),
        ("set_device", "swift sft --device_map auto --a 1", "swift sft --a 1"),
        ("set_device", "train --a 1 \\\n  --device-map=balanced", "train --a 1"),
        ("set_device", "A=(\n  --device_map auto\n  --a 1\n)", "A=(\n  --a 1\n)"),
    ],
)
def test_the_launch_script_is_changed(tmp_path: Path, remedy: str, before: str, after: str) -> None:
    head = "#!/bin/bash\n"
    assert fixed(tmp_path, "run.sh", f"{head}{before}\n", remedy) == f"{head}{after}\n"


def test_what_cures_nothing_is_written_on_request_only(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("#!/bin/bash\nsrun python t.py\n")
    with pytest.raises(UsageError, match="--fix 1"):
        unhang.fix([str(path)], verdict("stop_together"))
    done = unhang.fix([str(path)], verdict("stop_together"), fixes=[1])
    assert done.after == "#!/bin/bash\nsrun --kill-on-bad-exit=1 python t.py\n"


def test_the_limit_of_the_service_that_trains_is_doubled(tmp_path: Path) -> None:
    limits = "          limits: {memory: 48G}\n"
    text = COMPOSE.replace("        reservations", f"{limits}        reservations").replace(
        "    image: job", "    mem_limit: 48g\n    image: job"
    )
    text = text.replace(
        "          limits: {memory: 48G}\n", "        limits:\n          memory: 48G\n"
    )
    after = fixed(tmp_path, "compose.yaml", text, "more_host_memory")
    assert after == text.replace("48", "96")
    with pytest.raises(UsageError, match="by hand"):
        fixed(tmp_path, "none.yaml", COMPOSE, "more_host_memory")


def test_pods_that_share_a_template_by_an_alias_are_changed_once(tmp_path: Path) -> None:
    text = POD.partition("    Worker:")[0].replace("template:", "template: &pod")
    text += "    Worker:\n      template: *pod\n"
    after = fixed(tmp_path, "job.yaml", text, "more_host_memory")
    assert after == text.replace("64Gi", "128Gi")
    after = fixed(tmp_path, "job.yaml", text, "more_shm")
    assert after.count("sizeLimit: 16Gi") == 1
    assert fixed(tmp_path, "again.yaml", after.replace("16Gi", "64Mi"), "more_shm") == after


NODE = """\
machine_rank: {rank}  # of two
main_process_ip: 10.0.0.1
main_process_port: {port}
num_machines: 2
"""


def test_all_machines_get_the_port_of_machine_zero(tmp_path: Path) -> None:
    files = []
    for rank, port in ((1, 29540), (0, 29450)):
        files.append(tmp_path / f"node{rank}.yaml")
        files[-1].write_text(NODE.format(rank=rank, port=port))
    done = unhang.fix([str(file) for file in files], verdict("one_endpoint"))
    after = {Path(file.path).name: file.after for file in done.files}
    assert after["node1.yaml"] == NODE.format(rank=1, port=29450)
    assert after["node0.yaml"] == NODE.format(rank=0, port=29450)
    files[0].write_text(NODE.format(rank=0, port=29540))
    with pytest.raises(UsageError, match="machine_rank: 0"):
        unhang.fix([str(file) for file in files], verdict("one_endpoint"))


def test_a_map_over_all_gpus_leaves_yaml_and_code(tmp_path: Path) -> None:
    text = "model: m\ndevice_map: auto  # why\nbatch: 1\n"
    assert fixed(tmp_path, "a.yaml", text, "set_device") == "model: m\nbatch: 1\n"
    code = "import torch\n\nmodel = load.from_pretrained(name, device_map='auto', dtype=kind)\n"
    after = fixed(tmp_path, "t.py", code, "set_device")
    assert "import os\n" in after
    assert 'device_map={"": int(os.environ.get("LOCAL_RANK", "0"))}, dtype=kind' in after
    with pytest.raises(UsageError, match="by hand"):
        fixed(tmp_path, "u.py", after, "set_device")


def test_hosts_are_added_to_those_that_are_excluded(tmp_path: Path) -> None:
    patch = "sbatch --exclude=gpu-07 job.sh"
    text = "#!/bin/bash\n#SBATCH -N 2\nsrun python t.py\n"
    after = fixed(tmp_path, "a.sh", text, "exclude_node", patch)
    assert "\n#SBATCH --exclude=gpu-07\n" in after
    text = text.replace("-N 2", "-N 2 --exclude=gpu-01")
    assert "--exclude=gpu-01,gpu-07\n" in fixed(tmp_path, "b.sh", text, "exclude_node", patch)


@pytest.mark.parametrize(
    ("remedy", "text", "why"),
    [
        ("more_shm", "docker run --ipc=host i", "already shares the host's memory"),
        ("more_shm", "docker run --shm-size=32g i", "already 32g"),
        ("more_shm", "docker run a\ndocker run b", "2 commands"),
        ("interface", "export NCCL_SOCKET_IFNAME=eth0", "by hand"),
        ("more_host_memory", "#SBATCH --mem=0", "already"),
        ("one_endpoint", "#SBATCH -N 2\nsrun run --node_rank $SLURM_NODEID", "srun bash -c '"),
        ("requeue", "#SBATCH --no-requeue", "already says whether"),
        ("requeue", "python t.py", "by hand"),
        ("longer_rendezvous", "torchrun --rdzv-conf a=1 --rdzv-id 1 t.py", "put join_timeout"),
    ],
)
def test_what_is_so_already_or_unknown_is_left(
    tmp_path: Path, remedy: str, text: str, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        fixed(tmp_path, "run.sh", f"#!/bin/bash\n{text}\n", remedy)


def test_a_script_within_a_manifest_is_a_script(tmp_path: Path) -> None:
    text = """\
apiVersion: v1
kind: Pod
spec:
  containers:
    - name: train
      command: ["bash", "-c"]
      args:
        - |
          export NCCL_DEBUG=WARN
          torchrun --nproc-per-node 8 pretrain_gpt.py \\
            --save-interval 100 --micro-batch-size 8
"""
    path = tmp_path / "pod.yaml"
    path.write_text(text)
    fix = Fix(
        title=NOTHING, kind=FixKind.CURE, framework="megatron", where="cli",
        patch="--micro-batch-size 4", reaches="all ranks", risk=NOTHING, verify=NOTHING,
        remedy="smaller_batch",
    )  # fmt: skip
    verdict = Diagnosis(outcome=Outcome.CAUSE, summary=NOTHING, fixes=(fix,))
    assert unhang.fix([str(path)], verdict).after == text.replace("size 8", "size 4")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("RDZV_PORT=29511\nOTHER=29512", "RDZV_PORT={own}\nOTHER=29512"),
        ("srun run --master-port 29511 t.py", "srun run --master-port {own} t.py"),
        ("srun run --main_process_port=29511", "srun run --main_process_port={own}"),
    ],
)
def test_the_port_that_was_taken_is_changed(tmp_path: Path, before: str, after: str) -> None:
    patch = "# Port 29511 was taken.\nexport MASTER_PORT=1"
    head = "#!/bin/bash\n#SBATCH -N 2\n"
    done = fixed(tmp_path, "run.sh", f"{head}{before}\n", "free_port", patch)
    assert done == f"{head}{after.format(own='$((20000 + SLURM_JOB_ID % 20000))')}\n"


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.sh", "deepspeed --master_port=29500 t.py", "deepspeed --master_port=29511 t.py"),
        ("a.sh", "# PORT=29500\ndeepspeed t.py --x 1", "deepspeed --master_port 29511 t.py"),
        (
            "a.sh",
            "torchrun --rdzv_backend=c10d --rdzv_endpoint=$H --master_port=9 t.py",
            "--rdzv_endpoint=$H:9 --master_port=9",
        ),
        ("a.sh", "accelerate launch --x c.yaml t.py", "launch --main_process_port 29511 --x"),
        ("a.sh", "N=2\ntorchrun --nproc_per_node $N t.py", "torchrun --standalone --nproc_per"),
        ("a.yaml", "num_processes: 2\nmain_process_port: 29500\n", "main_process_port: 29511"),
        ("a.py", "os.environ['MASTER_PORT'] = '29500'\n", "os.environ['MASTER_PORT'] = '29511'"),
        ("a.py", "os.environ.setdefault('MASTER_PORT', '29500')\n", "'MASTER_PORT', '29511'"),
    ],
)
def test_a_job_of_one_host_takes_another_port(
    tmp_path: Path, name: str, before: str, after: str
) -> None:
    assert after in fixed(tmp_path, name, f"{before}\n", "free_port", "# Port 29500 was taken.")


@pytest.mark.parametrize(
    "text",
    [
        "torchrun $ARGS t.py\n",
        "torchrun --nnodes 2 t.py\n",
        "#SBATCH -N 2\nsrun torchrun t.py\n",
        "torchrun --rdzv_backend c10d t.py\n",
        "deepspeed --hostfile h t.py\n",
    ],
)
def test_a_job_of_several_hosts_is_given_no_port_of_one(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="by hand"):
        fixed(tmp_path, "a.sh", text, "free_port", "# Port 29500 was taken.")


ASTRAY = "# NCCL meets at docker0, which reaches no other host.\nexport NCCL_SOCKET_IFNAME=x"


@pytest.mark.parametrize(
    ("name", "text", "after"),
    [
        ("a.sh", "torchrun a.py\n", "export NCCL_SOCKET_IFNAME=^docker0,lo\ntorchrun a.py\n"),
        ("a.sh", "O='NCCL_DEBUG=INFO NCCL_X=0'\neval $O deepspeed a.py\n",
         "NCCL_X=0 NCCL_SOCKET_IFNAME=^docker0,lo'\n"),
        ("a.yaml", POD, '                  value: "^docker0,lo"\n'),
    ],
)  # fmt: skip
def test_what_names_no_interface_leaves_out_those_that_lead_nowhere(
    tmp_path: Path, name: str, text: str, after: str
) -> None:
    assert after in fixed(tmp_path, name, text, "interface", ASTRAY)


def test_a_configuration_exports_no_interface(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="by hand"):
        fixed(tmp_path, "a.yaml", "model: m\nbatch_size: 2\n", "interface", ASTRAY)


def test_a_default_that_the_caller_overrides_is_no_port(tmp_path: Path) -> None:
    text = "#!/bin/bash\n#SBATCH -N 2\nPORT=${PORT:-29511}\n"
    with pytest.raises(UsageError, match="by hand"):
        fixed(tmp_path, "run.sh", text, "free_port", "# Port 29511 was taken.")


def test_an_interface_that_no_host_has_is_named_no_more(tmp_path: Path) -> None:
    patch = "# No interface is called ens9.\nexport NCCL_SOCKET_IFNAME=x"
    text = "#!/bin/bash\nexport NCCL_SOCKET_IFNAME=ens9\nexport GLOO_SOCKET_IFNAME=bond1\n"
    after = fixed(tmp_path, "env.sh", text, "interface", patch)
    assert after == text.replace("ens9", "^docker0,lo")


def test_every_node_tells_gloo_the_interface_of_its_address(tmp_path: Path) -> None:
    text = "#!/bin/bash\n  export NODE_IP=$(hostname -I | cut -f2)  # second\nray start\n"
    files = [tmp_path / name for name in ("head.sh", "worker.sh")]
    for file in files:
        file.write_text(text)
    patch = "# Gloo could not resolve the host's own name"
    done = unhang.fix([str(file) for file in files], verdict("interface", patch))
    for changed in done.files:
        first, second = changed.after.splitlines()[1:3]
        assert first == text.splitlines()[1]
        assert second.startswith("  export GLOO_SOCKET_IFNAME=$(ip -o -4 address | awk")
        assert '-v a="$NODE_IP/"' in second
    with pytest.raises(UsageError, match="by hand"):
        fixed(tmp_path, "again.sh", done.files[0].after, "interface", patch)


MULTI = "distributed_type: MULTI_GPU\nnum_machines: {nodes}\nnum_processes: {count}  # all\n"


@pytest.mark.parametrize(("nodes", "count", "wanted"), [(1, 8, 3), (2, 8, 6)])
def test_processes_follow_the_visible_gpus(
    tmp_path: Path, nodes: int, count: int, wanted: int
) -> None:
    script, config = tmp_path / "run.sh", tmp_path / "acc.yaml"
    script.write_text("CUDA_VISIBLE_DEVICES=2,3,6 accelerate launch --config_file acc.yaml t.py\n")
    config.write_text(MULTI.format(nodes=nodes, count=count))
    done = unhang.fix([str(script), str(config)], verdict("fewer_processes"))
    after = {Path(file.path).name: file.after for file in done.files}
    assert after["acc.yaml"] == MULTI.format(nodes=nodes, count=wanted)
    config.write_text(MULTI.format(nodes=nodes, count=wanted))
    with pytest.raises(UsageError, match="they fit"):
        unhang.fix([str(script), str(config)], verdict("fewer_processes"))


def test_processes_follow_what_the_batch_job_is_granted(tmp_path: Path) -> None:
    text = "#!/bin/bash\n#SBATCH --gres=gpu:a100:4\nsrun torchrun --nproc_per_node {n} t.py\n"
    after = fixed(tmp_path, "job.sh", text.format(n=8), "fewer_processes")
    assert after == text.format(n=4)
    with pytest.raises(UsageError, match="do not tell"):
        fixed(tmp_path, "none.sh", "torchrun --nproc_per_node 8 t.py\n", "fewer_processes")


def lightning(patch: str = "# by hand") -> Diagnosis:
    made = verdict("unused_parameters", patch)
    return replace(made, fixes=tuple(replace(f, framework="lightning") for f in made.fixes))


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("ddp.yaml", "devices: 4\nstrategy: {s}  # all\n", True),
        ("job.sh", "srun python train.py trainer.strategy={s} trainer.devices=4\n", True),
        ("job.sh", "srun python train.py --trainer.strategy {s}\n", True),
        ("fsdp.yaml", "strategy: fsdp\n", False),
        ("two.yaml", "a:\n  strategy: ddp\nb:\n  strategy: ddp\n", False),
    ],
)
def test_the_strategy_that_looks_for_unused_parameters(
    tmp_path: Path, name: str, before: str, after: bool
) -> None:
    path = tmp_path / name
    path.write_text(before.replace("{s}", "ddp"))
    if after:
        done = unhang.fix([str(path)], lightning()).after
        assert done == before.replace("{s}", "ddp_find_unused_parameters_true")
        return
    with pytest.raises(UsageError):
        unhang.fix([str(path)], lightning())


RAY = """\
kind: RayCluster
spec:
  headGroupSpec:
    template:
      spec:
        containers:
          - name: head
            resources: {{limits: {{memory: 6Gi{gpu}}}}}
  workerGroupSpecs:
    - replicas: 2
      template:
        spec:
          containers:
            - name: worker
              resources: {{limits: {{memory: 12Gi}}}}
"""


@pytest.mark.parametrize(("gpu", "head"), [("", "6Gi"), (", nvidia.com/gpu: 1", "12Gi")])
def test_the_head_of_a_ray_cluster_trains_only_with_a_gpu(
    tmp_path: Path, gpu: str, head: str
) -> None:
    after = fixed(tmp_path, "ray.yaml", RAY.format(gpu=gpu), "more_host_memory")
    assert after == RAY.format(gpu=gpu).replace("12Gi", "24Gi").replace("6Gi", head)


def test_one_task_a_node_starts_the_launcher(tmp_path: Path) -> None:
    batch, run = tmp_path / "submit.sh", tmp_path / "run.sh"
    batch.write_text("#!/bin/bash\n#SBATCH --ntasks-per-node=4\n#SBATCH -c 8\n"
                     "#SBATCH --gpus-per-task=1\nsrun bash run.sh\n")  # fmt: skip
    run.write_text("torchrun --nproc_per_node=4 t.py\n")
    done = unhang.fix([str(batch), str(run)], verdict("fewer_processes"))
    head = "#!/bin/bash\n#SBATCH --ntasks-per-node=1\n#SBATCH -c 32\n#SBATCH --gpus-per-task=4\n"
    assert done.after == f"{head}srun bash run.sh\n"
    assert [f.changed for f in done.files] == [True, False]


def test_an_exclusion_that_leaves_no_interface_is_shortened(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("export NCCL_SOCKET_IFNAME=^lo,docker,eth0,vmnet\n")
    patch = "# No interface is called ^lo,docker,eth0,vmnet.\nip address\n"
    done = unhang.fix([str(tmp_path / "a.sh")], verdict("interface", patch=patch))
    assert done.after == "export NCCL_SOCKET_IFNAME=^lo,docker,vmnet\n"


@pytest.mark.parametrize(
    ("endpoint", "after"),
    [
        ("$HEAD", "--rdzv_endpoint=$HEAD:$PORT --master_port=$PORT"),
        ('"$HEAD"', '--rdzv_endpoint="$HEAD:$PORT" --master_port=$PORT'),
        ("$HEAD:29500", None),
    ],
)
def test_an_endpoint_takes_the_port_that_is_ignored_beside_it(
    tmp_path: Path, endpoint: str, after: str | None
) -> None:
    text = f"torchrun --rdzv_endpoint={endpoint} --master_port=$PORT x.py\n"
    if after is not None:
        assert fixed(tmp_path, "run.sh", text, "one_endpoint") == f"torchrun {after} x.py\n"
        return
    with pytest.raises(UsageError, match="consists of commands"):
        fixed(tmp_path, "run.sh", text, "one_endpoint")


def test_all_that_is_left_to_do_by_hand_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("torchrun x.py\n")
    (first,) = verdict("gpu_check", "nvidia-smi -q").fixes
    probe = replace(first, kind=FixKind.PROBE)
    both = (first, replace(first, patch="if true; then\n    reboot\nfi"), probe)
    given = verdict("gpu_check")
    with pytest.raises(UsageError) as error:
        unhang.fix([str(path)], replace(given, fixes=both))
    told = ("# Fix 1:", "nvidia-smi -q", "# Fix 2:", *both[1].patch.splitlines())
    shown = "\n".join(f"    {line}" for line in told)
    assert str(error.value).partition(" By hand:\n")[2] == shown
    with pytest.raises(UsageError, match=r"By hand:\n    nvidia-smi -q$"):
        unhang.fix([str(path)], replace(given, fixes=(probe,)))


@pytest.mark.parametrize(
    ("address", "more", "wrong"),
    [
        ("10.0.0.9", "", True),
        ("10.0.0.2", "", False),
        ("head", "", False),
        ("10.0.0.9", "--include 10.0.0.2 ", False),
    ],
)
def test_rank_0_is_on_a_host_of_the_list(
    tmp_path: Path, address: str, more: str, wrong: bool
) -> None:
    text = f"deepspeed --hostfile hosts {more}--master_addr {address} t.py\n"
    for name, said in (("run.sh", text), ("hosts", "10.0.0.1 slots=8\n10.0.0.2 slots=8\n")):
        (tmp_path / name).write_text(said)
    findings = unhang.lint(str(tmp_path / "run.sh")).findings
    assert ("advice.not_a_host" in {f.reason.key for f in findings}) is wrong
    paths = [str(tmp_path / "run.sh"), str(tmp_path / "hosts")]
    if wrong:
        done = unhang.fix(paths, verdict("one_endpoint"))
        assert [f.after for f in done.files if f.changed] == [text.replace(address, "10.0.0.1")]
        return
    with pytest.raises(UsageError, match="consists of commands"):
        unhang.fix(paths, verdict("one_endpoint"))
