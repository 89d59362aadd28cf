"""One registration of a worker at a server, from its first call to its last."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from . import _log, _threads
from ._failure import Bounds, completed, failed, refusal
from ._http import Flight, Transport, dumps
from ._leases import Job, Leases
from ._version import __version__
from .client import pause
from .errors import (
    Exhausted,
    InternalError,
    Invalid,
    LeaseLost,
    NotFound,
    StepTimedOut,
    TaskCancelled,
    TaskerError,
    TooLarge,
    Unavailable,
    WorkerError,
    WorkerStopping,
)
from .models import Assignment, HeartbeatResponse, LeaseAnswer, PollResponse, RegisteredWorker, SettleAnswer
from .step import BaseStep, Step, SyncStep

#: Steps of one poll, and results of one report.
_MAX_FETCH = 1000
_MAX_RESULTS = 500
_MAX_RESULT_BYTES = 2 << 20
#: What a stopping worker waits for after its shutdown time: handlers that were told to stop, the last results at
#: least, and the last call.
_STOP_GRACE = 5.0
_SETTLE_GRACE = 10.0
_DRAIN_GRACE = 5.0
#: The report of a checkpoint after the handler was told to stop.
_CHECKPOINT_TIMEOUT = 10.0
_DEFAULT_BEAT = 30.0


@dataclass(frozen=True)
class Settings:
    """The options of a worker."""

    name: str
    namespaces: list[str]
    capabilities: list[str]
    shutdown_timeout: float
    poll_wait: float
    heartbeat_interval: float | None
    logger: logging.Logger
    quiet: bool


@dataclass(frozen=True)
class Registered:
    """A handler with its options."""

    run: Callable[[Any], Any]
    asynchronous: bool
    concurrency: int | None
    timeout: float | None
    bounds: Bounds


class _Outage:
    """A time in which polls fail. The loop whose poll failed first tries again; the others wait until it is over."""

    def __init__(self) -> None:
        self.failures = 0
        self.over = asyncio.Event()


class Session:
    """A registration. Everything but calls and plain handlers happens in one event loop, so nothing needs a lock."""

    def __init__(
        self,
        transport: Transport,
        settings: Settings,
        name: str,
        handlers: Mapping[str, Registered],
        concurrency: int,
    ) -> None:
        self._transport = transport
        self._settings = settings
        self._name = name
        self._handlers = handlers
        self._concurrency = concurrency
        self._log = settings.logger
        self._loop = asyncio.get_running_loop()
        self._self = cast(RegisteredWorker, {})
        self._enrol = asyncio.Lock()
        self._leases = Leases(self._log, self._heard_again)
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._fetch_wake = asyncio.Event()
        self._settle_wake = asyncio.Event()
        self._settle_again = asyncio.Event()
        self._beat_wake = asyncio.Event()
        self._progressed = asyncio.Event()  # for the end
        self._flights: set[Flight] = set()  # polls that may be given up
        self._outage: _Outage | None = None
        self._limit = _MAX_FETCH
        self._running = 0
        self._asked = 0
        self._done: list[tuple[Job, dict[str, Any]]] = []
        self._settling = 0
        self._draining = False
        self._unreported = 0
        self._broken: BaseException | None = None
        self._executing: set[asyncio.Task[None]] = set()

    # ----- life

    def stop(self, now: bool = False) -> None:
        """Take no more steps; now: do not wait for handlers either."""
        self._stopping.set()
        self._fetch_wake.set()
        for flight in self._flights:
            flight.abort()
        if now:
            self._hurry.set()
            self._progressed.set()

    async def run(self) -> None:
        """Work until `stop` and the end that follows it."""
        if not await self._register(until_stop=True):
            return
        self._announce()
        parts = [asyncio.create_task(self._settle_loop()), asyncio.create_task(self._beat_loop())]
        for part in parts:
            part.add_done_callback(self._part_ended)
        try:
            await asyncio.gather(*(self._fetch_loop() for _ in range(self._loops)))
            await self._drain()
            if self._broken is not None:
                raise self._broken
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)

    def _announce(self) -> None:
        me, names = self._self, sorted(self._handlers)
        if not self._settings.quiet:
            server, asked = self._transport.base, self._settings.namespaces
            self._log.info("%s", _log.started(me, self._name, server, asked, names, self._concurrency))
        for warning in _log.overlong(me, {name: h.timeout for name, h in self._handlers.items()}):
            self._log.warning("%s", warning)

    def _part_ended(self, part: asyncio.Task[None]) -> None:
        """Without heartbeats and reports nothing makes sense: a mistake in them ends the worker."""
        if not part.cancelled() and (error := part.exception()) is not None:
            self._broken = error
            self.stop(now=True)

    async def _register(self, until_stop: bool = False) -> bool:
        """Register. It tries again while no server answers; a refusal is an error."""
        body = {
            "name": self._name,
            "namespaces": self._settings.namespaces,
            "handlers": sorted(self._handlers),
            "capabilities": self._settings.capabilities,
            "capacity": self._concurrency,
            "host": socket.gethostname(),
            "version": f"python {__version__}",
        }
        failures = 0
        while not (until_stop and self._stopping.is_set()):
            flight = Flight()
            if until_stop:
                self._flights.add(flight)
            try:
                self._self = cast(RegisteredWorker, await self._call("/internal/workers/register", body, flight=flight))
            except TaskerError as e:
                if not _comes_back(e):
                    raise
                failures += 1
                self._log.warning("worker %s cannot register: %s", self._name, e)
                await _sleep(_delay(failures, e), self._stopping if until_stop else None)
                continue
            finally:
                self._flights.discard(flight)
            self._leases.length = float(self._self["lease_seconds"])
            self._leases.note(None)
            return True
        return False

    async def _register_again(self, old: str) -> None:
        """The server does not know the worker any more. Who notices first registers for all."""
        async with self._enrol:
            if self._self["worker_id"] != old:
                return
            self._log.warning("server does not know worker %s any more, registering again", self._name)
            try:
                await self._register()
            except TaskerError as e:
                # The next try of the caller fails too, and leads here again after a pause.
                self._log.error("server refuses worker %s: %s", self._name, e)

    async def _unless_stopped(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that may take long, but give it up when the worker stops."""
        task, stop = asyncio.create_task(work), asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([task, stop], return_when=asyncio.FIRST_COMPLETED)
        finally:
            task.cancel()
            stop.cancel()

    async def _drain(self) -> None:
        """End: wait for handlers, stop them, abandon them; then see that the results arrive, and say good-bye."""
        end = self._loop.time() + self._settings.shutdown_timeout
        self._draining = True
        self._settle_again.set()  # the pause may exceed the time that is left
        left = 0
        if not await self._await(self._settings.shutdown_timeout, lambda: self._running == 0, self._hurry):
            for job in list(self._leases.held.values()):
                if not job.ended:
                    job.interrupt(WorkerStopping("worker is stopping"))
            if not await self._await(_STOP_GRACE, lambda: self._running == 0):
                left = self._running
                for job in list(self._leases.held.values()):
                    if not job.ended:
                        self._leases.drop(job)
        patience = max(_SETTLE_GRACE, end - self._loop.time())
        settled = await self._await(patience, lambda: not self._done and not self._settling)
        try:
            # The server gives what this worker still holds to others.
            await self._call(self._path("drain"), {"final": True}, timeout=_DRAIN_GRACE)
        except TaskerError as e:
            # Not worth an error: without it the leases expire.
            self._log.warning("worker %s could not say good-bye: %s", self._name, e)
        if left:
            raise WorkerError(f"worker {self._name}: {left} handlers did not return")
        if not settled or self._unreported:
            raise WorkerError(f"worker {self._name}: some results could not be reported")

    async def _await(self, seconds: float, done: Callable[[], bool], enough: asyncio.Event | None = None) -> bool:
        end = self._loop.time() + seconds
        while not done():
            left = end - self._loop.time()
            if left <= 0 or (enough is not None and enough.is_set()):
                return False
            await _sleep(left, self._progressed)
            self._progressed.clear()
        return True

    # ----- fetch

    @property
    def _loops(self) -> int:
        """Polls that stay outstanding: while the answer to one is on its way, another waits at the server."""
        return min(2, self._concurrency)

    async def _fetch_loop(self) -> None:
        mine: _Outage | None = None
        early = 0  # polls in a row that returned nothing before their time
        while (room := await self._await_room(mine)) > 0:
            me = self._self
            wait = min(self._settings.poll_wait, float(me["max_long_poll_seconds"] or self._settings.poll_wait))
            begun = self._loop.time()
            try:
                answer = await self._poll(me["worker_id"], room, wait)
            except TaskerError as e:
                if self._stopping.is_set():
                    return
                mine = await self._poll_failed(e, me["worker_id"], mine, room)
                continue
            if mine is not None:
                mine.over.set()
                self._outage = mine = None
            if answer.get("should_drain"):
                self._log.info("server asks worker %s to drain", self._name)
                self.stop()
                return
            if answer["steps"] or self._loop.time() - begun >= wait / 2:
                early = 0
                continue
            # A server that does not hold polls must not be polled in a tight loop.
            early += 1
            longest = float(me.get("poll_interval_seconds") or 1.0)
            await _sleep(min(0.001 * 2 ** min(early, 12), longest) * self._loops, self._stopping)

    async def _await_room(self, mine: _Outage | None) -> int:
        """Wait until a poll makes sense, and return for how many steps; 0: there are no more polls."""
        share = -(-self._concurrency // self._loops)
        while not self._stopping.is_set():
            if self._outage is not None and self._outage is not mine:
                await _any(self._outage.over, self._stopping)
                continue
            room = min(self._room(), share, self._limit)
            if room > 0:
                self._asked += room
                return room
            self._fetch_wake.clear()
            await self._fetch_wake.wait()
        return 0

    def _room(self) -> int:
        free = self._concurrency - self._running - self._asked
        unreported = len(self._done) + self._settling
        if unreported >= 2 * self._concurrency:
            return 0  # results that the server does not take stop the intake
        if unreported and 4 * free < self._concurrency:
            return 0  # more slots are about to become free, and one poll for all of them is cheaper
        return max(free, 0)

    async def _poll(self, worker_id: str, room: int, wait: float) -> PollResponse:
        flight = Flight()
        self._flights.add(flight)
        try:
            body = {"capacity": room, "wait_ms": int(wait * 1000), "start": True}
            timeout = self._transport.timeout + wait
            path = f"/internal/workers/{worker_id}/poll"
            answer = cast(PollResponse, await self._call(path, body, timeout=timeout, flight=flight))
            self._accept(answer["steps"])
            return answer
        finally:
            self._flights.discard(flight)
            self._asked -= room
            self._fetch_wake.set()

    async def _poll_failed(self, error: TaskerError, me: str, mine: _Outage | None, room: int) -> _Outage | None:
        """Wait after a failed poll. A worker that runs outlives even a refusal: an operator may mend the key."""
        if isinstance(error, TooLarge):
            self._limit = max(min(self._limit, room // 4), 1)
        if self._outage is None:
            self._outage = mine = _Outage()
        if mine is None:
            return None
        mine.failures += 1
        if isinstance(error, NotFound):
            await self._unless_stopped(self._register_again(me))
            if mine.failures == 1:
                return mine  # try the new ID at once
        else:
            self._log.warning("worker %s cannot poll: %s", self._name, error)
        await _sleep(_delay(mine.failures, error), self._stopping)
        return mine

    # ----- steps

    def _accept(self, assignments: list[Assignment]) -> None:
        """Run steps, or give them back if they arrive after the end of the intake."""
        now = self._loop.time()
        for assignment in assignments:
            handler = self._handlers.get(assignment["handler"])
            timeout = float(assignment["timeout_seconds"])
            if handler is not None and handler.timeout is not None:
                timeout = min(timeout, handler.timeout) if timeout > 0 else handler.timeout
            kind = Step if handler is None or handler.asynchronous else SyncStep
            step = kind(assignment, self, int(self._self.get("max_log_bytes") or 0))
            job = Job(assignment, step, now, timeout, self._leases.length)
            self._leases.add(job)
            if self._stopping.is_set():
                self._end(job, {"status": "released"})
                continue
            self._running += 1
            self._leases.watch(job)
            task = asyncio.create_task(self._execute(job, handler))
            self._executing.add(task)
            task.add_done_callback(self._executing.discard)

    async def _execute(self, job: Job, handler: Registered | None) -> None:
        """Run one step. Whatever its handler does, its slot becomes free when it returns."""
        try:
            outcome = await self._outcome(job, handler)
        finally:
            self._running -= 1
            self._fetch_wake.set()
            self._progressed.set()
        text, size = job.step.log.ending()
        if size:
            outcome |= {"log": text, "log_bytes": size}
        self._end(job, outcome)

    async def _outcome(self, job: Job, handler: Registered | None) -> dict[str, Any]:
        if handler is None:
            name = job.assignment["handler"]
            unknown = {"error_type": "unknown_handler", "message": f"the worker has no handler {name!r}"}
            return {"status": "failed", "error": unknown}
        work: asyncio.Future[Any]
        if handler.asynchronous:
            # A task of its own, so that a cancellation is the handler's alone.
            work = job.task = asyncio.create_task(_run(handler, job.step))
            if job.step.interruption is not None:
                work.cancel()
        else:
            work = _threads.begin(partial(handler.run, job.step), f"tasker-{job.assignment['handler']}")
        await asyncio.wait([work])
        error: BaseException
        try:
            return completed(work.result(), int(self._self.get("max_payload_bytes") or 0))
        except asyncio.CancelledError as e:
            error = job.step.interruption or RuntimeError("the handler cancelled itself")
            error.__traceback__ = e.__traceback__
        except BaseException as e:
            error = e
        return failed(
            error,
            job.step.interruption,
            attempt=job.step.attempt,
            bounds=handler.bounds,
            timeout=job.timeout,
        )

    def _end(self, job: Job, outcome: dict[str, Any]) -> None:
        """Hand the outcome of a job over to the reports."""
        job.ended = True
        if job.timer is not None:
            job.timer.cancel()
        if not job.dropped:
            self._done.append((job, job.reference | outcome))
            self._settle_wake.set()
        self._progressed.set()

    # ----- reports of handlers

    async def report(self, step: BaseStep, report: Mapping[str, Any]) -> None:
        """Send what an asynchronous handler reports before its end. It renews the lease."""
        job, timeout = self._reporting(step, report)
        sent = self._loop.time()
        answer = await self._call(self._path("progress"), job.reference | dict(report), timeout=timeout)
        self._answered(job, answer, sent)

    def report_from_thread(self, step: BaseStep, report: Mapping[str, Any]) -> None:
        """Send what a handler in a thread reports."""
        job, timeout = self._reporting(step, report)
        sent = self._loop.time()
        answer = self._transport.call(
            "POST", self._path("progress"), body=job.reference | dict(report), timeout=timeout
        )
        done = asyncio.run_coroutine_threadsafe(self._answered_later(job, answer, sent), self._loop)
        done.result()

    def _reporting(self, step: BaseStep, report: Mapping[str, Any]) -> tuple[Job, float]:
        cause, timeout = step.interruption, self._transport.timeout
        if cause is not None:
            # A checkpoint can be stored while the handler cleans up.
            if "checkpoint" not in report or not isinstance(cause, StepTimedOut | WorkerStopping):
                raise cause
            timeout = min(timeout, _CHECKPOINT_TIMEOUT)
        job = self._leases.held.get(step.step_uuid)
        if job is None or job.step is not step:
            raise LeaseLost("lease of the step was lost")
        return job, timeout

    async def _answered_later(self, job: Job, answer: Any, sent: float) -> None:
        self._answered(job, answer, sent)

    def _answered(self, job: Job, answer: LeaseAnswer, sent: float) -> None:
        self._leases.note(None)
        self._leases.renew([job], [answer], sent)
        if answer["status"] == "cancelled":
            raise TaskCancelled("task was cancelled")
        if answer["status"] == "lost":
            raise LeaseLost("lease of the step was lost")

    # ----- heartbeats

    async def _beat_loop(self) -> None:
        while True:
            interval = self._beat_interval
            due = self._loop.time() + interval
            await _sleep(interval, self._beat_wake)
            self._beat_wake.clear()
            late = self._loop.time() - due
            if late > max(interval / 2, 1.0):
                self._log.warning(
                    "the event loop stood still for %.1f s: a blocking handler must be a plain function", late
                )
            for failures in range(1, 5):
                try:
                    await self._beat()
                    break
                except TaskerError as e:
                    self._log.warning("heartbeat of worker %s: %s", self._name, e)
                    # Before the next regular one: leases are running out.
                    await _sleep(_delay(failures, e))

    @property
    def _beat_interval(self) -> float:
        """Two beats may fail within a lease."""
        interval = self._settings.heartbeat_interval or self._self["heartbeat_interval_ms"] / 1000 or _DEFAULT_BEAT
        third = self._leases.length / 3
        return min(interval, third) if third > 0 else interval

    async def _beat(self) -> None:
        """Send a heartbeat. It names every lease: one whose step never arrived must not be renewed."""
        jobs, me = list(self._leases.held.values()), self._self["worker_id"]
        body = {
            "current_load": self._running,
            "status": "draining" if self._draining else "active",
            "steps": [j.reference for j in jobs],
        }
        sent = self._loop.time()
        try:
            answer = await self._call(f"/internal/workers/{me}/heartbeat", body, timeout=self._beat_interval)
        except TaskerError as e:
            self._leases.note(e)
            if not isinstance(e, NotFound):
                raise
            await self._register_again(me)
            return  # the next one has the new ID
        response = cast(HeartbeatResponse, answer)
        self._leases.note(None)
        self._leases.renew(jobs, response.get("leases") or [], sent)
        if response["should_drain"]:
            self.stop()

    def _heard_again(self) -> None:
        self._beat_wake.set()
        self._settle_again.set()

    # ----- results

    async def _settle_loop(self) -> None:
        while True:
            batch = self._take()
            if not batch:
                self._settle_wake.clear()
                await self._settle_wake.wait()
                continue
            self._settling = len(batch)
            jobs = [job for job, _ in batch]
            await self._settle(batch)
            self._settling = 0
            for job in jobs:
                self._leases.release(job)
            self._fetch_wake.set()
            self._progressed.set()

    def _take(self) -> list[tuple[Job, dict[str, Any]]]:
        """The next results to report."""
        n, size = 0, 0
        while n < min(len(self._done), _MAX_RESULTS) and size < _MAX_RESULT_BYTES:
            size += len(dumps(self._done[n][1]))
            n += 1
        batch, self._done = self._done[:n], self._done[n:]
        return batch

    async def _settle(self, batch: list[tuple[Job, dict[str, Any]]]) -> None:
        """Report results until each is accepted, refused for good, or beyond its lease."""
        failures = 0
        while batch := self._reportable(batch):
            me = self._self["worker_id"]
            body = {"results": [result for _, result in batch]}
            wait: TaskerError
            try:
                answer = await self._call(f"/internal/workers/{me}/result", body)
                self._leases.note(None)
            except (Invalid, TooLarge) as e:
                self._leases.note(e)
                if len(batch) > 1:
                    half = len(batch) // 2
                    await self._settle(batch[:half])
                    batch = batch[half:]
                else:
                    batch = self._refused(batch[0], e)
                continue
            except NotFound as e:
                self._leases.note(e)
                await self._register_again(me)
                wait = e
            except TaskerError as e:
                self._leases.note(e)
                wait = e
            else:
                batch, postponed = self._evaluate(batch, answer["results"])
                if postponed is None:
                    continue  # what is left was changed, and can be sent at once
                wait = postponed
            failures += 1
            self._log.warning("worker %s cannot report %d results: %s", self._name, len(batch), wait)
            # Little time is left to a worker that stops.
            await _sleep(_delay(min(failures, 4) if self._draining else failures, wait), self._settle_again)
            self._settle_again.clear()

    def _reportable(self, batch: list[tuple[Job, dict[str, Any]]]) -> list[tuple[Job, dict[str, Any]]]:
        """Drop what no server would take. One lease after the end of a lease, another worker has the step."""
        kept, now = [], self._loop.time()
        for job, result in batch:
            end = self._leases.lost_at(job, now)
            if job.dropped:
                continue
            if end is not None and now > end + self._leases.length:
                self._give_up(job, "its lease was lost")
                continue
            kept.append((job, result))
        return kept

    def _evaluate(
        self, batch: list[tuple[Job, dict[str, Any]]], answers: list[SettleAnswer]
    ) -> tuple[list[tuple[Job, dict[str, Any]]], TaskerError | None]:
        """What is to be sent again, and the error to wait out first, if any."""
        again: list[tuple[Job, dict[str, Any]]] = []
        wait: TaskerError | None = None
        for (job, result), answer in zip(batch, answers, strict=True):
            error = answer.get("error")
            if error is None:
                if result["status"] == "failed" and not self._settings.quiet:
                    level, line = _log.failed(job.assignment, result["error"], answer)
                    self._log.log(level, "%s", line)
                continue
            if error["code"] in ("invalid", "too_large"):
                again += self._refused((job, result), Invalid(error["message"], details=error.get("details", ())))
            elif error["code"] in ("unavailable", "exhausted", "internal"):
                again.append((job, result))
                wait = Unavailable(error["message"], retry_after=error.get("retry_after_seconds", 0.0))
            else:
                # The lease was lost or the task cancelled meanwhile: the step is no longer this worker's.
                self._log.info("result of step %s was not taken: %s", job.step_uuid, error["message"])
        return again, wait

    def _refused(self, one: tuple[Job, dict[str, Any]], error: TaskerError) -> list[tuple[Job, dict[str, Any]]]:
        """Replace a result that the server will never take: the step must not run again to the same end."""
        job, _ = one
        if job.refused:
            self._give_up(job, str(error))
            return []
        job.refused = True
        return [(job, job.reference | refusal("result_refused", str(error)))]

    def _give_up(self, job: Job, why: str) -> None:
        self._log.error("result of step %s could not be reported: %s", job.step_uuid, why)
        if self._draining:
            self._unreported += 1

    # ----- calls

    def _path(self, verb: str) -> str:
        return f"/internal/workers/{self._self['worker_id']}/{verb}"

    async def _call(
        self, path: str, body: Mapping[str, Any], *, timeout: float | None = None, flight: Flight | None = None
    ) -> Any:
        return await _threads.call(
            partial(self._transport.call, "POST", path, body=dict(body), timeout=timeout), flight
        )


async def _run(handler: Registered, step: BaseStep) -> Any:
    """Run an asynchronous handler. One that exits must not take the event loop along."""
    try:
        return await handler.run(step)
    except SystemExit as e:
        raise RuntimeError(f"the handler exits with {e.code}") from e


def _comes_back(error: TaskerError) -> bool:
    """Whether a call may succeed later without an operator."""
    return isinstance(error, Unavailable | Exhausted | InternalError)


def _delay(failures: int, error: TaskerError) -> float:
    return max(pause(failures), min(error.retry_after, 60.0))


async def _sleep(seconds: float, wake: asyncio.Event | None = None) -> None:
    """Pause; an event ends it early, and stays as it is."""
    if wake is None:
        await asyncio.sleep(seconds)
        return
    try:
        async with asyncio.timeout(seconds):
            await wake.wait()
    except TimeoutError:
        pass


async def _any(*events: asyncio.Event) -> None:
    """Wait for one of some events."""
    waits = [asyncio.create_task(e.wait()) for e in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for w in waits:
            w.cancel()
