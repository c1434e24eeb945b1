"""From incidents to findings: one file per rule; `RULES` lists them."""

from __future__ import annotations

from unhang.model.rule import Rule
from unhang.rules.config.clients_missing import RULE as CFG003
from unhang.rules.config.group_not_initialised import RULE as CFG005
from unhang.rules.config.owner_late import RULE as CFG004
from unhang.rules.config.port_in_use import RULE as CFG001
from unhang.rules.config.ranks_misnumbered import RULE as CFG006
from unhang.rules.config.store_unreachable import RULE as CFG002
from unhang.rules.crash.disk_full import RULE as CRA007
from unhang.rules.crash.exit_unexplained import RULE as CRA008
from unhang.rules.crash.host_memory import RULE as CRA002
from unhang.rules.crash.job_stopped import RULE as CRA005
from unhang.rules.crash.node_lost import RULE as CRA004
from unhang.rules.crash.process_crashed import RULE as CRA003
from unhang.rules.crash.rank_raised import RULE as CRA001
from unhang.rules.crash.shared_memory import RULE as CRA006
from unhang.rules.desync.calls_differ import RULE as DSY001

RULES: tuple[Rule, ...] = (
    CFG001,
    CFG002,
    CFG003,
    CFG004,
    CFG005,
    CFG006,
    CRA001,
    CRA002,
    CRA003,
    CRA004,
    CRA005,
    CRA006,
    CRA007,
    CRA008,
    DSY001,
)
"""Every rule, ordered by code."""
