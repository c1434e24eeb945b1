"""From incidents to findings: one file per rule; `RULES` lists them."""

from __future__ import annotations

from unhang.model.rule import Rule
from unhang.rules.config.clients_missing import RULE as CFG003
from unhang.rules.config.dump_carries_code import RULE as CFG201
from unhang.rules.config.group_not_initialised import RULE as CFG005
from unhang.rules.config.owner_late import RULE as CFG004
from unhang.rules.config.port_in_use import RULE as CFG001
from unhang.rules.config.ranks_misnumbered import RULE as CFG006
from unhang.rules.config.restart_finds_old_addresses import RULE as CFG007
from unhang.rules.config.store_unreachable import RULE as CFG002
from unhang.rules.crash.disk_full import RULE as CRA007
from unhang.rules.crash.exit_unexplained import RULE as CRA008
from unhang.rules.crash.host_memory import RULE as CRA002
from unhang.rules.crash.job_stopped import RULE as CRA005
from unhang.rules.crash.node_lost import RULE as CRA004
from unhang.rules.crash.process_crashed import RULE as CRA003
from unhang.rules.crash.rank_raised import RULE as CRA001
from unhang.rules.crash.shared_memory import RULE as CRA006
from unhang.rules.crash.worker_killed import RULE as CRA009
from unhang.rules.desync.bars_out_of_step import RULE as DSY011
from unhang.rules.desync.calls_differ import RULE as DSY001
from unhang.rules.desync.data_sizes_differ import RULE as DSY003
from unhang.rules.desync.fingerprint_sizes_differ import RULE as DSY005
from unhang.rules.desync.fingerprints_differ import RULE as DSY004
from unhang.rules.desync.groups_in_a_circle import RULE as DSY010
from unhang.rules.desync.lone_waiter import RULE as DSY012
from unhang.rules.desync.models_differ import RULE as DSY008
from unhang.rules.desync.module_order_changed import RULE as DSY009
from unhang.rules.desync.others_left import RULE as DSY014
from unhang.rules.desync.parameter_sizes_differ import RULE as DSY002
from unhang.rules.desync.passed_alone import RULE as DSY006
from unhang.rules.desync.recorded_calls_differ import RULE as DSY101
from unhang.rules.desync.recorded_circle import RULE as DSY102
from unhang.rules.desync.recorded_uneven import RULE as DSY103
from unhang.rules.desync.same_place_again import RULE as DSY013
from unhang.rules.desync.transport_sizes_differ import RULE as DSY007
from unhang.rules.desync.waits_differ import RULE as DSY201
from unhang.rules.desync.watched_circle import RULE as DSY301
from unhang.rules.device.arithmetic_trap import RULE as DEV010
from unhang.rules.device.build_does_not_fit import RULE as DEV009
from unhang.rules.device.device_guessed import RULE as DEV006
from unhang.rules.device.device_unusable import RULE as DEV007
from unhang.rules.device.gpu_missing import RULE as DEV204
from unhang.rules.device.gpu_reported_ill import RULE as DEV201
from unhang.rules.device.gpu_shared import RULE as DEV202
from unhang.rules.device.gpu_used_twice import RULE as DEV005
from unhang.rules.device.hardware_error import RULE as DEV002
from unhang.rules.device.kernel_fault import RULE as DEV003
from unhang.rules.device.kernel_xid import RULE as DEV001
from unhang.rules.device.known_bug import RULE as DEV011
from unhang.rules.device.memory_held import RULE as DEV203
from unhang.rules.device.out_of_memory import RULE as DEV004
from unhang.rules.device.versions_differ import RULE as DEV008
from unhang.rules.locate.dump_empty import RULE as LOC110
from unhang.rules.locate.gives_no_stack import RULE as LOC209
from unhang.rules.locate.host_ran_ahead import RULE as LOC007
from unhang.rules.locate.interpreter_lock_kept import RULE as LOC203
from unhang.rules.locate.last_finished import RULE as LOC208
from unhang.rules.locate.launches_behind import RULE as LOC205
from unhang.rules.locate.launches_equal import RULE as LOC207
from unhang.rules.locate.nothing_completed import RULE as LOC006
from unhang.rules.locate.owner_of_id_late import RULE as LOC003
from unhang.rules.locate.process_does_not_answer import RULE as LOC206
from unhang.rules.locate.rank_behind import RULE as LOC001
from unhang.rules.locate.rank_elsewhere import RULE as LOC201
from unhang.rules.locate.rank_reported_missing import RULE as LOC002
from unhang.rules.locate.recorded_absent import RULE as LOC101
from unhang.rules.locate.recorded_silent import RULE as LOC102
from unhang.rules.locate.recorded_stalled import RULE as LOC103
from unhang.rules.locate.recorded_together import RULE as LOC104
from unhang.rules.locate.status_differs import RULE as LOC210
from unhang.rules.locate.storage_does_not_answer import RULE as LOC204
from unhang.rules.locate.told_of_the_timeout import RULE as LOC004
from unhang.rules.locate.watchdog_stuck import RULE as LOC005
from unhang.rules.locate.watched_departure import RULE as LOC302
from unhang.rules.locate.watched_standstill import RULE as LOC301
from unhang.rules.network.bandwidth_fell import RULE as NET202
from unhang.rules.network.bootstrap_interface import RULE as NET014
from unhang.rules.network.bootstrap_members import RULE as NET012
from unhang.rules.network.completion_error import RULE as NET005
from unhang.rules.network.fabric_provider import RULE as NET004
from unhang.rules.network.gloo_mesh import RULE as NET003
from unhang.rules.network.init_incomplete import RULE as NET013
from unhang.rules.network.measured_bandwidth import RULE as NET009
from unhang.rules.network.no_usable_interface import RULE as NET001
from unhang.rules.network.peer_access import RULE as NET010
from unhang.rules.network.peer_unreachable import RULE as NET002
from unhang.rules.network.peers_far_apart import RULE as NET203
from unhang.rules.network.port_event import RULE as NET006
from unhang.rules.network.port_reported_down import RULE as NET201
from unhang.rules.network.rdma_setup import RULE as NET007
from unhang.rules.network.shared_memory import RULE as NET011
from unhang.rules.network.socket_fallback import RULE as NET008
from unhang.rules.slow.checkpoint_under_way import RULE as SLO001
from unhang.rules.slow.compilation_under_way import RULE as SLO004
from unhang.rules.slow.data_under_way import RULE as SLO002
from unhang.rules.slow.evaluation_under_way import RULE as SLO003
from unhang.rules.slow.joins_late import RULE as SLO202
from unhang.rules.slow.rank_at_work import RULE as SLO201
from unhang.rules.slow.timeout_too_short import RULE as SLO005
from unhang.rules.slow.watched_phase import RULE as SLO301

RULES: tuple[Rule, ...] = (
    CFG001,
    CFG002,
    CFG003,
    CFG004,
    CFG005,
    CFG006,
    CFG007,
    CFG201,
    CRA001,
    CRA002,
    CRA003,
    CRA004,
    CRA005,
    CRA006,
    CRA007,
    CRA008,
    CRA009,
    DEV001,
    DEV002,
    DEV003,
    DEV004,
    DEV005,
    DEV006,
    DEV007,
    DEV008,
    DEV009,
    DEV010,
    DEV011,
    DEV201,
    DEV202,
    DEV203,
    DEV204,
    DSY001,
    DSY002,
    DSY003,
    DSY004,
    DSY005,
    DSY006,
    DSY007,
    DSY008,
    DSY009,
    DSY010,
    DSY011,
    DSY012,
    DSY013,
    DSY014,
    DSY101,
    DSY102,
    DSY103,
    DSY201,
    DSY301,
    LOC001,
    LOC002,
    LOC003,
    LOC004,
    LOC005,
    LOC006,
    LOC007,
    LOC101,
    LOC102,
    LOC103,
    LOC104,
    LOC110,
    LOC201,
    LOC203,
    LOC204,
    LOC205,
    LOC206,
    LOC207,
    LOC208,
    LOC209,
    LOC210,
    LOC301,
    LOC302,
    NET001,
    NET002,
    NET003,
    NET004,
    NET005,
    NET006,
    NET007,
    NET008,
    NET009,
    NET010,
    NET011,
    NET012,
    NET013,
    NET014,
    NET201,
    NET202,
    NET203,
    SLO001,
    SLO002,
    SLO003,
    SLO004,
    SLO005,
    SLO201,
    SLO202,
    SLO301,
)
"""Every rule, ordered by code."""
