"""Files that ten plausible changes touch: those of src/ that name an existing example of each.

`python scripts/count_touches.py [COMMIT ...]` counts at each commit (HEAD if none is given), with
`git grep`; examples that a commit does not have are counted by that day's nearest relative.
"""

import re
import subprocess
import sys

# what is added: a pattern that names one existing example wherever it must be known, and, for
# commits that have no such example, its nearest relative of then
CHANGES = {
    "penalty": (r"\bscad\b|\bSCAD\b|scad_rows", ""),
    "data set": (r"\bcoauthor-cs\b|ms_academic_cs", ""),
    "model": (r"\bcheb\b|\bChebNet\b", ""),
    "attack": (r"\bgrbcd\b", ""),
    "command": (r"^    \"doctor\",|command\(\)\(doctor\)|command\(\"doctor\"\)", ""),
    "instruction set": (r"\bavx2\b", ""),
    "GPU kernel": (
        r"operator import .*\bpacked\b|^def packed_lanes",
        r"emp_outbox|outside\.fits|propagate_outside",
    ),
    "study": (r"\bfigure3\b|^# Figure 3:", ""),
    "stopping rule": (r"\bmax_seconds\b|plan\.is_over", r"\bpatience\b"),
    "metric": (r"\blogloss\b", ""),
}
PLACES = ("src/elasticgnn", "CMakeLists.txt")
# of the studies and claims, which use models and data sets, only the study that is counted
CODE = re.compile(r"\.(py|h|cpp|js|txt)$|SHA256SUMS$|specs/figure3\.toml$")


def files_at(commit: str, pattern: str) -> list[str]:
    """Paths of code at `commit` with a line that the pattern matches."""
    if not pattern:
        return []
    command = ["git", "grep", "-lP", pattern, commit, "--", *PLACES]
    done = subprocess.run(command, capture_output=True, text=True)
    paths = [line.partition(":")[2] for line in done.stdout.splitlines()]
    return [path for path in paths if CODE.search(path)]


def main() -> None:
    """One line per change: the count at each commit, and the files at the last."""
    commits = sys.argv[1:] or ["HEAD"]
    for change, (pattern, relative) in CHANGES.items():
        found = [files_at(commit, pattern) or files_at(commit, relative) for commit in commits]
        counts = " ".join(f"{len(each):>3}" for each in found)
        names = " ".join(path.removeprefix(PLACES[0] + "/") for path in found[-1])
        print(f"{change:16}{counts}  {names}")


if __name__ == "__main__":
    main()
