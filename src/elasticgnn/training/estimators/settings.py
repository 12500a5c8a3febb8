"""What scikit-learn's tools ask of an estimator that is a dataclass of its settings."""

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from elasticgnn.extras import optional_imports


@dataclass(eq=False)
class SettingsByName:
    """get_params and set_params for a dataclass, and scikit-learn's tags."""

    _estimator_type = ""  # classifier or regressor

    def note_columns(self, count: int, names: tuple[str, ...] | None) -> None:
        """Sets n_features_in_ and, where the columns have names, feature_names_in_."""
        self.n_features_in_ = count
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

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

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn's tools want to know of an estimator; only they call it."""
        with optional_imports():
            from sklearn import utils

        is_classifier = self._estimator_type == "classifier"
        return utils.Tags(
            estimator_type=self._estimator_type,
            target_tags=utils.TargetTags(required=True),
            classifier_tags=utils.ClassifierTags() if is_classifier else None,
            regressor_tags=None if is_classifier else utils.RegressorTags(),
            input_tags=utils.InputTags(sparse=True),
        )
