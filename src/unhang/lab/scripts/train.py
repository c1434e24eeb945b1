"""A small training job with all the phases of a large one; nothing in it knows of faults.

Run it by torchrun. Phases: groups, tokenise, compile (`--compile-on`), train, evaluate, save.
"""

from __future__ import annotations

import argparse
import pathlib
import time
from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

VOCABULARY, LENGTH = 512, 16


class Corpus(Dataset[torch.Tensor]):
    """Sentences as rows of token numbers."""

    def __init__(self, rows: torch.Tensor) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.rows[index]


class Body(torch.nn.Module):
    """Two layers; torch compiles code of the program's own."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """What comes in, changed; the same shape."""
        made: torch.Tensor = self.down(torch.nn.functional.gelu(self.up(given)))
        return made


class Model(torch.nn.Module):
    """Predicts the next token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, width)
        self.body = Body(width)
        self.head = torch.nn.Linear(width, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Scores of every token of the vocabulary, `(batch, length, vocabulary)`."""
        scores: torch.Tensor = self.head(self.body(self.embedding(tokens)))
        return scores


def loss_of(model: torch.nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy of the next tokens."""
    logits = model(tokens[:, :-1])
    return torch.nn.functional.cross_entropy(
        logits.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1)
    )


def damp_gradient(gradient: torch.Tensor) -> torch.Tensor:
    """The gradient of the head, a little smaller; autograd calls it."""
    return 0.99 * gradient


def warm_up(step: int) -> float:
    """The share of the learning rate at a step."""
    return min(1.0, (step + 1) / 10)


def tokenize(count: int, rank: int) -> Corpus:
    """Make the rows; every rank makes all of them, as many scripts do."""
    print(f"[rank{rank}] Tokenizing {count} documents", flush=True)
    rows = encode_documents(count)
    print(f"[rank{rank}] Tokenizing done", flush=True)
    return Corpus(rows)


def encode_documents(count: int) -> torch.Tensor:
    """Token numbers of documents, `(count, length)`."""
    maker = torch.Generator().manual_seed(0)
    return torch.randint(0, VOCABULARY, (count, LENGTH), generator=maker)


def evaluate(model: torch.nn.Module, corpus: Corpus, rank: int) -> torch.Tensor:
    """The loss on a part of the corpus, without gradients."""
    print(f"[rank{rank}] Evaluating on {len(corpus)} documents", flush=True)
    model.eval()
    with torch.no_grad():
        losses = [loss_of(model, batch) for batch in DataLoader(corpus, batch_size=64)]
    model.train()
    loss = torch.stack(losses).mean()
    print(f"[rank{rank}] Evaluation finished: eval_loss {loss:.3f}", flush=True)
    return loss


def save_checkpoint(model: torch.nn.Module, folder: str, step: int, rank: int) -> None:
    """Write all weights."""
    path = pathlib.Path(folder) / f"step-{step}.pt"
    path.parent.mkdir(parents=True, exist_ok=True)
    print(f"[rank{rank}] Saving model checkpoint to {path}", flush=True)
    torch.save(model.state_dict(), path)
    print(f"[rank{rank}] Saved checkpoint {path}", flush=True)


def train_epoch(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
    loader: DataLoader[torch.Tensor],
    groups: Sequence[dist.ProcessGroup | None],
    *,
    step: int,
    args: argparse.Namespace,
) -> int:
    """All batches once; the number of steps that are done then."""
    rank = dist.get_rank()
    for batch in loader:
        if step == args.steps:
            break
        loss = loss_of(model, batch)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        step += 1
        mean = loss.detach().clone()
        if args.count_tokens:
            counts = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
            dist.all_gather(counts, torch.tensor([batch.numel()]))
        for group in groups:
            dist.all_reduce(mean, group=group)
        time.sleep(args.step_s)
        if rank == 0 or args.chatty:
            print(f"[rank{rank}] step {step} loss {loss.item():.4f}", flush=True)
    return step


def options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--step-s", type=float, default=0.05, help="least seconds of a step")
    parser.add_argument("--documents", type=int, default=256)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--eval-on", choices=("all", "rank0", "none"), default="all")
    parser.add_argument("--save-every", type=int, default=8, help="steps; at ends of epochs")
    parser.add_argument("--groups", type=int, default=1, help="groups that reduce each step's loss")
    parser.add_argument("--count-tokens", action="store_true", help="gather them at each step")
    parser.add_argument("--compile-on", type=int, help="rank that compiles a part of the model")
    parser.add_argument("--chatty", action="store_true", help="every rank prints its steps")
    parser.add_argument("--shard", action="store_true", help="FSDP in the place of DDP")
    parser.add_argument("--workers", type=int, default=0, help="processes of a rank's loader")
    parser.add_argument("--checkpoints", default="checkpoints")
    return parser.parse_args()


def in_parallel(bare: Model, *, shard: bool) -> torch.nn.Module:
    """The model of all ranks together."""
    if not shard:
        return DistributedDataParallel(bare)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for part in (bare.embedding, bare.body, bare.head):
        fully_shard(part, mesh=mesh)
    fully_shard(bare, mesh=mesh)
    return bare


def main() -> None:
    """Train."""
    args = options()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    more = [dist.new_group(list(range(world))) for _ in range(args.groups - 1)]
    groups = [None, *more][: args.groups]
    print(f"[rank{rank}] world size {world}, torch {torch.__version__}", flush=True)
    corpus = tokenize(args.documents, rank)
    bare = Model(args.width)
    if args.compile_on == rank:
        bare.body.compile()  # a part below DDP, whose collectives stay the same on all ranks
    model = in_parallel(bare, shard=args.shard)
    bare.head.weight.register_hook(damp_gradient)  # type: ignore[no-untyped-call]
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warm_up)
    sampler: DistributedSampler[torch.Tensor] = DistributedSampler(corpus, world, rank)
    loader = DataLoader(corpus, batch_size=8, sampler=sampler, num_workers=args.workers)
    held_out, step = Corpus(corpus.rows[:64]), 0
    while step < args.steps:
        before = step
        step = train_epoch(model, optimizer, schedule, loader, groups, step=step, args=args)
        if args.eval_on == "all" or (args.eval_on == "rank0" and rank == 0):
            loss = evaluate(bare, held_out, rank)
            if args.eval_on == "all":
                dist.all_reduce(loss)
        if rank == 0 and step // args.save_every > before // args.save_every:
            save_checkpoint(bare, args.checkpoints, step, rank)
    dist.barrier()
    print(f"[rank{rank}] Training complete", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
