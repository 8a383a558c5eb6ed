"""What type checkers see of ``_compat``.

scikit-learn has no annotations, and its decorators would hide those of the functions
that they decorate.
"""

from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

def validate_params(
    parameter_constraints: dict[str, Any], *, prefer_skip_nested_validation: bool
) -> Callable[[_Function], _Function]: ...
def _fit_context(
    *, prefer_skip_nested_validation: bool
) -> Callable[[_Function], _Function]: ...
def with_callbacks(function: _Function) -> _Function: ...
def __getattr__(name: str) -> Any: ...
