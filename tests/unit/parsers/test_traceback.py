"""Python tracebacks: whole, wrapped, interleaved, cut, and those that ended nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.feeding import feed, line, only
from unhang.model.events import Event, ExceptionKind, PythonException
from unhang.model.ids import LocalRank, Rank
from unhang.model.provenance import Origin
from unhang.parsers.traceback import TracebackParser
from unhang.sources.line import Line

HEADER = "Traceback (most recent call last):"


def frame(file: str, function: str, number: int = 7) -> str:
    return f'  File "{file}", line {number}, in {function}'


def exceptions(*lines: str | Line) -> list[PythonException]:
    found: list[Event] = feed(TracebackParser, *lines)
    return [e for e in found if isinstance(e, PythonException)]


def one(*lines: str | Line) -> PythonException:
    return only(PythonException, feed(TracebackParser, *lines))


def test_a_plain_traceback() -> None:
    event = one(
        HEADER,
        frame("train.py", "<module>", 52),
        "    main()",
        "    ^^^^^^",
        frame("train.py", "main", 40),
        "    x, y = batch",
        "ValueError: too many values to unpack (expected 2)",
    )
    assert (event.exception, event.kind) == ("ValueError", ExceptionKind.USER)
    assert event.message == "too many values to unpack (expected 2)"
    assert [f.function for f in event.frames] == ["<module>", "main"]
    assert event.source.line == 7
    assert (event.thread, event.process, event.handled, event.chained) == (None, None, False, False)


@pytest.mark.parametrize(("function", "handled"), [("_run_finalizers", True), ("spawn", False)])
def test_what_a_finalizer_raised_ends_nothing(function: str, handled: bool) -> None:
    outermost = frame("/usr/lib/python3.12/multiprocessing/util.py", function, 303)
    event = one(HEADER, outermost, frame("/usr/lib/python3.12/shutil.py", "rmtree"), "OSError: x")
    assert event.handled is handled


def test_a_class_with_its_module_and_no_message() -> None:
    event = one(HEADER, frame("a.py", "f"), "    assert x", "mypackage.errors.NotReadyError")
    assert (event.exception, event.message) == ("NotReadyError", "")


@pytest.mark.parametrize(
    ("last", "name"),
    [
        ("cv2.error: OpenCV(4.9.0) resize failed", "error"),
        ("queue.Empty", "Empty"),
        ("subprocess.TimeoutExpired: Command 'x' timed out", "TimeoutExpired"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
        ("_pickle.UnpicklingError: invalid load key", "UnpicklingError"),
        ("hydra.errors.ConfigCompositionException: no such key", "ConfigCompositionException"),
        ("ray.exceptions.RayTaskError(ValueError): ray::f() (pid=1)", "RayTaskError"),
    ],
)
def test_last_lines_in_all_spellings(last: str, name: str) -> None:
    assert one(HEADER, frame("a.py", "f"), last).exception == name


def test_ranks_that_are_marked_do_not_mix() -> None:
    lines = [
        line(HEADER, rank=1, number=1),
        line(HEADER, rank=2, number=2),
        line(frame("one.py", "f"), rank=1, number=3),
        line(frame("two.py", "g"), rank=2, number=4),
        line("KeyError: 'a'", rank=2, number=5),
        line("IndexError: b", rank=1, number=6),
    ]
    found = {e.origin.rank: (e.exception, e.frames[0].file) for e in exceptions(*lines)}
    assert found == {1: ("IndexError", "one.py"), 2: ("KeyError", "two.py")}


def test_ranks_without_a_mark_interleave() -> None:
    found = exceptions(
        HEADER,
        frame("a.py", "f"),
        HEADER,
        "    f()",
        frame("a.py", "f"),
        "    f()",
        "RuntimeError: sizes differ",
        frame("b.py", "g"),
        "RuntimeError: sizes differ",
    )
    assert [e.exception for e in found] == ["RuntimeError", "RuntimeError"]


def test_words_of_two_ranks_are_glued() -> None:
    found = exceptions(
        HEADER,
        HEADER,
        frame("a.py", "f"),
        frame("a.py", "f"),
        "FileNotFoundErrorFileNotFoundError: : [Errno 2] No such file: 'x'",
        "FileNotFoundError: [Errno 2] No such file: 'x'",
    )
    assert [e.exception for e in found] == ["FileNotFoundError", "FileNotFoundError"]


def test_chained_exceptions() -> None:
    first, second = exceptions(
        HEADER,
        frame("a.py", "f"),
        "KeyError: 'lr'",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        HEADER,
        frame("a.py", "g"),
        "ConfigError: lr is missing",
    )
    assert (first.exception, first.chained) == ("KeyError", True)
    assert (second.exception, second.chained) == ("ConfigError", False)


def test_the_direct_cause_is_chained_too() -> None:
    first, second = exceptions(
        HEADER,
        frame("a.py", "f"),
        "OSError: disk",
        "The above exception was the direct cause of the following exception:",
        HEADER,
        frame("a.py", "g"),
        "RuntimeError: cannot save",
    )
    assert (first.chained, second.chained) == (True, False)


def test_a_thread_leaves_the_process_alive() -> None:
    event = one(
        "Exception in thread Thread-3 (_loop):",
        HEADER,
        frame("threading.py", "_bootstrap_inner"),
        "OSError: [Errno 5] Input/output error",
    )
    assert event.thread == "Thread-3 (_loop)"


def test_a_queue_feeder_prints_and_goes_on() -> None:
    event = one(
        HEADER,
        frame("/usr/lib/python3.11/multiprocessing/queues.py", "_feed"),
        "RuntimeError: unable to mmap 104 bytes from file </torch_1_2>: Cannot allocate memory",
    )
    assert event.thread == "QueueFeederThread"
    assert event.kind is ExceptionKind.HOST_MEMORY


def test_the_name_of_a_spawned_process_is_no_rank() -> None:
    event = one("Process SpawnProcess-3:", HEADER, frame("a.py", "f"), "ValueError: x")
    assert event.process == "SpawnProcess-3"
    assert (event.origin.rank, event.origin.local_rank) == (None, None)


@pytest.mark.parametrize(
    "announcement",
    [
        "Exception ignored in: <function _Iter.__del__ at 0x7f>",
        "Exception ignored in atexit callback: <function clean>",
        "Error in atexit._run_exitfuncs:",
        "--- Logging error ---",
    ],
)
def test_an_ignored_exception_ended_nothing(announcement: str) -> None:
    assert one(announcement, HEADER, frame("a.py", "f"), "AssertionError: x").handled


def test_a_traceback_logged_as_a_warning_ended_nothing() -> None:
    prefix = "2026-03-02 08:14:44 WARNING worker: "
    event = one(
        prefix + HEADER, prefix + frame("a.py", "f"), prefix + "ValueError: too many values"
    )
    assert event.handled
    assert event.exception == "ValueError"


def test_a_traceback_logged_as_an_error_counts() -> None:
    lines = [HEADER, frame("core.py", "step"), "    x()", "RuntimeError: bad shape"]
    event = one(*(f"ERROR 10-04 23:01:3{i} [core.py:459] {text}" for i, text in enumerate(lines)))
    assert (event.exception, event.message, event.handled) == ("RuntimeError", "bad shape", False)


def test_exception_groups() -> None:
    found = exceptions(
        "  + Exception Group Traceback (most recent call last):",
        '  |   File "a.py", line 3, in main',
        "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)",
        "  +-+---------------- 1 ----------------",
        "    | Traceback (most recent call last):",
        '    |   File "a.py", line 9, in child',
        "    | LookupError: no shard 7",
        "    +------------------------------------",
    )
    assert [e.exception for e in found] == ["ExceptionGroup", "LookupError"]


def test_a_rich_box() -> None:
    event = one(
        "╭──────────── Traceback (most recent call last) ────────────╮",
        "│ /srv/job/train.py:339 in <module>                          │",
        "│   336 │   main()                                           │",
        "│ /srv/job/train.py:12 in main                               │",
        "╰────────────────────────────────────────────────────────────╯",
        "ZeroDivisionError: division by zero",
    )
    assert event.exception == "ZeroDivisionError"
    assert [f.line for f in event.frames] == [339, 12]


def test_a_worker_of_a_data_loader() -> None:
    event = one(
        HEADER,
        frame("train.py", "step"),
        "KeyError: Caught KeyError in DataLoader worker process 7.",
        "Original Traceback (most recent call last):",
        frame("dataset.py", "__getitem__"),
        "KeyError: 'image'",
    )
    assert event.message == "'image' (in DataLoader worker process 7)"
    assert (event.process, event.origin.rank) == (None, None)


def test_mp_spawn_reports_its_child() -> None:
    outer, inner = exceptions(
        HEADER,
        frame("torch/multiprocessing/spawn.py", "join"),
        "torch.multiprocessing.spawn.ProcessRaisedException: ",
        "",
        "-- Process 3 terminated with the following error:",
        HEADER,
        frame("train.py", "worker"),
        "ValueError: bad",
    )
    assert outer.kind is ExceptionKind.CHILD
    assert (inner.exception, inner.origin.local_rank) == ("ValueError", LocalRank(3))


def test_ray_nests_the_exception_of_the_actor() -> None:
    outer, inner = exceptions(
        HEADER,
        frame("main.py", "run"),
        "ray.exceptions.RayTaskError(ValueError): ray::Worker.step() (pid=830, ip=10.0.0.2, "
        "actor_id=ab, repr=<Worker>)",
        frame("/srv/worker.py", "step"),
        "    raise ValueError(x)",
        "ValueError: reward is nan",
    )
    assert outer.kind is ExceptionKind.CHILD
    assert (inner.origin.pid, inner.origin.host, inner.origin.actor) == (830, "10.0.0.2", "Worker")
    assert inner.message == "reward is nan"


def test_the_table_of_torchrun_says_whose_it_is() -> None:
    event = one(
        "  rank      : 5 (local_rank: 1)",
        "  exitcode  : 1 (pid: 4711)",
        "  error_file: /tmp/x/error.json",
        "  traceback : Traceback (most recent call last):",
        '      File "train.py", line 8, in main',
        "        run()",
        "    ValueError: bad",
    )
    assert (event.origin.rank, event.origin.local_rank) == (Rank(5), LocalRank(1))


def test_a_rank_named_by_the_text_in_front() -> None:
    event = one(
        "[2026-08-09 14:34:09 TP7] Scheduler hit an exception: " + HEADER,
        frame("scheduler.py", "run"),
        "RuntimeError: bad page",
    )
    assert event.origin.rank == Rank(7)


def test_a_header_glued_behind_a_bar() -> None:
    event = one(
        f"Epoch 3:  45%|####5     | 450/1000 [02:10<02:39]{HEADER}",
        frame("train.py", "main"),
        "ValueError: bad",
    )
    assert event.exception == "ValueError"


def test_pasted_without_indentation() -> None:
    event = one(
        HEADER,
        'File "train.py", line 14, in <module>',
        "main()",
        'File "train.py", line 5, in main',
        "run(x)",
        "TypeError: run() missing 1 argument",
    )
    assert [f.function for f in event.frames] == ["<module>", "main"]


def test_the_head_is_cut() -> None:
    event = one(frame("train.py", "main"), "    run()", "RuntimeError: bad shape")
    assert event.exception == "RuntimeError"
    assert len(event.frames) == 1


def test_the_tail_is_cut() -> None:
    lines = [HEADER, frame("train.py", "<module>"), frame("data.py", "load"), "    read(x)"]
    event = one(*(line(text, rank=1, number=n) for n, text in enumerate(lines, start=1)))
    assert (event.exception, event.kind) == ("", ExceptionKind.USER)
    assert event.origin.rank == Rank(1)


def test_cut_inside_a_library_that_waits_it_is_no_failure_of_its_own() -> None:
    library = "/venv/lib/python3.11/site-packages/deepspeed/runtime/engine.py"
    event = one(HEADER, frame("train.py", "<module>"), frame(library, "step"), "    x()")
    assert event.kind is ExceptionKind.COLLECTIVE


def test_only_the_last_line() -> None:
    event = one("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB")
    assert event.kind is ExceptionKind.GPU_OOM


def test_the_message_stands_on_the_next_line() -> None:
    event = one(HEADER, frame("a.py", "f"), "RuntimeError:", "  start processes in main first")
    assert event.message == "start processes in main first"


def test_output_after_an_exception_without_message_is_not_its_message() -> None:
    assert one(HEADER, frame("a.py", "f"), "KeyboardInterrupt", "INFO: bye").message == ""


@pytest.mark.parametrize(
    "text",
    [
        "INFO: Error: the previous step was slow",
        "a line that mentions ValueError: in passing",
        "/venv/x.py:391: FutureWarning: This Error: is deprecated",
        "self.Exception = None",
    ],
)
def test_mentions_are_no_exceptions(text: str) -> None:
    assert exceptions(text) == []


def test_a_dump_of_threads_has_frames_and_no_exception() -> None:
    found = exceptions(
        "Fatal Python error: Aborted",
        "Thread 0x00007f (most recent call first):",
        '  File "threading.py", line 55 in wait',
        '  File "train.py", line 8 in <module>',
    )
    assert found == []


def test_a_stack_of_a_log_record_is_no_exception() -> None:
    found = exceptions("Stack (most recent call last):", frame("a.py", "f"), "    log()")
    assert found == []


def test_a_gap_ends_an_open_traceback() -> None:
    apart = replace(line("ValueError: of somebody else", number=900), gap=True)
    found = exceptions(HEADER, frame("a.py", "f"), frame("b.py", "g"), apart)
    assert [e.exception for e in found] == ["", "ValueError"]


def test_events_of_one_stream_keep_their_origin() -> None:
    origin = Origin(host="node1", repeated=7)
    lines = [
        replace(line(text, number=n), origin=replace(origin, repeated=n))
        for n, text in enumerate([HEADER, frame("a.py", "f"), "ValueError: x"], start=1)
    ]
    assert one(*lines).origin.host == "node1"


def test_a_logger_that_marks_only_the_first_line() -> None:
    marked = replace(line(HEADER), origin=Origin(actor="TP7"), number=10)
    rest = (frame("scheduler.py", "run"), "    self.step()", "RuntimeError: no free slots")
    lines = [replace(line(text), number=11 + n) for n, text in enumerate(rest)]
    event = one(marked, *lines)
    assert (event.exception, event.origin.actor) == ("RuntimeError", "TP7")
    assert [f.function for f in event.frames] == ["run"]


def test_what_follows_later_is_another_s() -> None:
    marked = replace(line(HEADER), origin=Origin(actor="TP7"), number=10)
    rest = (HEADER, frame("scheduler.py", "run"), "RuntimeError: no free slots")
    lines = [replace(line(text), number=20 + n) for n, text in enumerate(rest)]
    assert one(marked, *lines).origin.actor is None


@pytest.mark.parametrize("cut", ["torch.distributed.Dist", "torch.distributed.DistBackendErr"])
def test_a_class_whose_name_is_cut_is_no_class(cut: str) -> None:
    assert one(HEADER, frame("train.py", "main"), cut).exception == ""


def test_a_class_of_the_standard_library_stands_alone() -> None:
    assert one(HEADER, frame("train.py", "main"), "_queue.Empty").exception == "Empty"


def test_the_plainest_class_of_all() -> None:
    event = one(HEADER, frame("train.py", "main"), "    raise x", "Exception: scale at minimum")
    assert (event.exception, event.message) == ("Exception", "scale at minimum")
    assert event.kind is ExceptionKind.USER


def test_what_an_old_parent_raises_of_its_child_is_no_failure_of_its_own() -> None:
    spawn = "/v/site-packages/torch/multiprocessing/spawn.py"
    parent, child = exceptions(
        HEADER,
        frame(spawn, "join"),
        "    raise Exception(msg)",
        "Exception: ",
        "",
        "-- Process 2 terminated with the following error:",
        HEADER,
        frame("train.py", "main"),
        "    x",
        "KeyError: 'a'",
    )
    assert parent.kind is ExceptionKind.CHILD
    assert (child.exception, child.origin.local_rank) == ("KeyError", LocalRank(2))


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        (
            "RuntimeError: Rank 3 successfully reached monitoredBarrier, but received errors while"
            " waiting for send/recv from rank 0.",
            ExceptionKind.COLLECTIVE,
        ),
        ("KeyError: 'labels'", ExceptionKind.USER),
    ],
)
def test_what_is_raised_while_a_failed_collective_is_handled_is_its_echo(
    first: str, kind: ExceptionKind
) -> None:
    told = exceptions(
        HEADER,
        frame("load.py", "load_model", 12),
        first,
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        HEADER,
        frame("load.py", "load_model", 15),
        "ValueError: not every part of the model came",
    )
    assert [event.kind for event in told][-1] is kind


def test_what_is_chained_belongs_to_the_process_that_only_the_first_line_names() -> None:
    told = exceptions(
        line("Engine hit an exception: " + HEADER, rank=3, number=1),
        line(frame("load.py", "load_model", 12), number=2),
        line("    dist.monitored_barrier(", number=3),
        line(
            "RuntimeError: Rank 3 successfully reached monitoredBarrier, but received errors while"
            " waiting for send/recv from rank 0.",
            number=4,
        ),
        line("", number=5),
        line("During handling of the above exception, another exception occurred:", number=6),
        line("", number=7),
        line(HEADER, number=8),
        line("ValueError: rank 3 is done, but other ranks are not", number=9),
    )
    assert [(e.kind, e.origin.rank) for e in told] == [(ExceptionKind.COLLECTIVE, 3)] * 2


def test_what_another_process_says_in_between_is_not_chained() -> None:
    told = exceptions(
        line("Engine hit an exception: " + HEADER, rank=3, number=1),
        line(frame("load.py", "load_model", 12), number=2),
        line(
            "RuntimeError: Rank 3 successfully reached monitoredBarrier, but received errors while"
            " waiting for send/recv from rank 0.",
            number=3,
        ),
        line(HEADER, rank=0, number=4),
        line("ValueError: shard 7 is broken", rank=0, number=5),
    )
    assert {e.origin.rank: e.kind for e in told} == {
        0: ExceptionKind.USER,
        3: ExceptionKind.COLLECTIVE,
    }


def test_places_on_windows_are_told_as_elsewhere() -> None:
    store = r"D:\ai\venv\lib\site-packages\torch\distributed\elastic\rendezvous"
    text = (
        "Traceback (most recent call last):",
        rf'  File "{store}\static_tcp_rendezvous.py", line 67, in next_rendezvous',
        "    self._store = TCPStore(",
        "RuntimeError: the store answered nothing",
    )
    found = only(PythonException, feed(TracebackParser, *text))
    assert found.kind is ExceptionKind.RENDEZVOUS
    assert found.frames[-1].file.endswith("/elastic/rendezvous/static_tcp_rendezvous.py")


@pytest.mark.parametrize(
    ("file", "handled"), [("<candidate>", True), ("<string>", False), ("<ipython-input-3>", False)]
)
def test_code_that_stands_in_no_file_is_somebody_s_sample(file: str, handled: bool) -> None:
    text = (
        "Traceback (most recent call last):",
        f'  File "{file}", line 14, in <module>',
        "ZeroDivisionError: division by zero",
    )
    assert only(PythonException, feed(TracebackParser, *text)).handled is handled


@pytest.mark.parametrize(
    ("text", "handled"),
    [
        ("ToolError: the service said 502, retrying in 2 s", True),
        ("ReadError: row 7 is broken, skipping it", True),
        ("LookupError: no cache; will try again", True),
        ("ToolError: no answer after retrying 3 times", False),
        ("ToolError: retrying failed", False),
        ("ToolError: gave up", False),
    ],
)
def test_a_lone_line_may_say_that_the_program_goes_on(text: str, handled: bool) -> None:
    assert one(text).handled is handled
    assert not one(HEADER, frame("a.py", "f"), text).handled


def test_a_request_that_failed_is_not_the_server() -> None:
    text = "ERROR:    Exception in ASGI application"
    assert one(text, HEADER, frame("a.py", "f"), "ValueError: x").handled


def test_the_error_that_another_carries_though_its_head_is_lost() -> None:
    text = (
        "RuntimeError: Caught RuntimeError in pin memory thread for device 3.",
        '  File "/v/torch/utils/data/_utils/pin_memory.py", line 54, in do_one_step',
        "RuntimeError: CUDA error: unspecified launch failure",
    )
    assert only(PythonException, feed(TracebackParser, *text)).kind is ExceptionKind.CUDA
