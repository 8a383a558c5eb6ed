"""Packed forms of fitted models: made when they pay, kept as long as they fit.

They are kept beside the models, not in them: a prediction changes no attribute, a
pickle or a copy of a model has no packed form, and a form ends with its model.
"""

import os
from operator import is_
from threading import Lock
from weakref import WeakKeyDictionary

from .packing import CannotPackError


class PackedForms:
    """The packed forms of all models of a kind.

    Examples
    --------
    >>> class Model:
    ...     pass
    >>> forms, model, parts = PackedForms(), Model(), [object()]
    >>> forms.find(model, parts, pays=lambda: False, make=list) is None
    True
    >>> forms.find(model, parts, pays=lambda: False, make=list) == parts
    True
    >>> forms.find(model, [], pays=lambda: True, make=list)
    []
    """

    def __init__(self):
        self._forget_all()
        if hasattr(os, "register_at_fork"):
            # Another thread may hold a lock at the time of a fork.
            os.register_at_fork(after_in_child=self._forget_all)

    def _forget_all(self):
        self._lock = Lock()
        self._entries = WeakKeyDictionary()

    def find(self, model, parts, pays, make):
        """Return the packed form of a model, which is made if it is worth it.

        The first call with new parts makes it if `pays` says so, the second in any
        case: packing takes longer than to predict a few samples.

        Parameters
        ----------
        model : object
            The model.
        parts : list
            What its form is made of. It is made again if any is another object.
        pays : callable
            ``pays()`` says whether to make it for this call alone.
        make : callable
            ``make(parts)`` returns the form, or raises `CannotPackError`.

        Returns
        -------
        object or None
            None if it is not worth it yet, or cannot be made.
        """
        with self._lock:
            entry = self._entries.get(model)
            if entry is None:
                entry = self._entries[model] = Entry()
        return entry.find(parts, pays, make)

    def forget(self, model):
        """Drop the form of a model."""
        with self._lock:
            self._entries.pop(model, None)


class Entry:
    """The packed form of one model."""

    def __init__(self):
        self._lock = Lock()
        # Replaced as a whole, so that it can be read without the lock.
        self._state = ([], False, None)

    def find(self, parts, pays, make):
        """Return the form of these parts; see `PackedForms.find`."""
        known, is_settled, form = self._state
        if is_settled and are_same(known, parts):
            return form
        with self._lock:
            known, is_settled, form = self._state
            is_second = bool(parts) and are_same(known, parts)
            if is_second and is_settled:
                return form
            # The old form goes before there is a new one.
            form, self._state = None, (parts, False, None)
            if is_second or pays():
                try:
                    form = make(parts)
                except (CannotPackError, MemoryError):
                    form = None
                self._state = (parts, True, form)
            return form


def are_same(first, second):
    """Whether two lists have the same objects."""
    return len(first) == len(second) and all(map(is_, first, second))
