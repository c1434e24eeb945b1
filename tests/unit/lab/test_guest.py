"""The faults inside a process, with a stand-in for torch that writes down which calls it gets."""

import ast
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from unhang.lab import faults
from unhang.lab.faults.acts import ACTS
from unhang.lab.faults.declared import Fault, dump, fault

pytestmark = pytest.mark.process

LAB = Path(faults.__file__).parents[1]

C10D = '''
"""Stands in for torch.distributed.distributed_c10d: every call is written down."""
import datetime
default_pg_timeout = datetime.timedelta(minutes=30)
issued = []
def init_process_group(backend=None, timeout=None, rank=-1):
    issued.append(("init", None if timeout is None else timeout.total_seconds()))
def new_group(ranks=None, timeout=None):
    return "group"
def all_reduce(tensor, group=None, async_op=False):
    issued.append(("all_reduce", tensor.name, tensor.size, tensor.dtype, group))
def broadcast(tensor, src, group=None):
    issued.append(("broadcast", tensor.name, tensor.size, tensor.dtype, group))
def barrier():
    issued.append(("barrier",))
'''
TORCH = '''
"""Stands in for torch: a tensor is a name, a size and a type."""
float32, float64 = "float32", "float64"
class Tensor:
    def __init__(self, name, size=4, dtype=float32):
        self.name, self.size, self.dtype = name, size, dtype
    def numel(self):
        return self.size
    def new_zeros(self, size):
        return Tensor(self.name, size, self.dtype)
    def to(self, dtype):
        return Tensor(self.name, self.size, dtype)
def ones(size):
    return Tensor("ones", size)
'''
OPTIMIZER = '''
"""Stands in for torch.optim.optimizer: a step calls the hooks."""
hooks = []
def register_optimizer_step_post_hook(hook):
    hooks.append(hook)
class Optimizer:
    def step(self):
        for hook in hooks:
            hook(self, (), {})
'''
STEPS = """
    import torch, torch.distributed.distributed_c10d as c10d
    from torch.optim.optimizer import Optimizer
    c10d.init_process_group("gloo")
    for name in "abcde":
        c10d.all_reduce(torch.Tensor(name), group=name)
        Optimizer().step()
    print([call[:2] for call in c10d.issued[1:]])
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A folder with a package that is called torch."""
    for name, text in {
        "torch/__init__.py": TORCH,
        "torch/distributed/__init__.py": "",
        "torch/distributed/distributed_c10d.py": C10D,
        "torch/optim/__init__.py": "",
        "torch/optim/optimizer.py": OPTIMIZER,
    }.items():
        path = tmp_path / "stand-in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "stand-in"


def run(
    stand_in: Path,
    script: str,
    *declared: Fault,
    rank: int = 0,
    python: str = sys.executable,
    **more: str,
) -> subprocess.CompletedProcess[str]:
    """Run a script as one rank, with faults."""
    program = stand_in.parent / "train.py"
    program.write_text(textwrap.dedent(script), encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{LAB / 'site'}:{stand_in}",
        "RANK": str(rank),
        "UNHANG_FAULT": dump(declared),
        **more,
    }
    return subprocess.run(
        [python, str(program)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def issued(stand_in: Path, script: str, *declared: Fault, rank: int = 0) -> str:
    """What the script prints."""
    done = run(stand_in, script, *declared, rank=rank)
    assert done.stderr == ""
    return done.stdout.strip()


def calls(text: str) -> str:
    """The tensors of the calls, in order, `!` before one that is not an all_reduce."""
    rows = ast.literal_eval(text)
    return "".join(("" if row[0] == "all_reduce" else "!") + row[-1][:1] for row in rows)


def test_without_a_fault_nothing_changes(stand_in: Path) -> None:
    assert calls(issued(stand_in, STEPS)) == "abcde"


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (fault("skip_call", 0, call=2), "acde"),
        (fault("swap_calls", 0, call=2), "acbde"),
        (fault("extra_call", 0, call=3), "aboc" + "de"),
        (fault("extra_call", 0, step=2), "aboc" + "de"),
        (fault("other_call", 0, call=4), "abc!de"),
        (fault("skip_call", 1, call=2), "abcde"),
        (fault("skip_call", 0, call=77), "abcde"),
    ],
)
def test_a_call_is_changed_on_its_rank_at_its_turn(
    stand_in: Path, declared: Fault, expected: str
) -> None:
    assert calls(issued(stand_in, STEPS, declared)) == expected


@pytest.mark.parametrize(
    ("what", "expected"),
    [("wrong_size", ("b", 64, "float32")), ("wrong_dtype", ("b", 4, "float64"))],
)
def test_a_tensor_is_changed(stand_in: Path, what: str, expected: tuple[object, ...]) -> None:
    script = STEPS.replace("call[:2]", "call[1:4]")
    rows = ast.literal_eval(issued(stand_in, script, fault(what, 0, call=2)))
    assert rows[1] == expected
    assert rows[0] == ("a", 4, "float32")


def test_a_call_that_is_left_out_can_be_waited_for(stand_in: Path) -> None:
    script = """
        import torch, torch.distributed.distributed_c10d as c10d
        work = c10d.all_reduce(torch.Tensor("a"), async_op=True)
        print(work.wait(), c10d.issued)
    """
    assert issued(stand_in, script, fault("skip_call", 0, call=1)) == "True []"


def test_an_exception_comes_from_the_line_of_the_program(stand_in: Path) -> None:
    done = run(stand_in, STEPS, fault("raise", 0, step=3, options={"message": "bad sample"}))
    assert done.stderr.rstrip().endswith("ValueError: bad sample")
    assert done.stderr.splitlines()[1].lstrip().startswith(f'File "{stand_in.parent}/train.py"')
    assert done.returncode == 1


def test_limits_are_shortened_and_never_lengthened(stand_in: Path) -> None:
    script = """
        import datetime, torch.distributed.distributed_c10d as c10d
        c10d.init_process_group(timeout=datetime.timedelta(seconds=1800))
        c10d.init_process_group(timeout=datetime.timedelta(seconds=2))
        print(c10d.default_pg_timeout.total_seconds(), [limit for _, limit in c10d.issued])
    """
    done = run(stand_in, script, UNHANG_DRILL_LIMIT="9")
    assert done.stdout.strip() == "9.0 [9.0, 2.0]"


def test_the_environment_changes_before_the_program_reads_it(stand_in: Path) -> None:
    script = "import os; print(os.environ['MASTER_PORT'])"
    declared = fault("env", 1, start=True, options={"set": {"MASTER_PORT": "9"}})
    assert run(stand_in, script, declared, rank=1, MASTER_PORT="5").stdout.strip() == "9"
    assert run(stand_in, script, declared, rank=0, MASTER_PORT="5").stdout.strip() == "5"


def test_a_function_of_the_program_is_met_and_one_of_a_library_is_not(stand_in: Path) -> None:
    script = """
        import json
        def dumps(rows):
            print("mine")
        json.dumps([])
        print("library's")
        dumps([])
    """
    done = run(stand_in, script, fault("raise", 0, function="dumps"))
    assert done.stdout.strip() == "library's"
    assert "ValueError" in done.stderr


def test_the_second_of_a_fault_is_written_before_it_happens(stand_in: Path, tmp_path: Path) -> None:
    folder = tmp_path / "drill"
    done = run(stand_in, STEPS, fault("kill", 0, step=2), UNHANG_DRILL=str(folder))
    assert done.returncode == -9
    (path,) = (folder / "kit" / "acts").iterdir()
    assert json.loads(path.read_text("utf-8"))["what"] == "kill"


def test_a_repeated_fault_comes_again_at_each_step(stand_in: Path, tmp_path: Path) -> None:
    slow = fault("sleep", 0, step=2, options={"for_s": 0.001, "repeat": True})
    run(stand_in, STEPS, slow, UNHANG_DRILL=str(tmp_path / "drill"))
    (path,) = (tmp_path / "drill" / "kit" / "acts").iterdir()
    assert len(path.read_text("utf-8").splitlines()) == 4


def test_the_users_own_sitecustomize_still_runs(stand_in: Path, tmp_path: Path) -> None:
    (stand_in / "sitecustomize.py").write_text("print('mine')\n", encoding="utf-8")
    done = run(stand_in, "print('program')", fault("exit", 0, step=1))
    assert done.stdout.split() == ["mine", "program"]


def test_without_variables_nothing_is_loaded(stand_in: Path) -> None:
    script = "import sys; print([name for name in sys.modules if 'unhang' in name])"
    done = run(stand_in, script, UNHANG_FAULT="")
    assert done.stdout.strip() == "[]"


def test_a_declaration_that_makes_no_sense_is_one_line_and_the_program_runs(
    stand_in: Path,
) -> None:
    done = run(stand_in, "print('program')", UNHANG_FAULT="{")
    assert done.stdout.strip() == "program"
    assert done.stderr.startswith("unhang: UNHANG_FAULT is not JSON")
    assert len(done.stderr.splitlines()) == 1


def test_the_guest_imports_the_standard_library_only() -> None:
    for path in (LAB / "faults").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [str(node.module)]
            else:
                continue
            for name in names:
                top = name.partition(".")[0]
                assert top in {*sys.stdlib_module_names, "torch"}, f"{path}: {name}"


def test_the_oldest_python_that_torch_still_knew_runs_it(stand_in: Path) -> None:
    built = map(str, (Path.home() / ".pyenv" / "versions").glob("3.8.*/bin/python3.8"))
    oldest = next(built, None) or shutil.which("python3.8")
    if oldest is None:
        pytest.skip("there is no Python 3.8 on this machine")
    done = run(stand_in, STEPS, fault("skip_call", 0, call=2), python=oldest)
    assert (calls(done.stdout), done.stderr) == ("acde", "")


def test_every_drill_asks_for_kinds_that_exist() -> None:
    from unhang.lab.drills import DRILLS
    from unhang.lab.faults.collectives import CHANGES

    conditions = {"env", "unused_parameters", "fewer_batches", "slow_disk"}
    known = {*ACTS, *CHANGES, *conditions}
    asked = {each.what for drill in DRILLS for each in drill.faults}
    assert asked <= known
