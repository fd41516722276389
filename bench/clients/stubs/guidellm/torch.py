"""What guidellm takes from torch: an iterable data loader. torch itself is 5 GB of
libraries for a device that a client of a server does not touch."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Generic, TypeVar

T = TypeVar("T")


class IterableDataset(Generic[T]):
    pass


class DataLoader(Generic[T]):
    """Hands on what its data set yields, one at a time, in this process."""

    def __init__(self, dataset, collate_fn, **_):
        self.dataset, self.collate_fn = dataset, collate_fn

    def __iter__(self):
        for item in self.dataset:
            yield self.collate_fn([item])


class Generator:
    def manual_seed(self, seed):
        return self


def module(name, **members):
    m = ModuleType(name)
    m.__dict__.update(members)
    m.__path__ = []
    sys.modules[name] = m
    return m


data = module(
    "torch.utils.data",
    IterableDataset=IterableDataset,
    get_worker_info=lambda: None,
)
module("torch.utils.data.dataloader", DataLoader=DataLoader)
module("torch.utils.data.dataset", IterableDataset=IterableDataset)
utils = module("torch.utils", data=data)
Tensor = type("Tensor", (), {})
