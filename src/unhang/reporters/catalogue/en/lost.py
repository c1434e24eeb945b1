"""Sentences on what a watched run could not see or do (`lost` in `run.json` and on screens)."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "words.of_ranks": "{ranks:ranks}: {what}",
    "words.of_host": "{host}: {what}",
    # the agent, and what starts it
    "lost.agent_died": (
        "the agent, which reads the ranks and judges, died and was started again: nobody looked for"
        " {gap:s}; the job was not touched"
    ),
    "lost.agent_unstarted": (
        "the agent could not be started ({why}): nobody judged the job, which ran all the same"
    ),
    "lost.agent_given_up": (
        "the agent died too often and was not started again: from then on nobody judged the job,"
        " which ran on; see {log}"
    ),
    "lost.agent_mute": (
        "the agent did not say its last word: what it saw and lost itself is not in this record"
    ),
    "lost.relay_killed": (
        "`unhang run` was killed: the job was ended with it, and its last output and its exit code"
        " are not known"
    ),
    "lost.judge_failed": (
        "the judge failed ({why}): this moment was not judged, and the job is not touched"
    ),
    "lost.clock_jumped": (
        "the clock of this host jumped by {by:s} at {at}: the times of this record go on as if it"
        " had not, those that the job prints itself do not; nothing is judged by that clock"
    ),
    # what is seen of the job
    "lost.nothing_seen": (
        "no training process was seen, so nothing of the job was judged: no process below the"
        " command had a RANK or made a torch process group while it could be watched (Python"
        " started with -I, -E or -S, a container, and another host cannot be)"
    ),
    "lost.ranks_unseen": (
        "only {seen} of {count} ranks were seen here: the others could hang without being named"
    ),
    "lost.no_torch": (
        "torch was never imported: process groups and collectives cannot be seen, and who waits"
        " for whom cannot be told"
    ),
    "lost.boards_unlisted": "the probes' boards could not be listed ({why}): no rank was seen then",
    "lost.board_unreadable": (
        "the board {name} could not be read ({why}): its process was not seen then"
    ),
    "lost.board_of_nobody": "the board {name} does not say whose it is: its process was not seen",
    # what is written
    "lost.books_unwritten": "a part of the run record could not be written ({why})",
    "lost.events_unwritten": (
        "lines of events.jsonl could not be written ({why}): the course of this run has gaps"
    ),
    "lost.standing_unwritten": (
        "standing.json could not be written ({why}): screens showed an old view"
    ),
    "lost.history_unwritten": (
        "the last samples of history.sqlite could not be written ({why}): a replay lacks them"
    ),
    "lost.disk_silent": (
        "the disk of the run folder did not answer: a part of the run record was not written"
    ),
    "lost.heartbeat_unwritten": (
        "the agent could not write its heartbeat ({why}): probes that hear nothing for too long"
        " give the job its own timeouts back"
    ),
    "lost.order_unwritten": (
        "an order to the probes could not be written ({why}): a dump or a change of timeouts did"
        " not happen"
    ),
    "lost.verdict_unwritten": "the verdict could not be kept beside its capture ({why})",
    "lost.evidence_unwritten": ("dumps and stacks could not be copied into the run folder ({why})"),
    "lost.copies_unfinished": (
        "the disk does not take the rest of the copies of the output: their end is missing"
    ),
    "lost.copies_slow": (
        "{size:bytes} of {stream} are not in the copies of the output: the disk was too slow"
    ),
    "lost.copies_failed": "{size:bytes} of {stream} are not in the copies of the output ({why})",
    "lost.copies_bounded": (
        "{size:bytes} from the middle of {stream} are not in the copies of the output, which are"
        " bounded"
    ),
    "lost.record_unwritten": (
        "run.json could not be brought up to date ({why}); what it would have said follows"
    ),
    # evidence, verdict, messages
    "lost.no_verdict": "there is no verdict: the diagnosis failed ({why})",
    "lost.no_bundle": "there is no bundle of evidence: the capture failed ({why})",
    "lost.bundle_late": (
        "there is no bundle of evidence: the capture took longer than {limit:s} and was not"
        " waited for"
    ),
    "lost.bundle_interrupted": (
        "the agent died while it captured the evidence of dump {number}: there is no bundle of it;"
        " what was written stays in the run folder"
    ),
    "lost.stacks_untaken": "no debugger could read the native stacks ({why})",
    "lost.hook_unstarted": "the command of --on-hang could not be started ({why})",
    "lost.not_told": "{target} could not be told ({why})",
    # other nodes
    "lost.collector_unheard": (
        "this node cannot listen to the others ({why}): it judges its own ranks alone"
    ),
    "lost.one_node_only": (
        "this is one of {nodes} nodes, and it sees only its own ranks: with --shared DIR or"
        " --collector URL one judge sees all"
    ),
    "lost.judge_unreachable": (
        "the judging node cannot be reached ({why}): nobody judges the ranks of this one"
    ),
    "lost.judge_gap": (
        "the judging node could not be reached for {gap:s}: nobody judged the ranks of this one"
        " then"
    ),
    "lost.evidence_undelivered": (
        "the evidence of dump {number} could not be delivered to the judging node"
    ),
    "lost.shared_silent": (
        "the shared folder does not answer ({why}): the nodes do not hear of each other"
    ),
    "lost.file_refused": "a file of {node} is not taken ({why})",
    # the probe in a training process
    "lost.probe_freeze": (
        "if this process freezes, its stack will not be in the run folder ({why})"
    ),
    "lost.probe_beat": "beats failed ({why}): for a while this process was seen by /proc alone",
    "lost.probe_stack": "the stack of the main thread could not be read ({why})",
    "lost.probe_usage": "CPU time, memory and bytes could not be read ({why})",
    "lost.probe_torch": "version and device of torch could not be read ({why})",
    "lost.probe_ranks": "the rank could not be read ({why})",
    "lost.probe_groups": "the process groups could not be read ({why})",
    "lost.probe_recorder": (
        "the Flight Recorder could not be read ({why}): who waits in which collective is told by"
        " stacks alone"
    ),
    "lost.probe_recorder_absent": (
        "torch {why} has no Flight Recorder: who waits in which collective is told by stacks alone,"
        " and there are no dumps of it"
    ),
    "lost.probe_recorder_off": (
        "the Flight Recorder is switched off ({why}): who waits in which collective is told by"
        " stacks alone, and there are no dumps of it"
    ),
    "lost.probe_recorder_nccl": (
        "torch {why} records the collectives of NCCL only: in other back ends, who waits in which"
        " collective is told by counters and stacks alone"
    ),
    "lost.probe_exit": "how this process ends could not be read ({why})",
    "lost.probe_timeouts": "the timeouts of the process groups could not be governed ({why})",
    "lost.probe_timeout_kept": (
        "group {why} keeps its own timeout: this torch cannot change that of a group which exists"
    ),
    "lost.probe_dump": "a dump is not whole ({why})",
    "lost.probe_deadman": "the dead-man's switch failed for a moment ({why})",
    "lost.probe_judge_silent": "the judge is silent: the program's own timeouts hold again",
    "lost.probe_judge_back": (
        "the judge was silent for a while, and the program's own timeouts held then"
    ),
    "lost.probe_full_members": "the board is full: members of large groups are left out",
    "lost.probe_full_stacks": "the board is full: deep stacks are left out",
    "lost.probe_full_groups": "the board is full: groups at rest are left out",
}
