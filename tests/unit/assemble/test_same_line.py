"""What stands on the last line of a traceback is its process's."""

from dataclasses import replace

from support.builders import by, incident, source
from support.crashes import raised, store
from unhang.model.events import DeviceFault, DeviceProblem, ExceptionKind, StoreProblem
from unhang.model.incident import Manner

FAULT = DeviceFault(source=source(9), origin=by(), problem=DeviceProblem.OUT_OF_MEMORY)


def test_a_fault_belongs_to_the_traceback_that_it_ends() -> None:
    owner = raised(3, "OutOfMemoryError", kind=ExceptionKind.GPU_OOM, line=9)
    (failure,) = incident(FAULT, owner).failures
    assert (failure.rank, failure.manner) == (3, Manner.GPU_OOM)


def test_another_line_is_another_s() -> None:
    owner = raised(3, "OutOfMemoryError", kind=ExceptionKind.GPU_OOM, line=8)
    elsewhere = replace(FAULT, source=source(9, "other.log"))
    assert {f.rank for f in incident(FAULT, elsewhere, owner).failures} == {3, None}


def test_what_is_known_stays() -> None:
    told = replace(store(StoreProblem.PORT_IN_USE, line=9), origin=by(5, host="n5"))
    found = incident(told, raised(3, line=9))
    assert (found.events[0].origin.rank, found.events[0].origin.host) == (5, "n5")
