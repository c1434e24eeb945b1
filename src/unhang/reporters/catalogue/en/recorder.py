"""Sentences of the rules that read Flight Recorder dumps."""

SENTENCES: dict[str, str] = {
    "recorder.against_log": "By the logs {ranks:ranks} failed by itself.",
    "LOC101.claim": "{ranks:ranks} had not issued {op:ops} number {seq} of group {group}, which "
    "{waiters:ranks} {waiters:|waits|wait} in.",
    "LOC101.claim_pair": "{ranks:ranks} had not issued the other side of a send or receive that "
    "{waiters:ranks} {waiters:|waits|wait} in.",
    "LOC101.why": "In the dumps {waiting:ranks} {waiting:|has|have} open calls that lead there, "
    "and {ranks:ranks} {ranks:|has|have} none.",
    "LOC101.why_last": "The last call of {rank:ranks} was {last_op:ops} number {last_seq} of group "
    "{last_group}, {idle:s} before the last call of any rank; {waiting:ranks} "
    "{waiting:|waits|wait}.",
    "LOC101.why_last_live": "The last call of {rank:ranks} was {last_op:ops} number {last_seq} of "
    "group {last_group}, {rested:s} before its dump; {waiting:ranks} {waiting:|waits|wait}.",
    "LOC101.why_place": "The last call of {rank:ranks} was {last_op:ops} number {last_seq}, issued "
    "at {here}, {idle:s} before the last call of any rank; a rank that waits stands at {there}.",
    "LOC101.why_place_live": "The last call of {rank:ranks} was {last_op:ops} number {last_seq}, "
    "issued at {here}, {rested:s} before its dump; a rank that waits stands at {there}.",
    "recorder.unrecorded": "These ranks also send and receive, which this back end does not "
    "record: one of them may only wait for another.",
    "LOC102.claim": "{ranks:ranks} left no usable dump, and all others wait for it.",
    "LOC102.why": "Every rank with a dump has issued what the others wait in. A process without "
    "one may have died, or is stuck in `destroy_process_group`.",
    "LOC103.claim": "{ranks:ranks} {ranks:|does|do} not complete calls that the other members have "
    "completed.",
    "LOC103.why": "The peers gave their parts, so the GPU of these ranks does not get on; "
    "{waiting:ranks} {waiting:|waits|wait} for them.",
    "LOC104.claim": "{ranks:ranks} have all issued {op:ops} number {seq}, and it is open on all.",
    "LOC104.why": "Nobody is missing: if the job hangs, it hangs inside the call.",
    "DSY101.claim_operation": "Under number {seq} of group {group} {other:ranks} issued {other_op} "
    "and {most:ranks} {op}.",
    "DSY101.claim_size": "Under number {seq} of group {group} {other:ranks} issued {op} of "
    "{other_size} elements and {most:ranks} of {size}.",
    "DSY101.claim_type": "Under number {seq} of group {group} {other:ranks} issued {op} of type "
    "{other_type:ops} and {most:ranks} of {type:ops}.",
    "DSY101.claim_size_pair": "{most:ranks} sent {size} elements of group {group} to "
    "{other:ranks}, which was to receive {other_size}.",
    "DSY101.claim_type_pair": "{most:ranks} sent {type:ops} in group {group} to {other:ranks}, "
    "which was to receive {other_type:ops}.",
    "DSY101.why_pair": "A send meets the next receive from its rank, whatever its size; what "
    "{ranks:ranks} issued is not what is usually passed on in this group.",
    "DSY101.why": "Collectives are paired by their number alone; most ranks agree, {ranks:ranks} "
    "took another path.",
    "DSY101.why_tied": "Collectives are paired by their number alone; as many ranks issued the "
    "one as the other.",
    "DSY101.why_left_out": "The later calls of {ranks:ranks} are those that the others issued "
    "{count} later: {count} {count:|call was|calls were} left out.",
    "DSY101.why_too_many": "The later calls of {ranks:ranks} are those that the others issued "
    "{count} earlier: {count} {count:|call was|calls were} too many.",
    "DSY102.claim": "{ranks:ranks} wait for each other in a circle, in the groups {groups:ops}.",
    "DSY102.why": "Each waits in its first open call for a rank that is held in another one; "
    "nobody outside the circle is missing.",
    "DSY102.why_odd": "Each waits in its first open call for a rank that is held in another one. "
    "Shortly before {odd:ranks} issued its calls in another order than it, and the others, usually "
    "{odd:|does|do}.",
    "DSY103.claim_shorter": "{ranks:ranks} left the loop earlier than the others.",
    "DSY103.why_shorter": "It stands in a barrier after the loop, while {others:ranks} issued "
    "{op} as at the beginning of every step.",
    "DSY103.claim_longer": "{ranks:ranks} {ranks:|waits|wait} in number {seq}, which none of the "
    "others issued.",
    "DSY103.claim_longer_pair": "{ranks:ranks} {ranks:|waits|wait} in a send or receive of one "
    "more step, which none of the others began.",
    "DSY103.why_longer": "{others:ranks} are all in step one call before it, and have nothing "
    "open.",
    "event.DumpRead": "a Flight Recorder dump of {entries} calls ({back_end}, format {version})",
    "means.DumpRead": (
        "Dumps of all ranks together show who had not issued the call that the others wait in."
    ),
}
