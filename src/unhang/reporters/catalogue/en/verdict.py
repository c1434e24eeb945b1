"""Sentences of the verdict itself."""

SENTENCES: dict[str, str] = {
    "summary.undetermined": "The evidence does not decide the cause.",
}
