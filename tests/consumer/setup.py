# SPDX-License-Identifier: Apache-2.0
"""A downstream project: setuptools, Cython and the installed ascend_cy, nothing else."""

import ascend_cy
from Cython.Build import cythonize
from setuptools import Extension, setup

quick = ["-O0"]

setup(
    name="ascend-cy-consumer",
    version="1",
    packages=[],
    ext_modules=cythonize(
        [
            # No include path and no library: `cimport ascend_cy` needs neither.
            Extension("plain", ["plain.pyx"], extra_compile_args=quick),
            Extension("operators", ["operators.pyx"], extra_compile_args=quick),
            Extension("plain_cpp", ["plain_cpp.pyx"], language="c++", extra_compile_args=quick),
            # AscendCL's own types come from our C header.
            Extension("raw", ["raw.pyx"], include_dirs=[ascend_cy.get_include()], extra_compile_args=quick),
        ],
        language_level=3,
        nthreads=2,
    ),
)
