"""The step that a handler runs."""

from __future__ import annotations

import io
import logging
import re
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, cast

from .errors import FinalError, StepInterrupted
from .models import Assignment

if TYPE_CHECKING:  # every type checker brings it; only 3.13 has the default
    from typing_extensions import TypeVar

    C = TypeVar("C", default=Any)
else:
    from typing import TypeVar

    C = TypeVar("C")

__all__ = ["BaseStep", "Step", "SyncStep"]

_NONE: Any = object()

#: The log of a step that belongs to no server.
DEFAULT_LOG_BYTES = 64 << 10
#: The message of a progress report, in bytes of UTF-8.
_MAX_STATUS = 1024


class Reporter(Protocol):
    """Where a step sends its reports. It raises `StepInterrupted` if the handler has to stop."""

    async def report(self, step: BaseStep, report: Mapping[str, Any], /) -> None:
        """Send a report from the event loop."""

    def report_from_thread(self, step: BaseStep, report: Mapping[str, Any], /) -> None:
        """Send a report from the thread of a handler."""


class BaseStep(Generic[C]):
    """What a handler may know of its step. The times of `assignment` are on the clock of the server.

    `Step[Order]` tells type checkers what the context is, such as a TypedDict; nothing checks it at run time.
    """

    def __init__(self, assignment: Assignment, reporter: Reporter | None, max_log_bytes: int) -> None:
        #: The step as the server sent it.
        self.assignment = assignment
        #: The end of what is written here is kept beside the attempt, for operators. Keep secrets out of it.
        self.log = StepLog(max_log_bytes)
        self._reporter = reporter
        self._interrupted = threading.Event()
        self._cause: StepInterrupted | None = None
        self._logger: logging.Logger | None = None

    @property
    def context(self) -> C:
        """The context of the task: its input."""
        return cast(C, self.assignment.get("parameters"))

    @property
    def parent_results(self) -> Mapping[str, Any]:
        """The results of the steps that this one depends on directly, by name."""
        return self.assignment.get("parent_results") or {}

    def parent_result(self, name: str, default: Any = _NONE) -> Any:
        """The result of a parent. Without one it is the default; without that, the step fails for good.

        A parent has none if it returned None, was skipped, or an operator resolved it.
        """
        result = self.parent_results.get(name)
        if result is None:
            result = default
        if result is _NONE:
            raise FinalError(f"step {self.name} has no result of a parent {name!r}", code="not_found")
        return result

    @property
    def last_checkpoint(self) -> Any:
        """What an earlier attempt has stored by `checkpoint`; None if there is nothing."""
        return self.assignment.get("checkpoint")

    @property
    def initialization(self) -> Mapping[str, Any]:
        """The fixed values that the template gives to the step."""
        return self.assignment.get("initialization") or {}

    @property
    def name(self) -> str:
        """The name of the step."""
        return self.assignment["step_name"]

    @property
    def handler(self) -> str:
        return self.assignment["handler"]

    @property
    def namespace(self) -> str:
        return self.assignment["namespace"]

    @property
    def task_name(self) -> str:
        """The name of the template, or of the handler if there is none."""
        return self.assignment["task_name"]

    @property
    def task_uuid(self) -> str:
        return self.assignment["task_uuid"]

    @property
    def step_uuid(self) -> str:
        return self.assignment["step_uuid"]

    @property
    def attempt(self) -> int:
        """The number of the attempt, counted from 1."""
        return self.assignment["attempt"]

    @property
    def max_attempts(self) -> int:
        return self.assignment["max_attempts"]

    @property
    def correlation_id(self) -> str:
        return self.assignment.get("correlation_id", "")

    @property
    def traceparent(self) -> str:
        """The W3C trace context of the step, if the task was submitted with one."""
        return self.assignment.get("traceparent", "")

    @property
    def interruption(self) -> StepInterrupted | None:
        """Why the handler has to stop; None: it may go on."""
        return self._cause

    @property
    def logger(self) -> logging.Logger:
        """A logger that writes to `log`, and passes on what it gets to the logger `tasker.step` of the process."""
        if self._logger is None:
            # One that is not registered: there would be a new one for each step, for ever.
            logger = logging.Logger(f"tasker.step.{self.name}")
            logger.parent = logging.getLogger("tasker.step")
            handler = logging.StreamHandler(self.log)
            handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
            logger.addHandler(handler)
            self._logger = logger
        return self._logger

    def _interrupt(self, cause: StepInterrupted) -> bool:
        """Tell the handler to stop. The first reason counts."""
        if self._cause is not None:
            return False
        self._cause = cause
        self._interrupted.set()
        return True


class Step(BaseStep[C]):
    """A step of an `async def` handler. If the handler has to stop, its coroutine is cancelled."""

    async def progress(self, percent: int, message: str = "") -> None:
        """Report a progress of 0 to 100 percent, which renews the lease. It sends a request: report now and then."""
        if self._reporter is not None:
            await self._reporter.report(self, progress_report(percent, message))

    async def checkpoint(self, value: Any) -> None:
        """Store where the step is, as JSON, for its next attempt; it is stored when this returns. None deletes it.

        It renews the lease. It also works while the handler cleans up after `StepTimedOut` or `WorkerStopping`.
        """
        if self._reporter is not None:
            await self._reporter.report(self, {"checkpoint": value})


class SyncStep(BaseStep[C]):
    """A step of a plain `def` handler, which runs in a thread of its own. It has to look whether it should stop."""

    def progress(self, percent: int, message: str = "") -> None:
        """Report a progress of 0 to 100 percent, which renews the lease. It sends a request: report now and then."""
        if self._reporter is not None:
            self._reporter.report_from_thread(self, progress_report(percent, message))

    def checkpoint(self, value: Any) -> None:
        """Store where the step is, as JSON, for its next attempt; it is stored when this returns. None deletes it.

        It renews the lease. It also works while the handler cleans up after `StepTimedOut` or `WorkerStopping`.
        """
        if self._reporter is not None:
            self._reporter.report_from_thread(self, {"checkpoint": value})

    def check(self) -> None:
        """Raise the reason if the handler has to stop."""
        if self._cause is not None:
            raise self._cause

    def sleep(self, seconds: float) -> None:
        """Pause, and raise the reason if the handler has to stop meanwhile."""
        self._interrupted.wait(seconds)
        self.check()


class StepLog(io.TextIOBase):
    """Keeps the end of what is written. It is safe for use by several threads."""

    def __init__(self, limit: int) -> None:
        self._lock = threading.Lock()
        self._limit = limit
        self._tail = b""
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        raw = text.encode(errors="replace")
        with self._lock:
            self._size += len(raw)
            if self._limit > 0:
                self._tail = (self._tail + raw)[-self._limit :]
        return len(text)

    def ending(self) -> tuple[str, int]:
        """The end that is kept, and the size of all."""
        with self._lock:
            return self._tail.decode(errors="ignore"), self._size


def progress_report(percent: int, message: str) -> dict[str, Any]:
    r"""Make a report that the server takes, whatever a handler passes on from elsewhere.

    >>> progress_report(140, "half\x00way")
    {'progress_percent': 100, 'status_message': 'half\ufffdway'}
    """
    clean = re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\ufffd", message)
    clean = clean.encode(errors="replace")[:_MAX_STATUS].decode(errors="ignore")
    return {"progress_percent": min(max(int(percent), 0), 100), "status_message": clean}
