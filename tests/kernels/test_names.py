"""One name, one meaning: no type or constant of the loops stands for two ideas in two files."""

import re
from collections import defaultdict
from pathlib import Path

KERNELS = Path(__file__).parents[2] / "src" / "elasticgnn" / "kernels"
DEFINITION = re.compile(
    r"^(?:template <.*>\s*)?(?:inline |static )*(?:"
    r"(?:struct|class|enum class|enum) (\w+)\b(?![^{;\n]*;)(?!\s*<)"  # not forward, not special
    r"|constexpr [\w:<>]+(?:\s+[\w:]+)*? (\w+)(?=\s*[=\[{])"
    r"|using (\w+) ="
    r"|typedef [^;]*?(\w+)(?: __attribute__.*)?;)",
    re.MULTILINE,
)
EVERYWHERE = {"P", "Vec"}  # of the width that a file computes in: Pack<...> and its vector


def definitions(text: str) -> set[str]:
    """Types and constants that a file defines, those of classes and functions left out."""
    return {next(filter(None, found)) for found in DEFINITION.findall(text)}


def test_definitions_are_seen():
    text = (
        "struct A {\n  int b;\n};\nclass C;\nusing D = int;\n  using E = int;\n"
        "template <class T>\nstruct F {};\nconstexpr std::int64_t G = 3;\ntypedef float H;\n"
    )
    assert definitions(text) == {"A", "D", "F", "G", "H"}


def test_no_name_has_two_meanings():
    files = defaultdict(list)
    for path in sorted(KERNELS.rglob("*")):
        if path.suffix in (".h", ".cpp"):
            for name in definitions(path.read_text()) - EVERYWHERE:
                files[name].append(str(path.relative_to(KERNELS)))
    assert len(files) > 200
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}
