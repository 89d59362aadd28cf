/** Client and worker of Tasker, a durable task and workflow engine. */

export { Client, type Act, type TaskOptions, type WaitOptions } from "./client.js";
export {
  FinalError,
  RetryableError,
  Snooze,
  StepError,
  StepInterrupted,
  TaskerError,
  TaskFailed,
  WorkerError,
  type Code,
  type FailureOptions,
  type Reason,
} from "./errors.js";
export type { CallOptions, ClientOptions, Query } from "./http.js";
export type * as models from "./models.js";
export { Step } from "./step.js";
export { version } from "./version.js";
export { Worker, type Handler, type HandlerOptions, type Logger, type WorkerOptions } from "./worker.js";
