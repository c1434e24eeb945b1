"""Make the folders that RecBole's processes would otherwise race to make, and a table of clicks."""

import pathlib

import numpy as np

for folder in ("log/BPR", "log_tensorboard", "saved", "data/clicks"):
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)

USERS, ITEMS, EACH = 3_000, 2_000, 350
random = np.random.default_rng(0)
items = np.argsort(random.random((USERS, ITEMS)), axis=1)[:, :EACH].ravel()
users = np.repeat(np.arange(USERS), EACH)
with open("data/clicks/clicks.inter", "w") as table:
    table.write("user_id:token\titem_id:token\n")
    np.savetxt(table, np.stack([users, items], axis=1), fmt="%d", delimiter="\t")
