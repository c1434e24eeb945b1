"""Make the folders that RecBole's processes would otherwise race to make; its data it ships."""

import pathlib

for folder in ("log/BPR", "log_tensorboard", "saved"):
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
