"""Make random tokens for four ranks in two parts; nothing is downloaded."""

import pathlib

import numpy as np

random = np.random.default_rng(0)
pathlib.Path("data").mkdir(exist_ok=True)
for part in range(2):
    for rank in range(4):
        tokens = random.integers(0, 512, (3, 2, 16))
        np.save(pathlib.Path("data") / f"part-{part}-rank-{rank}.npy", tokens)
