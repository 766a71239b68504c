"""Builders that test_cli.py and test_models.py name as `user_models:NAME`."""

import torch
from torch import nn


def mlp():
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8))


class Pictures(nn.Module):
    """Says itself what it reads."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3 * 8 * 8, 10)

    def example_inputs(self, batch, seq):
        return torch.empty(batch, 3, 8, 8)

    def forward(self, x):
        return {"logits": self.head(x.flatten(1))}


def unknown_inputs():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.Linear(8, 8))


def without_parameters():
    class Flat(nn.Module):
        def example_inputs(self, batch, seq):
            return torch.empty(batch, 3)

        def forward(self, x):
            return x.flatten()

    return Flat()


def no_module():
    return 3


def raises():
    raise RuntimeError("line one\nline two")


NUMBER = 7


class Embedded(nn.Module):
    """A table wider than what reads it."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 16)
        self.head = nn.Linear(16, 100)

    def forward(self, ids):
        return self.head(self.table(ids))


class SmallBatches(nn.Module):
    """Takes another way for a batch of up to four."""

    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Linear(16, 16), nn.Linear(16, 64)

    def example_inputs(self, batch, seq):
        return torch.empty(batch, 16)

    def forward(self, x):
        return self.one(x) if x.shape[0] <= 4 else self.other(x)
