"""What a result was made with: versions, revision, processor."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

from elasticgnn.versions import package_versions

PACKAGES = ("elasticgnn", "torch", "numpy", "scipy", "torch_geometric", "optuna")


def environment() -> dict[str, str]:
    """Versions of everything that computes, and the git revision of the source."""
    found = package_versions(PACKAGES)
    found["machine"] = platform.machine()
    found["processor"] = processor()
    found["revision"] = git_revision()
    return found


def processor() -> str:
    """The processor's model name where the system has it."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text("utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def git_revision() -> str:
    """The commit of the source tree, with a + if files differ from it; "unknown" elsewhere."""
    folder = Path(__file__).parent.parent  # the package: a changed loop counts as much
    head = git_output(folder, "rev-parse", "--short=12", "HEAD")
    if not head:
        return "unknown"
    changed = git_output(folder, "status", "--porcelain", "--untracked-files=no", "--", ".")
    return f"{head}+" if changed else head


def git_output(folder: Path, *arguments: str) -> str:
    """What git prints, or nothing where it fails."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
