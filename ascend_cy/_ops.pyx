"""The door to the operators."""

from ascend_cy._layernorm import layernorm
