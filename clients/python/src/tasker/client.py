"""The client: it submits tasks, and reads and repairs them."""

from __future__ import annotations

import contextlib
import os
import random
import re
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Literal, TypedDict, Unpack, cast

from . import _threads
from ._async import asynchronous, listed
from ._http import Flight, QueryValue, Transport, current_flight, path_of
from .errors import Exhausted, InternalError, NotFound, TaskerError, TaskFailed, Unavailable, WrongState
from .models import (
    Approval,
    ApprovalPage,
    AttemptLog,
    EditedContext,
    Event,
    Explanation,
    Signal,
    Step,
    Task,
    TaskHistory,
    TaskPage,
    TaskReceipt,
    TaskRequest,
    Template,
    Unique,
)
from .operations import AsyncOperations, Operations

__all__ = ["AsyncClient", "Client", "TaskOptions"]

#: One long poll of `Client.wait`; below the idle timeout of common proxies.
_WAIT_ROUND = 30.0
#: How long `Client.wait` tries again while no server answers.
_WAIT_PATIENCE = 60.0
#: The states in which a task stays, unless an operator repairs it.
_SETTLED = ("complete", "error", "cancelled", "resolved_manually")

_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


class TaskOptions(TypedDict, total=False):
    """What a submission may say besides what is to run and its context. The words are those of the HTTP API."""

    #: Defaults to "default".
    namespace: str
    #: Version of the template. Defaults to the last registered one.
    version: str
    #: "high", "medium", "low" or a level from 0 to 100.
    priority: str | int
    #: Earliest start.
    run_at: datetime | str
    #: Time by which the task must be over.
    deadline_at: datetime | str
    #: A second submission with the same key, within 24 hours, returns the first task.
    idempotency_key: str
    #: The rule by which another task that does the same work stands for this one.
    unique: Unique
    #: Tasks with the same key run one at a time, in the order of submission.
    ordering_key: str
    tags: Sequence[str]
    correlation_id: str
    parent_correlation_id: str
    initiator: str
    source_system: str
    reason: str
    #: W3C trace context of the submission.
    traceparent: str
    #: Of a task without a template: capabilities that a worker must have.
    required_capabilities: Sequence[str]
    #: Of a task without a template: the bound of one attempt. Defaults to that of its priority, as a rule 600 s.
    timeout_seconds: int
    #: Of a task without a template: how often it runs again after its first attempt.
    max_retries: int


class Client(Operations):
    """A client of one server. It is safe for use by several threads, and one for each process is enough.

    The address is that of the argument, else of the environment variable `TASKER_SERVER`, else
    http://127.0.0.1:8080. The API key is that of the argument, else of `TASKER_API_KEY`. Nothing connects before the
    first call.

    >>> Client("http://tasker.example:8080").server
    'http://tasker.example:8080'
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        max_response_bytes: int = 64 << 20,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self.transport = Transport(
            server or os.environ.get("TASKER_SERVER") or "http://127.0.0.1:8080",
            api_key=api_key if api_key is not None else os.environ.get("TASKER_API_KEY"),
            timeout=timeout,
            max_response_bytes=max_response_bytes,
            ssl_context=ssl_context,
        )

    @property
    def server(self) -> str:
        """The address of the server."""
        return self.transport.base

    def close(self) -> None:
        """Close idle connections. The client can still be used."""
        self.transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, QueryValue] | None = None,
        body: Any = None,
    ) -> Any:
        """Send any request of the API and return the answer as the JSON that it is; `tasker.models` has the types."""
        return self.transport.call(method, path, query=query, body=body)

    # ----- submit

    def submit(self, template: str, context: Any = None, **options: Unpack[TaskOptions]) -> TaskReceipt:
        """Submit a task of a template, and return when it is durable. It does not wait for the task to run.

        After `Unavailable` the task may or may not be there: submit again, with the same `idempotency_key`.
        """
        return cast(TaskReceipt, self.call("POST", "/v1/tasks", body=_request("name", template, context, options)))

    def submit_handler(self, handler: str, context: Any = None, **options: Unpack[TaskOptions]) -> TaskReceipt:
        """Submit a task without a template: its one step is run by any worker that has the handler."""
        return cast(TaskReceipt, self.call("POST", "/v1/tasks", body=_request("task_type", handler, context, options)))

    def submit_tasks(self, tasks: Sequence[TaskRequest]) -> list[TaskReceipt]:
        """Submit tasks that are stored together or not at all."""
        answer = self.call("POST", "/v1/tasks/batch", body={"tasks": list(tasks)})
        return cast(list[TaskReceipt], answer["results"])

    def signal(
        self,
        name: str,
        key: str,
        payload: Any = None,
        *,
        signal_id: str | None = None,
        namespace: str | None = None,
    ) -> Signal:
        """Tell waiting steps what has happened in another system. With an ID it can be sent again after an error."""
        body = {"name": name, "key": key, "payload": payload, "signal_id": signal_id, "namespace": namespace}
        return cast(Signal, self.call("POST", "/v1/signals", body=_without_none(body)))

    def register_template(self, yaml: str) -> Template:
        """Register a template from its YAML."""
        answer = self.transport.call("POST", "/v1/templates", body=yaml.encode(), content_type="application/yaml")
        return cast(Template, answer)

    # ----- read

    def get(self, task_uuid: str, *, wait: float = 0.0) -> Task:
        """Return a task: now, or when it is settled or so many seconds are over."""
        query = {"wait_ms": max(int(wait * 1000), 1)} if wait > 0 else None
        timeout = self.transport.timeout + max(wait, 0.0)
        return cast(Task, self.transport.call("GET", path_of("v1", "tasks", task_uuid), query=query, timeout=timeout))

    def tasks(self, /, **filters: QueryValue) -> Iterator[Task]:
        """Iterate over tasks, newest first; the filters are those of GET /v1/tasks. It reads page by page."""
        while True:
            page = cast(TaskPage, self.call("GET", "/v1/tasks", query=filters))
            yield from page["tasks"]
            if not page.get("next_cursor"):
                return
            filters["cursor"] = page["next_cursor"]

    def steps(self, task_uuid: str) -> list[Step]:
        """Return the steps of a task, in the order of its template, without their results."""
        return cast(list[Step], self.call("GET", path_of("v1", "tasks", task_uuid, "workflow_steps")))

    def step(self, task_uuid: str, step: str) -> Step:
        """Return a step with its result. It is named by its UUID, or by its name in the template."""
        step_uuid = self._step_uuid(task_uuid, step)
        return cast(Step, self.call("GET", path_of("v1", "tasks", task_uuid, "workflow_steps", step_uuid)))

    def history(self, task_uuid: str) -> TaskHistory:
        """Return every change of state of a task and its steps, and all attempts."""
        return cast(TaskHistory, self.call("GET", path_of("v1", "tasks", task_uuid, "history")))

    def explain(self, task_uuid: str) -> Explanation:
        """Say in sentences why a task is in its state, and what would change it."""
        return cast(Explanation, self.call("GET", path_of("v1", "tasks", task_uuid, "explain")))

    def logs(self, task_uuid: str, step: str) -> list[AttemptLog]:
        """Return what the attempts of a step have logged."""
        path = path_of("v1", "tasks", task_uuid, "workflow_steps", self._step_uuid(task_uuid, step), "logs")
        return cast(list[AttemptLog], self.call("GET", path))

    def approvals(self, /, **filters: QueryValue) -> Iterator[Approval]:
        """Iterate over the steps that wait for an approval, the longest wait first."""
        while True:
            page = cast(ApprovalPage, self.call("GET", "/v1/approvals", query=filters))
            yield from page["approvals"]
            if not page.get("next_cursor"):
                return
            filters["cursor"] = page["next_cursor"]

    def events(self, /, *, after: str | None = None, **filters: QueryValue) -> Iterator[Event]:
        """Iterate over events as they happen, from now on, or after the event with an ID.

        The filters are those of GET /v1/events: `type`, `task_uuid`, `namespace`, ...; with `task_uuid` and
        `until="settled"` it ends when the tasks are settled. A broken stream is resumed, without a time limit; an event
        `stream.gap` marks a place where others may be missing. What prevents the first stream is raised at once.
        """
        failures, opened = 0, False
        while True:
            try:
                for event_id, data in self.transport.events("/v1/events", filters, after):
                    failures, opened = 0, True
                    after = event_id or after
                    event = cast(Event, data)
                    if data is None or event["type"] == "stream.alive":
                        continue
                    if event["type"] == "stream.end":
                        return
                    yield event
            except (Unavailable, Exhausted, InternalError) as e:
                flight = current_flight.get()
                if not opened or (flight is not None and flight.aborted):
                    raise
                failures += 1
                _sleep(max(pause(failures), min(e.retry_after, 60.0)))

    def wait(self, task_uuid: str, *, timeout: float | None = None) -> Task:
        """Wait until a task is settled and return it. One in error is no exception: look at its state, or use `result`.

        While no server answers, it tries again for a minute. `TimeoutError`: the time is over.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        heard: float | None = None
        tries = 0
        while True:
            left = _WAIT_ROUND if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"task {task_uuid} is not settled after {timeout} s")
            begun = time.monotonic()
            try:
                task = self.get(task_uuid, wait=min(left, _WAIT_ROUND))
            except Unavailable:
                flight = current_flight.get()
                patience = heard is not None and time.monotonic() - heard < _WAIT_PATIENCE
                if not patience or (flight is not None and flight.aborted):
                    raise
            else:
                heard = time.monotonic()
                if task["state"] in _SETTLED:
                    return task
                if time.monotonic() - begun >= 1.0:
                    tries = 0
                    continue
            tries += 1  # nothing, or less than was asked for
            _sleep(min(pause(tries), left))

    def result(self, task_uuid: str, step: str | None = None, *, timeout: float | None = None) -> Any:
        """Wait until a task is settled and return the result of a step; without a name, that of its only step.

        It returns if and only if the task succeeded. `TaskFailed`: it is in error or cancelled, whichever step was
        asked for. `NotFound`: there is no such task or step, or the step has no result. `TimeoutError`: the time is
        over.
        """
        task = self.wait(task_uuid, timeout=timeout)
        steps = self.steps(task_uuid)
        if task["state"] not in ("complete", "resolved_manually"):
            raise _failure_of(task, steps, step)
        found = [s for s in steps if s["name"] == step] if step is not None else steps
        if len(found) != 1:
            if step is None:
                raise NotFound(f"task {task_uuid} has {len(steps)} steps", hint="name the one whose result you want")
            raise NotFound(f"task {task_uuid} has no step {step!r}")
        one = self.step(task_uuid, found[0]["step_uuid"])
        if "results" not in one:
            raise NotFound(f"step {one['name']} of task {task_uuid} is {one['current_state']} and has no result")
        return one["results"]

    # ----- act

    def cancel(self, task_uuid: str, *, reason: str | None = None, by: str | None = None) -> TaskReceipt:
        """Cancel a task. Its workers learn it with their next heartbeat. `WrongState`: it has ended already."""
        body = _without_none({"task_uuids": [task_uuid], "reason": reason, "cancelled_by": by})
        receipt = cast(TaskReceipt, self.call("POST", "/v1/tasks/cancel", body=body)["results"][0])
        if error := receipt.get("error"):
            kind = {"wrong_state": WrongState, "not_found": NotFound}.get(error["code"], TaskerError)
            raise kind(error["message"], hint=error.get("hint", ""), details=error.get("details", ()))
        return receipt

    def approve(self, task_uuid: str, step: str, *, by: str, reason: str) -> Step:
        """Approve a step that waits for it, named by its UUID or its name."""
        return self._decide("approve", task_uuid, step, by, reason)

    def reject(self, task_uuid: str, step: str, *, by: str, reason: str) -> Step:
        """Reject a step that waits for an approval."""
        return self._decide("reject", task_uuid, step, by, reason)

    def reset_step(self, task_uuid: str, step: str, *, by: str, reason: str, discard_checkpoint: bool = False) -> Step:
        """Run a failed step again, with all of its attempts."""
        body: dict[str, Any] = {"action_type": "reset_for_retry", "reset_by": by, "reason": reason}
        if discard_checkpoint:
            body["discard_checkpoint"] = True
        return self._act(task_uuid, step, body)

    def edit_context(
        self,
        task_uuid: str,
        context: Any = None,
        *,
        merge: Any = None,
        by: str,
        reason: str,
        expected_version: int | None = None,
    ) -> EditedContext:
        """Replace the context of a failed task, or `merge` a patch into it, and run its failed steps again."""
        body = {
            "context": context,
            "merge": merge,
            "edited_by": by,
            "reason": reason,
            "expected_context_version": expected_version,
        }
        answer = self.call("PATCH", path_of("v1", "tasks", task_uuid, "context"), body=_without_none(body))
        return cast(EditedContext, answer)

    def _decide(self, act: Literal["approve", "reject"], task_uuid: str, step: str, by: str, reason: str) -> Step:
        return self._act(task_uuid, step, {"action_type": act, "decided_by": by, "reason": reason})

    def _act(self, task_uuid: str, step: str, body: Mapping[str, Any]) -> Step:
        path = path_of("v1", "tasks", task_uuid, "workflow_steps", self._step_uuid(task_uuid, step))
        return cast(Step, self.call("PATCH", path, body=body))

    def _step_uuid(self, task_uuid: str, step: str) -> str:
        if _UUID.fullmatch(step):
            return step
        for s in self.steps(task_uuid):
            if s["name"] == step:
                return s["step_uuid"]
        raise NotFound(f"task {task_uuid} has no step {step!r}")


class AsyncClient(AsyncOperations):
    """`Client` for asyncio: the same methods, to be awaited. What iterates there returns a list here.

    A call takes a thread as long as it lasts.
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        max_response_bytes: int = 64 << 20,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self.client = Client(
            server,
            api_key=api_key,
            timeout=timeout,
            max_response_bytes=max_response_bytes,
            ssl_context=ssl_context,
        )

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.client.close()

    def close(self) -> None:
        """Close idle connections. The client can still be used."""
        self.client.close()

    call = asynchronous(Client.call)
    submit = asynchronous(Client.submit)
    submit_handler = asynchronous(Client.submit_handler)
    submit_tasks = asynchronous(Client.submit_tasks)
    signal = asynchronous(Client.signal)
    register_template = asynchronous(Client.register_template)
    get = asynchronous(Client.get)
    tasks = asynchronous(listed(Client.tasks))
    steps = asynchronous(Client.steps)
    step = asynchronous(Client.step)
    history = asynchronous(Client.history)
    explain = asynchronous(Client.explain)
    logs = asynchronous(Client.logs)
    approvals = asynchronous(listed(Client.approvals))
    wait = asynchronous(Client.wait)

    async def events(self, /, *, after: str | None = None, **filters: QueryValue) -> AsyncIterator[Event]:
        """Iterate over events, as `Client.events` does."""
        flight, end = Flight(), cast(Event, None)
        events = self.client.events(after=after, **filters)
        try:
            while (event := await _threads.call(partial(next, events, end), flight)) is not end:
                yield event
        finally:
            flight.abort()
            with contextlib.suppress(ValueError):  # it runs in a thread, and ends there
                events.close()  # type: ignore[attr-defined]

    result = asynchronous(Client.result)
    cancel = asynchronous(Client.cancel)
    approve = asynchronous(Client.approve)
    reject = asynchronous(Client.reject)
    reset_step = asynchronous(Client.reset_step)
    edit_context = asynchronous(Client.edit_context)


def pause(failures: int) -> float:
    """How long to wait after so many failures in a row: from a tenth of a second to 15 s, half of it at random."""
    longest = min(0.1 * (1 << min(max(failures - 1, 0), 10)), 15.0)
    return longest / 2 + random.random() * longest


def _sleep(seconds: float) -> None:
    (current_flight.get() or Flight()).sleep(seconds)


def _request(what: str, name: str, context: Any, options: TaskOptions) -> dict[str, Any]:
    body: dict[str, Any] = {what: name, **options}
    if context is not None:
        body["context"] = context
    return body


def _without_none(body: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in body.items() if v is not None}


def _failure_of(task: Task, steps: Sequence[Step], asked: str | None) -> TaskFailed:
    failed = [s for s in steps if s["current_state"] == "error"]
    blamed = next((s for s in failed if s["name"] == asked), failed[0] if failed else None)
    task_uuid, state = task["task_uuid"], task["state"]
    if state == "cancelled":
        message = f"task {task_uuid} was cancelled"
        if by := task.get("cancelled_by"):
            message += f" by {by}"
        if why := task.get("cancel_reason"):
            message += f": {why}"
    else:
        message = f"task {task_uuid} is in {state}"
    failure = blamed.get("last_error") if blamed else None
    if blamed:
        message += f": step {blamed['name']} failed"
        if failure:
            message += f": {failure['message']}"
    return TaskFailed(
        message,
        task_uuid=task_uuid,
        state=state,
        step=blamed["name"] if blamed else "",
        failure=failure,
        other_steps=max(len(failed) - 1, 0),
    )
