"""LOC101-LOC104: who holds the others up, by the dumps; and when nobody may be named."""

from dataclasses import replace
from pathlib import Path

from benchmarks.recorder_dumps import Form
from benchmarks.recorder_faults import break_device, change, die, stall

from support.job_text import incident_of as text_incident
from support.recorder_scenarios import incident_of, places, training, written
from unhang.model.events import Frame
from unhang.model.finding import Finding, Strength
from unhang.model.ids import Rank
from unhang.model.incident import Failure, Incident, Manner
from unhang.model.phases import Phase
from unhang.model.provenance import Provenance
from unhang.model.recorder_analysis import Suspect, SuspectRole
from unhang.model.recording import LastCall
from unhang.rules.locate.recorded_absent import check as LOC101
from unhang.rules.locate.recorded_silent import check as LOC102
from unhang.rules.locate.recorded_stalled import check as LOC103
from unhang.rules.locate.recorded_together import check as LOC104
from unhang.rules.shared import recorded


def findings(incident: Incident) -> list[Finding]:
    return [f for rule in (LOC101, LOC102, LOC103, LOC104) for f in rule.check(incident)]


def stalled(folder: Path) -> Incident:
    job = training(world=4, tp=1)
    stall(job, 2, 7)
    return incident_of(written(job, folder))


def test_a_rank_that_lacks_the_call_is_named(tmp_path: Path) -> None:
    (finding,) = findings(stalled(tmp_path))
    assert (finding.rule, finding.strength) == ("LOC101", Strength.PROVES)
    assert finding.culprits == {2}
    assert {Path(p.artifact).name[-1] for p in finding.evidence} == {"2", "0"}


def test_a_failure_in_the_logs_of_another_rank_speaks_against_it(tmp_path: Path) -> None:
    incident = stalled(tmp_path)
    source = incident.events[0].source
    failure = Failure(
        rank=Rank(1),
        host=None,
        local_rank=None,
        pid=None,
        manner=Manner.RAISED,
        at=None,
        events=(replace(incident.events[0], source=source),),
        order=0,
    )
    (finding,) = findings(replace(incident, failures=(failure,)))
    assert finding.strength is Strength.SUPPORTS
    assert finding.against is not None
    same = replace(failure, rank=Rank(2))
    (finding,) = findings(replace(incident, failures=(same,)))
    assert finding.strength is Strength.PROVES


def test_a_rank_without_a_dump_is_named_only_without_another(tmp_path: Path) -> None:
    job = training(world=4, tp=1)
    die(job, 3, 7)
    (finding,) = findings(incident_of(written(job, tmp_path / "died")))
    assert (finding.rule, set(finding.culprits)) == ("LOC102", {3})
    folder = tmp_path / "stalled"
    stalled(folder)
    (folder / "nccl_trace_rank_0").unlink()
    (finding,) = findings(incident_of(folder))
    assert (finding.rule, set(finding.culprits)) == ("LOC101", {2})


def test_a_rank_that_had_ended_well_need_not_leave_a_dump(tmp_path: Path) -> None:
    job = training(world=2, tp=1)
    die(job, 1, 7)
    dumps = incident_of(written(job, tmp_path))
    (finding,) = findings(dumps)
    assert finding.culprits == {1}
    logs = text_incident(
        "[rank1]:I1121 08:54:17.004000 4712 torch/_dynamo/utils.py:925] metrics",
        "[rank0]: Traceback (most recent call last):",
        '[rank0]:   File "train.py", line 281, in evaluate',
        "[rank0]:     model_out = model(images, texts)",
        '[rank0]:   File "site-packages/torch/nn/parallel/distributed.py", line 2425, in forward',
        "[rank0]:     self._sync_buffers()",
        "[rank0]: RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer "
        "[127.0.0.1]:11969",
        "E1121 08:54:24.511000 4710 torch/distributed/elastic/multiprocessing/api.py:1002] failed "
        "(exitcode: 1) local_rank: 0 (pid: 4711) of binary: python",
        "  rank      : 0 (local_rank: 0)",
        "  exitcode  : 1 (pid: 4711)",
    )
    both = replace(logs, recorded=dumps.recorded)
    assert findings(both) == []


def test_a_device_that_stands_still_after_its_part_was_given(tmp_path: Path) -> None:
    """Others have completed the call that is open on rank 1, and wait for rank 1 in a later one."""
    job = training(world=4, tp=1, ahead=3)
    stall(job, 1, 7)
    written(job, tmp_path)
    for place in (-1, -2):
        job.ranks[1].done_at[place] = None
    (finding,) = findings(incident_of(written_as_is(job, tmp_path / "after")))
    assert (finding.rule, set(finding.culprits)) == ("LOC103", {1})
    assert finding.strength is Strength.SUPPORTS


def written_as_is(job: object, folder: Path) -> Path:
    from benchmarks.recorder_dumps import write
    from benchmarks.recorder_jobs import Job

    assert isinstance(job, Job)
    write(job, folder, [Form()])
    return folder


def test_a_call_that_is_open_on_all_names_nobody(tmp_path: Path) -> None:
    job = training(world=4, tp=1)
    break_device(job, 1, 7)
    (finding,) = findings(incident_of(written(job, tmp_path)))
    assert (finding.rule, finding.strength) == ("LOC104", Strength.HINTS)
    assert finding.culprits == frozenset()


def test_calls_that_differ_leave_waiting_to_the_desync_rules(tmp_path: Path) -> None:
    job = training(world=4, tp=1)
    change(job, 1, places(job, 1, lambda op: op.group.name == "0")[0], name="broadcast")
    assert findings(incident_of(written(job, tmp_path))) == []


def test_a_healthy_job_gives_nothing(tmp_path: Path) -> None:
    assert findings(incident_of(written(training(), tmp_path))) == []


def test_the_stack_of_the_last_call_may_tell_the_phase() -> None:
    def suspect(*functions: str) -> Suspect:
        frames = tuple(Frame(file="x.py", line=1, function=name) for name in functions)
        last = LastCall(group="0", seq=1, op="barrier", created_s=None, frames=frames)
        source = Provenance(artifact="x", line=None, text="")
        return Suspect(rank=Rank(1), role=SuspectRole.ABSENT, last=last, source=source)

    assert recorded.phase_of((suspect("_all_gather", "save_checkpoint", "main"),)) is Phase.SAVE
    assert recorded.phase_of((suspect("Trainer.evaluate", "main"),)) is Phase.EVAL
    assert recorded.phase_of((suspect("train_step", "main"),)) is None
    assert recorded.phase_of((suspect("evaluate"), suspect("train_step"))) is None
