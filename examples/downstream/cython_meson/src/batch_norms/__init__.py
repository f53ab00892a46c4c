"""Normalizes batches in a loop that holds no GIL."""

from batch_norms._loop import normalize_batches, normalize_on_device
from batch_norms._raw import doubled

__all__ = ["doubled", "normalize_batches", "normalize_on_device"]
