"""A small language model, trained by four ranks; rank 0 alone saves it to slow storage.

The mistake is a common one: only rank 0 writes the checkpoint, and the others go on to the next
step, where they wait in its gradient all-reduce until the time-out of the process group ends them.
The first save is quick enough; the storage is busier at the second.
"""

from __future__ import annotations

import argparse
import io
import logging
import pathlib
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

VOCABULARY, WIDTH, LENGTH, BATCH = 8_192, 256, 64, 8
log = logging.getLogger("train")


class SlowStorage(io.FileIO):
    """A file on a network file system that others use too: slower from the second save on."""

    bytes_per_second = iter((4_000_000, 800_000, 800_000))

    def __init__(self, path: pathlib.Path, speed: int) -> None:
        super().__init__(path, "w")
        self._speed = speed

    def write(self, data: object) -> int:
        """Write, and take the time that the storage takes."""
        written = super().write(data)
        time.sleep(written / self._speed)
        return written


class Model(nn.Module):
    """A causal transformer of about seven million parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, batch_first=True, dropout=0.0)
        self.blocks = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits of the next token."""
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.blocks(self.embedding(tokens), mask=mask, is_causal=True))


def save_checkpoint(model: nn.Module, folder: pathlib.Path) -> None:
    """Write the weights in shards."""
    log.info("Saving checkpoint to %s", folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = list(model.state_dict().items())
    shards = [tensors[i::8] for i in range(8)]
    speed = next(SlowStorage.bytes_per_second)
    for number, shard in enumerate(tqdm(shards, desc="Writing shards"), start=1):
        with SlowStorage(folder / f"model-{number:05d}-of-00008.bin", speed) as file:
            torch.save(dict(shard), file)
    log.info("Checkpoint saved in %s", folder)


def train(*, steps: int, save_every: int, timeout_s: int, folder: pathlib.Path) -> None:
    """Train on random tokens."""
    dist.init_process_group("gloo", timeout=timedelta(seconds=timeout_s))
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = DistributedDataParallel(Model())
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    log.info("Training on %d ranks, %d steps", dist.get_world_size(), steps)
    for step in range(1, steps + 1):
        tokens = torch.randint(VOCABULARY, (BATCH, LENGTH))
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            log.info("step %d/%d loss %.4f", step, steps, loss.item())
        if step % save_every == 0 and rank == 0:
            save_checkpoint(model.module, folder / f"checkpoint-{step}")
    dist.destroy_process_group()


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument("--timeout-s", type=int, default=20)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    train(
        steps=options.steps,
        save_every=options.save_every,
        timeout_s=options.timeout_s,
        folder=options.out,
    )


if __name__ == "__main__":
    main()
