"""Puts the faults of `UNHANG_FAULT` into this interpreter; nothing happens where none are."""

from __future__ import annotations

import os
import sys

from . import batches, collectives, environment, functions, groups, models, phases, slow_storage
from .declared import FOLDER_VARIABLE, VARIABLE, Fault, FaultError, load
from .director import Director
from .steps import watch_steps
from .witness import FaultWitness


def begin() -> None:
    """Read the declaration and hook in."""
    try:
        faults = load(os.environ.get(VARIABLE) or "[]")
    except FaultError as error:
        sys.stderr.write(f"unhang: {error}\n")
        return
    witness = FaultWitness(os.environ.get(FOLDER_VARIABLE))
    director = Director(faults, witness)
    if director.rank is not None and not witness.has_registered_ancestor(director.rank):
        witness.register(director.rank)
        environment.apply(director)
        director.reached("start", value=True)
    groups.install(director)
    if faults:  # else the program's own lines stand in dumps and stacks
        collectives.install(director)
        watch_steps(director)
    _install_what_is_asked(director, faults)


def _install_what_is_asked(director: Director, faults: tuple[Fault, ...]) -> None:
    """Hooks that cost something, or reach deep, only where a fault needs them."""
    phases.install(director, {f.when.value for f in faults if f.when.moment == "phase"})
    functions.install(director, {f.when.value for f in faults if f.when.moment == "function"})
    models.install(director)
    batches.install(director)
    slow_storage.install(director)
