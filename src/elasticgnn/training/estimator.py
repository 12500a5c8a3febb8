"""What scikit-learn's tools ask of an estimator that is a dataclass of its settings."""

from dataclasses import dataclass, fields
from typing import Any, Self


@dataclass(eq=False)
class SettingsByName:
    """get_params and set_params for a dataclass."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name, as scikit-learn asks for them."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Sets parameters by name, as scikit-learn's tools do."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(
                    f"parameter must be one of {sorted(self.get_params())}, got {name}"
                )
            setattr(self, name, value)
        return self
