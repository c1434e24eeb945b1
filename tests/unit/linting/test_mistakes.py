"""Mistakes that the text of a file shows by itself."""

from pathlib import Path

import pytest

import unhang

HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gres=gpu:a100:8\n"
RUN = "torchrun a.py --output_dir o"


def topics(folder: Path, **texts: str) -> set[str]:
    paths = [folder / name.replace("__", ".") for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text)
    return {f.reason.key.removeprefix("advice.") for f in unhang.lint(*paths).findings}


@pytest.mark.parametrize(
    ("name", "text", "topic"),
    [
        ("a.sh", "torchrun a.py --x 1 \\\n  # --y 2 \\\n  --z 3\n", "comment_cuts"),
        ("a.sh", "torchrun a.py --x 1 \\ \n  --z 3\n", "blank_cuts"),
        ("a.sh", "python -m torch.distributed.launch --nproc_per_node 8 a.py\n", "old_launcher"),
        ("a.sh", "deepspeed --num_gpus 2 --include localhost:0,1 a.py\n", "chosen_twice"),
        ("a.sh", f"{HEAD}srun python a.py\n", "no_memory_no_cpus"),
        ("a.sh", f"{HEAD}#SBATCH -c 8\nsrun python a.py\n", "no_memory"),
        ("a.sh", f"{RUN} --load_best_model_at_end True --eval_strategy steps"
         " --save_strategy epoch\n", "best_of_nothing"),
        ("a.yaml", "output_dir: o\nper_device_train_batch_size: 2\nfp16: true\nbf16: true\n",
         "two_precisions"),
        ("a.json", '{"zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}}',
         "key_ignored"),
        ("a.py", "def f():\n    ray.train.torch.prepare_model(model)\n", "result_dropped"),
        ("a.py", "d = DataLoader(s, sampler=DistributedSampler(s), shuffle=True)\n",
         "sampler_shuffles"),
        ("a.yaml", "kind: Pod\nspec:\n  containers:\n  - image: x\n"
         "    command: [torchrun, --nproc_per_node=8, a.py]\n"
         "    resources: {limits: {nvidia.com/gpu: 4}}\n", "processes_many"),
    ],
)  # fmt: skip
def test_a_mistake_is_found(tmp_path: Path, name: str, text: str, topic: str) -> None:
    assert topic in topics(tmp_path, **{name.replace(".", "__"): text})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sh", "A=(\n  --x 1 \\\n  # --y 2\n  --z 3\n)\ntorchrun a.py ${A[@]}\n"),
        ("a.sh", 'A="--x 1 \\\n  # --y 2 \\\n  --z 3"\n'),
        ("a.sh", "# torchrun a.py --x 1 \\ \n#  --z 3\n# python -m torch.distributed.launch\n"),
        ("a.sh", "deepspeed --include localhost:0,1 a.py --num_gpus_of_mine 2\n"),
        ("a.sh", f"{HEAD}#SBATCH --mem=0\n#SBATCH -c 8\nsrun python a.py\n"),
        ("a.sh", f"{RUN} --load_best_model_at_end True --eval_strategy steps\n"),
        ("a.yaml", "base_model: b\nload_best_model_at_end: true\nevals_per_epoch: 4\n"),
        ("a.json", '{"zero_optimization": {"stage": 2, "offload_param": {"device": "none"}}}'),
        ("a.py", "model = prepare_model(model)\nd = DataLoader(s, shuffle=True)\n"),
    ],
)
def test_what_is_right_is_left(tmp_path: Path, name: str, text: str) -> None:
    assert topics(tmp_path, **{name.replace(".", "__"): text}) == set()


def test_a_flag_over_the_file_of_the_launcher(tmp_path: Path) -> None:
    config = "compute_environment: LOCAL_MACHINE\nnum_machines: 1\nnum_processes: {}\n"
    run = "accelerate launch --config_file c.yaml --num_processes 4 a.py\n"
    assert topics(tmp_path, a__sh=run, c__yaml=config.format(8)) == {"flag_over_file"}
    assert topics(tmp_path, a__sh=run, c__yaml=config.format(4)) == set()
