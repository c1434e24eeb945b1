"""Sentences of the verdict itself."""

SENTENCES: dict[str, str] = {
    "summary.undetermined": "The evidence does not decide the cause.",
    "summary.undetermined_call": (
        "{ranks:ranks} waited in {op} until the timeout; for what, the evidence does not show"
    ),
    "summary.no_failure": "No failure is printed in what was given, and no successful end either.",
    "summary.healthy": "No failure found: the job says that it ended well.",
}
