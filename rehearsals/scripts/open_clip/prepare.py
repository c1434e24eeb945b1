"""Make coloured squares with captions here, as CSV files and as the shards of a WebDataset."""

import io
import pathlib
import tarfile

import numpy as np
from PIL import Image

TRAIN, VALIDATION = 64, 8_000
COLOURS = {"red": (200, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 200), "grey": (120,) * 3}

random = np.random.default_rng(0)
pathlib.Path("images").mkdir(exist_ok=True)
pairs = []
for i in range(TRAIN):
    name = list(COLOURS)[i % len(COLOURS)]
    noise = random.integers(-30, 30, (64, 64, 3))
    path = f"images/{i:05d}.jpg"
    Image.fromarray(np.clip(np.array(COLOURS[name]) + noise, 0, 255).astype("uint8")).save(path)
    pairs.append((path, f"a photo of a {name} square number {i}"))

for name, count in (("train.csv", TRAIN), ("val.csv", VALIDATION), ("val-small.csv", 64)):
    rows = (pairs[i % TRAIN] for i in range(count))
    text = "filepath\ttitle\n" + "".join(f"{path}\t{title}\n" for path, title in rows)
    pathlib.Path(name).write_text(text)


def write_shard(name, numbers):
    """One shard of a WebDataset: an image and its caption for each number."""
    with tarfile.open(name, "w") as tar:
        for i in numbers:
            path, title = pairs[i % TRAIN]
            for suffix, data in (("jpg", pathlib.Path(path).read_bytes()), ("txt", title.encode())):
                entry = tarfile.TarInfo(f"{i:05d}.{suffix}")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))


for shard in range(4):
    write_shard(f"train-{shard}.tar", range(shard, TRAIN, 4))
write_shard("val.tar", range(VALIDATION))
