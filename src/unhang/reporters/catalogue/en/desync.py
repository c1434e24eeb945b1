"""Sentences of the desync rules."""

SENTENCES: dict[str, str] = {
    "DSY.against_stop": "The job had been stopped from outside before.",
    "DSY.against_failure": "{ranks:ranks} had failed before.",
    "DSY001.claim": "{ranks:ranks} issued different operations under sequence number {seq}: "
    "{ops:ops}.",
    "DSY001.why": "A collective completes only when all ranks of its group issue the same one; "
    "here {most:ranks} issued {op:ops} and the others something else.",
    "DSY002.claim": "{ranks:ranks} brought different numbers of elements to one {op:ops} of "
    "gradients or parameters: {least} and {most}.",
    "DSY002.why": "Buckets of gradients and gathers of parameters have one size on all ranks "
    "unless the ranks run different parts of the model in that step.",
    "DSY003.claim": "{ranks:ranks} brought different numbers of elements to one {op:ops}: "
    "{least} and {most}.",
    "DSY003.claim_apart": "{ranks:ranks} are in different places of the program: one {op:ops} has "
    "{least} elements on one side and {most} on the other.",
    "DSY003.why": "NCCL does not compare sizes: a rank that expects more than the others send "
    "waits until its watchdog ends it.",
    "DSY004.claim_operation": "{ranks:ranks} issued different operations: {ops:ops}.",
    "DSY004.claim_shape": "{ranks:ranks} issued {ops:ops} with tensors of different shape, type "
    "or device.",
    "DSY004.claim_sequence": "{ranks:ranks} issued {ops:ops} under different sequence numbers.",
    "DSY004.claim_unseen": "{ranks:ranks} issued {ops:ops} while another rank issued something "
    "else.",
    "DSY004.claim_elsewhere": "{odd:ranks} ran no collective that matches the {ops:ops} of the "
    "others.",
    "DSY004.why": "DETAIL mode compares every collective with another rank before it is issued.",
    "DSY004.against_elsewhere": "An empty fingerprint says only that the rank was elsewhere: it "
    "may be late, or gone.",
    "DSY004.against_barrier": "The wrapper reports barriers with different numbers falsely at "
    "times.",
    "DSY005.claim": "{ranks:ranks} brought different numbers of elements to one {op:ops} of "
    "gradients or parameters: {least} and {most}.",
    "DSY005.why": "DETAIL mode compared them. Flat buckets and shards have one size on all ranks "
    "unless the ranks run different parts of the model.",
    "DSY006.claim": "{early:ranks} completed works after number {seq} and waited in {later}, while "
    "{late:ranks} still waited in {seq}.",
    "DSY006.why": "Nobody can complete a later collective together with a rank that still waits "
    "in an earlier one: the ranks mean different collectives by these numbers.",
    "DSY007.claim_gloo": "A Gloo peer sent more bytes than the rank expected.",
    "DSY007.claim_nccl": "An NCCL peer sent another number of bytes than the rank expected.",
    "DSY007.why": "Two ranks are in different collectives, or in one with different sizes.",
    "DSY007.against_settings": "Different NCCL settings or versions on the ranks give the same "
    "message.",
    "DSY008.claim_unfinished-reduction": "Some parameters got no gradient in a step under DDP.",
    "DSY008.claim_marked-twice": "A parameter got its gradient twice in one step under DDP.",
    "DSY008.claim_parameter-count": "{all:ranks} built models with different "
    "numbers of parameters.",
    "DSY008.claim_parameter-shape": "{ranks:ranks} built a model with other shapes than "
    "{other:ranks}.",
    "DSY008.why": "DDP pairs gradients in one order on all ranks; a rank that runs another graph "
    "breaks the pairs.",
    "DSY009.claim": "The order of modules under ZeRO-3 changed in step {step}, and then ranks "
    "waited in a gather of parameters.",
    "DSY009.why": "ZeRO-3 gathers parameters in the order in which modules run; a rank that takes "
    "another branch gathers other parameters.",
    "DSY009.against_eval": "An evaluation, a generation or a save was under way, which changes "
    "the order on all ranks alike.",
    "DSY010.claim": "{ranks:ranks} wait in group {group} and {others:ranks} in group "
    "{other_group} at the same time.",
    "DSY010.why": "Groups that share ranks must issue their collectives in one order on all "
    "ranks, else each waits for a rank that the other one holds.",
    "DSY010.against_overlap": "One of the two may merely be the consequence of the other.",
    "DSY011.claim_totals": "Ranks have different numbers of steps: {least} and {most}.",
    "DSY011.claim_steps": "Ranks are in different steps: {least} and {most}.",
    "DSY011.why": "Every step has collectives that need all ranks; a rank with fewer steps leaves "
    "the others waiting.",
    "DSY012.claim": "Only rank 0 waits, in {op:ops}, after the work was done.",
    "DSY012.why": "A gather needs all ranks; the others have finished and left, so rank 0 issued "
    "it alone.",
    "DSY013.claim": "{op:ops} number {seq} timed out with {shorter:ms} and again with {longer:ms}.",
    "DSY013.why": "Slow work gets through with more time; this waits for something that never "
    "comes.",
    "DSY014.claim": "{ranks:ranks} issued a collective in `{function}` after {others:ranks} had "
    "ended without a failure.",
    "DSY014.why": "A collective needs all ranks. Evaluation and saving on one rank must not call "
    "the wrapped model, whose forward communicates; the launcher stopped nobody and reports no "
    "other failure, so the others had ended.",
}
