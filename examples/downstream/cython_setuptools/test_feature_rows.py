"""Run by pytest, or as a script, where feature_rows and ascend_cy are installed."""

import threading

import ascend_cy
import feature_rows
import numpy as np

X = np.random.default_rng(0).normal(3, 2, (64, 100)).astype(np.float32)


def normalized(x):
    wide = x.astype(np.float64)
    return (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)


def test_several_threads_use_one_normalizer():
    gamma, beta = np.full(100, 2, np.float32), np.full(100, 1, np.float32)
    normalizer = feature_rows.Normalizer(gamma, beta)
    outs = [np.zeros_like(X) for _ in range(4)]
    threads = [threading.Thread(target=normalizer.apply, args=(X, out, 50)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for out in outs:
        assert np.abs(out - (normalized(X) * 2 + 1)).max() < 1e-5


def test_errors_come_back_from_nogil_code():
    normalizer = feature_rows.Normalizer(np.ones(99, np.float32), np.ones(100, np.float32))
    try:
        normalizer.apply(X, np.zeros_like(X))
    except ValueError as error:
        assert "gamma must have shape (100,)" in str(error)
    else:
        raise AssertionError("a gamma of the wrong length was taken")


def test_half():
    half = X.astype(np.float16)
    out = np.zeros_like(half)
    feature_rows.normalize_half(half.view(np.uint16), out.view(np.uint16))
    assert np.abs(out - normalized(half)).max() < 2e-3


def test_device_arrays():
    x, bias = ascend_cy.asarray(X), ascend_cy.asarray(X)
    with ascend_cy.Stream() as stream:
        feature_rows.add_bias(x, bias, stream)
    assert np.array_equal(x.to_numpy(), X + X)


def test_memory_of_its_own():
    array = feature_rows.patterned(1000, 7)
    assert (array.to_numpy() == 7).all() and feature_rows.free_bytes() > 0
    array.close()


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(name, "passed")
