"""Run by pytest, or as a script, where row_stats and ascend_cy are installed."""

from concurrent.futures import ThreadPoolExecutor

import ascend_cy
import numpy as np
import row_stats

X = np.random.default_rng(0).normal(3, 2, (64, 100)).astype(np.float32)


def test_several_threads():
    wide = X.astype(np.float64)
    mean, rstd = wide.mean(-1), 1 / np.sqrt(wide.var(-1) + 1e-5)
    with ThreadPoolExecutor(4) as threads:
        for y, its_mean, its_rstd in threads.map(row_stats.normalize, [X] * 20):
            assert np.abs(y - (wide - mean[:, None]) * rstd[:, None]).max() < 1e-5
            assert np.allclose(its_mean, mean, rtol=1e-5) and np.allclose(its_rstd, rstd, rtol=1e-5)
    assert row_stats.normalize(np.zeros((0, 5), np.float32))[0].shape == (0, 5)


def test_device_arrays_on_a_stream():
    with ascend_cy.Stream() as stream:
        a, y = ascend_cy.asarray(X), ascend_cy.zeros(X.shape)
        row_stats.add(a, y, y, stream, times=3)
        a.close()
        assert np.array_equal(y.to_numpy(), X + X + X)


def test_refusals():
    for call in (lambda: row_stats.normalize(np.zeros(3, np.float32)),
                 lambda: row_stats.add(*[ascend_cy.zeros(n) for n in (3, 4, 4)], ascend_cy.default_stream())):
        try:
            call()
        except ValueError:
            continue
        raise AssertionError("a wrong shape was taken")


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(name, "passed")
