# SPDX-License-Identifier: Apache-2.0
"""How the pages of this folder become a site: sphinx-build -W docs build-docs (see README.md, "Where things are")."""

import ascend_cy

project = "ascend_cy"
author = "the authors of ascend_cy"
copyright = author
version = release = ascend_cy.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {"description": "Huawei Ascend NPUs from Python and Cython", "page_width": "1100px"}
html_show_copyright = False

# Headings can be linked to, as on a forge.
myst_heading_anchors = 3

# Docstrings are in NumPy's style; Cython writes signatures into the first line of a docstring.
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_docstring_signature = True
autodoc_typehints = "none"

# Several classes have an attribute `name`, and a word in a type may be any of them.
suppress_warnings = ["ref.python"]
