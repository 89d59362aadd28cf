"""What a worker tells operators, in one line each."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from .models import Assignment, RegisteredWorker, SettleAnswer

#: The message of a failure, in characters. The server has all of it.
_MAX_MESSAGE = 1000


def started(me: RegisteredWorker, name: str, server: str, asked: Iterable[str], handlers: Iterable[str], n: int) -> str:
    """Say that a worker has begun. An older server does not tell which namespaces it serves.

    >>> started({"namespaces": ["shop"]}, "w", "http://localhost", [], ["charge", "mail"], 10)
    'worker w started at http://localhost: namespaces shop, handlers charge, mail, 10 slots'
    """
    served = ", ".join(me.get("namespaces") or asked) or "of its key"
    return f"worker {name} started at {server}: namespaces {served}, handlers {', '.join(handlers)}, {n} slots"


def overlong(me: RegisteredWorker, timeouts: Mapping[str, float | None]) -> list[str]:
    """Name the handlers whose timeout takes no effect in a step without one of its own.

    >>> overlong({"default_timeout_seconds": 600}, {"a": 60.0, "b": 3600.0, "c": None})  # doctest: +ELLIPSIS
    ["handler 'b' has a timeout of 3600 s, but a step without one of its own has 600 s, which ends ...]
    """
    usual = me.get("default_timeout_seconds", 0)
    return [
        f"handler {name!r} has a timeout of {timeout:g} s, but a step without one of its own has {usual} s, which ends "
        "an attempt first: name timeout_seconds in the template or the submission"
        for name, timeout in sorted(timeouts.items())
        if timeout is not None and 0 < usual < timeout
    ]


def failed(step: Assignment, failure: Mapping[str, Any], answer: SettleAnswer) -> tuple[int, str]:
    """Say that a step has failed, and what the server makes of it."""
    level, state = logging.WARNING, answer.get("state", "")
    if state == "error":
        level, then = logging.ERROR, "the step has failed for good"
    elif at := answer.get("next_retry_at"):
        then = f"another attempt at {at}"
    else:
        then = f"the step is {state}"
    message = " ".join(str(failure["message"]).split())
    if len(message) > _MAX_MESSAGE:
        message = message[:_MAX_MESSAGE] + "..."
    return level, (
        f"step {step['step_name']} of task {step['task_uuid']} failed in attempt {step['attempt']} of "
        f"{step['max_attempts']}: {failure['error_type']}: {message}; {then}"
    )


def show(logger: logging.Logger) -> None:
    """See that messages arrive somewhere, if the program has configured nothing: on standard error, from INFO."""
    if logger.hasHandlers():
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
