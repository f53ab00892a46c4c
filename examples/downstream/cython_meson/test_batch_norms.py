"""Run by pytest, or as a script, where batch_norms and ascend_cy are installed."""

from concurrent.futures import ThreadPoolExecutor

import ascend_cy
import batch_norms
import numpy as np

X = np.random.default_rng(0).normal(3, 2, (24, 50, 129)).astype(np.float32)
GAMMA, BETA = np.linspace(1, 2, 129, dtype=np.float32), np.linspace(-1, 1, 129, dtype=np.float32)


def expected(gamma=GAMMA, beta=BETA):
    wide = X.astype(np.float64)
    y = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    return y * gamma + beta


def test_threads_share_a_data_loop():
    out = np.zeros_like(X)

    def share(number):
        with ascend_cy.Stream() as stream:
            batch_norms.normalize_batches(X, GAMMA, BETA, out, 6 * number, 6 * number + 6, stream)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(share, range(4)))
    assert np.abs(out - expected()).max() < 1e-5


def test_a_chain_on_the_device():
    x = ascend_cy.asarray(X)
    out = ascend_cy.empty_like(x)
    with ascend_cy.Stream() as stream:
        assert batch_norms.normalize_on_device(x, out, 3, stream) == 24 * 50
    assert np.abs(out.to_numpy() - expected(1, 0)).max() < 1e-4


def test_ascendcl():
    with ascend_cy.Stream() as stream:
        source = ascend_cy.asarray(X[0, 0], stream=stream)
        target = batch_norms.doubled(source, stream)
        source.close()
        assert np.array_equal(target.to_numpy(stream=stream), np.tile(X[0, 0], 2))


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(name, "passed")
