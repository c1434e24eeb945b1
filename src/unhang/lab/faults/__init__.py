"""Faults that are put into any training script; the guest inside each process of a drill.

The process may have another Python and no unhang at all, so this package is loaded by its path
(`site/sitecustomize.py`), under the name `_unhang_faults`; it keeps to Python 3.8 and the standard
library. Only `declared` is used on both sides.
"""
