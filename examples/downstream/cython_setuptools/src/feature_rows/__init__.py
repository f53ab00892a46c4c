"""Rows of features, normalized with weights that are kept between calls."""

from feature_rows._memory import free_bytes, patterned
from feature_rows._rows import Normalizer, add_bias, normalize_half

__all__ = ["Normalizer", "add_bias", "free_bytes", "normalize_half", "patterned"]
