"""Tests of the exchanges with a server, against a server that does as it is told."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import unittest
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import tasker

Answer = Callable[["Exchange"], None]


class Exchange(BaseHTTPRequestHandler):
    """One connection; each request is answered by the next function of the server."""

    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.path, dict(self.headers), body, self.client_address[1]))
        self.server.answers.pop(0)(self)

    do_GET = do_POST = do_PATCH = answer

    def send(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.seen: list[tuple[str, str, dict[str, str], bytes, int]] = []
        self.answers: list[Answer] = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


def sends(status: int, body: Any, kind: str = "application/json", **headers: str) -> Answer:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda exchange: exchange.send(status, raw, kind, **headers)


def waits_for(gate: threading.Event) -> Answer:
    def wait(_: Exchange) -> None:
        gate.wait(10)

    return wait


def hangs_up(exchange: Exchange) -> None:
    exchange.close_connection = True


class TestCase(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.client = tasker.Client(self.url + "/prefix/", api_key="secret", timeout=5)
        self.addCleanup(self.client.close)

    def answers(self, *answers: Answer) -> None:
        self.server.answers = list(answers)

    def ports(self) -> list[int]:
        return [port for *_, port in self.server.seen]


class TestRequests(TestCase):
    def test_request(self) -> None:
        self.answers(sends(201, {"task_uuid": "u", "created": True}))
        receipt = self.client.submit("order", {"id": 17}, tags=["web"], idempotency_key="k")
        self.assertEqual(receipt["task_uuid"], "u")
        method, path, headers, body, _ = self.server.seen[0]
        self.assertEqual((method, path), ("POST", "/prefix/v1/tasks"))
        self.assertEqual(headers["X-API-Key"], "secret")
        self.assertEqual(
            json.loads(body), {"name": "order", "context": {"id": 17}, "tags": ["web"], "idempotency_key": "k"}
        )

    def test_connections_are_kept(self) -> None:
        self.answers(*[sends(200, [])] * 3)
        for _ in range(3):
            self.client.steps("t")
        self.assertEqual(len(set(self.ports())), 1)

    def test_a_closed_connection_is_replaced(self) -> None:
        self.answers(sends(200, [], Connection="close"), hangs_up, sends(200, []), hangs_up)
        self.client.steps("t")
        self.client.steps("t")  # reads once more when the server hangs up
        with self.assertRaises(tasker.Unavailable):
            self.client.submit("order")  # a change is not repeated
        self.assertEqual(len(self.server.seen), 4)

    def test_pages(self) -> None:
        self.answers(sends(200, {"tasks": [{"name": "a"}], "next_cursor": "c"}), sends(200, {"tasks": [{"name": "b"}]}))
        self.assertEqual([t["name"] for t in self.client.tasks(state=["error"], limit=1)], ["a", "b"])
        self.assertEqual(self.server.seen[1][1], "/prefix/v1/tasks?state=error&limit=1&cursor=c")

    def test_timeout(self) -> None:
        self.client = tasker.Client(self.url, timeout=0.2)
        gate = threading.Event()
        self.addCleanup(gate.set)
        self.answers(waits_for(gate))
        with self.assertRaises(tasker.Unavailable):
            self.client.submit("order")

    def test_cancelled_call_is_aborted(self) -> None:
        gate = threading.Event()
        self.addCleanup(gate.set)
        self.answers(waits_for(gate))

        async def main() -> None:
            async with tasker.AsyncClient(self.url) as client:
                async with asyncio.timeout(0.2):
                    await client.get("t", wait=30)

        begun, threads = time.monotonic(), threading.active_count()
        with self.assertRaises(TimeoutError):
            asyncio.run(main())
        while threading.active_count() > threads + 1:  # the one that serves
            self.assertLess(time.monotonic() - begun, 5, "the thread of the call goes on")
            time.sleep(0.01)


class TestErrors(TestCase):
    def test_problem(self) -> None:
        problem = {
            "title": "Conflict",
            "detail": "it is there",
            "code": "conflict",
            "hint": "use another",
            "errors": [{"location": "/name", "message": "taken"}],
        }
        self.answers(sends(409, problem, "application/problem+json", Retry_After="3"))
        with self.assertRaises(tasker.Conflict) as caught:
            self.client.submit("order")
        self.assertEqual(str(caught.exception), "it is there\n  /name: taken\n  hint: use another")
        self.assertEqual(caught.exception.retry_after, 3)

    def test_answers_of_others(self) -> None:
        for answer, kind in [
            (sends(502, b"<html>", "text/html"), tasker.Unavailable),
            (sends(404, b"", "text/plain"), tasker.NotFound),
            (sends(302, b"", Location="http://elsewhere"), tasker.InternalError),
            (sends(200, b"<html>", "text/html"), tasker.InternalError),
            (sends(200, b"{", "application/json"), tasker.InternalError),
            (sends(401, [], "application/json", Connection="close"), tasker.Unauthenticated),
        ]:
            with self.subTest(kind=kind):
                self.answers(answer)
                with self.assertRaises(kind):
                    self.client.get("t")

    def test_too_long_answer(self) -> None:
        client = tasker.Client(self.url, max_response_bytes=10)
        self.answers(sends(200, list(range(100))))
        with self.assertRaises(tasker.TooLarge):
            client.steps("t")

    def test_addresses(self) -> None:
        for address in ("localhost:8080", "ftp://host", "http://user@host", "http://host?key=1"):
            with self.subTest(address=address), self.assertRaises(tasker.Invalid):
                tasker.Client(address)

    def test_nobody_there(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        with self.assertRaises(tasker.Unavailable):
            self.client.get("t")


class TestWait(TestCase):
    def test_goes_on_while_the_server_is_away(self) -> None:
        running, done = {"task_uuid": "t", "state": "steps_in_process"}, {"task_uuid": "t", "state": "complete"}
        self.answers(sends(200, running), sends(503, {}), hangs_up, hangs_up, sends(200, done))
        self.assertEqual(self.client.wait("t")["state"], "complete")

    def test_not_at_the_first_call(self) -> None:
        self.answers(sends(503, {}))
        with self.assertRaises(tasker.Unavailable):
            self.client.wait("t")

    def test_its_time_is_over(self) -> None:
        self.answers(*[sends(200, {"task_uuid": "t", "state": "pending"})] * 100)
        with self.assertRaises(TimeoutError):
            self.client.wait("t", timeout=0.3)

    def test_failed_task(self) -> None:
        failed = {"name": "charge", "current_state": "error", "last_error": {"message": "declined"}}
        self.answers(sends(200, {"task_uuid": "t", "state": "error"}), sends(200, [failed]))
        with self.assertRaises(tasker.TaskFailed) as caught:
            self.client.result("t")
        self.assertEqual((caught.exception.step, caught.exception.state), ("charge", "error"))
        self.assertIn("declined", str(caught.exception))

    def test_step_without_result(self) -> None:
        step = {"name": "charge", "current_state": "complete", "step_uuid": "01a21708-b4f8-7001-8d34-36020e7d37e4"}
        for name, steps in ((None, [step, step]), ("other", [step]), ("charge", [step])):
            with self.subTest(name=name):
                self.answers(sends(200, {"task_uuid": "t", "state": "complete"}), sends(200, steps), sends(200, step))
                with self.assertRaises(tasker.NotFound):
                    self.client.result("t", name)


class TestEvents(TestCase):
    def stream(self, text: str) -> Answer:
        def send(exchange: Exchange) -> None:
            exchange.send(200, text.encode(), "text/event-stream; charset=utf-8", Connection="close")

        return send

    def test_they_go_on_after_a_break(self) -> None:
        def event(number: int, kind: str) -> str:
            return f'id: {number}\nevent: {kind}\ndata: {{"id": "{number}", "type": "{kind}"}}\n\n'

        self.server.answers = [
            self.stream(event(1, "stream.open") + ": alive\n\n" + event(2, "task.state") + "id: 3\n\n"),
            hangs_up,
            sends(503, {}),
            self.stream(event(4, "task.state") + event(5, "stream.end")),
        ]
        types = [e["type"] for e in self.client.events(type=["task.state"])]
        self.assertEqual(types, ["stream.open", "task.state", "task.state"])
        _, path, headers, _, _ = self.server.seen[-1]
        self.assertEqual(headers["Last-Event-ID"], "3")
        self.assertTrue(path.endswith("/v1/events?type=task.state"), path)

    def test_a_refusal_is_raised_at_once(self) -> None:
        self.server.answers = [sends(403, {}), hangs_up, self.stream("data: {\n\n")]
        for kind in (tasker.Forbidden, tasker.Unavailable, tasker.Unavailable):
            with self.assertRaises(kind):
                next(self.client.events())

    def test_they_end_with_their_task(self) -> None:
        gate = threading.Event()
        self.addCleanup(gate.set)
        self.server.answers = [waits_for(gate)]

        async def listen() -> None:
            client = tasker.AsyncClient(self.client.server)
            async with asyncio.timeout(0.1):
                async for _ in client.events():
                    pass

        with self.assertRaises(TimeoutError):
            asyncio.run(listen())


if __name__ == "__main__":
    unittest.main()
