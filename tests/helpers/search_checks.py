"""Checks that every search for structures passes: it improves, stops, and goes on."""

import json

import pytest


def finished(search):
    """Take all steps that a search has left."""
    while search.n_done < search.n_steps:
        search.step()
    return search


def plain(search):
    """Return the state of a search as text."""
    return json.dumps(search.state())


def check_that_it_improves(make):
    """`make(n_threads=)` returns a new search."""
    search = make()
    if search.n_done == 0:
        search.step()
    first, _ = search.figures()
    finished(search)
    last, n_weights = search.figures()
    assert last < first and n_weights > 0
    assert plain(search) == plain(finished(make(n_threads=2)))


def check_that_it_goes_on_from_any_state(make):
    expected = plain(finished(make()))
    search = make()
    while search.n_done < search.n_steps:
        search.step()
        state = json.loads(plain(search))
        search = make()
        search.restore(state)
    assert plain(search) == expected


def check_that_interrupted_steps_have_not_happened(make, owner, name):
    """`name` is a method of the class `owner` that every step calls, once or twice."""
    expected = plain(finished(make()))
    search, wrapped, n_calls = make(), getattr(owner, name), 0

    def interrupted(*args, **kwargs):
        nonlocal n_calls
        n_calls += 1
        if n_calls % 3 == 1:
            raise KeyboardInterrupt
        return wrapped(*args, **kwargs)

    n_interrupts = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, interrupted)
        while search.n_done < search.n_steps:
            try:
                search.step()
            except KeyboardInterrupt:
                n_interrupts += 1
    assert n_interrupts > 0
    assert plain(search) == expected
