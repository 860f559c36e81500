"""The settings of a fit, with all automatic values in place, and where each comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

__all__ = ["Recipe"]

#: Values that the table of a recipe shows, in this order; the names are those of parameters.
SHOWN = (
    *("n_estimators", "n_weights", "n_joined", "max_weights", "ramps", "ramp_fraction"),
    *("plain_fraction", "linear_share", "linear_penalty"),
    *("categorical_features", "sentinels", "loss", "max_epochs", "batch_size"),
    *("learning_rate", "weight_decay"),
    *("leaf_moves", "output_factor", "early_stopping"),
)
#: Values that mean that a step is left out, and are not shown unless they were set.
UNUSED: tuple[Any, ...] = (None, False, 0.0, {}, "from_dtype")


@dataclass(frozen=True, eq=False)
class Recipe:
    """The settings of a fit: plain values under the names of the parameters that they fill.

    Setting a parameter of the estimator, or a field of its `growth` or `training`, to the value
    that the recipe shows gives the same model.

    Attributes
    ----------
    values : dict
        Every parameter of the estimator that concerns the model. `growth` and `training` have all
        their fields, which are also attributes of the recipe.
    reasons : dict
        Where a value comes from, by name: "set", "rows: ..." or "trial: ...". Values without an
        entry are defaults.
    seed : int
        Seed of all random numbers of the fit, drawn with `random_state`.

    Examples
    --------
    >>> from bneuralt import BNeuralTClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BNeuralTClassifier(learning_rate=0.01, random_state=0).fit(X, y)
    >>> clf.recipe_.n_weights, clf.recipe_.learning_rate, clf.recipe_.reasons["learning_rate"]
    (300, 0.01, 'set')
    """

    values: Mapping[str, Any]
    reasons: Mapping[str, str]
    seed: int = 0

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return the value of this name."""
    else:

        def __getattr__(self, name):
            """Return the value of this name, of the estimator or of `growth` or `training`."""
            values = self.__dict__.get("values", {})  # not there yet in a copy
            if name in values:
                return values[name]
            for owner in ("training", "growth"):
                fields = values.get(owner)
                if fields is not None and name in fields.names:
                    return getattr(fields, name)
            raise AttributeError(f"a recipe has no {name!r}; it has: {', '.join(values)}")

    def replaced(self, values: Mapping[str, Any], reasons: Mapping[str, str]) -> Recipe:
        """Return a recipe with other values, each under the name of its parameter or field."""
        own = dict(self.values)
        for name, value in values.items():
            if name in own:
                own[name] = value
            for owner in ("training", "growth"):
                fields = own.get(owner)
                if fields is not None and name in fields.names:
                    own[owner] = fields.set_params(**{name: value})
        return Recipe(own, {**self.reasons, **reasons}, self.seed)

    def lines(self) -> Iterator[tuple[str, str, str]]:
        """Yield name, value and reason of the main settings."""
        for name in SHOWN:
            try:
                value = getattr(self, name)
            except AttributeError:
                continue
            reason = self.reasons.get(name, "default")
            if reason != "set" and any(value is u or value == u for u in UNUSED):
                continue
            text = f"{value:.4g}" if isinstance(value, float) else str(value)
            yield name, text, reason

    def __repr__(self) -> str:
        lines = list(self.lines())
        widths = [max((len(line[i]) for line in lines), default=0) for i in (0, 1)]
        return "\n".join(
            f"{name:{widths[0]}}  {value:{widths[1]}}  {reason}" for name, value, reason in lines
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>"
            for line in self.lines()
        )
        return f"<table><tr><th>setting</th><th>value</th><th>from</th></tr>{rows}</table>"

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.values})
