"""Whose answer a line in a pasted terminal is."""

from __future__ import annotations

import pytest

from unhang.sources.terminals import HostsAbove


def _hosts(*lines: str) -> list[str | None]:
    above = HostsAbove()
    return [above.see(line)[0] for line in lines]


@pytest.mark.parametrize(
    ("lines", "host"),
    [
        (["kk@vega-1:~$ ip -br addr"], "vega-1"),
        (["[root@ascend-b07 ~]# hccn_tool -i 3 -ip -g"], "ascend-b07"),
        (["gpu03$ nvidia-smi"], "gpu03"),
        (["$ ssh dl4 sudo ethtool eth0"], "dl4"),
        (["me@login:~$ ssh -o BatchMode=yes root@dl4 ibstat"], "dl4"),
        (["$ kubectl -n lm exec worker-b -- df -h /dev/shm"], "worker-b"),
        (["$ for h in c1 c2; do echo $h; ssh $h ip addr; done", "c2"], "c2"),
        (["$ for h in c1 c2; do echo $h; ssh $h ip addr; done", "--- c2 ---"], "c2"),
        (["== hkn0415 =="], "hkn0415"),
        (["== hkn0415 ==", "$ py-spy dump --pid 11873"], "hkn0415"),
        (["-- rk03 --", "---     ----    -----"], "rk03"),
        (["== hkn0415 ==", "== what the switch says =="], None),
        (["=== epoch 3 ===", "=== step12 ==="], None),
        (["root@head-1:~# mpirun -np 16 -H a1:8,a2:8 python train.py"], None),
        (["kk@vega-1:~$ tail -3 /logs/train.log"], None),
        (["$ ls"], None),
    ],
)
def test_the_prompt_the_command_or_a_heading_names_it(lines: list[str], host: str | None) -> None:
    assert _hosts(*lines, "an answer")[-1] == host


def test_pdsh_names_the_host_before_each_line() -> None:
    above = HostsAbove()
    above.see("$ pdsh -w el[06-11] ibstat")
    assert above.see("el09: \tState: Down") == ("el09", len("el09: "))
    assert above.see("Error: no such device")[0] is None
    above.see("$ ls")
    assert above.see("el09: \tState: Down") == (None, 0)
