"""Text from files on its way to a terminal or into Markdown."""

import re

UNUSUAL = re.compile(r"[^\x20-\x7e\n\t]")
SYNTAX = re.compile(r"[|<]|\](?=\()")  # a column, an element, or where a link leads


def visible(text: str) -> str:
    r"""`text` with its control characters written out (\x1b): no file can steer a terminal."""
    return UNUSUAL.sub(lambda sign: written_out(sign[0]), text)


def written_out(sign: str) -> str:
    """The sign itself if it can be printed, else its escape sequence in ASCII."""
    return sign if sign.isprintable() else ascii(sign)[1:-1]


def hide_password(text: str) -> str:
    """An address without the password in it: user:***@host."""
    scheme, mark, rest = text.partition("://")
    user, at, host = rest.rpartition("@")
    if not mark or not at or ":" not in user:
        return text
    return f"{scheme}://{user.partition(':')[0]}:***@{host}"


def first_line(error: BaseException, most: int | None = None) -> str:
    """The first line of an error's message, at most so many letters of it."""
    lines = str(error).strip().splitlines()
    return lines[0][:most] if lines else type(error).__name__


def one_line(text: str) -> str:
    """`text` on one line, with nothing in it that a terminal would obey."""
    return visible(" ".join(text.split()))


def markdown_text(text: str) -> str:
    """`text` as a cell of a Markdown table: no line, column, element or link of its own."""
    return SYNTAX.sub(lambda sign: f"&#{ord(sign[0])};", one_line(text))
