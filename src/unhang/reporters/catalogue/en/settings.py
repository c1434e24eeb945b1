"""Sentences on settings: what each does, and what it does not do."""

SENTENCES: dict[str, str] = {
    # Names
    "advice.timeout_env": (
        "neither NCCL nor PyTorch reads {name}, in any release and any unit: it changes no timeout"
        " (unless your own script reads it and passes it on); use {use}"
    ),
    "advice.unread": "nobody reads {name}, in any release; use {use}",
    "advice.max_rings": (
        "NCCL never had {name}: use {use}; it sets channels, which have nothing to do with timeouts"
    ),
    "advice.ib_mtu": (
        "NCCL never had {name}: it takes the smaller active MTU of the two ports; set {use}"
    ),
    "advice.misspelt": "NCCL does not know {name}; the name is {use}",
    "advice.obsolete": "{library} has ignored {name} since its release after {last}; drop it",
    "advice.obsolete_use": (
        "{library} has ignored {name} since its release after {last}; use {use}"
    ),
    "advice.obsolete_always": "no release of NCCL since 2.3 reads {name}; drop it",
    "advice.declared_only": (
        "NCCL still declares {name} and has not consulted it since {since}; drop it"
    ),
    "advice.too_new": "{name} came with {library} {since}; {version} does not know it",
    "advice.renamed": "{name} is the old name of {use}; it still works",
    "advice.overridden_by_torchrun": (
        "torchrun (2.2 and later) sets {use}=1, which wins over {name}: set {use} itself"
    ),
    "advice.plugin_only": (
        "only {reader} reads {name} ({about}); without that plugin it does nothing"
    ),
    # Advice on frameworks
    "advice.verl_backend": (
        "verl never had {name}: Hydra accepts any invented key after a +, and nobody reads it; the"
        " backend is fixed in the source"
    ),
    "advice.verl_check_nccl": (
        "verl's scripts/diagnose.py never had --check-nccl: it exits with a usage error, and it"
        " tests no GPU link; use {use}"
    ),
    "advice.verl_timeline": (
        "verl's scripts/rollout_viewer.py never had --timeline; Ray's own timeline is {use}"
    ),
    "advice.verl_dead": (
        "verl {version} does not read {name}: the world group keeps 30 minutes, whatever the key"
        " says"
    ),
    "advice.verl_plus": (
        "the key exists in verl 0.6 and 0.7, so Hydra refuses +{name} (Could not append); write it"
        " without the +"
    ),
    "advice.driver_floor": (
        "no release of NCCL demands driver {name}: it asks the driver for its CUDA level only; any"
        " NCCL that PyTorch ships today is newer than 2.18.3"
    ),
    "advice.gloo_backend": (
        "Gloo moves GPU tensors through host memory: good for one small run that shows whether NCCL"
        " is at fault, far too slow for training"
    ),
    # Values of NCCL
    "advice.debug_word": (
        "NCCL does not know the level {value}: with it NOT EVEN errors are printed; use WARN or"
        " INFO"
    ),
    "advice.algo_tree": (
        "Tree alone leaves AllGather, ReduceScatter and Broadcast without an algorithm: FSDP and"
        " ZeRO fail with it (NCCL 2.5, 2.6, 2.17, 2.18, 2.24 and later)"
    ),
    "advice.proto_ll128": (
        "forcing LL128 corrupts data on hardware that does not support it; NCCL picks it where it"
        " is safe"
    ),
    "advice.ib_timeout_forever": (
        "NCCL_IB_TIMEOUT={value} waits for ever for a lost packet (1 to 31 are finite)"
    ),
    "advice.ib_timeout_long": (
        "NCCL_IB_TIMEOUT={value} lets one lost packet cost {seconds:s} with seven retries; it is"
        " not the timeout of collectives"
    ),
    "advice.slow_path": (
        "{name}={value} takes NCCL off its fast way: right as a test, but left in place the"
        " slowness itself can run into the timeout"
    ),
    "advice.slow_paths": (
        "{name}={value} together with {also} leaves NCCL the slowest ways only; the slowness itself"
        " can run into the timeout"
    ),
    "advice.only_one_counts": "only {name}=1 counts; {value} does nothing",
    "advice.lower_case": "NCCL compares {name} in upper case: {value} is ignored without a word",
    "advice.nvls_on": (
        "the default of {name} is 2, which uses NVLS wherever the driver offers it: 1 gains"
        " nothing; 0 is the workaround where NVLS fails"
    ),
    "advice.buffsize_small": (
        "{name}={value} is below the default of 4194304: it lowers memory and bandwidth, and has"
        " nothing to do with timeouts"
    ),
    "advice.same_as_default": "{name}={value} is the default; drop it",
    "advice.interface_local": (
        "{name}={value} is an interface of one host only, and the job runs on {nodes} hosts"
    ),
    "advice.hca_all": (
        "{name}={value} is a prefix that matches every port: nearly the same as not setting it"
    ),
    "advice.hca_prefix": (
        "{name} matches prefixes: {value} also takes devices 10 to 19 of that name; a leading ="
        " makes names exact"
    ),
    "advice.gid_index": (
        "NCCL 2.21 and later finds the GID index itself; a fixed one breaks when it differs between"
        " hosts or after a reboot"
    ),
    "advice.traffic_class": (
        "{name} helps only where the switches map that traffic class to a lossless queue; elsewhere"
        " it does nothing or harm"
    ),
    # Values of PyTorch
    "advice.boolean_word": "PyTorch raises at start-up: {name} takes 0 or 1, not {value}",
    "advice.blocking_wait": (
        "{name}=1 removes the watchdog thread: no Flight Recorder dump on a timeout, less overlap;"
        " it lengthens no timeout"
    ),
    "advice.async_handling_0": (
        "{name}=0 hides every timeout: the job then hangs without end and without a message"
    ),
    "advice.async_handling_2": (
        "{name}=2 aborts the communicators and lets the process run on: after a timeout the job"
        " hangs or works on garbage"
    ),
    "advice.monitoring_off": (
        "{name}=0 removes the last guard: a stuck watchdog then hangs for ever; where the monitor"
        " fires too early, lengthen its heartbeat"
    ),
    "advice.heartbeat": (
        "{name} limits the silence of the watchdog thread, not a collective: it does not lengthen"
        " the timeout"
    ),
    "advice.recorder_both": (
        "PyTorch 2.8 to 2.10 reads the recorder's size under two names in two places: with {name}"
        " alone no dump is written; set {other} too"
    ),
    "advice.gloo_exact": (
        "GLOO_SOCKET_IFNAME takes exact names: the prefixes = and ^ are NCCL's, Gloo finds no"
        " interface {value}"
    ),
    "advice.address_local": (
        "MASTER_ADDR={value} is every host's own address, and the job runs on {nodes} hosts"
    ),
    # Timeouts
    "advice.timeout_expired": (
        "{name}={value} is {seconds:s}, the very timeout that ran out: setting it changes nothing"
    ),
    "advice.ddp_timeout_default": (
        "{name}={value} is the default (30 min): setting it changes nothing"
    ),
    "advice.timeout_endless": (
        "{name}={value} is {seconds:s}: a real hang is then never noticed; minutes to a few hours"
        " are enough for any save"
    ),
    "advice.axolotl_first": (
        "Axolotl before 0.19 with DeepSpeed makes the group before it reads {name}:"
        " AXOLOTL_NCCL_TIMEOUT is what counts"
    ),
    "advice.ray_first": (
        "Ray Train makes the group before {name} is read: TorchConfig(timeout_s=...) is what counts"
    ),
    "advice.deepspeed_integer": "DEEPSPEED_TIMEOUT is whole minutes; {value} raises at import",
    "advice.deepspeed_minutes": (
        "DEEPSPEED_TIMEOUT is in minutes: {value} is {seconds:s}, in which no hang is noticed"
    ),
    "advice.deepspeed_not_first": (
        "the Trainer makes the world group with its own ddp_timeout before DeepSpeed looks at"
        " {name}"
    ),
    "advice.deepspeed_clone": (
        "{name} governs the world group only: ZeRO works in a copy of it that keeps PyTorch's 10"
        " minutes, and that is what ran out"
    ),
    "advice.minutes_not_seconds": "{name} is in minutes: {value} is {seconds:s}",
    "advice.seconds_not_minutes": (
        "{name} is in seconds: any save, evaluation or loading that keeps a rank for {seconds:s}"
        " ends the job"
    ),
    # Pages
    "advice.page_algo": (
        "real since NCCL 2.5, and no cure for timeouts; Tree alone makes FSDP and ZeRO fail in many"
        " releases, Ring alone is safe and slower; all ranks must agree"
    ),
    "advice.page_buffsize": (
        "real; the default is 4194304, so the 2097152 that circulates halves it; no relation to"
        " timeouts"
    ),
    "advice.page_hca": (
        "real; a prefix by default (mlx5 selects every port, mlx5_1 also mlx5_10), exact with a"
        " leading ="
    ),
    "advice.page_debug": (
        "real and right: WARN always, INFO for one run; WARNING, ERROR, DEBUG and 1 are unknown"
        " words that silence even errors; WARN shows nothing of a mere hang"
    ),
    "advice.page_nrings": (
        "an alias that still works, of NCCL_MIN_CTAS and NCCL_MAX_CTAS; performance only, no"
        " relation to timeouts"
    ),
    "advice.page_ib_timeout": (
        "real; 20 since NCCL 2.23 (18 before): how long one packet waits for its acknowledgement,"
        " not the timeout of collectives"
    ),
    "advice.page_slow_path": (
        "real; right as a test (does the fault go away?), wrong to leave in place: the slow way"
        " itself can run into the timeout"
    ),
    "advice.page_async": (
        "what the watchdog does after a timeout; torchrun sets it to 1; 0 and 2 leave a hung job"
        " running"
    ),
    "advice.page_recorder": (
        "the Flight Recorder, the best evidence of a hang: 2000 by default from PyTorch 2.11 on, 0"
        " before; in 2.8 to 2.10 set TORCH_FR_BUFFER_SIZE and TORCH_NCCL_TRACE_BUFFER_SIZE both"
    ),
    "advice.page_ddp_timeout": (
        "real, in seconds, 1800 by default: setting 1800 changes nothing; it governs the world"
        " group, not DeepSpeed's copy of it nor any other group, and nothing at all where an"
        " Accelerator or Ray made the group first"
    ),
    "advice.page_deepspeed": (
        "real, in minutes; it governs the world group where DeepSpeed itself makes it, not the copy"
        " that ZeRO works in, and not under the Trainer"
    ),
    "advice.page_verl": (
        "real in verl 0.4.1 to 0.7 (FSDP workers from 0.6), without a + from 0.6 on; nothing reads"
        " it from 0.8.0 on; it never reaches sub-groups"
    ),
    "advice.no_number": ("{name} is a whole number: NCCL warns of {value} and takes its default"),
    "advice.subsystem_word": "{name} knows no {words}: nothing of it is printed",
    "advice.algo_by_function": (
        "NCCL {version} knows no algorithms by function ({value}); that came with 2.24"
    ),
    "advice.algo_word": (
        "NCCL 2.24 and later stop with an invalid usage: {words} is no algorithm (ring, tree,"
        " collnetdirect, collnetchain, nvls, nvlstree, pat)"
    ),
    "advice.algo_unnamed": (
        "with NCCL_PROTO set for all functions, NCCL 2.31 and later may leave those that {name}"
        " does not name without an algorithm: give a default first"
    ),
    "advice.clock_number": (
        "Lightning's command line refuses a number for {name}: it takes hours, minutes and seconds"
        " in quotes"
    ),
    "advice.rendezvous_only": (
        "the timeouts of {name} govern the start of torchrun only: no collective waits longer"
    ),
    "advice.deepspeed_json_timeout": (
        "DeepSpeed reads no timeout from its JSON: {name} does nothing there; DEEPSPEED_TIMEOUT"
        " (minutes) or init_distributed(timeout=) does"
    ),
    "advice.restarts_share_store": (
        "from torch 2.5 on all starts of one torchrun share a store, in which a restart finds the"
        " addresses of the start before it"
    ),
    "advice.agent_store": (
        "torchrun sets {name} for its own workers; set by hand, every rank looks for a store that"
        " nobody serves"
    ),
    "advice.accelerate_yaml": (
        "the file of accelerate launch --config_file has no {name}: it belongs to the script, as a"
        " flag or in its own YAML"
    ),
    "advice.not_passed_on": (
        "transformers {version} takes {name} and passes it to nobody (without DeepSpeed); 4.31"
        " repaired that"
    ),
    "advice.verl_by_release": (
        "{name} works in verl 0.6 and 0.7 only, and without a +; from 0.8 on nobody reads it;"
        " `--framework verl==VERSION` tells more"
    ),
    "advice.key_gone": "{framework} reads {name} no more: {last} was the last release with it",
    "advice.key_renamed": "{framework} calls {name} {use} now; {last} was the last release with it",
    "advice.key_new": "{framework} {version} does not know {name}: it came with {since}",
    "advice.page_batch": (
        "a smaller batch frees memory, and shortens what is computed between two collectives; the"
        " weights that FSDP and ZeRO gather stay as large, and a rank that never comes stays away"
    ),
    "advice.page_sharded": (
        "a cure where ranks time out in the gather before a save: every rank writes its own part,"
        " and nothing is gathered; the parts must be merged before other tools read them"
    ),
    "advice.webdataset": (
        "WebDataset makes reading the data faster; it does not change who evaluates: open_clip's"
        " rank 0 evaluates alone, and a slow evaluation needs to be smaller, or rarer"
        " (--val-frequency)"
    ),
    "advice.swap": (
        "swap on network storage makes a rank that runs out of memory slower still, and it looks"
        " hung to the others; each process loads its own copy of the data: fewer"
        " processes on a host, or more memory"
    ),
}
