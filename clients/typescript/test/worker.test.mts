// Tests of what needs no server: the outcomes of handlers, and their registration.

import assert from "node:assert/strict";
import { test } from "node:test";

import { completed, failed, failureOf } from "../src/failure.js";
import { failedLine, overlong, started } from "../src/log.js";
import {
  Client,
  FinalError,
  RetryableError,
  Snooze,
  Step,
  StepInterrupted,
  Worker,
  type Logger,
  type models,
} from "../src/index.js";

const assignment = { parameters: { order: 17 }, attempt: 2, step_name: "charge" } as models.Assignment;
const quiet: Logger = { info() {}, warn() {}, error() {} };

test("results", () => {
  for (const nothing of [undefined, null]) {
    assert.deepEqual(completed(nothing, 0), { status: "completed", result: null });
  }
  assert.deepEqual(completed({ a: 1 }, 100), { status: "completed", result: { a: 1 } });
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  for (const value of [cycle, 1n, () => 1, Symbol("x")]) {
    const { error } = completed(value, 100);
    assert.equal(error?.error_type, "invalid_result");
    assert.equal(error?.retryable, false);
  }
  assert.equal(completed("x".repeat(99), 100).error?.error_type, "result_too_large");
  assert.equal(completed("ü".repeat(49), 100).status, "completed");
});

test("failures", () => {
  const declined = new FinalError("no", { code: "card", httpStatus: 402, details: { a: 1 }, failureClass: "logic" });
  const { error } = failed(declined, undefined, 1, {}, 0);
  assert.equal(error?.retryable, false);
  assert.equal(error?.code, "card");
  assert.equal(error?.http_status, 402);
  assert.equal(error?.class, "logic");
  assert.deepEqual(error?.details, { a: 1 });
  assert.match(error?.stack_trace ?? "", /worker\.test/);
  const busy = failed(new RetryableError("busy", { retryAfterMs: 3000, details: 1n }), undefined, 1, {}, 0);
  assert.equal(busy.error?.retry_after_seconds, 3);
  assert.equal(busy.error?.retryable, undefined);
  assert.equal(busy.error?.details, "1");
  assert.equal(failed("a text", undefined, 1, {}, 0).error?.message, "a text");
  const long = failed(new Error("ä".repeat(10_000)), undefined, 1, {}, 0).error?.message ?? "";
  assert.ok(Buffer.byteLength(long) <= 8 << 10 && !long.includes("\ufffd"));
});

test("failures with causes", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" });
  const fetched = new TypeError("fetch failed", { cause: refused });
  const told = failureOf(new Error("no rate for EUR", { cause: fetched }));
  assert.equal(
    told.message,
    "no rate for EUR (caused by TypeError: fetch failed) (caused by connect ECONNREFUSED 127.0.0.1:1)",
  );
  assert.equal(told.code, "ECONNREFUSED");
  assert.equal(told.stack_trace?.split("\ncaused by: ").length, 3);

  const all = failureOf(new AggregateError([new RangeError("one"), refused], "nobody answers"));
  assert.match(all.message ?? "", /^nobody answers \(caused by RangeError: one\) \(caused by connect ECONN/);
  assert.equal(all.code, "ECONNREFUSED");
  const short = failureOf(new AggregateError([new Error("a"), new Error("b[*"), new Error("b")], "both b[* failed"));
  assert.equal(short.message, "both b[* failed (caused by a)");

  const repeated = failureOf(new Error(`charge: ${refused.message}`, { cause: refused }));
  assert.equal(repeated.message, "charge: connect ECONNREFUSED 127.0.0.1:1");
  const own = failureOf(new FinalError("declined", { code: "card", cause: refused }));
  assert.equal(own.code, "card");
  assert.equal(failureOf(new RetryableError("busy", { cause: refused })).code, "ECONNREFUSED");

  const cycle = new Error("round");
  cycle.cause = cycle;
  assert.equal(failureOf(cycle).message, "round");
  assert.equal(failureOf(new DOMException("aborted", "AbortError")).code, undefined);
  assert.equal(failureOf({ status: 5 }).message, "{ status: 5 }");
  assert.equal(failureOf(Object.create(null)).error_type, "object");
});

test("a back-off of the handler", () => {
  const backoff = { baseMs: 1000, limitMs: 3000 };
  const after = (error: unknown, attempt: number) =>
    failed(error, undefined, attempt, { backoff, maxAttempts: 9 }, 0).error?.retry_after_seconds;
  assert.deepEqual(
    [1, 2, 3, 8].map((n) => after(new Error("x"), n)),
    [1, 2, 3, 3],
  );
  assert.equal(after(new RetryableError("x", { retryAfterMs: 500 }), 3), 0.5);
  assert.equal(after(new FinalError("x"), 1), undefined);
  assert.equal(after(new Error("x"), 9), undefined);
});

test("reasons to stop", () => {
  assert.equal(failed(new Error("x"), new StepInterrupted("draining"), 1, {}, 0).status, "released");
  const late = failed(new FinalError("x"), new StepInterrupted("timeout"), 1, {}, 2000);
  assert.equal(late.error?.error_type, "timeout");
  assert.equal(late.error?.class, "resource");
  assert.equal(late.error?.retryable, undefined);
  assert.match(late.error?.message ?? "", /after 2 s/);
  assert.deepEqual(failed(new Snooze(1500), undefined, 1, {}, 0), { status: "snoozed", snooze_seconds: 1.5 });
});

test("the last attempt is final", () => {
  assert.equal(failed(new Error("x"), undefined, 1, { maxAttempts: 2 }, 0).error?.retryable, undefined);
  const { error } = failed(new Error("x"), undefined, 2, { maxAttempts: 2 }, 0);
  assert.equal(error?.retryable, false);
  assert.equal(error?.class, "transient");
});

test("a step that reports to nobody", async () => {
  const step = new Step<{ order: number }>(assignment, undefined, 6);
  assert.equal(step.context.order, 17);
  assert.throws(() => step.parentResult("x"), FinalError);
  assert.equal(step.parentResult("x", null), null);
  await step.progress(50);
  await step.checkpoint({ row: 1 });
  step.log("one", { two: 2 });
  step.log("zwölf");
  assert.deepEqual(step.logged, { log: "wölf\n", log_bytes: 21 });
  step.interrupt(new StepInterrupted("cancelled"));
  step.interrupt(new StepInterrupted("lost"));
  assert.equal(step.interruption?.reason, "cancelled");
});

test("a log shows whatever it gets", () => {
  const step = new Step(assignment);
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  step.log(1n, cycle, undefined, new Error("x"));
  assert.match(step.logged?.log ?? "", /^1n .*Circular.* undefined Error: x/);
});

test("reports are what the server takes", async () => {
  const reports: unknown[] = [];
  const step = new Step(assignment, async (_, report) => void reports.push(report));
  await step.progress(140, "half\0way" + "ä".repeat(1000));
  await step.checkpoint(undefined);
  const [first, second] = reports as [{ progress_percent: number; status_message: string }, unknown];
  assert.equal(first.progress_percent, 100);
  assert.ok(first.status_message.startsWith("half\ufffdway") && Buffer.byteLength(first.status_message) <= 1024);
  assert.deepEqual(second, { checkpoint: null });
});

test("what a worker logs", () => {
  const me = { namespaces: ["shop"], default_timeout_seconds: 600 } as models.RegisteredWorker;
  assert.equal(
    started(me, "w", "http://localhost", [], ["charge", "mail"], 10),
    "worker w started at http://localhost: namespaces shop, handlers charge, mail, 10 slots",
  );
  assert.match(overlong(me, "charge", 3_600_000) ?? "", /"charge" has a timeout of 3600 s, but .* has 600 s/);
  assert.equal(overlong(me, "charge", 600_000), undefined);
  const step = { step_name: "s", task_uuid: "t", attempt: 1, max_attempts: 4 } as models.Assignment;
  const failure = { error_type: "TypeError", message: "fetch\nfailed" };
  const line = (answer: Partial<models.SettleAnswer>) => failedLine(step, failure, { step_uuid: "u", ...answer });
  const told = "step s of task t failed in attempt 1 of 4: TypeError: fetch failed; ";
  assert.equal(line({ state: "error" }), told + "the step has failed for good");
  assert.equal(
    line({ state: "waiting_for_retry", next_retry_at: "2026-11-27T09:00:05Z" }),
    told + "another attempt at 2026-11-27T09:00:05Z",
  );
  assert.equal(line({ state: "enqueued" }), told + "the step is enqueued");
});

test("mistakes in the registration", async () => {
  const worker = new Worker().handler("a", () => 1);
  assert.throws(() => worker.handler("a", () => 1), RangeError);
  assert.throws(() => worker.handler("", () => 1), RangeError);
  assert.throws(() => worker.handler("b", () => 1, { concurrency: 0 }), RangeError);
  assert.throws(() => worker.handler("b", () => 1, { backoff: { baseMs: 2, limitMs: 1 } }), RangeError);
  assert.throws(() => new Worker({ concurrency: 0 }), RangeError);
  await assert.rejects(new Worker().run(), RangeError);
});

test("a worker without a server can be stopped", async () => {
  const worker = new Worker({ client: new Client({ server: "http://127.0.0.1:1" }), logger: quiet });
  worker.handler("a", () => 1);
  const run = worker.run({ handleSignals: false });
  setTimeout(() => worker.stop(), 20);
  await run;
});
