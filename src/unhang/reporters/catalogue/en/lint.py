"""Sentences of `unhang lint`: what each class of finding means."""

SENTENCES: dict[str, str] = {
    "lint.error": "error",
    "lint.warning": "warning",
    "lint.info": "info",
    "lint.use": "use: {replacement}",
    "lint.clean": "nothing is wrong ({settings} settings, {files} files or processes)",
    "lint.count": "{count} findings ({settings} settings, {files} files or processes)",
    "lint.CFG101.why": "nobody reads it: whoever waits for its effect loses time",
    "lint.CFG102.why": "a misspelt name is ignored without a word",
    "lint.CFG103.why": "an old script's setting has outlived the code that read it",
    "lint.CFG104.why": "old names are dropped one day, and the new name wins where both are set",
    "lint.CFG105.why": "the name is still declared, so no tool complains, and it does nothing",
    "lint.CFG106.why": "an older release ignores a newer setting without a word",
    "lint.CFG107.why": "the setting belongs to a plugin that may not be there",
    "lint.CFG108.why": "a value that the library does not know is refused, or silences it",
    "lint.CFG109.why": "a value that the library does not compare with is ignored without a word",
    "lint.CFG110.why": "the value is what holds anyway, so nothing changes",
    "lint.CFG111.why": "a hang is then never noticed, or not ended",
    "lint.CFG112.why": "without the recorder a hang leaves no evidence",
    "lint.CFG113.why": "a test that was left in place keeps the job on a slow path",
    "lint.CFG114.why": "a lost packet then never becomes an error",
    "lint.CFG115.why": "collectives other than AllReduce have no tree",
    "lint.CFG116.why": "the setting governs something else than the timeout of collectives",
    "lint.CFG117.why": "the other hosts cannot reach that address",
    "lint.CFG118.why": "ranks that choose differently wait for each other for ever",
    "lint.CFG119.why": "the later of two values wins, whichever was meant",
    "lint.CFG120.why": "something else makes the group before this is read, or nothing reads it",
    "lint.CFG121.why": "the unit is another one than the number suggests",
    "lint.CFG122.why": "the default is better, or safer",
    "lint.CFG123.why": "data may be corrupted without an error",
    "lint.CFG124.why": "a name that the library does not hold is ignored without a word",
    "lint.CFG125.why": "a restart then fails or hangs while its ranks connect",
    "advice.not_in_binary": "the installed NCCL {version} does not read {name}",
    "advice.unknown_near": "{name} is in no release of NCCL that is known here; {near} is",
    "advice.set_twice": "{name} is {before} in line {line}, and {value} here: this one wins",
    "advice.recorder_off": (
        "PyTorch {version} records no collectives by default: after a hang there is no Flight"
        " Recorder dump to read"
    ),
    "advice.differs": (
        "{name} is {one} on rank {first} and {other} on rank {second}: all ranks must agree"
    ),
}
