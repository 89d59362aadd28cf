/** What can go wrong: errors of the server, and those by which a handler ends its step. */

import type { Detail, Failure } from "./models.js";

/** The codes of the API. The list is closed. */
export type Code =
  | "invalid"
  | "too_large"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "wrong_state"
  | "stale_token"
  | "exhausted"
  | "unavailable"
  | "internal";

export const codes: readonly string[] = [
  "invalid",
  "too_large",
  "unauthenticated",
  "forbidden",
  "not_found",
  "conflict",
  "wrong_state",
  "stale_token",
  "exhausted",
  "unavailable",
  "internal",
] satisfies Code[];

/** What an error of the server has besides its message. */
export interface ErrorExtras {
  hint?: string;
  details?: Detail[];
  retryAfterMs?: number;
  cause?: unknown;
}

/**
 * An answer of the server that is no success, or no answer at all (`unavailable`). Its message also has the details and
 * the hint, each in a line of its own. Compare codes, never messages.
 */
export class TaskerError extends Error {
  override readonly name: string = "TaskerError";
  readonly hint: string;
  readonly details: Detail[];
  /** The pause before the next try that the server advises; 0: none. */
  readonly retryAfterMs: number;

  constructor(
    readonly code: Code,
    message: string,
    extras: ErrorExtras = {},
  ) {
    super(whole(message, extras), extras.cause === undefined ? {} : { cause: extras.cause });
    this.hint = extras.hint ?? "";
    this.details = extras.details ?? [];
    this.retryAfterMs = extras.retryAfterMs ?? 0;
  }
}

/** A message with all that the server says. */
function whole(message: string, { details = [], hint }: ErrorExtras): string {
  const lines = [message, ...details.map((d) => (d.location ? `  ${d.location}: ${d.message}` : `  ${d.message}`))];
  if (hint) lines.push(`  hint: ${hint}`);
  return lines.join("\n");
}

/** The end of a task that did not succeed: it is in error, or cancelled. `Client.result` throws it. */
export class TaskFailed extends TaskerError {
  override readonly name = "TaskFailed";

  constructor(
    message: string,
    readonly taskUuid: string,
    /** `error` or `cancelled`. */
    readonly state: string,
    /** The failed step; empty if none has failed, as in a cancelled task. */
    readonly step: string,
    /** The last error of the step, as its worker reported it. */
    readonly failure: Failure | undefined,
    /** How many other steps are in error. */
    readonly otherSteps: number,
  ) {
    super("wrong_state", message);
  }
}

/** A worker did not end well: a handler did not return, or a result could not be reported. */
export class WorkerError extends Error {
  override readonly name = "WorkerError";
}

/** What operators want to know of a failed step. */
export interface FailureOptions {
  /** The application's own code. */
  code?: string;
  /** Defaults to the name of the error. */
  errorType?: string;
  /** Bounds the number of retries. */
  failureClass?: "transient" | "resource" | "logic" | "worker";
  /** Any JSON value. */
  details?: unknown;
  httpStatus?: number;
  responseBody?: string;
  /** The next attempt waits at least so long. */
  retryAfterMs?: number;
  cause?: unknown;
}

/**
 * A failure of a step with all that operators want to know. Any error that a handler throws fails the attempt, which may
 * be repeated; throw `RetryableError` or `FinalError` to say more.
 */
export class StepError extends Error {
  override readonly name: string = "StepError";
  /** Undefined: the server decides by the class of the failure. */
  readonly retryable: boolean | undefined = undefined;

  constructor(
    message: string,
    readonly options: FailureOptions = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
  }
}

/** The attempt failed; another one may succeed. Retries are those of the step's policy. */
export class RetryableError extends StepError {
  override readonly name = "RetryableError";
}

/** The step has failed for good, whatever attempts are left. */
export class FinalError extends StepError {
  override readonly name = "FinalError";
  override readonly retryable = false;
}

/** Gives the step back, to run again later. It charges no attempt. */
export class Snooze extends Error {
  override readonly name = "Snooze";

  constructor(readonly ms: number) {
    super(`snooze for ${ms} ms`);
  }
}

/**
 * Why a handler has to stop:
 *
 * - `timeout`: the attempt took too long. The worker reports a failure, unless the handler succeeds.
 * - `cancelled`: the task was cancelled. The worker reports nothing.
 * - `lost`: another worker may hold the step. The worker reports nothing.
 * - `draining`: the worker has to end. It gives the step back without a charge, unless the handler succeeds.
 */
export type Reason = "timeout" | "cancelled" | "lost" | "draining";

const sentences: Record<Reason, string> = {
  timeout: "step timed out",
  cancelled: "task was cancelled",
  lost: "lease of the step was lost",
  draining: "worker is stopping",
};

/** The reason of the signal of a step. */
export class StepInterrupted extends Error {
  override readonly name = "StepInterrupted";

  constructor(readonly reason: Reason) {
    super(sentences[reason]);
  }
}
