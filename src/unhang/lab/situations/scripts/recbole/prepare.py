"""Make the folders that RecBole's processes would otherwise race to make; its data it ships."""

import pathlib

for folder in ("log", "log_tensorboard", "saved"):
    pathlib.Path(folder).mkdir(exist_ok=True)
