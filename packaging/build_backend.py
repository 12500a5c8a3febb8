"""scikit-build-core; where the loops cannot be compiled, the package without them.

Its own override `if.failed` does the same, but then there are no hooks for the metadata, and
whoever only asks what the package depends on compiles all of it.
"""

import sys
from collections.abc import Callable

from scikit_build_core import build
from scikit_build_core.build import build_sdist as build_sdist
from scikit_build_core.build import (
    get_requires_for_build_editable as get_requires_for_build_editable,
)
from scikit_build_core.build import get_requires_for_build_sdist as get_requires_for_build_sdist
from scikit_build_core.build import get_requires_for_build_wheel as get_requires_for_build_wheel
from scikit_build_core.build import (
    prepare_metadata_for_build_editable as prepare_metadata_for_build_editable,
)
from scikit_build_core.build import (
    prepare_metadata_for_build_wheel as prepare_metadata_for_build_wheel,
)

Settings = dict[str, list[str] | str] | None
Hook = Callable[[str, Settings, str | None], str]


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """The name of a wheel with compiled loops, or of one without."""
    return _compiled_or_plain(
        build.build_wheel, wheel_directory, config_settings, metadata_directory
    )


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """The same for an installation that runs from the sources."""
    return _compiled_or_plain(
        build.build_editable, wheel_directory, config_settings, metadata_directory
    )


def _compiled_or_plain(hook: Hook, folder: str, settings: Settings, metadata: str | None) -> str:
    try:
        return hook(folder, settings, metadata)
    except SystemExit:  # a program failed, and has said why
        print("the loops could not be compiled: installing without them, plain torch will be used")
        sys.stdout.flush()
    plain = {"wheel.cmake": "false", "wheel.py-api": "py3"}
    # without the metadata, which names the platform that only loops need
    return hook(folder, {**(settings or {}), **plain}, None)
