"""Finds secrets in text: values that are known, in each form in which they travel (as they are, in
base64, hex, URLs and JSON, backwards, with anything between their letters), and what has the shape
of one, for what nobody told us about. Shapes have no upper bound and no end anchor: GitHub's
installation tokens come with 36 characters or with about 520, dots and dashes included.

Everything here is linear in the length of the text, for agents and strangers choose it.
"""

import base64
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote, quote_plus

LEAST_LINE: Final = 16
"""A line of a secret of several lines is a secret by itself from this length on."""
LEAST_LETTERS: Final = 8
"""Letters and digits that make a known secret one, whatever stands between them."""

_SHAPES: Final = tuple(
    (mark, re.compile(shape, re.VERBOSE | re.DOTALL))
    for mark, shape in (
        # GitHub: user, App and refresh tokens, and fine-grained personal ones
        ("gh", r"gh[pousr]_[A-Za-z0-9._-]{20,}"),
        ("github_pat_", r"github_pat_[A-Za-z0-9_]{20,}"),
        # JWT, with what is written onto it
        (
            "eyJ",
            r"""(?<![A-Za-z0-9_-]) (?=[A-Za-z0-9_-]*?eyJ[A-Za-z0-9_-]{10}) [A-Za-z0-9_-]++
            \.eyJ[A-Za-z0-9_-]{10,}+ (?:\.[A-Za-z0-9_-]*+)?""",
        ),
        # base64 of "x-access-token:…"
        ("eC1hY2Nlc3MtdG9rZW46", r"eC1hY2Nlc3MtdG9rZW46[A-Za-z0-9+/=_-]+"),
        # keys of model providers, also behind a line break of JSON
        ("sk-", r"sk- (?: (?<![A-Za-z0-9_-]sk-) | (?<=\\[nrt]sk-) ) [A-Za-z0-9_-]{20,}"),
        # PEM; all that follows if it was cut off
        (
            "PRIVATE KEY",
            r"""-----BEGIN\ [A-Z0-9\ ]{0,40}PRIVATE\ KEY-----
            .*? (?: -----END\ [A-Z0-9\ ]{0,40}PRIVATE\ KEY----- | \Z )""",
        ),
    )
)
"""Each is looked for only where its mark is."""
_SHAPES_IN_FILES: Final = re.compile(
    r"""
      gh[pousr]_[A-Za-z0-9._-]{30,}
    | github_pat_[A-Za-z0-9_]{30,}
    | sk-ant-[A-Za-z0-9_-]{20,}
    | -----BEGIN\ [A-Z0-9\ ]{0,40}PRIVATE\ KEY-----[^-]{0,200}?[A-Za-z0-9+/=]{40}
    """,
    re.VERBOSE,
)
"""What no file may hold: closer than in text, for documents tell of tokens and show none."""

_BETWEEN: Final = re.compile(r"%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\[nrtbf]|[^0-9A-Za-z]+")
"""What no skeleton has: marks, spaces, and what URLs and JSON write in the place of these."""
_MARKS: Final = re.compile(r"[^0-9A-Za-z]+")
"""The same where nothing is an escape: a backslash may stand before a letter of the secret."""
_BETWEEN_HEX: Final = re.compile(r"0[xX]|\\x|[^0-9A-Fa-f]+")

Span = tuple[int, int]


def secret_spans(text: str, known: Iterable[str]) -> Iterator[Span]:
    """Where secrets stand in a text: known ones, and what has the shape of one; in no order."""
    for mark, shape in _SHAPES:
        if mark in text:
            yield from (match.span() for match in shape.finditer(text))
    yield from _known_spans(text, _forms(frozenset(filter(None, known))))


def found_in(content: str, known: Iterable[str] = ()) -> frozenset[str]:
    """The secrets in a file, by their forms, and what has the shape of a token."""
    forms = _forms(frozenset(filter(None, known)))
    plain = content.replace("\0", "")  # in UTF-16 every other byte is a zero
    found = {match[0] for match in _SHAPES_IN_FILES.finditer(plain)}
    found |= {form for form in forms.exact if form in plain}
    for between, wanted in forms.readings(plain):
        bare = _bare(between.sub("", plain), between)
        found |= {form for form, _ in _found(bare, wanted)}
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class _Forms:
    """How secrets read."""

    exact: Sequence[str]
    """Of secrets with too few letters: in a header, a URL, a JSON string, or as they are."""
    letters: "_Index"
    """Letters and digits alone, of the secret and of its base64, also backwards."""
    plain_letters: "_Index"
    """The same of a text in which nothing is an escape."""
    digits: "_Index"
    """In hex, also backwards."""
    ends: Mapping[str, tuple[str, str]]
    """By its letters: what a secret has before the first and behind the last of them."""

    def readings(self, text: str) -> Iterator[tuple[re.Pattern[str], "_Index"]]:
        """The ways to read a text: what to leave out of it, and what to look for in the rest."""
        yield _BETWEEN, self.letters
        if "\\" in text or "%" in text:
            yield _MARKS, self.plain_letters
        yield _BETWEEN_HEX, self.digits


_Index = Mapping[str, Sequence[str]]
"""Forms by their first `LEAST_LETTERS`, so that one look at each place of a text finds them all."""


@lru_cache(maxsize=8)
def _forms(known: frozenset[str]) -> _Forms:
    units = {unit for secret in known for unit in _units(secret)}
    letters = {form for unit in units for form in _skeletons(unit, _BETWEEN)}
    plain_letters = {form for unit in units for form in _skeletons(unit, _MARKS)}
    digits = {unit.encode().hex() for unit in units if len(unit) >= LEAST_LETTERS}
    short = (secret for secret in known if len(_BETWEEN.sub("", secret)) < LEAST_LETTERS)
    return _Forms(
        sorted({form for secret in short for form in _exact(secret)}, key=len, reverse=True),
        _index(letters | {form[::-1] for form in letters}),
        _index(plain_letters | {form[::-1] for form in plain_letters}),
        _index(digits | {form[::-1] for form in digits}),
        {each.sub("", unit): _ends(unit) for unit in units for each in (_MARKS, _BETWEEN)},
    )


def _index(forms: Iterable[str]) -> _Index:
    by_head: dict[str, list[str]] = {}
    for form in sorted(forms, key=len, reverse=True):
        by_head.setdefault(form[:LEAST_LETTERS], []).append(form)
    return by_head


def _ends(unit: str) -> tuple[str, str]:
    inner = re.search("[0-9A-Za-z](?:.*[0-9A-Za-z])?", unit, re.DOTALL)
    return (unit[: inner.start()], unit[inner.end() :]) if inner is not None else ("", "")


def _exact(secret: str) -> Iterator[str]:
    yield secret
    yield quote(secret, safe="")
    yield quote_plus(secret)
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    for plain in (secret, f"x-access-token:{secret}"):
        encoded = base64.b64encode(plain.encode()).decode()
        yield encoded
        yield encoded.rstrip("=").translate(str.maketrans("+/", "-_"))


def _units(secret: str) -> Iterator[str]:
    """The secret, and each of its lines that is long enough to be one."""
    yield secret
    for line in secret.splitlines():
        if len(line.strip()) >= LEAST_LINE:
            yield line.strip()


def _skeletons(unit: str, between: re.Pattern[str]) -> Iterator[str]:
    """The unit's letters and digits, and those of its base64, wherever it stands in what was
    encoded: only that part of it which its neighbours do not change."""
    raw = unit.encode()
    forms = [unit]
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + raw).decode()
        first = -(-before * 8 // 6)
        forms.append(encoded[first : (before + len(raw)) * 8 // 6])
    for form in forms:
        letters = between.sub("", form)
        if len(letters) >= LEAST_LETTERS:
            yield letters


def _known_spans(text: str, forms: _Forms) -> Iterator[Span]:
    for form in forms.exact:
        yield from _places(text, form)
    for between, wanted in forms.readings(text):
        if not wanted:
            continue
        bare = _Bare.of(text, between)
        for form, at in _found(bare.text, wanted):
            start, stop = bare.source(at), bare.source(at + len(form) - 1) + 1
            before, behind = forms.ends.get(form, ("", ""))
            start -= len(before) if text.endswith(before, 0, start) else 0
            stop += len(behind) if text.startswith(behind, stop) else 0
            yield start, stop


def _found(bare: str, index: _Index) -> Iterator[tuple[str, int]]:
    """Which forms are there, and where; the longest at each place."""
    size, end = LEAST_LETTERS, 0
    for at in [at for at in range(len(bare) - size + 1) if bare[at : at + size] in index]:
        if at < end:
            continue
        for form in index[bare[at : at + size]]:
            if bare.startswith(form, at):
                yield form, at
                end = at + len(form)
                break


@dataclass(frozen=True, slots=True)
class _Bare:
    """A text without what stands between its letters, and where each piece of it came from."""

    text: str
    offsets: Sequence[int]
    sources: Sequence[int]

    @classmethod
    def of(cls, text: str, between: re.Pattern[str]) -> "_Bare":
        pieces, offsets, sources, length, last = [], [0], [0], 0, 0
        for match in between.finditer(text):
            start, stop = match.span()
            if start > last:
                pieces.append(text[last:start])
                offsets.append(length)
                sources.append(last)
                length += start - last
            last = stop
        pieces.append(text[last:])
        offsets.append(length)
        sources.append(last)
        return cls(_bare("".join(pieces), between), offsets, sources)

    def source(self, position: int) -> int:
        """Where a character of it stands in the text."""
        piece = bisect_right(self.offsets, position) - 1
        return self.sources[piece] + position - self.offsets[piece]


def _bare(text: str, between: re.Pattern[str]) -> str:
    return text.lower() if between is _BETWEEN_HEX else text


def _places(text: str, form: str) -> Iterator[Span]:
    at = text.find(form)
    while at >= 0:
        yield at, at + len(form)
        at = text.find(form, at + len(form))
