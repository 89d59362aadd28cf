"""The worker: it claims steps and runs their handlers."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

from . import _log
from ._failure import Bounds
from ._session import Registered, Session, Settings
from .client import AsyncClient, Client
from .errors import WorkerError
from .step import Step, SyncStep

__all__ = ["Worker"]

AsyncHandler = Callable[[Step[Any]], Awaitable[Any]]
SyncHandler = Callable[[SyncStep[Any]], Any]
A = TypeVar("A", bound=AsyncHandler)
S = TypeVar("S", bound=SyncHandler)


class Worker:
    """Claims steps from a server and runs their handlers.

    It renews the leases of running steps, registers again when the server has forgotten it, and tries again with
    growing pauses while no server answers. Handlers go on meanwhile, and results are kept until a server takes them.

    >>> worker = Worker(Client("http://127.0.0.1:8080"), concurrency=5)
    >>> @worker.handler("greet")
    ... async def greet(step: Step) -> str:
    ...     return f"Hello, {step.context}!"
    >>> worker.handlers
    ['greet']

    Then `worker.run()` works until the process gets SIGTERM or SIGINT.
    """

    def __init__(
        self,
        client: Client | AsyncClient | None = None,
        *,
        name: str | None = None,
        namespaces: Sequence[str] = (),
        capabilities: Sequence[str] = (),
        concurrency: int = 10,
        shutdown_timeout: float = 30.0,
        poll_wait: float = 20.0,
        heartbeat_interval: float | None = None,
        logger: logging.Logger | None = None,
        quiet: bool = False,
    ) -> None:
        """
        client: whose server it works for. Defaults to that of the environment.
        name: what operators see. Defaults to host name and process ID.
        namespaces: which it serves. Defaults to those of the key, if it is limited, and else to
            ``default``. ``*`` alone: all.
        capabilities: it gets no step that requires another.
        concurrency: how many steps run at once.
        shutdown_timeout: how long running handlers may go on after the worker was told to stop, in seconds.
        poll_wait: the bound of one long poll, in seconds.
        heartbeat_interval: instead of the server's; either is shortened to a third of the lease.
        logger: gets a line at the start, one for each failure of a step, an error if it is final, and warnings for
            operators. Defaults to the logger `tasker.worker`. If the program has not configured logging, `run` shows
            it on standard error.
        quiet: the start and the failures of steps are not logged. The server has them anyway.
        """
        if concurrency < 1:
            raise ValueError("a worker needs at least one slot")
        if client is None:
            client = Client()
        self._transport = (client.client if isinstance(client, AsyncClient) else client).transport
        self._settings = Settings(
            name=name or f"{socket.gethostname()}-{os.getpid()}",
            namespaces=list(namespaces),
            capabilities=list(capabilities),
            shutdown_timeout=max(shutdown_timeout, 0.0),
            poll_wait=max(poll_wait, 0.0),
            heartbeat_interval=heartbeat_interval,
            logger=logger or logging.getLogger("tasker.worker"),
            quiet=quiet,
        )
        self._concurrency = concurrency
        self._handlers: dict[str, Registered] = {}
        self._stop: Callable[[], None] | None = None

    @property
    def handlers(self) -> list[str]:
        """The names of the handlers."""
        return sorted(self._handlers)

    @overload
    def handler(
        self,
        name: str,
        *,
        concurrency: int | None = None,
        timeout: float | None = None,
        max_attempts: int | None = None,
        backoff: tuple[float, float] | None = None,
    ) -> _Decorator: ...

    @overload
    def handler(self, name: A, /) -> A: ...

    @overload
    def handler(self, name: S, /) -> S: ...

    def handler(
        self,
        name: Any,
        *,
        concurrency: int | None = None,
        timeout: float | None = None,
        max_attempts: int | None = None,
        backoff: tuple[float, float] | None = None,
    ) -> Any:
        """Register a function as the handler of that name; without parentheses, of its own name. It stays as it is.

        An `async def` gets a `Step` and runs in the event loop: it must not block there, or heartbeats stop. A `def`
        gets a `SyncStep` and runs in a thread. What it returns, as JSON, is the result of the step.

        concurrency: slots of its own. To the server it is then a worker of its own, NAME/HANDLER.
        timeout: of an attempt, in seconds. That of the step holds, too; the earlier one counts.
        max_attempts: the error of this attempt is final. The policy of the step holds, too.
        backoff: the next attempt waits at least the first time, twice as long after each further one, and the second at
            most, in seconds. The policy of the step holds, too: the longer pause counts. An error with `retry_after`
            keeps its own.
        """
        if callable(name):
            return self.handler(getattr(name, "__name__", ""))(name)
        for what, value in (("concurrency", concurrency), ("timeout", timeout), ("max_attempts", max_attempts)):
            if value is not None and value <= 0:
                raise ValueError(f"{what} of handler {name!r} must be positive")
        if backoff is not None and not 0 < backoff[0] <= backoff[1]:
            raise ValueError(f"backoff of handler {name!r}: the first must be positive, the second not less")
        if not name:
            raise ValueError("a handler needs a name")
        if name in self._handlers:
            raise ValueError(f"handler {name!r} is registered twice")

        def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
            asynchronous = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
                getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
            )
            self._handlers[name] = Registered(
                function, asynchronous, concurrency, timeout, Bounds(max_attempts, backoff)
            )
            return function

        return register

    def run(self) -> None:
        """Work until the process gets SIGTERM or SIGINT, `stop` is called, or an operator drains the worker.

        Then it takes no more steps, lets running handlers finish within `shutdown_timeout`, stops the others and gives
        their steps back without a charged attempt. A second signal ends the patience.

        `WorkerError`: a handler did not return even then, or a result could not be reported. `TaskerError`: the server
        refuses the worker.
        """
        _log.show(self._settings.logger)
        asyncio.run(self._run_with_signals())

    async def serve(self) -> None:
        """`run` within an event loop that exists, without signals. If its task is cancelled, nothing is given back."""
        groups = self._groups()
        if not groups:
            raise ValueError("the worker has no handlers")
        loop = asyncio.get_running_loop()
        sessions = [
            Session(self._transport, self._settings, name, handlers, concurrency)
            for name, handlers, concurrency in groups
        ]
        presses = 0

        def stop() -> None:
            nonlocal presses
            presses += 1
            for s in sessions:
                s.stop(now=presses > 1)

        def stop_from_anywhere() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(stop)

        async def work(session: Session) -> None:
            try:
                await session.run()
            except Exception:
                for s in sessions:
                    s.stop()
                raise

        self._stop = stop_from_anywhere
        try:
            ends = await asyncio.gather(*(work(s) for s in sessions), return_exceptions=True)
        finally:
            self._stop = None
        errors = [e for e in ends if e is not None]
        if len(errors) > 1 and all(isinstance(e, WorkerError) for e in errors):
            raise WorkerError("; ".join(str(e) for e in errors))
        if errors:
            raise errors[0]

    def stop(self) -> None:
        """Tell a running worker to stop, as SIGTERM does. Any thread may call it."""
        if self._stop is not None:
            self._stop()

    async def _run_with_signals(self) -> None:
        with self._signals():
            await self.serve()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {s: signal.signal(s, lambda *_: self.stop()) for s in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _groups(self) -> list[tuple[str, dict[str, Registered], int]]:
        """The registrations: one for each handler with slots of its own, and one for all others."""
        shared = {n: h for n, h in self._handlers.items() if h.concurrency is None}
        groups = [(self._settings.name, shared, self._concurrency)] if shared else []
        for name, handler in self._handlers.items():
            if handler.concurrency is not None:
                groups.append((f"{self._settings.name}/{name}", {name: handler}, handler.concurrency))
        return groups


class _Decorator:
    """The type of what `Worker.handler` returns: it takes both kinds of functions, and returns them unchanged."""

    @overload
    def __call__(self, function: A, /) -> A: ...

    @overload
    def __call__(self, function: S, /) -> S: ...

    def __call__(self, function: Any, /) -> Any:
        raise NotImplementedError
