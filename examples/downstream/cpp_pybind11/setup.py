import ascend_cy
from pybind11.setup_helpers import Pybind11Extension
from setuptools import setup

# Headers only: no library of ascend_cy is linked.
setup(ext_modules=[Pybind11Extension("row_stats", ["row_stats.cpp"], cxx_std=17, include_dirs=[ascend_cy.get_include()],
                                     libraries=["dl"])])
