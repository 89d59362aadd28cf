"""Blocking functions for asyncio, each in a daemon thread: none of them keeps a process from its end."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from ._http import Flight, current_flight

T = TypeVar("T")


def begin(function: Callable[[], T], name: str) -> asyncio.Future[T]:
    """Run a function in a thread of its own. The context variables are those of the caller."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(act: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            act(value)

    def run() -> None:
        try:
            outcome: tuple[Callable[[Any], None], Any] = future.set_result, context.run(function)
        except BaseException as e:  # whatever it is, somebody waits for it
            if isinstance(e, StopIteration):  # no future takes it
                e = RuntimeError(repr(e))
            outcome = future.set_exception, e
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


async def call(function: Callable[[], T], flight: Flight | None = None) -> T:
    """Make calls of the API in a thread. If the caller is cancelled, they are aborted."""
    flight = flight or Flight()
    token = current_flight.set(flight)
    try:
        future = begin(function, "tasker-call")
    finally:
        current_flight.reset(token)
    try:
        return await future
    except asyncio.CancelledError:
        flight.abort()
        raise
