"""A rule for the reward: short answers are better."""


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """Return a number between 0 and 1."""
    return 1.0 / (1.0 + len(solution_str))
