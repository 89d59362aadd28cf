/** What a worker tells operators, in one line each. */

import type { Assignment, Failure, RegisteredWorker, SettleAnswer } from "./models.js";

/** The message of a failure, in characters. The server has all of it. */
const maxMessage = 1000;

/** Say that a worker has begun. An older server does not tell which namespaces it serves. */
export function started(
  me: RegisteredWorker,
  name: string,
  server: string,
  asked: readonly string[],
  handlers: readonly string[],
  slots: number,
): string {
  const served = (me.namespaces ?? asked).join(", ") || "of its key";
  return `worker ${name} started at ${server}: namespaces ${served}, handlers ${handlers.join(", ")}, ${slots} slots`;
}

/** Warn of a timeout that takes no effect in a step without one of its own. */
export function overlong(me: RegisteredWorker, name: string, timeoutMs: number | undefined): string | undefined {
  const usual = me.default_timeout_seconds ?? 0;
  if (timeoutMs === undefined || usual <= 0 || timeoutMs <= usual * 1000) return undefined;
  return (
    `handler "${name}" has a timeout of ${timeoutMs / 1000} s, but a step without one of its own has ${usual} s, which ` +
    "ends an attempt first: name timeout_seconds in the template or the submission"
  );
}

/** Say that a step has failed, and what the server makes of it. */
export function failedLine(step: Assignment, failure: Failure, answer: SettleAnswer): string {
  let then = `the step is ${answer.state}`;
  if (answer.state === "error") then = "the step has failed for good";
  else if (answer.next_retry_at !== undefined) then = `another attempt at ${answer.next_retry_at}`;
  let message = failure.message.replace(/\s+/g, " ");
  if (message.length > maxMessage) message = message.slice(0, maxMessage) + "...";
  return (
    `step ${step.step_name} of task ${step.task_uuid} failed in attempt ${step.attempt} of ${step.max_attempts}: ` +
    `${failure.error_type}: ${message}; ${then}`
  );
}
