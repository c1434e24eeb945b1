"""What a script says to nobody, and keys that belong to another program."""

from pathlib import Path

import pytest

import unhang


def told(tmp_path: Path, name: str, text: str) -> list[tuple[str, str]]:
    path = tmp_path / name
    path.write_text(text)
    return [(f.setting, f.reason.key.removeprefix("advice.")) for f in unhang.lint(path).findings]


@pytest.mark.parametrize(
    ("text", "setting", "topic"),
    [
        ("#!/bin/bash\n#SBATCH--time=1\nsrun x\n", "--time", "directive_glued"),
        ("CUDA_VISIBLE_DEVICES=0,1\npython a.py\n", "CUDA_VISIBLE_DEVICES", "not_exported"),
        ("torchrun --rdzv_backend=c10d --master_addr=h a.py\n", "--master_addr", "store_ignored"),
        ("torchrun \\\n --rdzv-endpoint h:1 \\\n --master-port 2 a.py\n", "--master-port",
         "store_ignored"),
        ("WORLD_SIZE=4 A=1 torchrun --nproc_per_node=2 a.py\n", "WORLD_SIZE", "torchrun_sets"),
        ("export NCCL_DEBUG=TRACE\n", "NCCL_DEBUG", "trace_left"),
    ],
)  # fmt: skip
def test_what_nobody_reads_is_told(tmp_path: Path, text: str, setting: str, topic: str) -> None:
    assert (setting, topic) in told(tmp_path, "a.sh", text)


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/bash\n#SBATCH --time=1\nsrun x\n",
        "export CUDA_VISIBLE_DEVICES=0,1\npython a.py\n",
        "CUDA_VISIBLE_DEVICES=0,1 python a.py\n",
        "CUDA_VISIBLE_DEVICES=0,1 \\\npython a.py\n",
        "CUDA_VISIBLE_DEVICES=0,1\nexport CUDA_VISIBLE_DEVICES\npython a.py\n",
        "CUDA_VISIBLE_DEVICES=0\nCUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES python a.py\n",
        "set -a\nNCCL_IB_DISABLE=1\npython a.py\n",
        "torchrun --master_addr=h --master_port=2 --nnodes=2 a.py\n",
        "torchrun --rdzv_backend=static --master_addr=h a.py\n",
        "WORLD_SIZE=8 bash run.sh\n",
        "torchrun --nproc_per_node=2 a.py --rdzv x\nssh h --master_addr 1\n",
    ],
)
def test_what_somebody_reads_is_not(tmp_path: Path, text: str) -> None:
    ours = {"directive_glued", "not_exported", "store_ignored", "torchrun_sets"}
    assert not ours & {topic for _, topic in told(tmp_path, "a.sh", text)}


def test_a_launcher_in_another_script_is_started_once_a_node(tmp_path: Path) -> None:
    batch, run = tmp_path / "submit.sh", tmp_path / "run.sh"
    batch.write_text("#!/bin/bash\n#SBATCH --ntasks-per-node=4\nsrun bash run.sh\n")
    run.write_text("torchrun --nproc_per_node=4 a.py\n")
    keys = [f.reason.key for f in unhang.lint(batch, run).findings]
    assert "advice.launchers_multiply" in keys
    run.write_text("torchrun --nproc_per_node=1 a.py\n")
    assert "advice.launchers_multiply" not in [
        f.reason.key for f in unhang.lint(batch, run).findings
    ]


@pytest.mark.parametrize(
    ("name", "text", "setting", "topic"),
    [
        ("ds.json", '{"zero_optimization": {"stage": 3}, "zero3_init_flag": true}',
         "zero3_init_flag", "key_unread"),
        ("ds.json", '{"zero_optimization": {"stage": 2}, "overlap_comm": true}',
         "overlap_comm", "key_near"),
        ("ds.json", '{"zero_optimization": {"stage": 2}, "data_parallel_size": 2}',
         "data_parallel_size", "key_needs"),
        ("rec.yaml", "valid_metric: NDCG@10\ntrain_batch_size: 4\nbatch_size: 8\n",
         "batch_size", "key_near"),
    ],
)  # fmt: skip
def test_a_key_of_another_program_is_told(
    tmp_path: Path, name: str, text: str, setting: str, topic: str
) -> None:
    assert (setting, topic) in told(tmp_path, name, text)
