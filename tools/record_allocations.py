# SPDX-License-Identifier: Apache-2.0
"""Record what torch allocates and frees while it trains and serves a small transformer, for tests of the memory pool.

    python tools/record_allocations.py FOLDER

writes ``training.txt``, ``training-ragged.txt`` and ``serving.txt``. A trace is numbers, after a line that says what it
is: a positive one allocates that many bytes, a negative one, -k, frees what the k-th allocation made. Needs torch.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import textwrap
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile


def trace_of(work) -> list[int]:
    """Allocations and frees of `work`, in order."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
            work()
        recorded.export_chrome_trace(str(file))
        events = json.loads(file.read_text())["traceEvents"]
    steps, live, count = [], {}, 0
    for event in sorted((e for e in events if e.get("name") == "[memory]"), key=lambda e: e["ts"]):
        size, address = event["args"]["Bytes"], event["args"]["Addr"]
        if size > 0:
            count += 1
            live[address] = count
            steps.append(size)
        elif address in live:  # else it was made before
            steps.append(-live.pop(address))
    return steps


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, cache=None):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.before(x)).split(width, -1))
        if cache is not None:
            if cache:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            cache[:] = [k, v]
        scores = (q @ k.transpose(-1, -2)) / (width // self.heads) ** 0.5
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(mixed)
        return x + self.narrow(nn.functional.gelu(self.wide(self.between(x))))


class Model(nn.Module):
    def __init__(self, width=256, heads=4, layers=4, words=1000) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, words)

    def forward(self, tokens, caches=None):
        x = self.embed(tokens)
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i])
        return self.head(x)


def train(batches: list[tuple[int, int]]) -> None:
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters())
    for batch, length in batches:
        tokens = torch.randint(0, 1000, (batch, length))
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.inference_mode()
def serve(requests: int, at_a_time: int) -> None:
    """Requests with prompts and answers of many lengths, each with its own cache of keys and values."""
    chosen = random.Random(7)
    model = Model()
    running: list[list] = []
    while requests or running:
        while requests and len(running) < at_a_time:
            requests -= 1
            caches: list[list] = [[] for _ in model.blocks]
            model(torch.randint(0, 1000, (1, chosen.randint(4, 200))), caches)
            running.append([caches, chosen.randint(2, 24)])
        for request in running:
            model(torch.randint(0, 1000, (1, 1)), request[0])
            request[1] -= 1
        running = [request for request in running if request[1] > 0]


def main(folder: Path) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    lengths = random.Random(5)
    recordings = {
        "training": ("three steps of AdamW on a transformer of 4 layers, batches of 8 x 64", lambda: train([(8, 64)] * 3)),
        "training-ragged": ("five steps of AdamW on a transformer of 4 layers, batches of many sizes",
                            lambda: train([(lengths.randint(2, 12), lengths.randint(16, 96)) for _ in range(5)])),
        "serving": ("requests of many lengths to that transformer, up to 5 at a time", lambda: serve(8, 5)),
    }
    for name, (what, work) in recordings.items():
        steps = trace_of(work)
        (folder / f"{name}.txt").write_text(f"# torch {torch.__version__.partition('+')[0]}: {what}\n"
                                            + textwrap.fill(" ".join(map(str, steps)), 118, break_on_hyphens=False) + "\n")
        print(f"{name}: {len(steps)} steps")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
