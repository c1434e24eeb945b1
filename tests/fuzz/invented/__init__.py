"""Quotes failures of others in healthy logs with wordings that nobody has read before.

`quoted` has ways of showing that were written down; here each is invented anew: a seed chooses who
speaks, how what is shown is framed, marked and labelled, how the failure reads and how the job
prints its work. `python -m fuzz.invented --seed 7 --jobs 2000` prints which convict.
"""
