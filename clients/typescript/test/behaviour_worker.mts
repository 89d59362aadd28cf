// The worker program of the behaviour suite; the Go package internal/testkit/clienttest says what it has to do.

import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { FinalError, RetryableError, Snooze, Worker, type Step } from "../src/index.js";

interface Order {
  ref: string;
  log?: string;
  progress?: number;
  checkpoint?: unknown;
  gate?: string;
  fail?: { attempts: number; how: string; message: string; code?: string };
  snooze?: number;
  bytes?: number;
}

const options = JSON.parse(process.env["TASKER_TEST_WORKER"] ?? "{}") as {
  name: string;
  namespaces?: string[];
  concurrency: number;
  shutdown_seconds: number;
};

function say(...words: unknown[]): void {
  process.stdout.write(words.join(" ") + "\n");
}

/** Says that it has got the signal. */
class Told extends Worker {
  override stop(): void {
    super.stop();
    say("stopping");
  }
}

async function act(step: Step<Order>): Promise<unknown> {
  const order = step.context;
  say("begin", order.ref, step.attempt);
  if (order.log) step.log(order.log);
  if (order.progress) await step.progress(order.progress, "under way");
  if (order.checkpoint !== undefined && step.lastCheckpoint === undefined) await step.checkpoint(order.checkpoint);
  try {
    while (order.gate !== undefined && !existsSync(order.gate)) await sleep(10, undefined, { signal: step.signal });
  } catch (error) {
    say("told", order.ref, step.interruption?.reason);
    if (step.interruption?.reason === "draining") await step.checkpoint({ saved: "while draining" });
    throw error;
  }
  if (order.fail && step.attempt <= order.fail.attempts) fail(order.ref, order.fail);
  if (order.snooze !== undefined && step.lastCheckpoint === undefined) throw new Snooze(order.snooze * 1000);
  if (order.bytes) return "x".repeat(order.bytes);
  say("end", order.ref);
  return {
    ref: order.ref,
    attempt: step.attempt,
    checkpoint: step.lastCheckpoint ?? null,
    parents: step.parentResults,
    worker: options.name,
  };
}

function fail(ref: string, how: { how: string; message: string; code?: string }): never {
  const code = how.code ?? "";
  if (how.how === "final") throw new FinalError(how.message, { code, details: { ref } });
  if (how.how === "retryable") throw new RetryableError(how.message, { code, retryAfterMs: 200 });
  throw new TypeError(how.message);
}

const worker = new Told({
  name: options.name,
  namespaces: options.namespaces ?? [],
  concurrency: options.concurrency,
  shutdownTimeoutMs: options.shutdown_seconds * 1000,
});
worker.handler("act", act).handler("narrow", act, { concurrency: 1 }).handler("short", act, { timeoutMs: 1000 });
await worker.run();
say("ended");
