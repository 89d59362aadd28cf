/** The outcome of an attempt, as the worker protocol has it. */

import { Snooze, StepError, StepInterrupted, TaskerError } from "./errors.js";
import type { Failure, StepResult } from "./models.js";
import { cut } from "./step.js";

// Limits of a stored failure; the server cuts at the same sizes.
const maxWord = 255;
const maxMessage = 8 << 10;
const maxStack = 32 << 10;
const maxBody = 8 << 10;

export type Outcome = Omit<StepResult, "step_uuid" | "token">;

/** The outcome of a handler that returned a value. One that cannot be sent fails the step for good. */
export function completed(value: unknown, limit: number): Outcome {
  if (value === undefined || value === null) return { status: "completed" };
  let size: number;
  try {
    const text = JSON.stringify(value) as string | undefined;
    if (text === undefined) throw new Error(`a ${typeof value} has none`);
    size = Buffer.byteLength(text);
  } catch (error) {
    return refusal("invalid_result", `the result has no JSON form: ${messageOf(error)}`);
  }
  if (limit > 0 && size > limit) {
    return refusal("result_too_large", `the result has ${size} bytes, the server takes ${limit}`);
  }
  return { status: "completed", result: value };
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
  maxAttempts: number | undefined,
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
  if (maxAttempts !== undefined && attempt >= maxAttempts && failure.retryable !== false) {
    failure.retryable = false;
    failure.class ??= "transient"; // it is the number of attempts that is final
  }
  return { status: "failed", error: failure };
}

/** Describe what was thrown for operators. */
export function failureOf(error: unknown): Failure {
  const failure: Failure = {
    error_type: cut(error instanceof Error ? error.name : typeof error, maxWord),
    message: cut(messageOf(error), maxMessage),
  };
  if (error instanceof Error && error.stack) failure.stack_trace = cut(error.stack, maxStack);
  if (error instanceof TaskerError) failure.code = error.code;
  if (error instanceof StepError) tell(failure, error);
  return failure;
}

function tell(failure: Failure, error: StepError): void {
  const { code, errorType, failureClass, details, httpStatus, responseBody, retryAfterMs } = error.options;
  if (code !== undefined) failure.code = cut(code, maxWord);
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
