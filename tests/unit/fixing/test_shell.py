"""Scripts: flags, overrides and variables are set where they count, or left to their author."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.fixing.editors.shell import set_flag, set_override, set_variable
from unhang.fixing.refusal import Refusal
from unhang.fixing.shell_words import read_commands

SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=2
# torchrun train.py --ddp_timeout 1
set -e
export NCCL_DEBUG=WARN  # quiet
export MASTER_ADDR=$(scontrol show hostnames | head -n 1)
ARGS=(
    --micro-batch-size 1
    --distributed-timeout-minutes 10 # short
)
OTHER="--lr 1e-5 --bf16 true"
cat > note.txt <<EOF
torchrun other.py --ddp_timeout 3
EOF
echo "torchrun starts"
srun torchrun --nnodes 2 pretrain_gpt.py \\
    "${ARGS[@]}" $OTHER \\
    --save-interval=100 \\
    > log.txt 2>&1
"""


@pytest.mark.parametrize(
    ("name", "raw", "old", "new"),
    [
        ("distributed-timeout-minutes", "60", "minutes 10 #", "minutes 60 #"),
        ("distributed_timeout_minutes", "60", "minutes 10 #", "minutes 60 #"),
        ("save-interval", "500", "interval=100", "interval=500"),
        ("lr", "3e-6", "--lr 1e-5", "--lr 3e-6"),
        ("bf16", "false", "--bf16 true", "--bf16 false"),
        (
            "ddp_timeout",
            "7200",
            "--save-interval=100 \\\n",
            "--save-interval=100 \\\n    --ddp_timeout 7200 \\\n",
        ),
        (
            "async-save",
            None,
            "--save-interval=100 \\\n",
            "--save-interval=100 \\\n    --async-save \\\n",
        ),
    ],
)
def test_a_flag(name: str, raw: str | None, old: str, new: str) -> None:
    after = set_flag(SCRIPT, name, raw, "megatron")
    assert after == SCRIPT.replace(old, new)
    assert set_flag(after, name, raw, "megatron") == after


@pytest.mark.parametrize(
    ("name", "raw", "old", "new"),
    [
        ("NCCL_DEBUG", "INFO", "=WARN  #", "=INFO  #"),
        ("NCCL_NVLS_ENABLE", "0", "-n 1)\n", "-n 1)\nexport NCCL_NVLS_ENABLE=0\n"),
    ],
)
def test_a_variable(name: str, raw: str, old: str, new: str) -> None:
    after = set_variable(SCRIPT, name, raw)
    assert after == SCRIPT.replace(old, new)
    assert set_variable(after, name, raw) == after


def test_a_variable_without_exports_stands_before_the_launch() -> None:
    assert set_variable("#!/bin/sh\ntorchrun t.py\n", "A_B", "1") == (
        "#!/bin/sh\nexport A_B=1\ntorchrun t.py\n"
    )
    assert set_variable("if x; then\n  torchrun t.py\nfi\n", "A_B", "1") == (
        "if x; then\n  export A_B=1\n  torchrun t.py\nfi\n"
    )
    made = "if new; then\n  python -m venv axolotl_env\nfi\npkill -9 python\n"
    assert set_variable(f"{made}axolotl train c.yaml\n", "A_B", "1") == (
        f"{made}export A_B=1\naxolotl train c.yaml\n"
    )
    assert set_variable("A_B=2 torchrun t.py\n", "A_B", "1") == "A_B=1 torchrun t.py\n"
    assert set_variable("mpirun -x A_B=2 python t.py\n", "A_B", "1") == (
        "mpirun -x A_B=1 python t.py\n"
    )


def test_lines_that_belong_to_a_variable_come_with_it() -> None:
    line = 'echo "DEEPSPEED_TIMEOUT=60" >> ~/.deepspeed_env'
    after = set_variable(
        "export DEEPSPEED_TIMEOUT=30\ndeepspeed t.py\n", "DEEPSPEED_TIMEOUT", "60", beside=[line]
    )
    assert after == f"export DEEPSPEED_TIMEOUT=60\n{line}\ndeepspeed t.py\n"
    fresh = set_variable("deepspeed t.py\n", "DEEPSPEED_TIMEOUT", "60", beside=[line])
    assert fresh == after
    assert set_variable(after, "DEEPSPEED_TIMEOUT", "60", beside=[line]) == after


VERL = """\
python3 -m verl.trainer.main_ppo \\
    +actor_rollout_ref.nccl_timeout=600 \\
    "trainer.save_freq=20" trainer.test_freq=5 $@
"""


@pytest.mark.parametrize(
    ("name", "raw", "prefix", "old", "new"),
    [
        (
            "actor_rollout_ref.nccl_timeout",
            "7200",
            "",
            "+actor_rollout_ref.nccl_timeout=600",
            "actor_rollout_ref.nccl_timeout=7200",
        ),
        (
            "actor_rollout_ref.nccl_timeout",
            "7200",
            "++",
            "+actor_rollout_ref.nccl_timeout=600",
            "++actor_rollout_ref.nccl_timeout=7200",
        ),
        ("trainer.save_freq", "10", "", '"trainer.save_freq=20"', "trainer.save_freq=10"),
        (
            "trainer.val_before_train",
            "False",
            "",
            "test_freq=5 $@",
            "test_freq=5 \\\n    trainer.val_before_train=False $@",
        ),
    ],
)
def test_an_override(name: str, raw: str, prefix: str, old: str, new: str) -> None:
    after = set_override(VERL, name, raw, "verl", prefix=prefix)
    assert after == VERL.replace(old, new)
    assert set_override(after, name, raw, "verl", prefix=prefix) == after


def test_an_override_on_one_line() -> None:
    assert set_override("tune run x --config c.yaml\n", "batch_size", "1", "torchtune") == (
        "tune run x --config c.yaml batch_size=1\n"
    )


def test_a_script_that_ends_within_a_command_takes_one_more_line() -> None:
    script = "python3 -m verl.trainer.main_ppo \\\n    trainer.nnodes=1 \\"
    assert set_override(script, "trainer.x", "2", "verl") == f"{script}\n    trainer.x=2 \\"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("srun bash -c 'cd x; torchrun a.py --x 1' &\n", "a.py --x 1 --ddp_timeout 7200'"),
        ('srun bash -c "pip install y && torchrun \\\n  a.py --x $1"\n',
         '--x $1 \\\n  --ddp_timeout 7200"'),
        ('cmd="torchrun a.py $args"\neval $cmd &> log\n', 'a.py $args --ddp_timeout 7200"'),
        (
            'L="torchrun --nnodes 1"\nC="a.py --x $1"\nbash -c "$L $C" &\n',
            'C="a.py --x $1 --ddp_timeout 7200"',
        ),
        ("torchrun a.py --ddp_timeout 1\ntorchrun eval_a.py --ddp_timeout 2\n", "7200\ntorch"),
        ("DDP_TIMEOUT=9\necho x > $DDP_TIMEOUT.log\ntorchrun a.py --ddp_timeout $DDP_TIMEOUT\n",
         "DDP_TIMEOUT=7200\n"),
    ],
)  # fmt: skip
def test_a_flag_goes_where_its_command_is_written(text: str, after: str) -> None:
    assert after in set_flag(text, "ddp_timeout", "7200", "trl")


def test_an_override_is_changed_within_a_list() -> None:
    text = 'A="\nx.y=1 \\\n++t.batch=4 \\\n"\ntorchrun a.py $A\n'
    assert set_override(text, "t.batch", "2", "torch") == text.replace("batch=4", "batch=2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("torchrun a.py --ddp_timeout 1\ntorchrun b.py --ddp_timeout 2\n", "2 times"),
        ("eval $(make_command $args)\n", "line 1 runs a command .* as text"),
        ("torchrun a.py\ntorchrun b.py\n", "2 commands"),
        ("echo hello\n", "no command"),
        ("torchrun a.py --ddp_timeout $T\n", "computes"),
        ("torchrun a.py --ddp_timeout=${T:-1}\n", "computes"),
        ("srun bash -c 'torchrun a.py --x 1; torchrun b.py'\n", "within quotes"),
        ('docker run x bash -c "python a.py --y 1"\n', "no command"),
        ("torchrun 'a.py\n", "never closed"),
        ('torchrun "a.py $(x\n', "never closed"),
    ],
)
def test_a_flag_without_a_plain_place_is_refused(text: str, message: str) -> None:
    with pytest.raises(Refusal, match=message):
        set_flag(text, "ddp_timeout", "7200", "trl")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("export A_B=1\nexport A_B=2\ntorchrun x.py\n", "2 times"),
        ("export A_B=${A_B:-1}\n", "computes"),
        ("echo hello\n", "neither exports"),
        ("srun --export=ALL,A_B=1 python x.py\n", "quotes or a list"),
        ("bash -c 'export A_B=1; python x.py'\n", "quotes or a list"),
        ("cd x && torchrun y.py\n", "before this command"),
    ],
)
def test_a_variable_without_a_plain_place_is_refused(text: str, message: str) -> None:
    with pytest.raises(Refusal, match=message):
        set_variable(text, "A_B", "7")


def test_a_flag_against_its_opposite_is_refused() -> None:
    text = "torchrun x.py --compile.enable\n"
    with pytest.raises(Refusal, match=r"put `--compile\.no-enable`"):
        set_flag(text, "compile.no-enable", None, "torchtitan")


def test_line_ends_stay() -> None:
    text = "export A_B=1\r\ntorchrun \\\r\n  x.py a\r\n"
    assert set_variable(text, "C_D", "2", newline="\r\n") == (
        "export A_B=1\r\nexport C_D=2\r\ntorchrun \\\r\n  x.py a\r\n"
    )
    assert set_flag(text, "n", "2", "torch", newline="\r\n") == (
        "export A_B=1\r\ntorchrun \\\r\n  x.py a \\\r\n  --n 2\r\n"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('a \'b c\' "d $(e "f g") h" i\\ j', [["a", "'b c'", '"d $(e "f g") h"', "i\\ j"]]),
        ("a;b&&c||d|e&f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a \\\n  b # c\nd#e", [["a", "b"], ["d#e"]]),
        ("a <<'X' b\nno words\nX\nc", [["a", "b"], ["c"]]),
        ("a 2>&1 b >log c &> x <in", [["a", "b", "c"]]),
        ("a=(1 2) b", [["a="], ["1", "2"], ["b"]]),
        ("if a; then b; fi", [["a"], ["b"], ["fi"]]),
        ("a <<-X\n\tX\nb", [["a"], ["b"]]),
        ("${a:-'}'} `b c` $((1 + 2))", [["${a:-'}'}", "`b c`", "$((1 + 2))"]]),
        ("", []),
    ],
)
def test_words_of_a_script(text: str, words: list[list[str]]) -> None:
    assert [[word.text for word in c.words] for c in read_commands(text)] == words


@given(st.text(alphabet="ab \t\n'\"\\$(){}`<>|;&#=-1", max_size=60))
def test_any_text_ends_and_words_lie_where_they_say(text: str) -> None:
    try:
        commands = read_commands(text)
    except Refusal:
        return
    for command in commands:
        for word in command.words:
            assert text[word.start : word.end] == word.text


@pytest.mark.process
@pytest.mark.parametrize("name", ["distributed-timeout-minutes", "ddp_timeout"])
def test_bash_takes_the_result(name: str) -> None:
    after = set_variable(set_flag(SCRIPT, name, "60", "megatron"), "NCCL_DEBUG", "INFO")
    done = subprocess.run(["bash", "-n"], input=after.encode(), check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
