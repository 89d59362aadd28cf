"""What can go wrong: errors of the server, and those by which a handler ends its step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .models import Detail, Failure

__all__ = [
    "Conflict",
    "Exhausted",
    "FinalError",
    "Forbidden",
    "InternalError",
    "Invalid",
    "LeaseLost",
    "NotFound",
    "RetryableError",
    "Snooze",
    "StaleToken",
    "StepError",
    "StepInterrupted",
    "StepTimedOut",
    "TaskCancelled",
    "TaskFailed",
    "TaskerError",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "WorkerError",
    "WorkerStopping",
    "WrongState",
]


class TaskerError(Exception):
    """An answer of the server that is no success, or no answer at all (`Unavailable`).

    There is one subclass for each `code` of the API. Compare classes or codes, never messages.
    """

    code = "internal"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        details: Sequence[Detail] = (),
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = list(details)
        #: The pause before the next try that the server advises, in seconds.
        self.retry_after = retry_after

    def __str__(self) -> str:
        lines = [self.message]
        for d in self.details:
            where = d.get("location", "")
            lines.append(f"  {where}: {d['message']}" if where else f"  {d['message']}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class Invalid(TaskerError):
    """The request breaks a rule; nothing was stored."""

    code = "invalid"


class TooLarge(TaskerError):
    """A body, payload, batch or page exceeds its limit."""

    code = "too_large"


class Unauthenticated(TaskerError):
    """There is no API key, or it is unknown."""

    code = "unauthenticated"


class Forbidden(TaskerError):
    """The API key lacks the permission."""

    code = "forbidden"


class NotFound(TaskerError):
    """There is no such task, step, template or worker."""

    code = "not_found"


class Conflict(TaskerError):
    """The object exists with other content."""

    code = "conflict"


class WrongState(TaskerError):
    """The state of the object does not allow the act."""

    code = "wrong_state"


class StaleToken(TaskerError):
    """The lease was lost: another worker holds the step, or it is settled."""

    code = "stale_token"


class Exhausted(TaskerError):
    """The server reached a limit. Try again later."""

    code = "exhausted"


class Unavailable(TaskerError):
    """The server or its database does not answer. Try again later."""

    code = "unavailable"


class InternalError(TaskerError):
    """A bug of the server, or an answer that is none of a Tasker server."""

    code = "internal"


#: The class of each code.
BY_CODE: dict[str, type[TaskerError]] = {
    c.code: c
    for c in (
        Invalid,
        TooLarge,
        Unauthenticated,
        Forbidden,
        NotFound,
        Conflict,
        WrongState,
        StaleToken,
        Exhausted,
        Unavailable,
        InternalError,
    )
}


class TaskFailed(WrongState):
    """The end of a task that did not succeed: it is in error, or cancelled. `Client.result` raises it."""

    def __init__(
        self,
        message: str,
        *,
        task_uuid: str,
        state: str,
        step: str = "",
        failure: Failure | None = None,
        other_steps: int = 0,
    ) -> None:
        super().__init__(message)
        self.task_uuid = task_uuid
        #: `error` or `cancelled`.
        self.state = state
        #: The failed step; empty if none has failed, as in a cancelled task.
        self.step = step
        #: The last error of the step, as its worker reported it.
        self.failure = failure
        #: How many other steps are in error.
        self.other_steps = other_steps


class WorkerError(Exception):
    """A worker did not end well: a handler did not return, or a result could not be reported."""


class StepError(Exception):
    """A failure of a step with all that operators want to know.

    Any exception of a handler fails the attempt, and may be retried. Raise this one to say more, and
    `FinalError` or `RetryableError` to say what is to happen.
    """

    #: None: the server decides by the class of the failure.
    retryable: bool | None = None

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        error_type: str | None = None,
        failure_class: str | None = None,
        details: Any = None,
        http_status: int | None = None,
        response_body: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        #: The application's own code.
        self.code = code
        #: Defaults to the name of the exception's class.
        self.error_type = error_type
        #: `transient`, `resource`, `logic` or `worker`; it bounds the number of retries.
        self.failure_class = failure_class
        #: Any JSON value.
        self.details = details
        self.http_status = http_status
        self.response_body = response_body
        #: The next attempt waits at least so many seconds.
        self.retry_after = retry_after


class RetryableError(StepError):
    """The attempt failed; another one may succeed. Retries are those of the step's policy."""


class FinalError(StepError):
    """The step has failed for good, whatever attempts are left."""

    retryable = False


class Snooze(Exception):
    """Give the step back, to run again after some seconds. It charges no attempt."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"snooze for {seconds} s")
        self.seconds = max(float(seconds), 0.0)


class StepInterrupted(Exception):
    """Why a handler has to stop. Its subclasses are the four reasons."""


class StepTimedOut(StepInterrupted):
    """The attempt took longer than its timeout. The worker reports a failure, unless the handler succeeds."""


class TaskCancelled(StepInterrupted):
    """The task was cancelled. The worker reports nothing."""


class LeaseLost(StepInterrupted):
    """Another worker may hold the step. The worker reports nothing."""


class WorkerStopping(StepInterrupted):
    """The worker has to end. It gives the step back without a charged attempt, unless the handler succeeds."""
