"""An application that keeps its jobs and its failed jobs in lists of Redis, written from the public description of such
systems alone. It pushes jobs, fails them, and manages the failed ones over /api/dlq.

Arguments: URL of Tasker, URL of Redis, prefix of the queues. Only the standard library."""

import json
import socket
import sys
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime

TASKER, REDIS, PREFIX = sys.argv[1], urllib.parse.urlsplit(sys.argv[2]), sys.argv[3]
QUEUE = PREFIX + "detection_queue"
DLQ = "dlq:" + QUEUE


class Redis:
    """The few commands that the application needs."""

    def __init__(self):
        self.file = socket.create_connection((REDIS.hostname, REDIS.port), 10).makefile("rwb")
        if REDIS.password:
            self.do("AUTH", REDIS.username or "default", REDIS.password)

    def do(self, *args):
        args = [a if isinstance(a, bytes) else str(a).encode() for a in args]
        self.file.write(b"*%d\r\n" % len(args) + b"".join(b"$%d\r\n%s\r\n" % (len(a), a) for a in args))
        self.file.flush()
        return self.answer()

    def answer(self):
        line = self.file.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))]
        return rest


def call(method, path, key=None):
    request = urllib.request.Request(TASKER + path, method=method)
    if key:
        request.add_header("X-API-Key", key)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)


def ok(method, path):
    status, answer = call(method, path)
    assert status == 200, (method, path, status, answer)
    return answer


redis = Redis()


def fail(camera, error):
    """Processes a job until it has failed for good."""
    job = {"camera_id": camera, "file_path": f"/export/{camera}/image_001.jpg", "note": "f\u00fcnf"}
    try:
        raise ConnectionRefusedError(error)
    except ConnectionRefusedError as e:
        failure = {
            "original_job": job, "error": str(e), "attempt_count": 3,
            "first_failed_at": "2024-01-15T10:30:01.000000", "last_failed_at": "2024-01-15T10:30:15.000000",
            "queue_name": QUEUE, "error_type": type(e).__name__, "stack_trace": traceback.format_exc()[:4096],
            "http_status": 503, "response_body": "{\"busy\": true}", "retry_delays": [1.0, 2.1],
            "context": {"detection_queue_depth": 15, "analysis_queue_depth": 3, "dlq_circuit_breaker_state": "closed"},
        }
    redis.do("RPUSH", DLQ, json.dumps(failure))
    return failure


def work():
    """Takes what is in the work queue."""
    out = []
    while (job := redis.do("LPOP", QUEUE)) is not None:
        out.append(json.loads(job)["camera_id"])
    return out


def jobs(**parameters):
    query = "&".join(f"{k}={v}" for k, v in parameters.items())
    return ok("GET", f"/api/dlq/jobs/{DLQ}?{query}")


def captured(n, queue=DLQ):
    """Waits until a queue has n jobs: they are stored within moments."""
    for _ in range(600):
        page = ok("GET", f"/api/dlq/jobs/{queue}")
        if len(page["items"]) == n:
            return page
        time.sleep(0.05)
    raise AssertionError(f"{queue} has {page}, not {n} jobs")


def expect(what, got, want):
    assert got == want, f"{what}: {got!r}, not {want!r}"


# An empty queue is a number, and no error.
stats = ok("GET", "/api/dlq/stats")
expect("empty", [stats[k] for k in ("detection_queue_count", "analysis_queue_count", "total_count")], [0, 0, 0])
answer = ok("POST", f"/api/dlq/requeue/{DLQ}")
expect("requeue of nothing", (answer["success"], answer["message"]), (False, f"No jobs to requeue from {DLQ}"))

# What was pushed is seen, with every field of it.
pushed = [fail("front", "temporary: YOLO26 is loading"), fail("back", "no such file"),
          fail("yard", "Temporary outage"), fail("door", "bad image")]
captured(4)
page = jobs()
expect("names", (page["queue_name"], page["pagination"]),
       (DLQ, {"total": 4, "limit": 100, "offset": 0, "has_more": False}))
for item, failure in zip(page["items"], pushed):
    for name, value in failure.items():
        if name.endswith("_at"):
            got = datetime.fromisoformat(item[name]).replace(tzinfo=None)
            expect(name, got, datetime.fromisoformat(value))
        else:
            expect(name, item[name].rstrip() if name == "stack_trace" else item[name],
                   value.rstrip() if name == "stack_trace" else value)
expect("total", ok("GET", "/api/dlq/stats")["total_count"], 4)
page = jobs(start=1, limit=2)
expect("a page", [j["original_job"]["camera_id"] for j in page["items"]], ["back", "yard"])
expect("its place", page["pagination"], {"total": 4, "limit": 2, "offset": 1, "has_more": True})
expect("a page that is too large", call("GET", f"/api/dlq/jobs/{DLQ}?limit=1001")[0], 400)
expect("an unknown queue", call("GET", "/api/dlq/jobs/dlq:nothing")[0], 404)

# Pattern 1: those whose error contains "temporary", each that was inspected and no other.
for job in jobs()["items"]:
    if "temporary" in job["error"].lower():
        answer = ok("POST", f"/api/dlq/requeue/{DLQ}/{job['job_id']}")
        expect("requeue of one", (answer["success"], answer["message"], answer["job"]),
               (True, f"Job requeued from {DLQ} to {QUEUE}", None))
expect("pattern 1", work(), ["front", "yard"])
expect("left by pattern 1", [j["original_job"]["camera_id"] for j in jobs()["items"]], ["back", "door"])

# A job that fails again is the same job, with its history.
fail("front", "temporary: YOLO26 is loading")
again = [j for j in captured(3)["items"] if j["original_job"]["camera_id"] == "front"]
expect("a job that came back", [(j["requeue_count"], j["attempt_count"]) for j in again], [(1, 6)])

# Pattern 2: all, after a fix.
answer = ok("POST", f"/api/dlq/requeue-all/{DLQ}")
expect("pattern 2", (answer["success"], answer["message"], answer["job"]),
       (True, f"Requeued 3 jobs from {DLQ} to {QUEUE}", None))
expect("work after pattern 2", sorted(work()), ["back", "door", "front"])
expect("left by pattern 2", jobs()["items"], [])

# Pattern 3: look, then requeue the oldest or clear; and take the clearing back.
for camera in ("a", "b", "c"):
    fail(camera, "permanent")
    captured("abc".index(camera) + 1)
expect("requeue the oldest", ok("POST", f"/api/dlq/requeue/{DLQ}")["success"], True)
expect("the oldest", work(), ["a"])
answer = ok("DELETE", f"/api/dlq/{DLQ}")
expect("clear", (answer["success"], answer["message"], answer["queue_name"]),
       (True, f"Cleared 2 jobs from {DLQ}", DLQ))
expect("cleared", ok("GET", "/api/dlq/stats")["total_count"], 0)
expect("restore", ok("POST", f"/api/dlq/restore/{DLQ}")["count"], 2)
expect("move", ok("POST", f"/api/dlq/move/{DLQ}?target_queue={PREFIX}spare")["success"], True)
expect("moved", json.loads(redis.do("LPOP", PREFIX + "spare"))["camera_id"], "b")
expect("left in the end", [j["original_job"]["camera_id"] for j in jobs()["items"]], ["c"])

# A queue that overflows has its own dead letter queue.
redis.do("RPUSH", f"dlq:overflow:{QUEUE}", json.dumps({"original_queue": QUEUE, "data": {"camera_id": "full"},
         "reason": "queue_overflow", "overflow_policy": "dlq"}))
page = captured(1, f"dlq:overflow:{QUEUE}")
expect("overflow", [(j["original_job"], j["error"], j["queue_name"]) for j in page["items"]],
       [({"camera_id": "full"}, "queue_overflow", QUEUE)])
expect("requeue of overflow", ok("POST", f"/api/dlq/requeue-all/dlq:overflow:{QUEUE}")["requeued"], 1)
expect("work of overflow", work(), ["full"])
print("done")
