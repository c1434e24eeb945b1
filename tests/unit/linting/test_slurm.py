"""Batch scripts that start too much on a node, or give every task the first one's numbers."""

from pathlib import Path

import pytest

import unhang

HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node={}\n"
RUN = "torchrun --nnodes=2 --nproc-per-node=8 --rdzv-endpoint=$head:29500 train.py"


def found(folder: Path, tasks: int, command: str) -> set[tuple[str, int | None]]:
    script = folder / "job.sbatch"
    script.write_text(HEAD.format(tasks) + command + "\n")
    findings = unhang.lint(str(script)).findings
    topics = {f"advice.{t}" for t in ("expanded_early", "launchers_multiply", "launchers_alone")}
    return {
        (f.reason.key.removeprefix("advice."), f.where.line)
        for f in findings
        if f.reason.key in topics
    }


@pytest.mark.parametrize(
    ("tasks", "command", "expected"),
    [
        (8, f"srun {RUN}", {("launchers_multiply", 4)}),
        (1, f"srun {RUN}", set()),
        # Nobody tells the launchers of each other.
        (1, f"srun {RUN.replace('--nnodes=2 ', '')}", {("launchers_alone", 4)}),
        (1, "srun torchrun --rdzv_id $RANDOM train.py", {("launchers_alone", 4)}),
        (1, "srun torchrun $ARGS train.py", set()),
        (1, 'srun torchrun "${ARGS[@]}" train.py', set()),
        (1, "srun torchrun --standalone train.py", set()),
        (1, "srun -N 1 -n1 torchrun train.py", set()),
        # The step asks for fewer tasks than the job.
        (8, f"srun --ntasks-per-node=1 {RUN}", set()),
        (8, f"srun -n 2 {RUN}", set()),
        # One process a task, or no launcher at all: a task for each GPU is meant.
        (8, f"srun {RUN.replace('=8', '=1')}", set()),
        (8, "srun python train.py --nproc-per-node 8", set()),
        (1, 'srun bash -c "run \\\n  --node_rank $SLURM_NODEID"', {("expanded_early", 5)}),
        (1, "srun bash -c 'run --node_rank $SLURM_NODEID'", set()),
        (1, 'srun bash -c "run --node_rank \\$SLURM_NODEID"', set()),
        (1, f"srun {RUN} --node_rank=${{SLURM_NODEID}}", {("expanded_early", 4)}),
        # Before and beside the step it is the script's own.
        (1, f"echo $SLURM_NODEID; srun {RUN}; echo $SLURM_PROCID", set()),
        (1, f"srun {RUN} > out.$SLURM_JOB_ID", set()),
    ],
)
def test_what_each_task_gets(
    tmp_path: Path, tasks: int, command: str, expected: set[tuple[str, int | None]]
) -> None:
    assert found(tmp_path, tasks, command) == expected


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("#SBATCH --nodes=$NUM_NODES", {"--nodes"}),
        ("#SBATCH -N ${N}  # from the caller", {"-N"}),
        ("#SBATCH --nodes=2  # not $NUM_NODES", set()),
        ("#SBATCH --output=%x-%j.out", set()),
        ('#SBATCH --output="%x-$(date +%F)-%j.out"', {"--output"}),
        ("##SBATCH --nodes=$NUM_NODES", set()),
        # Behind the first command it is text, which a shell may expand for another script.
        ("sbatch <<EOF\n#SBATCH --nodes=$NUM_NODES\nEOF", set()),
    ],
)
def test_no_shell_reads_the_options_of_sbatch(tmp_path: Path, line: str, names: set[str]) -> None:
    script = tmp_path / "job.sbatch"
    script.write_text(f"#!/bin/bash\n#SBATCH --gres=gpu:8\n{line}\nsrun python train.py\n")
    found = unhang.lint(str(script)).findings
    assert {f.setting for f in found if f.reason.key == "advice.directive_verbatim"} == names


def test_on_one_node_the_number_of_the_node_is_right(tmp_path: Path) -> None:
    script = tmp_path / "job.sbatch"
    script.write_text("#!/bin/bash\n#SBATCH --nodes=1\nsrun run --node_rank $SLURM_NODEID\n")
    assert unhang.lint(str(script)).findings == ()
