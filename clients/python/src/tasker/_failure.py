"""The outcome of an attempt, as the worker protocol has it."""

from __future__ import annotations

import errno
import re
import traceback
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ._http import dumps
from .errors import Snooze, StepError, StepTimedOut, TaskerError, WorkerStopping

# Limits of a stored failure; the server cuts at the same sizes.
_MAX_WORD = 255
_MAX_MESSAGE = 8 << 10
_MAX_STACK = 32 << 10
_MAX_BODY = 8 << 10
#: How many exceptions are told, from the raised one to its causes.
_MAX_CAUSES = 10

_CLASSES = ("transient", "resource", "logic", "worker")


@dataclass(frozen=True)
class Bounds:
    """What the options of a handler say of its failures."""

    max_attempts: int | None = None
    #: The pause after the first attempt, and the longest, in seconds.
    backoff: tuple[float, float] | None = None


def completed(value: Any, limit: int) -> dict[str, Any]:
    """The outcome of a handler that returned a value. One that cannot be sent fails the step for good."""
    try:
        size = len(dumps(value))
    except (TypeError, ValueError, RecursionError) as e:
        return refusal("invalid_result", f"the result has no JSON form: {e}")
    if 0 < limit < size:
        return refusal("result_too_large", f"the result has {size} bytes, the server takes {limit}")
    return {"status": "completed", "result": value}


def refusal(kind: str, message: str) -> dict[str, Any]:
    """Fail a step for good because of its result: it would come to the same end again."""
    failure = {"error_type": kind, "message": _cut(message, _MAX_MESSAGE), "retryable": False}
    return {"status": "failed", "error": failure}


def failed(error: BaseException, cause: object, *, attempt: int, bounds: Bounds, timeout: float) -> dict[str, Any]:
    """The outcome of a handler that raised an exception; cause is why it had to stop, if it had to."""
    if isinstance(error, Snooze):
        return {"status": "snoozed", "snooze_seconds": error.seconds}
    if isinstance(cause, WorkerStopping):
        return {"status": "released"}
    failure = failure_of(error)
    if isinstance(cause, StepTimedOut):
        # The exception only shows how the handler noticed it, and nothing about the use of another attempt.
        failure.pop("retryable", None)
        failure.update(
            error_type="timeout",
            **{"class": "resource"},
            message=_cut(f"timed out after {timeout:g} s: {failure['message']}", _MAX_MESSAGE),
        )
    _bound(failure, attempt, bounds)
    return {"status": "failed", "error": failure}


def _bound(failure: dict[str, Any], attempt: int, bounds: Bounds) -> None:
    """Complete a failure with what the options of the handler say."""
    if failure.get("retryable") is False:
        return
    if bounds.max_attempts is not None and attempt >= bounds.max_attempts:
        failure["retryable"] = False
        failure.setdefault("class", "transient")  # it is the number of attempts that is final
    elif bounds.backoff is not None and "retry_after_seconds" not in failure:
        first, longest = bounds.backoff
        failure["retry_after_seconds"] = min(first * 2.0 ** min(attempt - 1, 60), longest)


def failure_of(error: BaseException) -> dict[str, Any]:
    """Describe an exception for operators.

    >>> failure_of(ValueError("no amount"))["error_type"]
    'ValueError'
    """
    failure: dict[str, Any] = {
        "error_type": _cut(_name(type(error)), _MAX_WORD),
        "message": _cut(_told(error), _MAX_MESSAGE),
    }
    if (frames := _own(error.__traceback__)) is not None:
        stack = "".join(traceback.format_exception(type(error), error, frames))
        failure["stack_trace"] = stack.encode(errors="replace")[-_MAX_STACK:].decode(errors="ignore")
    if code := next((c for c in map(_code, _chain(error)) if c), None):
        failure["code"] = _cut(code, _MAX_WORD)
    if isinstance(error, StepError):
        _tell(failure, error)
    return failure


def _tell(failure: dict[str, Any], error: StepError) -> None:
    if error.error_type:
        failure["error_type"] = _cut(error.error_type, _MAX_WORD)
    if error.failure_class in _CLASSES:
        failure["class"] = error.failure_class
    if error.http_status is not None:
        failure["http_status"] = error.http_status
    if error.response_body is not None:
        failure["response_body"] = _cut(error.response_body, _MAX_BODY)
    if error.retry_after is not None:
        failure["retry_after_seconds"] = max(float(error.retry_after), 0.0)
    if error.retryable is not None:
        failure["retryable"] = error.retryable
    if error.details is not None:
        try:
            dumps(error.details)
            failure["details"] = error.details
        except (TypeError, ValueError, RecursionError):
            failure["details"] = repr(error.details)


def _chain(error: BaseException) -> list[BaseException]:
    """An exception, those that it was raised from, and those of a group, the nearest first."""
    chain = [error]
    for e in chain:
        behind = [*(e.exceptions if isinstance(e, BaseExceptionGroup) else ()), e.__cause__]
        for b in behind:
            if b is not None and b not in chain and len(chain) < _MAX_CAUSES:
                chain.append(b)
    return chain


def _told(error: BaseException) -> str:
    """One message of an exception and its causes; a cause that an outer message repeats is said once.

    >>> cause = ConnectionRefusedError(111, "Connection refused")
    >>> error = ValueError("no rate for EUR")
    >>> error.__cause__ = cause
    >>> _told(error)
    'no rate for EUR (caused by ConnectionRefusedError: [Errno 111] Connection refused)'
    """
    text = str(error) or repr(error)
    for cause in _chain(error)[1:]:
        message = str(cause) or repr(cause)
        if not re.search(rf"(?<!\w){re.escape(message)}(?!\w)", text):  # not only its letters within a word
            text += f" (caused by {type(cause).__name__}: {message})"
    return text


def _code(error: BaseException) -> str | None:
    """The code that an exception carries: those of Tasker, and of the operating system."""
    if isinstance(error, StepError | TaskerError):
        return error.code
    if isinstance(error, OSError) and error.errno is not None:
        return errno.errorcode.get(error.errno)
    return None


def _name(kind: type[BaseException]) -> str:
    if kind.__module__ in ("builtins", StepError.__module__):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _own(frames: TracebackType | None) -> TracebackType | None:
    """The frames of the handler, without those of the worker that called it."""
    rest = frames
    while rest is not None and rest.tb_frame.f_globals.get("__package__") == __package__:
        rest = rest.tb_next
    return rest or frames


def _cut(text: str, limit: int) -> str:
    """Cut a text to bytes of UTF-8, at a whole character.

    >>> _cut("äöü", 5)
    'äö'
    """
    return text.encode(errors="replace")[:limit].decode(errors="ignore")
