"""Parts of a Markdown page that are made anew, each between two markers of its name."""

from __future__ import annotations

from collections.abc import Mapping


def markers(name: str) -> tuple[str, str]:
    """The two comments around the block of that name."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def with_blocks(text: str, contents: Mapping[str, str]) -> str:
    """`text` with every block that it has made anew; it must have one of them."""
    if not any(has_block(text, name) for name in contents):
        pairs = " or ".join(" and ".join(markers(name)) for name in contents)
        raise ValueError(f"document must contain {pairs}, got none of them")
    for name, content in contents.items():
        text = with_block(text, name, content)
    return text


def has_block(text: str, name: str) -> bool:
    """Whether both markers are there."""
    return all(marker in text for marker in markers(name))


def with_block(text: str, name: str, content: str) -> str:
    """`text` with one block made anew, as it was where it has no such block."""
    if not has_block(text, name):
        return text
    begin, end = markers(name)
    head, _, rest = text.partition(begin)
    return f"{head}{begin}\n\n{content}\n\n{end}{rest.partition(end)[2]}"
