"""Methods of a client as methods for asyncio."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from . import _threads

P = ParamSpec("P")
R = TypeVar("R")


def asynchronous(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """A method of `Client` as one of `AsyncClient`. If its caller is cancelled, its requests are aborted."""

    @wraps(method)
    async def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await _threads.call(partial(method, self.client, *args, **kwargs))

    return run


def listed(iterate: Callable[Concatenate[Any, P], Iterator[R]]) -> Callable[Concatenate[Any, P], list[R]]:
    """An iterating method as one that returns a list."""

    @wraps(iterate)
    def run(client: Any, /, *args: P.args, **kwargs: P.kwargs) -> list[R]:
        return list(iterate(client, *args, **kwargs))

    return run
