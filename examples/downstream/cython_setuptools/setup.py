import ascend_cy
from Cython.Build import cythonize
from setuptools import Extension, setup

setup(
    ext_modules=cythonize(
        [
            # `cimport ascend_cy` needs neither an include path nor a library.
            Extension("feature_rows._rows", ["src/feature_rows/_rows.pyx"], language="c++"),
            # AscendCL's own types come from the C headers.
            Extension("feature_rows._memory", ["src/feature_rows/_memory.pyx"], include_dirs=[ascend_cy.get_include()]),
        ],
        language_level=3,
    )
)
