/** The outcome of an attempt, as the worker protocol has it. */

import { inspect } from "node:util";

import { Snooze, StepError, StepInterrupted, TaskerError } from "./errors.js";
import type { Failure, StepResult } from "./models.js";
import { cut } from "./step.js";

// Limits of a stored failure; the server cuts at the same sizes.
const maxWord = 255;
const maxMessage = 8 << 10;
const maxStack = 32 << 10;
const maxBody = 8 << 10;
/** How many errors are told, from the thrown one to its causes. */
const maxErrors = 10;

export type Outcome = Omit<StepResult, "step_uuid" | "token">;

/** What the options of a handler say of its failures. */
export interface Bounds {
  maxAttempts?: number;
  backoff?: { baseMs: number; limitMs: number };
}

/** The outcome of a handler that returned a value; nothing is null. One that cannot be sent fails the step for good. */
export function completed(value: unknown, limit: number): Outcome {
  let size: number;
  try {
    const text = JSON.stringify(value ?? null) as string | undefined;
    if (text === undefined) throw new Error(`a ${typeof value} has none`);
    size = Buffer.byteLength(text);
  } catch (error) {
    return refusal("invalid_result", `the result has no JSON form: ${messageOf(error)}`);
  }
  if (limit > 0 && size > limit) {
    return refusal("result_too_large", `the result has ${size} bytes, the server takes ${limit}`);
  }
  return { status: "completed", result: value ?? null };
}

/** Fail a step for good because of its result: it would come to the same end again. */
export function refusal(kind: string, message: string): Outcome {
  return { status: "failed", error: { error_type: kind, message: cut(message, maxMessage), retryable: false } };
}

/** The outcome of a handler that threw; cause is why it had to stop, if it had to. */
export function failed(
  error: unknown,
  cause: StepInterrupted | undefined,
  attempt: number,
  bounds: Bounds,
  timeoutMs: number,
): Outcome {
  if (error instanceof Snooze) return { status: "snoozed", snooze_seconds: Math.max(error.ms, 0) / 1000 };
  if (cause?.reason === "draining") return { status: "released" };
  const failure = failureOf(error);
  if (cause?.reason === "timeout") {
    // The error only shows how the handler noticed it, and nothing about the use of another attempt.
    delete failure.retryable;
    failure.error_type = "timeout";
    failure.class = "resource";
    failure.message = cut(`timed out after ${timeoutMs / 1000} s: ${failure.message}`, maxMessage);
  }
  bound(failure, attempt, bounds);
  return { status: "failed", error: failure };
}

/** Complete a failure with what the options of the handler say. */
function bound(failure: Failure, attempt: number, { maxAttempts, backoff }: Bounds): void {
  if (failure.retryable === false) return;
  if (maxAttempts !== undefined && attempt >= maxAttempts) {
    failure.retryable = false;
    failure.class ??= "transient"; // it is the number of attempts that is final
  } else if (backoff && failure.retry_after_seconds === undefined) {
    failure.retry_after_seconds = Math.min(backoff.baseMs * 2 ** (attempt - 1), backoff.limitMs) / 1000;
  }
}

/** Describe what was thrown for operators. */
export function failureOf(error: unknown): Failure {
  const all = chainOf(error);
  const failure: Failure = {
    error_type: cut(error instanceof Error ? error.name : typeof error, maxWord),
    message: cut(tellOf(all), maxMessage),
  };
  const stacks = all.flatMap((e) => (e instanceof Error && e.stack ? [e.stack] : []));
  if (stacks.length > 0) failure.stack_trace = cut(stacks.join("\ncaused by: "), maxStack);
  const code = all.map(codeOf).find((c) => c !== undefined);
  if (code !== undefined) failure.code = cut(code, maxWord);
  if (error instanceof StepError) tell(failure, error);
  return failure;
}

/** What was thrown and what is behind it, the nearest first: causes, and the errors of an AggregateError. */
function chainOf(error: unknown): unknown[] {
  const all = [error];
  for (const e of all) {
    if (!(e instanceof Error)) continue;
    const behind = e instanceof AggregateError ? [...(e.errors as unknown[]), e.cause] : [e.cause];
    for (const b of behind) {
      if (b !== undefined && b !== null && !all.includes(b) && all.length < maxErrors) all.push(b);
    }
  }
  return all;
}

/** One message of all; a cause that an outer message repeats is said once. */
function tellOf(all: readonly unknown[]): string {
  let text = "";
  for (const e of all) {
    const message = messageOf(e);
    if (text === "") text = message;
    else if (!says(text, message)) text += ` (caused by ${nameOf(e)}${message})`;
  }
  return text;
}

/** Whether a text repeats a message, and not only its letters within a word. */
function says(text: string, message: string): boolean {
  const letters = message.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return new RegExp(`(?<![\\p{L}\\p{N}])${letters}(?![\\p{L}\\p{N}])`, "u").test(text);
}

function nameOf(error: unknown): string {
  return error instanceof Error && error.message && error.name !== "Error" ? `${error.name}: ` : "";
}

/** The code that an error carries: those of Tasker, of Node.js (ECONNREFUSED) and of many libraries. */
function codeOf(error: unknown): string | undefined {
  if (error instanceof StepError) return error.options.code || undefined;
  if (error instanceof TaskerError) return error.code;
  // that of a DOMException is a number of old, without a meaning
  if (!(error instanceof Error) || error instanceof DOMException || !("code" in error)) return undefined;
  const { code } = error;
  return (typeof code === "string" && code !== "") || Number.isFinite(code) ? String(code) : undefined;
}

function tell(failure: Failure, error: StepError): void {
  const { errorType, failureClass, details, httpStatus, responseBody, retryAfterMs } = error.options;
  if (errorType !== undefined) failure.error_type = cut(errorType, maxWord);
  if (failureClass !== undefined) failure.class = failureClass;
  if (httpStatus !== undefined) failure.http_status = httpStatus;
  if (responseBody !== undefined) failure.response_body = cut(responseBody, maxBody);
  if (retryAfterMs !== undefined) failure.retry_after_seconds = Math.max(retryAfterMs, 0) / 1000;
  if (error.retryable !== undefined) failure.retryable = error.retryable;
  if (details !== undefined) {
    try {
      failure.details = JSON.parse(JSON.stringify(details));
    } catch {
      failure.details = String(details);
    }
  }
}

/** The message of whatever was thrown. */
function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  return typeof error === "string" ? error : inspect(error, { breakLength: Infinity });
}
