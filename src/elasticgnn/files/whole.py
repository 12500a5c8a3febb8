"""Whole files: readers find the old file or the complete new one, whatever happens between.

The bytes go to a file without a name (O_TMPFILE), or where the file system has none to a name
that cannot be guessed (O_EXCL, so that no link is followed). Once they are on the disk the file
is renamed to its place. A killed process leaves nothing behind, a full disk only the old file.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from elasticgnn.files.output import check_output

PERMISSIONS = 0o666  # less the user's umask


def write_whole(path: Path, content: str | bytes, *, make_folder: bool = False) -> None:
    """Replaces `path` by `content` (text as UTF-8) in one step."""
    with whole_file(path, make_folder=make_folder) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole_file(path: Path, *, make_folder: bool = False) -> Iterator[BinaryIO]:
    """A file to write into; it takes the place of `path` when the block ends without an error."""
    if make_folder:
        path.parent.mkdir(parents=True, exist_ok=True)
    check_output(path, "path")
    with errors_that_name(path), open_folder(path.parent) as folder:
        name = f".elasticgnn-{secrets.token_hex(8)}"
        try:
            with open_new(path.parent, folder, name) as file:
                keep_permissions(file.fileno(), path)
                yield file
                file.flush()
                os.fsync(file.fileno())
                give_name(file.fileno(), folder, name)
            os.replace(name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)  # the rename too survives a power cut
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            raise


def open_new(parent: Path, folder: int, name: str) -> BinaryIO:
    """An empty file in `folder`, without a name where the file system can do that."""
    try:
        handle = os.open(parent, os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, PERMISSIONS)
    except (OSError, AttributeError):  # AttributeError: a system other than Linux
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(name, flags, PERMISSIONS, dir_fd=folder)
    return os.fdopen(handle, "wb")


def give_name(handle: int, folder: int, name: str) -> None:
    """Puts a file that was opened without a name into `folder`."""
    if os.fstat(handle).st_nlink == 0:
        source = f"/proc/self/fd/{handle}"
        # with folders given Python asks for linkat, which follows /proc's link to the file
        os.link(source, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)


def keep_permissions(handle: int, path: Path) -> None:
    """Those of the regular file that will be replaced; a new one has those of the umask."""
    with suppress(FileNotFoundError):
        old = path.lstat()
        if stat.S_ISREG(old.st_mode):
            os.fchmod(handle, stat.S_IMODE(old.st_mode))


@contextmanager
def open_folder(path: Path) -> Iterator[int]:
    """A handle of the folder, so that no other can take its place meanwhile."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def errors_that_name(path: Path) -> Iterator[None]:
    """A full disk or a file-size limit says which file it hit."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
