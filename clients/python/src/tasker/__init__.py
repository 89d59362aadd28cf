"""Client and worker of Tasker, a durable task and workflow engine.

>>> import tasker
>>> worker = tasker.Worker()
>>> @worker.handler("charge")
... async def charge(step: tasker.Step) -> dict[str, str]:
...     return {"receipt": f"R-{step.context['order']}"}

`worker.run()` works until SIGTERM. `tasker.Client` submits tasks, `tasker.AsyncClient` does so for asyncio, and
`tasker.models` has the types of the HTTP API.
"""

from . import models
from ._version import __version__
from .client import AsyncClient, Client, TaskOptions
from .errors import (
    Conflict,
    Exhausted,
    FinalError,
    Forbidden,
    InternalError,
    Invalid,
    LeaseLost,
    NotFound,
    RetryableError,
    Snooze,
    StaleToken,
    StepError,
    StepInterrupted,
    StepTimedOut,
    TaskCancelled,
    TaskerError,
    TaskFailed,
    TooLarge,
    Unauthenticated,
    Unavailable,
    WorkerError,
    WorkerStopping,
    WrongState,
)
from .step import BaseStep, Step, SyncStep
from .worker import Worker

__all__ = [
    "AsyncClient",
    "BaseStep",
    "Client",
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
    "Step",
    "StepError",
    "StepInterrupted",
    "StepTimedOut",
    "SyncStep",
    "TaskCancelled",
    "TaskFailed",
    "TaskOptions",
    "TaskerError",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "Worker",
    "WorkerError",
    "WorkerStopping",
    "WrongState",
    "__version__",
    "models",
]
