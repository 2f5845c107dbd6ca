"""The glossary: each word of a page is explained once, and only words that the page uses."""

import pytest

from inflight.bench.report.glossary import glossary, section, used


def names(text: str) -> list[str]:
    return [term for term, _ in used(text)]


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("held by the gate", "gate"),
        ("the gates of all servers", "gate"),
        ("Slab and sockets", "slab"),
        ("All 5 strategies", "strategy"),
        ("the marginal\N{NO-BREAK SPACE} memory", "marginal memory"),
        ("half take longer than the p50", "p50, p99"),
    ],
)
def test_a_word_is_found_in_singular_and_plural(text: str, term: str) -> None:
    assert term in names(text)


def test_a_part_of_a_word_is_not_found() -> None:
    assert names("gateway, blockade, pSSt") == []


def test_a_word_within_a_longer_term_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = {"on_pages": {"block": "A turn of all.", "block noise": "How much they differ."}}
    monkeypatch.setattr("inflight.bench.report.glossary._terms", lambda: terms)

    assert names("the block noise") == ["block noise"]
    assert set(names("the block noise of each block")) == {"block", "block noise"}


def test_the_words_of_a_meaning_are_explained_too() -> None:
    assert "workload" in names("one block")


def test_a_page_without_such_words_has_no_glossary() -> None:
    assert section("") == section("nothing to explain")
    assert section("").details == ()


def test_the_folded_part_says_how_many_words_it_explains() -> None:
    [folded] = section("the gate, and slab").details

    assert folded.summary == "2 words of this page, explained"
    assert [sentence.partition(":")[0] for sentence in folded.sentences] == ["gate", "slab"]


def test_terms_are_unique_and_in_alphabetical_order() -> None:
    terms = [term.lower() for term, _ in glossary()]

    assert terms == sorted(set(terms))
