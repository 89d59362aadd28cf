"""Tests of what needs no server: the outcomes of handlers, and their registration."""

from __future__ import annotations

import asyncio
import logging
import threading
import typing
import unittest
from dataclasses import dataclass
from typing import Any

import tasker
from tasker import _log, models
from tasker._failure import Bounds, completed, failed
from tasker.step import DEFAULT_LOG_BYTES, StepLog


def outcome(error: BaseException, cause: object = None, **options: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {"attempt": 1, "bounds": Bounds(), "timeout": 0.0}
    return failed(error, cause, **defaults | options)


@dataclass
class Receipt:
    number: int


class TestOutcomes(unittest.TestCase):
    def test_results(self) -> None:
        self.assertEqual(completed(None, 0), {"status": "completed", "result": None})
        self.assertEqual(completed(Receipt(1), 100)["status"], "completed")
        for value, kind in (
            (object(), "invalid_result"),
            (float("nan"), "invalid_result"),
            ("\ud800", "invalid_result"),
        ):
            error = completed(value, 100)["error"]
            self.assertEqual((error["error_type"], error["retryable"]), (kind, False))
        self.assertEqual(completed("x" * 99, 100)["error"]["error_type"], "result_too_large")
        self.assertEqual(completed("ü" * 49, 100)["status"], "completed")

    def test_failures(self) -> None:
        declined = tasker.FinalError("no", code="card", http_status=402, details={"a": 1}, failure_class="logic")
        error = outcome(declined)["error"]
        self.assertEqual(error["retryable"], False)
        self.assertEqual((error["code"], error["http_status"], error["class"]), ("card", 402, "logic"))
        error = outcome(tasker.RetryableError("busy", retry_after=3, details=object(), failure_class="?"))["error"]
        self.assertEqual(error["retry_after_seconds"], 3)
        self.assertNotIn("retryable", error)
        self.assertNotIn("class", error)
        self.assertTrue(error["details"].startswith("<object"))

    def test_causes(self) -> None:
        refused = ConnectionRefusedError(111, "Connection refused")
        outer = ValueError("no rate for EUR")
        outer.__cause__ = refused
        error = outcome(outer)["error"]
        self.assertEqual(error["code"], "ECONNREFUSED")
        self.assertIn("(caused by ConnectionRefusedError: [Errno 111] Connection refused)", error["message"])
        group = ExceptionGroup("two failed", [KeyError("a"), refused])
        error = outcome(group)["error"]
        self.assertEqual(error["code"], "ECONNREFUSED")
        self.assertIn("(caused by KeyError: 'a')", error["message"])
        repeated = RuntimeError(f"charge: {refused}")
        repeated.__cause__ = refused
        self.assertEqual(outcome(repeated)["error"]["message"], "charge: [Errno 111] Connection refused")
        short = ExceptionGroup("both", [ValueError("a"), ValueError("b")])
        self.assertEqual(
            outcome(short)["error"]["message"],
            "both (2 sub-exceptions) (caused by ValueError: a) (caused by ValueError: b)",
        )
        own = tasker.FinalError("declined", code="card")
        own.__cause__ = refused
        self.assertEqual(outcome(own)["error"]["code"], "card")
        refused.__cause__ = refused
        self.assertEqual(outcome(refused)["error"]["code"], "ECONNREFUSED")

    def test_backoff(self) -> None:
        bounds = Bounds(max_attempts=99, backoff=(1.0, 3.0))

        def after(error: Exception, attempt: int) -> Any:
            return outcome(error, attempt=attempt, bounds=bounds)["error"].get("retry_after_seconds")

        self.assertEqual([after(ValueError("x"), n) for n in (1, 2, 3, 98)], [1, 2, 3, 3])
        self.assertEqual(after(tasker.RetryableError("x", retry_after=0.5), 3), 0.5)
        self.assertIsNone(after(tasker.FinalError("x"), 1))
        self.assertIsNone(after(ValueError("x"), 99))

    def test_long_texts_are_cut(self) -> None:
        error = outcome(ValueError("ä" * 10000 + "\ud800"))["error"]
        self.assertLessEqual(len(error["message"].encode()), 8 << 10)

    def test_stack_begins_at_the_handler(self) -> None:
        try:
            raise ValueError("oops")
        except ValueError as e:
            self.assertIn("test_stack_begins", outcome(e)["error"]["stack_trace"])

    def test_reasons_to_stop(self) -> None:
        self.assertEqual(outcome(ValueError("x"), tasker.WorkerStopping())["status"], "released")
        error = outcome(tasker.FinalError("x"), tasker.StepTimedOut(), timeout=2.0)["error"]
        self.assertEqual((error["error_type"], error["class"]), ("timeout", "resource"))
        self.assertNotIn("retryable", error)
        self.assertEqual(outcome(tasker.Snooze(2), tasker.StepTimedOut())["status"], "snoozed")

    def test_max_attempts(self) -> None:
        self.assertNotIn("retryable", outcome(ValueError("x"), attempt=1, bounds=Bounds(max_attempts=2))["error"])
        error = outcome(ValueError("x"), attempt=2, bounds=Bounds(max_attempts=2))["error"]
        self.assertEqual((error["retryable"], error["class"]), (False, "transient"))

    def test_log_keeps_the_end(self) -> None:
        log = StepLog(5)
        print("one", "zwölf", file=log, end="")
        self.assertEqual(log.ending(), ("wölf", 10))  # the limit cuts no character in two


class TestStop(unittest.TestCase):
    def test_without_a_server(self) -> None:
        worker = tasker.Worker(tasker.Client("http://127.0.0.1:1"), logger=logging.getLogger("tasker.test"))
        worker.handler("a")(lambda step: None)
        with self.assertLogs("tasker.test", "WARNING"):
            thread = threading.Thread(target=worker.run)
            thread.start()
            while thread.is_alive():  # it may not have begun
                worker.stop()
                thread.join(0.01)


class TestLog(unittest.TestCase):
    def test_failures(self) -> None:
        step = typing.cast(models.Assignment, {"step_name": "s", "task_uuid": "t", "attempt": 1, "max_attempts": 4})
        told = "step s of task t failed in attempt 1 of 4: ValueError: no amount; "
        for answer, level, then in (
            ({"state": "error"}, logging.ERROR, "the step has failed for good"),
            ({"state": "waiting_for_retry", "next_retry_at": "T"}, logging.WARNING, "another attempt at T"),
            ({"state": "enqueued"}, logging.WARNING, "the step is enqueued"),
        ):
            failure = outcome(ValueError("no\namount"))["error"]
            self.assertEqual(_log.failed(step, failure, typing.cast(models.SettleAnswer, answer)), (level, told + then))

    def test_shown_unless_configured(self) -> None:
        logger = logging.Logger("other")
        logger.setLevel(logging.ERROR)
        _log.show(logger)
        self.assertEqual((len(logger.handlers), logger.level), (1, logging.ERROR))
        _log.show(logger)
        self.assertEqual(len(logger.handlers), 1)


class Order(typing.TypedDict):
    id: int


class TestStep(unittest.TestCase):
    def test_context_has_a_type(self) -> None:
        async def charge(step: tasker.Step[Order]) -> int:
            return step.context["id"]

        def plain(step: tasker.SyncStep) -> Any:
            return step.parent_result("a", None)

        worker = tasker.Worker(tasker.Client("http://127.0.0.1:1"))
        worker.handler("charge", backoff=(1, 60))(charge)
        worker.handler("plain")(plain)
        assignment = typing.cast(models.Assignment, {"parameters": {"id": 17}, "step_name": "s", "parent_results": {}})
        step = tasker.Step[Order](assignment, None, DEFAULT_LOG_BYTES)
        self.assertEqual(asyncio.run(charge(step)), 17)
        self.assertIsNone(plain(tasker.SyncStep(assignment, None, DEFAULT_LOG_BYTES)))
        with self.assertRaises(tasker.FinalError):
            step.parent_result("a")


class TestRegistration(unittest.TestCase):
    def setUp(self) -> None:
        self.worker = tasker.Worker(tasker.Client("http://127.0.0.1:1"))

    def test_functions_stay_as_they_are(self) -> None:
        @self.worker.handler
        async def charge(step: tasker.Step) -> str:
            return f"R-{step.context}"

        @self.worker.handler("resize", concurrency=2)
        def resize(step: tasker.SyncStep) -> int:
            step.progress(50)
            return step.attempt

        self.assertEqual(self.worker.handlers, ["charge", "resize"])
        assignment = typing.cast(models.Assignment, {"parameters": 17, "attempt": 2})
        self.assertEqual(asyncio.run(charge(tasker.Step(assignment, None, DEFAULT_LOG_BYTES))), "R-17")
        self.assertEqual(resize(tasker.SyncStep(assignment, None, DEFAULT_LOG_BYTES)), 2)

    def test_mistakes(self) -> None:
        self.worker.handler("a")(lambda step: None)
        for mistake in (
            lambda: self.worker.handler("a"),
            lambda: self.worker.handler(""),
            lambda: self.worker.handler("b", concurrency=0),
            lambda: self.worker.handler("b", timeout=-1),
            lambda: self.worker.handler("b", backoff=(2, 1)),
            lambda: tasker.Worker(concurrency=0),
            lambda: tasker.Worker().run(),
        ):
            with self.assertRaises(ValueError):
                mistake()

    def test_options_are_those_of_the_api(self) -> None:
        known = set(models.TaskRequest.__annotations__) - {"name", "task_type", "context"}
        self.assertEqual(set(tasker.TaskOptions.__annotations__), known)


if __name__ == "__main__":
    unittest.main()
