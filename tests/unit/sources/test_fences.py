"""What stands between a line that begins a shown text and one that ends it."""

from unhang.sources.fences import Fences


def shown(*texts: str, own: tuple[int, ...] = ()) -> set[int]:
    fences = Fences()
    for number, text in enumerate(texts, 1):
        fences.see(text, number, own=number in own)
    return fences.shown


def test_a_name_in_brackets() -> None:
    assert shown("[result id=4]", "failed", "[/result]", "failed") == {2}


def test_the_same_marks() -> None:
    assert shown("--8<-- a.md", "failed", "--8<-- end") == {2}


def test_the_same_words() -> None:
    assert shown("begin of the sample", "failed", "end of the sample") == {2}


def test_without_an_end_nothing_is_shown() -> None:
    assert shown("[result]", "failed", "[/answer]") == set()
    assert shown("[result]", *["failed"] * 70, "[/result]") == set()


def test_a_report_of_trouble_is_framed_as_well() -> None:
    assert shown("*** error report ***", "failed", "*** end of error report ***") == set()


def test_the_log_itself_speaks_in_between() -> None:
    assert shown("begin validation", "step 3", "failed", "end validation", own=(2,)) == set()


def test_one_in_another() -> None:
    assert shown("[chat]", "--- sample ---", "failed", "[/chat]") == {2, 3}
