"""What runs inside each training process; it imports nothing of unhang and needs no library.

The training process may have another Python and no unhang at all, so this package is loaded by
its path, under the name `_unhang_probe`, and keeps to Python 3.8 and the standard library.
"""
