// The objects of the HTTP API. They are generated from the OpenAPI document of the server: run "make models" instead of
// editing them.

/** A time as JSON has it, such as "2026-11-26T09:00:00Z". */
export type Timestamp = string;

export interface Act {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  /** Expected ETag of the object, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Reason of the act. */
  reason?: string | null;
}

export interface Approval {
  /** What is decided. */
  approval?: string;
  namespace: string;
  /** When it began to wait. */
  since: Timestamp;
  step: string;
  step_uuid: string;
  task_uuid: string;
  template: string;
  /** End of the wait; missing without end. */
  until?: Timestamp;
}

export interface ApprovalEvent {
  /** What is to be approved, the first 300 bytes. */
  approval: string;
  /** Of approval.decided; system when its time was over. */
  decided_by?: string;
  /** Of approval.decided. */
  reason?: string;
  /** Of approval.decided. */
  result?: "approved" | "rejected" | "timed_out" | "cancelled" | "resolved";
  step: string;
  step_uuid: string;
  task_uuid: string;
  template: string;
  /** Of approval.requested: when its time is over; missing without an end. */
  until?: Timestamp;
}

export interface ApprovalPage {
  /** The one that has waited longest comes first. */
  approvals: Array<Approval>;
  /** Present if there are more. */
  next_cursor?: string;
}

export interface Assignment {
  /** Counted from 1; for an assigned step, the attempt that start will begin. */
  attempt: number;
  /** The last checkpoint that an earlier attempt of the step has stored. */
  checkpoint?: unknown;
  correlation_id?: string;
  /** When the attempt times out, once started. */
  deadline_at?: Timestamp;
  handler: string;
  initialization?: Record<string, unknown>;
  /** Those of them that are kept apart, by step name: read them one by one. They are not in parent_results. */
  large_results?: Record<string, LargeResult>;
  lease_expires_at: Timestamp;
  max_attempts: number;
  namespace: string;
  /** The task's context. */
  parameters?: unknown;
  /** Results of the direct dependencies, by step name. */
  parent_results?: Record<string, unknown>;
  priority_level: number;
  state: "pending" | "waiting" | "enqueued" | "assigned" | "in_progress" | "enqueued_for_orchestration" | "waiting_for_retry" | "complete" | "skipped" | "error" | "cancelled" | "resolved_manually";
  step_name: string;
  step_uuid: string;
  task_name: string;
  task_uuid: string;
  timeout_seconds: number;
  /**
   * Opaque fencing token of the lease. Send it back with start, progress, heartbeat and result. Valid for this
   * worker only.
   */
  token: string;
  /** W3C trace context of the step, if the task was submitted with one. */
  traceparent?: string;
  version?: string;
}

export interface Attempt {
  assigned_at?: Timestamp;
  /** Counted from 1 since the last reset. */
  attempt: number;
  /** Reason why a part of the stored data cannot be shown; that part is omitted. */
  damage?: string;
  error?: Failure;
  finished_at?: Timestamp;
  /** Number of the lease; grows with each lease of the step. The token of the lease begins with it. */
  lease: number;
  /**
   * running, completed, failed, timed_out, lease_expired, not_started, dispatch_expired, released, snoozed,
   * cancelled.
   */
  outcome: string;
  ready_at?: Timestamp;
  started_at?: Timestamp;
  step_name: string;
  step_uuid: string;
  worker?: string;
  /** Absent when the worker has been deleted. */
  worker_id?: string;
}

export interface AttemptLog {
  /** Number of the attempt, counted from 1 since the last reset. */
  attempt: number;
  /** Size of all that the attempt has logged. */
  bytes: number;
  /** Number of the lease; see the attempts of the history. */
  lease: number;
  step_uuid: string;
  stored_at: Timestamp;
  /** The end of it, as the worker sent it: it may contain control characters. */
  text: string;
}

export interface AuditArchive {
  /** Number of acts in this archive. */
  acts: number;
  at: Timestamp;
  /** Last archived link: its number and its hash. */
  head: string;
  /** Number of the last archived link. */
  seq: number;
}

export interface AuditChain {
  /**
   * Heads up to which the chain was archived and may have been deleted, the earliest first. The chain starts
   * behind the last one.
   */
  archives: Array<AuditArchive>;
  links: Array<AuditLink>;
}

export interface AuditLink {
  /** The act as it is now. Absent when it does not exist. */
  act?: AuditRecord;
  /** Number of the sealed act. */
  act_no: number;
  /** SHA-256 of the act, in hexadecimal. */
  content: string;
  /** SHA-256 of the link and the hash of the link before it, in hexadecimal. */
  hash: string;
  sealed_at: Timestamp;
  /** Links are numbered from 1 without gaps. */
  seq: number;
}

export interface AuditRecord {
  /** The claimed name. */
  actor: string;
  after: string;
  at: Timestamp;
  /**
   * How the actor was authenticated: by the API key key_name; not at all, on a server without keys or in process;
   * as Tasker itself; or unknown, because the act is older than this field or a database function stored it.
   */
  authenticated: "key" | "none" | "system" | "unknown";
  before: string;
  /** Reason why a part of the stored data cannot be shown; that part is omitted. */
  damage?: string;
  data?: unknown;
  /** Sensitive values of the data are masked; the hash of the act cannot be computed from what is left. */
  data_masked?: boolean;
  /** The data was omitted because the page would be too long; request a page with only this record. */
  data_omitted?: boolean;
  dlq_entry_uuid?: string;
  /** Name of the API key of the request. */
  key_name?: string;
  kind: string;
  /** Namespace of the task or template. */
  namespace?: string;
  no: number;
  reason?: string;
  step_uuid?: string;
  /** Absent when the act is not about a task. The task may have been deleted. */
  task_uuid?: string;
  /** Name of the task (template or task type) or of the registered template. */
  template?: string;
  worker_id?: string;
}

export interface Backfill {
  dry_run?: boolean;
  fired: number;
  /** They have fired already. */
  known: number;
  /** Their tasks were refused; see the firings of the schedule. */
  refused: number;
  /** By the policy of overlap. */
  skipped: number;
  /** All times of the range. */
  times: Array<Timestamp>;
  /** They wait for tasks of earlier firings. */
  waiting: number;
}

export interface BackfillRequest {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  /** Only answer the times of the range. */
  dry_run?: boolean | null;
  /** First time of the range. */
  from: Timestamp | Date;
  /** Expected ETag of the schedule, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Policy for these firings. Defaults to that of the schedule. */
  overlap?: "" | "skip" | "queue_one" | "queue_all" | "cancel_running" | "allow" | null;
  /** Reason of the act. */
  reason?: string | null;
  /** Last time of the range. Not after the times that the schedule has decided about. */
  until: Timestamp | Date;
}

export interface BulkCaseUpdate {
  /** next_cursor of the previous request. */
  cursor?: string | null;
  /** Show what would be done without changing anything. */
  dry_run?: boolean | null;
  /** Selects the cases, by default pending ones. Must not be empty. */
  filter: CaseFilter;
  /** Maximum number of cases. Defaults to 100, or to all cases that the filter names. */
  limit?: number | null;
  update: CaseUpdate;
}

export interface BulkItem {
  /** In a dry run, the expected value. */
  after?: string;
  /** Resolution status of the case, or state of the step. */
  before?: string;
  dlq_entry_uuid: string;
  /** The item was refused and not changed. */
  error?: Error;
  step_name?: string;
  step_uuid?: string;
  task_uuid?: string;
}

export interface BulkResult {
  dry_run?: boolean;
  /** Reason for an early stop; the acts in results are done. */
  error?: Error;
  failed: number;
  next_cursor?: string;
  results: Array<BulkItem>;
  succeeded: number;
}

export interface BulkStepAction {
  /** Name of the step to act on, in any state. Defaults to all failed steps. */
  act_on_step?: string | null;
  action: StepAction;
  /** next_cursor of the previous request. */
  cursor?: string | null;
  /** Show what would be done without changing anything. */
  dry_run?: boolean | null;
  /** Selects the cases, by default pending ones. Must not be empty. */
  filter: CaseFilter;
  /** Maximum number of cases. Defaults to 100, or to all cases that the filter names. */
  limit?: number | null;
}

export interface CancelRequest {
  /** Actor. Defaults to the name of the API key, else to anonymous. */
  cancelled_by?: string | null;
  /** Expected state of each task. In any other state the act is refused with conflict. */
  expected_state?: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually" | null;
  /** Expected etag. If the etag has changed, the act is refused with conflict. Same as the header If-Match. */
  if_match?: string | null;
  /** Reason for the act. Defaults to "no reason given". */
  reason?: string | null;
  task_uuids: Array<string>;
}

export interface Case {
  /** Detailed cause. Absent if unknown. */
  cause?: string;
  /** Class of the failure: transient, resource, logic or worker. */
  class?: string;
  created_at: Timestamp;
  /** Current state of the task. */
  current_state?: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  /** Reason why a part of the stored data cannot be shown; that part is omitted. */
  damage?: string;
  dlq_entry_uuid: string;
  dlq_reason: "staleness_timeout" | "max_retries_exceeded" | "dependency_cycle_detected" | "worker_unavailable" | "manual_dlq";
  /** Time of opening, that is, of the first occurrence. */
  dlq_timestamp: Timestamp;
  /** The first 1 KiB of the error message. */
  error_message?: string;
  /** Fingerprint of the failure: its code, else its type, else its message without numbers. */
  error_pattern?: string;
  /** Changes with every change of the case. An update with If-Match is refused if it has changed. */
  etag?: string;
  /** Name of the failed step that stops the task. */
  failed_step?: string;
  /** Handler of that step. */
  handler?: string;
  last_occurred_at: Timestamp;
  last_replayed_at?: Timestamp;
  last_replayed_by?: string;
  last_replayed_by_key?: string;
  metadata?: Record<string, unknown>;
  /** The metadata was omitted because the page would be too long; request the case or a shorter page. */
  metadata_omitted?: boolean;
  namespace: string;
  note_count: number;
  /** All notes, oldest first. Not in lists. */
  notes?: Array<CaseNote>;
  /** Number of occurrences in this case. */
  occurrence_count: number;
  /** The first, the latest and up to 8 occurrences in between, oldest first. Not in lists. */
  occurrences?: Array<CaseOccurrence>;
  original_state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  /** How the task recovered. Absent while it is stuck or when it was cancelled. */
  recovery?: CaseRecovery;
  /** Number of replays while the case was pending. */
  replay_count?: number;
  /** Note of the resolution, or the last note while the case is pending. */
  resolution_notes?: string;
  resolution_status: "pending" | "manually_resolved" | "permanently_failed" | "cancelled";
  resolved_at?: Timestamp;
  resolved_by?: string;
  /** Name of the API key that resolved the case. */
  resolved_by_key?: string;
  /** Whether a retry may help: the failure was retryable, or the time ran out without a failure. */
  retryable: boolean;
  task_name: string;
  /** A CaseSnapshot of the task at the latest occurrence, up to 512 KiB. Not in lists. */
  task_snapshot?: unknown;
  task_uuid: string;
  updated_at: Timestamp;
}

export interface CaseFilter {
  /** Opened at or after this time. */
  after?: Timestamp | Date | null;
  /** Opened before this time. */
  before?: Timestamp | Date | null;
  /** Current state of the task. */
  current_state?: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually" | null;
  dlq_entry_uuids?: Array<string> | null;
  dlq_reason?: "staleness_timeout" | "max_retries_exceeded" | "dependency_cycle_detected" | "worker_unavailable" | "manual_dlq" | null;
  /** A literal part of the error message. */
  error_message?: string | null;
  /** Fingerprint as lists show it. */
  error_pattern?: string | null;
  /** Name of the step. */
  failed_step?: string | null;
  /** Handler of that step. */
  handler?: string | null;
  namespace?: string | null;
  resolution_status?: "pending" | "manually_resolved" | "permanently_failed" | "cancelled" | null;
  /** Template name or task type. */
  task_name?: string | null;
}

export interface CaseNote {
  at: Timestamp;
  author?: string;
  /** Name of the author's API key. */
  author_key?: string;
  no: number;
  text: string;
}

export interface CaseOccurrence {
  cause?: string;
  class?: string;
  dlq_reason: "staleness_timeout" | "max_retries_exceeded" | "dependency_cycle_detected" | "worker_unavailable" | "manual_dlq";
  error_message?: string;
  error_pattern?: string;
  failed_step?: string;
  /** 1 opened the case. Numbers between the first and the latest may be missing, because only some are kept. */
  no: number;
  occurred_at: Timestamp;
  original_state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  /** How the task recovered before it got stuck again. */
  recovery?: CaseRecovery;
  retryable: boolean;
  /** A CaseSnapshot. Absent for the latest occurrence, whose snapshot is that of the case. */
  task_snapshot?: unknown;
}

export interface CaseRecovery {
  at: Timestamp;
  /** The operator, or system. */
  by: string;
  /** Name of the operator's API key. */
  by_key?: string;
  /** Time at which the task ended. */
  finished_at?: Timestamp;
  /** Kind of the act, or the worker that claimed the step. */
  how?: string;
  /** The new state of the task; the last one when it has ended. */
  state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
}

export interface CaseSnapshot {
  context?: unknown;
  correlation_id?: string;
  created_at: Timestamp;
  current_state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  detail?: string;
  detection_time: Timestamp;
  dlq_reason: "staleness_timeout" | "max_retries_exceeded" | "dependency_cycle_detected" | "worker_unavailable" | "manual_dlq";
  namespace: string;
  priority: string | number;
  steps: Array<SnapshotStep>;
  steps_omitted?: number;
  task_age_minutes: number;
  task_name: string;
  task_uuid: string;
  template?: unknown;
  threshold_minutes?: number;
  time_in_state_minutes: number;
  version: string;
}

export interface CaseStats {
  avg_resolution_time_minutes: number | null;
  cancelled: number;
  dlq_reason: "staleness_timeout" | "max_retries_exceeded" | "dependency_cycle_detected" | "worker_unavailable" | "manual_dlq";
  manually_resolved: number;
  newest_entry?: Timestamp;
  oldest_entry?: Timestamp;
  pending: number;
  permanent_failures: number;
  total_entries: number;
}

export interface CaseUpdate {
  /** Expected resolution_status. With any other the update is refused with conflict. */
  expected_state?: "pending" | "manually_resolved" | "permanently_failed" | "cancelled" | null;
  /** Expected etag. If the etag has changed, the act is refused with conflict. Same as the header If-Match. */
  if_match?: string | null;
  /** Object to merge; null removes a member. */
  metadata?: Record<string, unknown> | null;
  /** Make a resolved case pending again. */
  reopen?: boolean | null;
  /** A note to add, with resolved_by as its author. A case has up to 200 notes of 256 KiB in all. */
  resolution_notes?: string | null;
  resolution_status?: "pending" | "manually_resolved" | "permanently_failed" | "cancelled" | null;
  /**
   * Actor of the update and author of the note; required to resolve or reopen. Defaults to the name of the API
   * key.
   */
  resolved_by?: string | null;
}

export interface CaseUpdated {
  dlq_entry_uuid: string;
  message: string;
  success: boolean;
}

export interface Change {
  after?: string;
  before?: string;
  /** JSON pointer into the payload, or key, header NAME, payload. */
  pointer: string;
}

export interface ChangedGroups {
  /** Nothing was changed. */
  dry_run?: boolean;
  results: Array<GroupResult>;
}

export interface Checkpoint {
  /** Size of the value. */
  bytes: number;
  /** Number of the lease under which it was stored; see the attempts of the history. */
  lease: number;
  stored_at: Timestamp;
  /** Left out of lists of steps without results, and where the checkpoints of a task are too large for a page. */
  value?: unknown;
}

export interface Child {
  /** Place among the children of the step, counted from 0. */
  index: number;
  /** Why the child could not be submitted; of a child in error, the first line of its last failure. */
  reason?: string;
  state: "running" | "done" | "error" | "given_up";
  task_uuid?: string;
}

export interface ChildPage {
  children: Array<Child>;
  /** Index at which the next page begins; absent at the end. */
  next?: number;
}

export interface ClearDone {
  /** Identifies this clearing for restore; null for a single job. */
  cleared_at: Timestamp | null;
  /** Jobs that were changed. */
  count: number;
  message: string;
  queue_name: string;
  success: boolean;
}

export interface CompletionData {
  metadata?: Record<string, unknown> | null;
  result: unknown;
}

export interface Content {
  /** In order; a name may repeat. */
  headers?: Array<Header>;
  /** Key of the message, if it is text. */
  key?: string;
  /** Key of the message, if it is not text. */
  key_base64?: string;
  /** Payload, if it is JSON in UTF-8. White space may differ from that of the message. */
  payload?: unknown;
  /** Payload, if it is not JSON. */
  payload_base64?: string;
}

export interface ContextEdit {
  actor: string;
  at: Timestamp;
  /** Version of the resulting context. */
  context_version: number;
  ended_steps?: Array<string>;
  /** The merge patch of the edit, if it used one. */
  merge?: unknown;
  /** Number of the record in the audit trail. */
  no: number;
  /** The previous context. A history contains up to 1 MiB of them, newest first; the audit trail has the others. */
  old_context?: unknown;
  /** The old context was omitted because the response would be too long. */
  old_context_omitted?: boolean;
  reason: string;
  /** Whether the failed steps ran again. */
  replayed: boolean;
}

export interface CordonRequest {
  /** Actor. Defaults to the name of the API key, else to anonymous. */
  cordoned_by?: string | null;
  /** Reason for the act, shown with the worker. Defaults to "no reason given". */
  reason?: string | null;
}

export interface DeadMessage {
  /** Since failed_at. */
  age_seconds: number;
  /** Attempts of consumers, in all. */
  attempt_count: number;
  /** When it was stored. */
  created_at: Timestamp;
  discard_reason: string | null;
  discarded_at: Timestamp | null;
  /** Error of the first or, after a return, the latest death. */
  error: string;
  error_type: string;
  /** What is sent back. Null for more than 1 KiB in a list. */
  event: unknown;
  /** ID of the message, or else UUID of the letter. */
  event_id: string;
  /** From the content of the message; empty if it says none. */
  event_type: string;
  /** When it died first. */
  failed_at: Timestamp;
  /** In their order; not in a list. */
  headers?: Array<MessageHeader>;
  /** Why it could not be sent, or why its policy left it. */
  last_error: string | null;
  last_failed_at: Timestamp;
  /** When it entered its status. */
  last_updated: Timestamp;
  letter_uuid: string;
  /** Of a scheduled message. */
  next_retry_at: Timestamp | null;
  original_topic: string;
  /** It was sent back too often: operations on many leave it out. */
  parked: boolean;
  /** Consumer or producer that reported the failure. */
  producer_id: string;
  /** Of a retried message: the latest time. */
  retried_at: Timestamp | null;
  /** Times that it was sent back. It never goes down. */
  retry_count: number;
  source: string;
  status: "pending" | "scheduled" | "retried" | "discarded";
}

export interface DeadTopic {
  /** Of up to 1,000 messages of each state, the newest. */
  avg_retry_count: number;
  /** Likewise. */
  max_retry_count: number;
  /** When the newest one died last. */
  newest_message: Timestamp | null;
  /** When the oldest one died first. */
  oldest_message: Timestamp | null;
  status_breakdown: MessageCounts;
  topic: string;
  /** In any status. */
  total_messages: number;
}

export interface DeleteLimitRequest {
  /** Of a route: what a worker must have for its steps. None is the route of steps that need none. */
  capabilities?: Array<string> | null;
  /** Who deletes it; defaults to the name of the API key. */
  deleted_by?: string | null;
  handler: string;
  kind: "route" | "handler";
  /** Defaults to the default namespace. */
  namespace?: string | null;
  /** Why; kept in the audit trail. */
  reason?: string | null;
}

export interface DestinationCheck {
  allowed: boolean;
  destination: string;
  exists: boolean;
  letters: number;
  source: string;
}

export interface Detail {
  location?: string;
  message: string;
}

export interface DetectRequest {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  batch_size?: number | null;
  dry_run?: boolean | null;
  /** Reason of the act. */
  reason?: string | null;
}

export interface Detection {
  action_taken: "would_transition_to_dlq_and_error" | "transitioned_to_dlq_and_error" | "moved_to_dlq_only" | "transitioned_to_error_only" | "transition_failed";
  current_state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  moved_to_dlq: boolean;
  namespace_name: string;
  staleness_threshold_minutes: number;
  task_name: string;
  task_uuid: string;
  time_in_state_minutes: number;
  transition_success: boolean;
}

export interface Done {
  /** Jobs that could not be sent; they are still in the queue. */
  failed: number;
  /** Always null. */
  job: unknown;
  message: string;
  /** Jobs that are sent later, since the time of the request was up. */
  pending: number;
  /** The redrives that sent them, with the result of each job. */
  redrive_uuids: Array<string>;
  /** Jobs that were sent back. */
  requeued: number;
  success: boolean;
}

export interface DrainRequest {
  /**
   * Actor. Defaults to the name of the API key, else to anonymous; for a final drain with the permission work, to
   * the worker.
   */
  drained_by?: string | null;
  final?: boolean | null;
  /** Reason for the act. Defaults to "no reason given". */
  reason?: string | null;
}

export interface DrainResponse {
  released: number;
}

export interface Edit {
  /** Removes the headers of these names. */
  drop_headers?: Array<string> | null;
  /** Replaces the key. */
  key?: string | null;
  /** Replaces the key by one that is not text. */
  key_base64?: string | null;
  /**
   * JSON Patch (RFC 6902, an array) or JSON merge patch (RFC 7396, an object) of the payload; of a case, of the
   * context of its task.
   */
  patch?: unknown;
  /** Replaces the headers of these names. */
  set_headers?: Array<Header> | null;
}

export interface EditContextRequest {
  /** The complete new context, any JSON value except null. Either this or merge. */
  context?: unknown;
  /** Actor. Required, but defaults to the name of the API key. */
  edited_by?: string | null;
  /** Expected context_version. With any other the edit is refused with conflict. */
  expected_context_version?: number | null;
  /** A JSON merge patch (RFC 7396) for the context; null removes a member. Either this or context. */
  merge?: unknown;
  /** Leave the task in error instead of running its failed steps again. */
  no_retry?: boolean | null;
  /** Reason for the edit; kept with the task. */
  reason: string;
  /** Give the failed steps all their attempts again. Otherwise they have the attempts left, at least one. */
  reset_retry_count?: boolean | null;
}

export interface EditedContext {
  /** False if the task already had this context; then nothing was stored. */
  changed: boolean;
  /** The new context. */
  context: unknown;
  context_version: number;
  /** Steps that ended earlier. They do not run again, even if they used the old context. */
  ended_steps: Array<string>;
  old_context?: unknown;
  /** Names of the steps that run again. */
  replayed_steps: number;
  state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  task_uuid: string;
}

export interface EnqueueRequest {
  /** At most 1,000 by default. */
  tasks: Array<EnqueueTask>;
}

export interface EnqueueTask {
  correlation_id?: string | null;
  /** Expected duration. Stored and shown only; estimated waits use measurements. */
  estimated_duration_seconds?: number | null;
  /** Unique per namespace for 24 hours. A second submission returns the first task. */
  idempotency_key?: string | null;
  /** Retries after the first attempt. The default depends on the priority. */
  max_retries?: number | null;
  /** Namespace of the handler. Defaults to "default". */
  namespace?: string | null;
  /**
   * Input of the task, any JSON value. Limited to 256 KiB by default; store large data elsewhere and submit a
   * reference.
   */
  parameters?: unknown;
  /** high, medium, low, or an integer level from 0 to 100, higher first. Defaults to medium. */
  priority?: string | number | null;
  /** Capabilities that a worker must have. */
  required_capabilities?: Array<string> | null;
  /** Earliest start. */
  run_at?: Timestamp | Date | null;
  /** Tags of the task. */
  tags?: Array<string> | null;
  /** Handler to run. */
  task_type: string;
  /** Time limit of one attempt. The default depends on the priority. */
  timeout_seconds?: number | null;
  /** W3C trace id, 32 hexadecimal digits. Either this or traceparent. */
  trace_id?: string | null;
  /** W3C trace context. Defaults to the traceparent header of the request. */
  traceparent?: string | null;
  /** Rule by which another task with the same parameters stands for this one. */
  unique?: Unique | null;
  /** Initiator of the task. Limits per user apply to it, within the API key. */
  user_id?: string | null;
}

export interface Error {
  code: "invalid" | "too_large" | "unauthenticated" | "forbidden" | "not_found" | "conflict" | "wrong_state" | "stale_token" | "exhausted" | "unavailable" | "internal";
  details?: Array<Detail>;
  hint?: string;
  message: string;
  /** For a refused item: time to wait before the next try. */
  retry_after_seconds?: number;
}

export interface Event {
  /** Present in events of approvals. */
  approval?: ApprovalEvent;
  at: Timestamp;
  /** Cause of the event: submit, settle, cancelled and so on; for a gap, its reason. */
  cause?: string;
  correlation_id?: string;
  dlq_entry_uuid?: string;
  dlq_reason?: "staleness_timeout" | "max_retries_exceeded" | "dependency_cycle_detected" | "worker_unavailable" | "manual_dlq";
  /** Absent in the initial events of a stream about tasks. */
  from_state?: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  /** Present in events of groups. */
  group?: GroupEvent;
  /** ID to resume after this event, as Last-Event-ID. */
  id: string;
  /** Present in events of dead letters. */
  letters?: LetterEvent;
  /** Name of the task: the template or the task type. */
  name?: string;
  namespace?: string;
  /** Present in events of outages. */
  outage?: OutageEvent;
  /** Present in events of pauses. */
  pause?: PauseEvent;
  priority?: string | number;
  /** Present in queue.stats. */
  queue?: QueueDepth;
  /** Present in events of redrives. */
  redrive?: RedriveEvent;
  /** Present in events of replays. */
  replay?: ReplayEvent;
  resolution_status?: "pending" | "manually_resolved" | "permanently_failed" | "cancelled";
  /** Present in events of schedules. */
  schedule?: ScheduleEvent;
  /** Present in events of sources. */
  source?: SourceEvent;
  tags?: Array<string>;
  task_uuid?: string;
  to_state?: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  type: "task.submitted" | "task.state" | "case.opened" | "case.resolved" | "queue.stats" | "group.new" | "group.regression" | "group.burst" | "group.state" | "redrive.state" | "replay.state" | "source.lost" | "source.found" | "letter.retrying" | "letter.retried" | "letter.discarded" | "outage.opened" | "outage.closed" | "pause.begun" | "pause.ended" | "schedule.fired" | "schedule.missed" | "approval.requested" | "approval.decided" | "stream.open" | "stream.gap" | "stream.alive" | "stream.end";
}

export interface EventLetter {
  letter_uuid: string;
  /** The sender's ID of the message, cut to 128 bytes. */
  message_id?: string;
}

export interface Execution {
  /** Name of the template or of the handler. */
  action_ref: string;
  correlation_id?: string;
  created: Timestamp;
  /** Reason why a part of the stored data cannot be shown; that part is omitted. */
  damage?: string;
  /** Changes with the state and progress of the execution. An act with If-Match is refused if it has changed. */
  etag?: string;
  finished_at?: Timestamp;
  /** UUID of the task. */
  id: string;
  idempotency_key?: string;
  initiator?: string;
  max_retries: number;
  namespace: string;
  next_retry_at?: Timestamp;
  parameters?: unknown;
  priority: string | number;
  /**
   * Result of the handler; for several steps, an object by step name. Of an execution that failed: an object with
   * error, message, code, worker and expired_at, as far as they are known. Null until there is one.
   */
  result: unknown;
  retry_count: number;
  /** Why it was last tried again; absent if it was not. */
  retry_reason?: "worker_unavailable" | "queue_timeout" | "worker_heartbeat_stale" | "transient_error" | "manual_retry" | "unknown";
  /** Start of the last attempt. */
  started_at?: Timestamp;
  /** State of the task; status is a simplified form of it. */
  state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  status: "requested" | "scheduling" | "scheduled" | "running" | "completed" | "failed" | "canceling" | "cancelled" | "timeout" | "abandoned";
  /** Name of the worker that holds it. */
  worker?: string;
  worker_id?: string;
}

export interface ExecutionCancel {
  /** Actor. Defaults to the name of the API key, else to anonymous. */
  cancelled_by?: string | null;
  /** Reason for the act. Defaults to "no reason given". */
  reason?: string | null;
}

export interface ExecutionChange {
  action_ref?: string;
  at: Timestamp;
  /** Cause of the event; for a gap, its reason. */
  cause?: string;
  execution_id?: string;
  /** ID to resume after this event, as Last-Event-ID. */
  id: string;
  namespace?: string;
  /** scheduling: a worker can take it, or has it. failed: also timeout and abandoned. */
  status?: "requested" | "scheduling" | "completed" | "failed" | "cancelled";
  type: "execution.created" | "execution.status" | "stream.open" | "stream.gap" | "stream.alive" | "stream.end";
}

export interface ExecutionPage {
  executions: Array<ListedExecution>;
  /** cursor of the next page; absent on the last page. */
  next_cursor?: string;
}

export interface ExecutionRequest {
  /** Action to run: the last registered version of the template of this name, else the handler of this name. */
  action_ref: string;
  correlation_id?: string | null;
  /** Unique per namespace for 24 hours. A second request returns the first execution. */
  idempotency_key?: string | null;
  /** Person or system that requests the execution. */
  initiator?: string | null;
  /** Retries after the first attempt; only for a handler. The default depends on the priority. */
  max_retries?: number | null;
  /** Namespace of the action. Defaults to "default". */
  namespace?: string | null;
  /** Input of the action, any JSON value. Limited to 256 KiB by default. */
  parameters?: unknown;
  /**
   * high, medium, low, or an integer level from 0 to 100, higher first. Defaults to the priority of the template,
   * else medium.
   */
  priority?: string | number | null;
  /** Capabilities that a worker must have; only for a handler. */
  required_capabilities?: Array<string> | null;
  /** Earliest start. */
  run_at?: Timestamp | Date | null;
  /** Time limit of one attempt; only for a handler. The default depends on the priority. */
  timeout_seconds?: number | null;
}

export interface ExecutionRetry {
  /** Reason for the act. Defaults to "no reason given". */
  reason?: string | null;
  /** Give the failed steps all their attempts again. Otherwise they have the attempts left, at least one. */
  reset_retry_count?: boolean | null;
  /** Actor. Defaults to the name of the API key, else to anonymous. */
  retried_by?: string | null;
}

export interface ExecutionStats {
  at: Timestamp;
  /** Whether scheduling is a lower bound (one million). */
  capped: boolean;
  completed_last_minute: number;
  failed_last_minute: number;
  /** Longest wait for a worker; null if nothing waits. */
  oldest_age_seconds: number | null;
  running: number;
  /** Assigned to a worker that has not started them. */
  scheduled: number;
  /** Ready for a worker. Steps are counted, here and below. */
  scheduling: number;
}

export interface ExpiredCount {
  action_ref?: string;
  count: number;
  last_expired_at: Timestamp;
  namespace?: string;
  worker?: string;
  worker_id?: string;
}

export interface ExpiredInHour {
  count: number;
  /** Its beginning, in UTC. */
  hour: Timestamp;
}

export interface ExpiredReport {
  /** By action, the most first. */
  actions: Array<ExpiredCount>;
  /** Whether older ones are left out, because there are more than 10,000 combinations of hour, worker and action. */
  capped: boolean;
  /** By hour, the latest first; hours without any are left out. */
  hours: Array<ExpiredInHour>;
  since: Timestamp;
  total: number;
  /** By worker, the most first. */
  workers: Array<ExpiredCount>;
}

export interface Explanation {
  /** One sentence for each time limit of the task, with its reason. */
  limits?: Array<string>;
  /** One sentence on the message of a broker that the task was made of; empty for a task that was submitted. */
  origin?: string;
  state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  /** One entry per step that is unsettled or failed. */
  steps?: Array<StepExplanation>;
  /** One sentence. */
  summary: string;
  task_uuid: string;
  /** One sentence on the unique key of the task; empty without one. */
  unique?: string;
}

export interface FailedTask {
  /** ID of the case, called dlq_entry_uuid elsewhere. */
  case_id: string;
  /** Detailed cause of the failure. */
  cause?: string;
  created_at: Timestamp;
  /** Reason why a part of the stored data cannot be shown; that part is omitted. */
  damage?: string;
  /** The first 1 KiB of the error message. */
  error_message?: string;
  /** Fingerprint of the latest failure: its code, else its type, else its message without numbers. */
  error_pattern?: string;
  /** Name of the failed step that stops the task. */
  failed_step?: string;
  failure_reason: "staleness_timeout" | "max_retries_exceeded" | "dependency_cycle_detected" | "worker_unavailable" | "manual_dlq";
  /** Time of the last failed attempt of the failed step, including replays. */
  last_error?: Failure;
  last_failure_at?: Timestamp;
  last_occurred_at: Timestamp;
  last_replayed_at?: Timestamp;
  last_replayed_by?: string;
  last_replayed_by_key?: string;
  moved_to_dlq_at: Timestamp;
  namespace: string;
  /** Number of occurrences of the case. */
  occurrence_count: number;
  priority: string | number;
  replay_count: number;
  resolution_status: "pending" | "manually_resolved" | "permanently_failed" | "cancelled";
  /** Retries of the last failed step. */
  retry_count: number;
  /** Whether a retry may help: the failure was retryable, or the time ran out without a failure. */
  retryable: boolean;
  /** Current priority. */
  state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  task_id: string;
  /** Name of the task: the task type or the template. */
  task_type: string;
}

export interface FailedTaskPage {
  next_cursor?: string;
  tasks: Array<FailedTask>;
  /** Whether there are more. */
  total_capped?: boolean;
  /** Total of all pages, counted up to 10,000. */
  total_count: number;
}

export interface Failure {
  /**
   * Class of the failure; limits the retries. Defaults to logic if retryable is false, else to the class of the
   * code or error_type, else to transient.
   */
  class?: "transient" | "resource" | "logic" | "worker" | null;
  /** The application's own code. */
  code?: string | null;
  details?: unknown;
  /** Class of the error. */
  error_type?: string | null;
  http_status?: number | null;
  /** Truncated to 8 KiB. */
  message: string;
  /** Truncated to 8 KiB. */
  response_body?: string | null;
  /** Earliest next attempt, from a Retry-After header. */
  retry_after_seconds?: number | null;
  /** False fails the step permanently. Defaults to true. */
  retryable?: boolean | null;
  /** Truncated to 32 KiB. */
  stack_trace?: string | null;
}

export interface FailureAlarm {
  count: number;
  /** The new fingerprint. */
  error_pattern?: string;
  failure_reason?: "staleness_timeout" | "max_retries_exceeded" | "dependency_cycle_detected" | "worker_unavailable" | "manual_dlq";
  kind: string;
  message: string;
  /** The new fingerprint. */
  namespace?: string;
}

export interface FailureOfQueue {
  class?: "transient" | "resource" | "logic" | "worker" | null;
  /** The application's own code. */
  code?: string | null;
  details?: unknown;
  /** Class of the error. */
  error_type?: string | null;
  /** Another name of error_type. */
  failure_reason?: string | null;
  /** Truncated to 8 KiB. */
  message: string;
  /** Another spelling of retryable. */
  retriable?: boolean | null;
  retry_after_seconds?: number | null;
  /** False fails the task permanently. Defaults to true. */
  retryable?: boolean | null;
}

export interface FailureReport {
  alarms: Array<FailureAlarm>;
  analyzed_at: Timestamp;
  /** Most frequent first; at most 200. */
  patterns: Array<FingerprintCount>;
  /** Most frequent first. */
  reasons: Array<ReasonCount>;
  /** Number of these that are pending, in error and retryable. */
  replayable_count: number;
  /** Start of the analysed period. */
  since: Timestamp;
  total_count: number;
}

export interface Fingerprint {
  error_type?: string;
  /** Top frame of the application's own code. */
  frame?: string;
  /** First line of the message, with marks for the parts that vary. */
  message?: string;
  /** Rule that decided. */
  rule?: string;
  /** Version of the rules by which the parts were derived. */
  version: number;
  /** Handler or source. */
  where?: string;
}

export interface FingerprintCount {
  count: number;
  /** Empty if there was no failure. */
  error_pattern: string;
  failure_reason: "staleness_timeout" | "max_retries_exceeded" | "dependency_cycle_detected" | "worker_unavailable" | "manual_dlq";
  first_at: Timestamp;
  last_at: Timestamp;
  namespace: string;
  /** Not seen by any analysis in the last 30 days. */
  new?: boolean;
  replayable_count: number;
}

export interface Firing {
  /** Why the task was refused. */
  error?: string;
  /** Why there is a firing: time, missed, run or backfill. */
  kind: string;
  /** waiting (for a task of an earlier firing), running, ended or refused. */
  state: string;
  submitted_at?: Timestamp;
  /** Of the task now, or when it was deleted. */
  task_state?: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  task_uuid?: string;
  time: Timestamp;
}

export interface FiringHistory {
  /** Of the next page; missing on the last one. */
  cursor?: string;
  firings: Array<Firing>;
  skips: Array<FiringSkip>;
}

export interface FiringSkip {
  first: Timestamp;
  last: Timestamp;
  /** There are more than were counted. */
  more?: boolean;
  /** missed, overlap or paused. */
  reason: string;
  times: number;
}

export interface Fleet {
  /** cursor of the next page. Even a short or empty page may have one. */
  next_cursor?: string;
  workers: Array<FleetWorker>;
}

export interface FleetWorker {
  capabilities?: Array<string>;
  /** Most tasks at a time; 0: no limit. */
  capacity: number;
  cordon_reason?: string;
  /** An operator has stopped handing tasks to it. */
  cordoned: boolean;
  cordoned_at?: Timestamp;
  cordoned_by?: string;
  /** Tasks at its last heartbeat. */
  current_load: number;
  drain_reason?: string;
  drained_at?: Timestamp;
  /** Operator who has drained it; it gets no more tasks until it is resumed. */
  drained_by?: string;
  /** It drains because its heartbeat said so; the first one that does not ends that. */
  drains_itself?: boolean;
  /** healthy, degraded or unhealthy, as the answering node sees it. */
  health: string;
  /** Why it is not healthy. */
  health_reasons?: Array<string>;
  host?: string;
  id: string;
  last_heartbeat: Timestamp;
  name: string;
  /** Namespaces that it serves; *: all. */
  namespaces?: Array<string>;
  /** Always action: a worker that runs tasks. */
  role: string;
  /**
   * busy: it runs something. inactive: it drains, has signed off, or was lost. error: its health probes fail, or
   * its circuit breaker is open.
   */
  status: "active" | "busy" | "inactive" | "error";
  /** Task types that it runs; all if absent. */
  task_types?: Array<string>;
  /** http: it polls. amqp: it gets its tasks from a queue of its own. */
  transport: string;
  version?: string;
}

export interface Group {
  due_at?: Timestamp;
  /**
   * Changes with its state, owner, runbook, due time and ignoring; a note alone leaves it. A change with If-Match
   * is refused if it has changed.
   */
  etag?: string;
  /** In all. */
  failures: number;
  fingerprint: Fingerprint;
  first_at: Timestamp;
  /** 16 hexadecimal digits. */
  group_id: string;
  /** Failures by the hour: of 24 hours in a list, of 14 days for one group. Hours without any are left out. */
  hours?: Array<Hour>;
  ignore?: Ignore;
  last_at: Timestamp;
  /** Mean time from opening to resolution. */
  mean_open_seconds?: number;
  /** Group that shows its failures as its own. */
  merged_into?: string;
  namespace: string;
  note_count: number;
  open_cases: number;
  open_letters: number;
  owner?: string;
  /** It was resolved, and has failed since. */
  regression?: boolean;
  regressions?: number;
  /** Last time. */
  resolved_at?: Timestamp;
  /** Version that is said to fix it. */
  resolved_in?: string;
  /** URL. */
  runbook?: string;
  state: "open" | "acknowledged" | "resolved" | "ignored";
  /** When it entered the state. */
  state_at: Timestamp;
  title: string;
}

export interface GroupChange {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  due_at?: Timestamp | Date | null;
  /** Expected ETag of the object, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Bounds, with state ignored. Without any, the group is ignored until an operator changes that. */
  ignore?: Ignore | null;
  /** Removes the due time. */
  no_due_at?: boolean | null;
  /** Added to the thread. */
  note?: string | null;
  /** Empty removes the owner. */
  owner?: string | null;
  /** Reason of the act. */
  reason?: string | null;
  /** Version that fixes it, with state resolved. */
  resolved_in?: string | null;
  /** URL; empty removes it. */
  runbook?: string | null;
  state?: "open" | "acknowledged" | "resolved" | "ignored" | null;
}

export interface GroupEvent {
  /** In all. */
  failures: number;
  from_state?: string;
  /** 16 hexadecimal digits. */
  group_id: string;
  state: string;
  /** Of a burst: failures of the current clock hour. */
  this_hour?: number;
  /** Cut to 300 bytes. */
  title: string;
  /** Of a burst: mean number of failures in an hour of the day before. */
  usual_per_hour?: number;
  /** Handler or source. */
  where?: string;
}

export interface GroupPage {
  groups: Array<Group>;
  /** Mean time from opening to resolution, of all groups of the namespace. */
  mean_open_seconds?: number;
  /** Start of the next page; missing at the end. */
  next_cursor?: string;
  /** How often groups of the namespace were resolved. */
  resolutions: number;
}

export interface GroupResult {
  /** Why it was not changed. */
  error?: Error;
  group_id: string;
  /** After the change. */
  state?: "open" | "acknowledged" | "resolved" | "ignored";
  title?: string;
}

export interface GroupSelection {
  namespace?: string | null;
  /** Only groups with open letters or pending cases. */
  open_only?: boolean | null;
  owner?: string | null;
  state?: "open" | "acknowledged" | "resolved" | "ignored" | null;
  /** Literal part of the title. */
  text?: string | null;
  /** Handler or source. */
  where?: string | null;
}

export interface GroupStory {
  due_at?: Timestamp;
  /**
   * Changes with its state, owner, runbook, due time and ignoring; a note alone leaves it. A change with If-Match
   * is refused if it has changed.
   */
  etag?: string;
  /** In all. */
  failures: number;
  fingerprint: Fingerprint;
  first_at: Timestamp;
  /** 16 hexadecimal digits. */
  group_id: string;
  /** Failures by the hour: of 24 hours in a list, of 14 days for one group. Hours without any are left out. */
  hours?: Array<Hour>;
  ignore?: Ignore;
  last_at: Timestamp;
  /** Mean time from opening to resolution. */
  mean_open_seconds?: number;
  /** Groups that are merged into it. */
  merged?: Array<Group>;
  /** Group that shows its failures as its own. */
  merged_into?: string;
  namespace: string;
  note_count: number;
  /** Its thread, the latest first. */
  notes: Array<Note>;
  open_cases: number;
  open_letters: number;
  owner?: string;
  /** It was resolved, and has failed since. */
  regression?: boolean;
  regressions?: number;
  /** Last time. */
  resolved_at?: Timestamp;
  /** Version that is said to fix it. */
  resolved_in?: string;
  /** URL. */
  runbook?: string;
  /** A recent letter. Needs the permission dead-letters:read. */
  sample?: Letter;
  state: "open" | "acknowledged" | "resolved" | "ignored";
  /** When it entered the state. */
  state_at: Timestamp;
  title: string;
  /** The parts of its fingerprint, and the texts they were derived from. */
  why?: Array<Part>;
}

export interface GroupsChange {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  /** Changes nothing, and answers which groups would be changed. */
  dry_run?: boolean | null;
  due_at?: Timestamp | Date | null;
  /** Changes the groups that the list with this filter shows, at most 1,000. */
  filter?: GroupSelection | null;
  /** Groups to change, instead of a filter. */
  groups?: Array<string> | null;
  /** Expected ETag of the object, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Bounds, with state ignored. Without any, the group is ignored until an operator changes that. */
  ignore?: Ignore | null;
  /** Removes the due time. */
  no_due_at?: boolean | null;
  /** Added to the thread. */
  note?: string | null;
  /** Empty removes the owner. */
  owner?: string | null;
  /** Reason of the act. */
  reason?: string | null;
  /** Version that fixes it, with state resolved. */
  resolved_in?: string | null;
  /** URL; empty removes it. */
  runbook?: string | null;
  state?: "open" | "acknowledged" | "resolved" | "ignored" | null;
}

export interface Header {
  name: string;
  /** Value, if it is text. */
  value?: string | null;
  /** Value, if it is not text. */
  value_base64?: string | null;
}

export interface HealthBody {
  status: "live" | "ready";
}

export interface Heartbeat {
  current_load?: number | null;
  health?: Record<string, number> | null;
  /** active or draining. */
  status?: string | null;
  /**
   * Leases to renew. If absent, all leases of the worker are renewed; an empty list renews none, so that lost
   * leases expire.
   */
  steps?: Array<LeaseRef> | null;
}

export interface HeartbeatResponse {
  acknowledged: boolean;
  /**
   * open: the last attempts of the worker all failed, and it gets no steps. half_open: it gets a few attempts as
   * a test.
   */
  circuit_breaker?: "open" | "half_open";
  /** End of this state if nothing else happens. */
  circuit_breaker_until?: Timestamp;
  leases?: Array<LeaseAnswer>;
  should_drain: boolean;
}

export interface Hour {
  /** Beginning of the hour. */
  at: Timestamp;
  failures: number;
}

export interface Ignore {
  /** Number of failures from now on. */
  count?: number | null;
  /** Number of failures within a clock hour. */
  per_hour?: number | null;
  /** Time in the future. */
  until?: Timestamp | null;
}

export interface Intake {
  /** Value. */
  correlation_id?: string | null;
  /** Value: wait before the task may run; a constant such as 30s, or seconds in the message. At most 30 days. */
  delay?: string | null;
  /**
   * Value, no constant: messages with one key are one task. Defaults to the identity of the message on its
   * broker.
   */
  idempotency_key?: string | null;
  /** Context of the task: the payload, which must be JSON, or an object around any payload. Defaults to payload. */
  input?: "payload" | "message" | null;
  /** Highest level of a task; a higher one of a message becomes this. */
  max_priority?: string | null;
  /** With task_type only. Defaults to that of the priority. */
  max_retries?: number | null;
  /** Lowest level of a task; a lower one of a message becomes this. */
  min_priority?: string | null;
  on_failure?: IntakeFailure | null;
  /**
   * Value, such as message:key: tasks of messages with one key run one at a time, in the order of the messages.
   * Defaults to no order.
   */
  ordering_key?: string | null;
  /** Value: name or number of a level. Defaults to the template's, else medium. */
  priority?: string | null;
  /** Tags of each task. */
  tags?: Array<string> | null;
  /** Value: handler of the task. Either this or template is given. */
  task_type?: string | null;
  /** Value: template of the task. */
  template?: string | null;
  /** Constant. Defaults to the newest version. */
  template_version?: string | null;
  /** With task_type only. Defaults to that of the priority. */
  timeout_seconds?: number | null;
}

export interface IntakeFailure {
  /** Queue of the same broker that gets a message of the format job_failure. Defaults to none. */
  write?: string | null;
}

export interface IntakePreview {
  refusal?: IntakeRefusal;
  task?: IntakeTask;
}

export interface IntakeRefusal {
  code: string;
  reason: string;
}

export interface IntakeTask {
  context_bytes: number;
  correlation_id?: string;
  delay_seconds?: number;
  /** Empty where the broker gives an identity only to a message that is received. */
  idempotency_key?: string;
  /** The name of the source, a slash, and the key; a hash instead of a key that is no text. */
  ordering_key?: string;
  /** As the message has it, within the bounds; empty for the default. */
  priority?: string;
  task_type?: string;
  template?: string;
}

export interface Item {
  /** Time of the state. */
  at?: Timestamp;
  /** Group in which it came back. */
  group_id?: string;
  /** Letter or case. */
  id: string;
  kind: "letter" | "case";
  /** Why it failed, was skipped, or is unknown. */
  message?: string;
  /** Items are numbered in the order in which they are sent. */
  no: number;
  state: "pending" | "sending" | "unknown" | "sent" | "returned" | "completed" | "failed" | "skipped";
  /** A try had no answer: what was sent may be there twice, under the same number; what failed may be there once. */
  uncertain?: boolean;
  wave?: number;
}

export interface ItemCounts {
  completed: number;
  failed: number;
  pending: number;
  returned: number;
  sending: number;
  sent: number;
  skipped: number;
  /**
   * Among the others: a try had no answer. What was sent may be there twice, under the same number; what failed
   * may be there once.
   */
  uncertain: number;
  /** They may have arrived, or not, and are sent again under the same numbers until that is known. */
  unknown: number;
}

export interface ItemPage {
  items: Array<Item>;
  /** Start of the next page; missing at the end. */
  next_cursor?: string;
}

export interface Job {
  /** Attempts of its consumers, in all. */
  attempt_count: number;
  /** State of the system when the job failed; or null. */
  context: unknown;
  /** Last error message. */
  error: string;
  error_type: string | null;
  first_failed_at: Timestamp;
  http_status: number | null;
  /** UUID of the dead letter: by it one job is requeued, moved, discarded or restored. */
  job_id: string;
  last_failed_at: Timestamp;
  /** The job. One that is no JSON is a string, and one that is no text an object with its base64. */
  original_job: unknown;
  /** It was sent back too often: requeue-all leaves it out. */
  parked: boolean;
  /** Queue that the job came from. */
  queue_name: string;
  /** Times that it was sent back. */
  requeue_count: number;
  /** At most 2,048 bytes. */
  response_body: string | null;
  /** List of the delays between the attempts, in seconds; or null. */
  retry_delays: unknown;
  /** At most 4,096 bytes. */
  stack_trace: string | null;
  /** scheduled: a policy sends it back. */
  state: "open" | "scheduled";
}

export interface LargeResult {
  /** Size of the JSON document. */
  bytes: number;
  /** SHA-256 of the document, in hexadecimal. */
  sha256: string;
}

export interface LargeResultReceipt {
  /** Size of the JSON document. */
  bytes: number;
  /** Name of the result in the call that settles the step, as large_result. */
  large_result: string;
  /** SHA-256 of the document, in hexadecimal. */
  sha256: string;
}

export interface LeaseAnswer {
  deadline_at?: Timestamp;
  error?: Error;
  lease_expires_at?: Timestamp;
  /**
   * held: continue. cancelled: the task was cancelled, stop. lost: the step is settled or another worker has it,
   * stop and do not report.
   */
  status: "held" | "cancelled" | "lost";
  step_uuid: string;
}

export interface LeaseList {
  leases: Array<LeaseAnswer>;
}

export interface LeaseRef {
  step_uuid: string;
  /** Token of the step's lease. */
  token: string;
}

export interface Letter {
  /** Attempts of its consumers, in all. */
  attempts: number;
  captured_at: Timestamp;
  /** An early version has kept only the beginning of the payload: the letter can be neither edited nor sent back. */
  cut?: boolean;
  /** When a policy sends it back. */
  due_at?: Timestamp;
  /** What is sent instead of the original. */
  edited?: Content;
  /** Changes with every change of the letter. An act with If-Match is refused if it has changed. */
  etag?: string;
  /** Of its latest occurrence. */
  failure: LetterFailure;
  /** When it died first, as its message says. */
  first_at: Timestamp;
  /** Convention in which the message told of its failure; http for a report, raw if none was recognised. */
  format?: string;
  /** Group of its latest occurrence: 16 hexadecimal digits. */
  group_id: string;
  /** Consumer that failed. */
  handler?: string;
  /** When it died last, as its message says. */
  last_at: Timestamp;
  letter_uuid: string;
  /** How often the letters that it continues were sent back. Bounds on replays count it. */
  lineage?: number;
  /**
   * Why: it carries the headers of a send of that letter and is another message; it has the same message ID; or
   * it was sent as that letter without a confirmation, while an equal message died.
   */
  linked_by?: "copied_header" | "same_id" | "same_content";
  /** Letter that it resembles. */
  linked_uuid?: string;
  message_id?: string;
  namespace: string;
  /** How often it died. */
  occurrences: number;
  /** Queue or topic that its consumer took it from. */
  origin?: string;
  original: Content;
  /** It was sent back too often: no redrive takes it unless told to. */
  parked?: boolean;
  /** The payload is above 1 KiB and was left out of the list: the letter by its UUID has it. */
  payload_omitted?: boolean;
  /** Place of the message on its broker. */
  position?: string;
  /** When it will be deleted. Open letters never are. */
  purge_at?: Timestamp;
  /** Why it was discarded, or left to an operator. */
  reason?: string;
  /** Redrive that holds it, or held it last. */
  redrive_uuid?: string;
  /** How often it was sent back. */
  replays: number;
  /** Size of the payload. Of a letter that is cut: before that. */
  size_bytes: number;
  source: string;
  state: "open" | "scheduled" | "redriving" | "redriven" | "discarded";
  /** When it entered the state. */
  state_at: Timestamp;
  /** Why the message could not be decoded. */
  undecoded?: string;
  /** The outcome of its last send is not known: it may have arrived, or not. */
  unknown?: boolean;
}

export interface LetterEdit {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  /** Drop the edited form, so that the original is sent. Excludes the other fields of the edit. */
  clear?: boolean | null;
  /** Removes the headers of these names. */
  drop_headers?: Array<string> | null;
  /** Expected ETag of the object, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Replaces the key. */
  key?: string | null;
  /** Replaces the key by one that is not text. */
  key_base64?: string | null;
  /**
   * JSON Patch (RFC 6902, an array) or JSON merge patch (RFC 7396, an object) of the payload; of a case, of the
   * context of its task.
   */
  patch?: unknown;
  /** Reason of the act. */
  reason?: string | null;
  /** Replaces the headers of these names. */
  set_headers?: Array<Header> | null;
}

export interface LetterEvent {
  /** Number of letters. */
  count: number;
  /** The first of them, 10 at most. */
  first: Array<EventLetter>;
  /** Of letter.discarded: why. */
  kind?: "max_retries" | "max_age" | "test_event" | "manual";
  /** Queue or topic that the letters came from. */
  origin?: string;
  /** Reason or error of the first letter. */
  reason?: string;
  /** Of letter.retried. A failed one is open or scheduled again. */
  result?: "sent" | "failed";
  source: string;
}

export interface LetterFailure {
  /** Class of the failure. */
  class?: "transient" | "resource" | "logic" | "worker" | null;
  /** The application's own code. */
  code?: string | null;
  /** Class of the error. */
  error_type?: string | null;
  /** Truncated to 4 KiB. */
  message: string;
  /** False if a retry cannot help. Defaults to true. */
  retryable?: boolean | null;
  /** Truncated to 16 KiB. Missing in a list. */
  stack_trace?: string | null;
}

export interface LetterPage {
  /** Without payloads above 1 KiB, headers, edited contents and stack traces, which a letter by its UUID has. */
  letters: Array<Letter>;
  /** Start of the next page; missing at the end. A page may be short, or empty, and have a next one. */
  next_cursor?: string;
}

export interface LetterStory {
  /** Attempts of its consumers, in all. */
  attempts: number;
  captured_at: Timestamp;
  /** An early version has kept only the beginning of the payload: the letter can be neither edited nor sent back. */
  cut?: boolean;
  /** When a policy sends it back. */
  due_at?: Timestamp;
  /** What is sent instead of the original. */
  edited?: Content;
  /** Changes with every change of the letter. An act with If-Match is refused if it has changed. */
  etag?: string;
  /** Of its latest occurrence. */
  failure: LetterFailure;
  /** When it died first, as its message says. */
  first_at: Timestamp;
  /** Convention in which the message told of its failure; http for a report, raw if none was recognised. */
  format?: string;
  group?: Group;
  /** Group of its latest occurrence: 16 hexadecimal digits. */
  group_id: string;
  /** Consumer that failed. */
  handler?: string;
  /** Its latest occurrences, the latest first. */
  history: Array<Occurrence>;
  /** When it died last, as its message says. */
  last_at: Timestamp;
  letter_uuid: string;
  /** How often the letters that it continues were sent back. Bounds on replays count it. */
  lineage?: number;
  /**
   * Why: it carries the headers of a send of that letter and is another message; it has the same message ID; or
   * it was sent as that letter without a confirmation, while an equal message died.
   */
  linked_by?: "copied_header" | "same_id" | "same_content";
  /** Letter that it resembles. */
  linked_uuid?: string;
  message_id?: string;
  namespace: string;
  /** How often it died. */
  occurrences: number;
  /** Queue or topic that its consumer took it from. */
  origin?: string;
  original: Content;
  /** It was sent back too often: no redrive takes it unless told to. */
  parked?: boolean;
  /** The payload is above 1 KiB and was left out of the list: the letter by its UUID has it. */
  payload_omitted?: boolean;
  /** Place of the message on its broker. */
  position?: string;
  /** When it will be deleted. Open letters never are. */
  purge_at?: Timestamp;
  /** Why it was discarded, or left to an operator. */
  reason?: string;
  /** Redrive that holds it, or held it last. */
  redrive_uuid?: string;
  /** How often it was sent back. */
  replays: number;
  /** Size of the payload. Of a letter that is cut: before that. */
  size_bytes: number;
  source: string;
  state: "open" | "scheduled" | "redriving" | "redriven" | "discarded";
  /** When it entered the state. */
  state_at: Timestamp;
  /** Why the message could not be decoded. */
  undecoded?: string;
  /** The outcome of its last send is not known: it may have arrived, or not. */
  unknown?: boolean;
}

export interface Lifecycle {
  max_duration_minutes?: number;
  max_steps_in_process_minutes?: number;
  max_waiting_for_dependencies_minutes?: number;
  max_waiting_for_retry_minutes?: number;
}

export interface Limit {
  /** Of a route: what a worker must have for its steps. None is the route of steps that need none. */
  capabilities?: Array<string>;
  /** When it was set or changed last. */
  changed_at: Timestamp;
  /** Steps at once, on all nodes; missing without such a limit. */
  concurrency?: number;
  /** When it was deleted; missing while it is in force. */
  deleted_at?: Timestamp;
  handler: string;
  kind: "route" | "handler";
  /** Defaults to the default namespace. */
  namespace?: string;
  /** When the rate lets the next step begin; missing if that is at once. */
  next_at?: Timestamp;
  rate?: Rate;
  reason?: string;
  /** Steps that workers hold at present and that count; 0 without a concurrency. */
  running: number;
  set_at: Timestamp;
  set_by: string;
}

export interface LimitPage {
  /** In the order of namespace, kind and handler. */
  limits: Array<Limit>;
  /** Present if there are more. */
  next_cursor?: string;
}

export interface LimitRequest {
  /** Of a route: what a worker must have for its steps. None is the route of steps that need none. */
  capabilities?: Array<string> | null;
  /** Steps at once, on all nodes; 0 is no limit. */
  concurrency?: number | null;
  handler: string;
  kind: "route" | "handler";
  /** Defaults to the default namespace. */
  namespace?: string | null;
  /** How many steps may begin in a time, on all nodes. */
  rate?: Rate | null;
  /** Why; shown wherever somebody asks why a step waits. */
  reason?: string | null;
  /** Who sets it; defaults to the name of the API key. */
  set_by?: string | null;
}

export interface ListedExecution {
  /** Name of the template or of the handler. */
  action_ref: string;
  correlation_id?: string;
  created: Timestamp;
  /** Reason why a part of the stored data cannot be shown; that part is omitted. */
  damage?: string;
  finished_at?: Timestamp;
  /** UUID of the task. */
  id: string;
  idempotency_key?: string;
  initiator?: string;
  max_retries: number;
  namespace: string;
  next_retry_at?: Timestamp;
  priority: string | number;
  retry_count: number;
  /** Start of the last attempt. */
  started_at?: Timestamp;
  /** State of the task; status is a simplified form of it. */
  state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  status: "requested" | "scheduling" | "scheduled" | "running" | "completed" | "failed" | "canceling" | "cancelled" | "timeout" | "abandoned";
}

export interface LooseAct {
  no: number;
  /**
   * waiting: it will be sealed within about a second; inserted: it was not stored by Tasker; removed: it was
   * stored and does not exist.
   */
  state: "waiting" | "inserted" | "removed";
}

export interface LooseActs {
  acts: Array<LooseAct>;
  /** Continue above this number; absent at the end. */
  next?: number;
}

export interface MergeRequest {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  groups: Array<string>;
  /** Expected ETag of the object, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Reason of the act. */
  reason?: string | null;
}

export interface MessageAges {
  avg: number;
  max: number;
  min: number;
}

export interface MessageCounts {
  discarded: number;
  pending: number;
  retried: number;
  scheduled: number;
}

export interface MessageDone {
  message: string;
}

export interface MessageHeader {
  name: string;
  value: string;
  value_base64?: string;
}

export interface MessagePage {
  limit: number;
  /** The newest first. */
  messages: Array<DeadMessage>;
  offset: number;
  /** Messages that the filter selects, up to 1,000,000 for each state. */
  total: number;
}

export interface MessageRetry {
  /** Defaults to the API key. */
  actor?: string | null;
  /** IDs of messages, or UUIDs of letters. */
  event_ids: Array<string>;
  /** Defaults to that of the key. */
  namespace?: string | null;
  /** Reason of the act. */
  reason?: string | null;
  /** Only messages of this source. */
  source?: string | null;
}

export interface MessageRetryAnswer {
  /** One for each ID, in their order. */
  details: Array<MessageRetryDetail>;
  failed: number;
  /** Messages that are sent after the answer. */
  pending: number;
  successful: number;
  total: number;
}

export interface MessageRetryDetail {
  /** Of a failed one. */
  error?: string;
  event_id: string;
  status: "success" | "failed" | "pending";
}

export interface MessageStats {
  /** Of pending and scheduled messages, in seconds. */
  age_stats: MessageAges;
  /** The ten types with the most messages. */
  by_event_type: Array<TypeCount>;
  by_status: MessageCounts;
  /** The ten topics with the most messages. */
  by_topic: Array<TopicCount>;
  timestamp: Timestamp;
}

export interface Note {
  actor?: string;
  at: Timestamp;
  /** Name of the API key of the request. */
  key_name?: string;
  /** note, or the act that it reports. */
  kind: string;
  no: number;
  text?: string;
}

export interface Nothing {
}

export interface Occurrence {
  at: Timestamp;
  attempts: number;
  failure: LetterFailure;
  group_id: string;
  handler?: string;
  no: number;
  origin?: string;
  /** What died, where it differs from what was sent. */
  payload?: unknown;
  /** The same, if it is not JSON. */
  payload_base64?: string;
  position?: string;
  /** Redrive after which it came back. */
  redrive_uuid?: string;
}

export interface OpenCaseRequest {
  /** An object. */
  metadata?: Record<string, unknown> | null;
  /** Actor. Required, but defaults to the name of the API key. */
  opened_by?: string | null;
  /** The reason in words. */
  reason: string;
}

export interface Outage {
  /** What a worker needs for the steps of the route. */
  capabilities?: Array<string>;
  close_reason?: string;
  closed_at?: Timestamp;
  /** Who closed it; system after a probe that succeeded. */
  closed_by?: string;
  /** Changes with every change of the outage. */
  etag: string;
  /** Failures that opened it, less the successes between them. */
  failures: number;
  /** Group of the inbox to which failures for good with this fingerprint belong. It exists once there is one. */
  group_id: string;
  handler: string;
  /** How the last probe ended: no_step if none was ready, lost if it was given back or its worker died. */
  last_probe?: "succeeded" | "failed" | "no_step" | "lost";
  /** When it ended. */
  last_probe_at?: Timestamp;
  namespace: string;
  /** When the next step is let through; a time in the past waits for a worker, or for the end of a pause. */
  next_probe_at?: Timestamp;
  opened_at: Timestamp;
  outage_uuid: string;
  /** The step that is let through now. */
  probe?: Probe;
  /** Steps that were let through. */
  probes: number;
  /** When these failures began. */
  since: Timestamp;
  /** Attempts that failed with the fingerprint while it was open, and were not charged. */
  spared: number;
  state: "open" | "closed";
  /** The fingerprint, for people. */
  title?: string;
}

export interface OutageCloseRequest {
  /** Who closes it; defaults to the name of the API key. */
  closed_by?: string | null;
  /** Expected ETag of the outage, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Why; kept with the outage and in the audit trail. */
  reason?: string | null;
}

export interface OutageEvent {
  capabilities?: Array<string>;
  /** Who closed it; system after a probe that succeeded. */
  closed_by?: string;
  /** Failures that opened it. */
  failures: number;
  /** Group of the inbox to which failures for good with its fingerprint belong. */
  group_id: string;
  handler: string;
  opened_at: Timestamp;
  outage_uuid: string;
  /** Steps that were let through until it was closed. */
  probes?: number;
  /** Attempts that failed meanwhile and were not charged. */
  spared?: number;
  /** The fingerprint, for people. */
  title?: string;
}

export interface OutagePage {
  /** Present if there are more. */
  next_cursor?: string;
  /** The newest first. */
  outages: Array<Outage>;
}

export interface Oversized {
  /** Position on the broker of the message that was found first; a hash of it where the broker has no positions. */
  first_position: string;
  /** Key, headers and payload of the largest message. */
  largest_bytes: number;
  /** Number of messages, up to 1,000: at that many the source waits. */
  messages: number;
  /** When the first one was found. */
  since: Timestamp;
}

export interface Page {
  /** The oldest first. */
  items: Array<Job>;
  pagination: Pagination;
  queue_name: string;
}

export interface Pagination {
  has_more: boolean;
  limit: number;
  offset: number;
  /** Jobs in the queue, up to 1,000,000. */
  total: number;
  /** Whether there are more. */
  total_capped?: boolean;
}

export interface Part {
  from?: string;
  name: string;
  value: string;
}

export interface Pause {
  /** Of a route: what a worker must have for its steps. None is the route of steps that need none. */
  capabilities?: Array<string>;
  /** When it was resumed; missing while it is in force. */
  ended_at?: Timestamp;
  /** Of a route or a handler. */
  handler?: string;
  kind: "route" | "handler" | "template" | "namespace";
  /** Defaults to the default namespace. */
  namespace?: string;
  paused_at: Timestamp;
  paused_by: string;
  reason?: string;
  /** Of a template; all versions are paused. */
  template?: string;
  /** When the pause ends automatically. */
  until?: Timestamp;
}

export interface PauseEvent {
  /** Of a route. */
  capabilities?: Array<string>;
  /** Who ended it; system when its time was over. */
  ended_by?: string;
  /** Of a handler or a route. */
  handler?: string;
  kind: "route" | "handler" | "template" | "namespace";
  paused_at: Timestamp;
  paused_by: string;
  /** Of a template. */
  template?: string;
  /** When it ends by itself; missing without an end. */
  until?: Timestamp;
}

export interface PausePage {
  /** Present if there are more. */
  next_cursor?: string;
  /** In the order of namespace, kind and name. */
  pauses: Array<Pause>;
}

export interface PauseRequest {
  /** Of a route: what a worker must have for its steps. None is the route of steps that need none. */
  capabilities?: Array<string> | null;
  /** Of a route or a handler. */
  handler?: string | null;
  kind: "route" | "handler" | "template" | "namespace";
  /** Defaults to the default namespace. */
  namespace?: string | null;
  /** Who pauses it; defaults to the name of the API key. */
  paused_by?: string | null;
  /** Why; shown wherever somebody asks why a step waits. */
  reason?: string | null;
  /** Of a template; all versions are paused. */
  template?: string | null;
  /** When the pause ends automatically; it must be in the future. Without, it lasts until it is resumed. */
  until?: Timestamp | Date | null;
}

export interface Plan {
  /**
   * A letter whose send had no answer stays open, as unknown. By default it is sent again under the same number
   * until the outcome is known.
   */
  at_most_once?: boolean | null;
  /** Size of the first wave. Defaults to 10. */
  canary?: number | null;
  /** Each wave is that many times the size of the one before. Defaults to 2. */
  factor?: number | null;
  /** Of cases: failed steps have only the attempts left, at least one. By default they have all attempts again. */
  keep_attempts?: boolean | null;
  /** Size of the largest wave. Defaults to 1000. */
  largest?: number | null;
  /** Items at most: of more, those that died first. 0: all, of at most 1,000,000. */
  limit?: number | null;
  /** Time to watch for returns after each wave. Defaults to 30; in an answer, none if it is missing. */
  observe_seconds?: number | null;
  /** Of cases: new priority of the tasks and their open steps. */
  priority?: string | number | null;
  /** Items per second; 0: no limit. */
  rate?: number | null;
}

export interface Policy {
  /** Wait before the first replay, at most 30 days. Defaults to 60. */
  base_seconds?: number;
  /** Longest wait of strategy exponential, at most 30 days. Defaults to 3600. */
  cap_seconds?: number;
  /**
   * Send a copy of each letter that the policy sends to its destination with -retry behind its name, if that
   * exists.
   */
  copy_retries?: boolean;
  /** Discard letters whose message ID begins with test-, with that reason. */
  discard_test_events?: boolean;
  /** Changes with every change of the policy. Ignored in a request: if_match names the expected one. */
  etag?: string;
  /** Share by which a delay varies in both directions. Defaults to 0. */
  jitter?: number;
  /** Leave letters beyond max_retries or max_age_seconds open, and discard none. */
  keep_exhausted?: boolean;
  /** Letters that died first before that are discarded with that reason. Defaults to no limit. */
  max_age_seconds?: number;
  /** Replays, failed sends included, after which a letter is discarded with that reason. Defaults to 3. */
  max_retries?: number;
  /** Growth of the wait with strategy exponential, 1 to 100. Defaults to 2. */
  multiplier?: number;
  /** Defaults to default. */
  namespace?: string;
  /** Restricts the policy to these error types. */
  only_error_types?: Array<string>;
  /** Defaults to every origin of the source without a policy of its own. */
  origin?: string;
  /** When. Ignored in a request. */
  set_at?: Timestamp;
  /** Who set them. Ignored in a request. */
  set_by?: string;
  /** Where the settings come from. In a request preset is kept, and all else is ignored. */
  set_from?: "operator" | "preset" | "configuration" | "environment" | "default";
  /** Name of a source, or * for all sources of the namespace without a policy of their own. */
  source: string;
  strategy: "manual" | "immediate" | "fixed" | "exponential" | "scheduled";
  /** HH:MM in UTC, with strategy scheduled. Defaults to 00:00. */
  time_of_day?: string;
}

export interface PolicyList {
  policies: Array<Policy>;
}

export interface PolicyRequest {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  /** Wait before the first replay, at most 30 days. Defaults to 60. */
  base_seconds?: number | null;
  /** Longest wait of strategy exponential, at most 30 days. Defaults to 3600. */
  cap_seconds?: number | null;
  /**
   * Send a copy of each letter that the policy sends to its destination with -retry behind its name, if that
   * exists.
   */
  copy_retries?: boolean | null;
  /** Discard letters whose message ID begins with test-, with that reason. */
  discard_test_events?: boolean | null;
  /** Changes with every change of the policy. Ignored in a request: if_match names the expected one. */
  etag?: string | null;
  /** Expected ETag of the object, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Share by which a delay varies in both directions. Defaults to 0. */
  jitter?: number | null;
  /** Leave letters beyond max_retries or max_age_seconds open, and discard none. */
  keep_exhausted?: boolean | null;
  /** Letters that died first before that are discarded with that reason. Defaults to no limit. */
  max_age_seconds?: number | null;
  /** Replays, failed sends included, after which a letter is discarded with that reason. Defaults to 3. */
  max_retries?: number | null;
  /** Growth of the wait with strategy exponential, 1 to 100. Defaults to 2. */
  multiplier?: number | null;
  /** Defaults to default. */
  namespace?: string | null;
  /** Restricts the policy to these error types. */
  only_error_types?: Array<string> | null;
  /** Defaults to every origin of the source without a policy of its own. */
  origin?: string | null;
  /** Reason of the act. */
  reason?: string | null;
  /** When. Ignored in a request. */
  set_at?: Timestamp | Date | null;
  /** Who set them. Ignored in a request. */
  set_by?: string | null;
  /** Where the settings come from. In a request preset is kept, and all else is ignored. */
  set_from?: "operator" | "preset" | "configuration" | "environment" | "default" | null;
  /** Name of a source, or * for all sources of the namespace without a policy of their own. */
  source: string;
  strategy: "manual" | "immediate" | "fixed" | "exponential" | "scheduled";
  /** HH:MM in UTC, with strategy scheduled. Defaults to 00:00. */
  time_of_day?: string | null;
}

export interface PollOfMany {
  /** Maximum number of tasks. Defaults to 1; 0 returns none. */
  available_capacity?: number | null;
  /** The registered capabilities. */
  capabilities: Array<string>;
  /** Return tasks already started; they need no start call. */
  start?: boolean | null;
  /** Maximum wait for tasks (long poll). */
  wait_ms?: number | null;
}

export interface PollOfOne {
  /** Number of concurrent tasks of the worker; 0 returns none. Each poll returns one. */
  capacity?: number | null;
  /** Maximum wait for a task (long poll). */
  wait_ms?: number | null;
  /** The registered capabilities. */
  worker_capabilities: Array<string>;
}

export interface PollRequest {
  /** Maximum number of steps. Defaults to 1. */
  capacity?: number | null;
  /** Claim and start in one call: steps come back in_progress and need no start call. */
  start?: boolean | null;
  /** Maximum wait for steps (long poll). The server limits it. */
  wait_ms?: number | null;
}

export interface PollResponse {
  /**
   * open: the last attempts of the worker all failed, and it gets no steps. half_open: it gets a few attempts as
   * a test.
   */
  circuit_breaker?: "open" | "half_open";
  /** End of this state if nothing else happens. */
  circuit_breaker_until?: Timestamp;
  /** Finish the current work; no more will be assigned. */
  should_drain?: boolean;
  steps: Array<Assignment>;
}

export interface Preview {
  /** There are more than total. */
  capped?: boolean;
  destinations: Array<DestinationCheck>;
  plan: Plan;
  /** What would refuse the operation; missing if it could start. */
  problems?: Array<Detail>;
  /** Up to ten items. */
  samples: Array<PreviewItem>;
  stop: StopRule;
  total: number;
}

export interface PreviewItem {
  /** What the edit changes. */
  changes?: Array<Change>;
  destination?: string;
  id: string;
  kind: "letter" | "case";
  /** Why the edit does not apply to it. */
  problem?: string;
}

export interface Probe {
  since: Timestamp;
  step_uuid: string;
  task_uuid: string;
}

export interface Problem {
  /** Error code for programs. */
  code: "invalid" | "too_large" | "unauthenticated" | "forbidden" | "not_found" | "conflict" | "wrong_state" | "stale_token" | "exhausted" | "unavailable" | "internal";
  /** Explanation of this problem, in one sentence. */
  detail: string;
  /** One entry per problem with its location, at most 50 per body. */
  errors?: Array<Detail>;
  /** Suggested fix. */
  hint?: string;
  /** The HTTP status. */
  status: number;
  /** The code in words; the same for every problem of the code. */
  title: string;
  /** Reference to the explanation of the code, relative to the server. */
  type: string;
}

export interface ProgressReport {
  /**
   * Any JSON value. It replaces the last checkpoint of the step, and the next attempt receives it; null deletes
   * the last one. Left out, it changes nothing.
   */
  checkpoint?: unknown;
  /** Defaults to 0; with a checkpoint and without a status_message, 0 leaves the progress as it is. */
  progress_percent?: number | null;
  status_message?: string | null;
  step_uuid: string;
  /** Token of the step's lease. */
  token: string;
}

export interface Queue {
  /**
   * Jobs: open dead letters, and messages on the broker that are not captured yet. Letters are counted up to
   * 1,000,000.
   */
  count: number;
  /** Whether there are more. */
  count_capped?: boolean;
  /** Queue that a source reads, or the name of a source that programs report to. */
  queue_name: string;
}

export interface QueueAging {
  oldest_queued_task_age_seconds: number | null;
  tasks_waiting_over_threshold: number;
  /** Wait after which the lowest priority is promoted or goes first; null if never. */
  threshold_seconds: number | null;
}

export interface QueueAssignment {
  /** Counted from 1. */
  attempt: number;
  correlation_id?: string;
  /** When the attempt times out, once started. */
  deadline_at?: Timestamp;
  /** Those of them that are kept apart, by step name; see /internal/workers. */
  large_results?: Record<string, LargeResult>;
  max_attempts: number;
  namespace: string;
  parameters?: unknown;
  /** Results of the direct dependencies, by step name. */
  parent_results?: Record<string, unknown>;
  priority_level: number;
  /** assigned or executing. */
  status: "queued" | "assigned" | "executing" | "completed" | "failed" | "cancelled" | "dead_letter";
  /** Name of the step; tasks of this API have only one. */
  step_uuid: string;
  task_id: string;
  task_type: string;
  timeout_seconds: number;
  /** Token of the lease. Send it back, so that a report for a lost attempt does not apply to a later one. */
  token: string;
  trace_id?: string;
  /** W3C trace context of the task. */
  traceparent?: string;
  /** End of the lease, unless the task is started or renewed. */
  visibility_timeout_until: Timestamp;
}

export interface QueueBackpressure {
  /** Submitted tasks that are not stored yet. */
  in_hand: number;
  /** Normal number of these; at twice that the node is overloaded. Null: no limit. */
  normal_load: number | null;
  /** Tasks refused since the start of the node, by reason. */
  refused: Record<string, number>;
  /** Which submissions can be refused: queue (those through /api/v1) or all. */
  scope: string;
  /** open: all submissions are accepted. Else the current tier, or overloaded. */
  state: "open" | "soft" | "high_only" | "allow_list_only" | "overloaded";
}

export interface QueueBeat {
  current_load?: number | null;
  /**
   * Tasks to keep; each gets an answer. If absent, the worker keeps all its tasks, without answers. A task
   * missing from the list is lost when its visibility timeout ends.
   */
  current_tasks?: Array<string> | null;
  /** memory_usage_percent, cpu_usage_percent. Accepted and not stored. */
  health?: Record<string, number> | null;
  /** draining requests no more tasks; the other values have no effect. */
  status?: "active" | "idle" | "busy" | "draining" | null;
}

export interface QueueBeaten {
  acknowledged: boolean;
  /**
   * open: the last attempts of the worker all failed, and it gets no steps. half_open: it gets a few attempts as
   * a test.
   */
  circuit_breaker?: "open" | "half_open";
  /** End of this state if nothing else happens. */
  circuit_breaker_until?: Timestamp;
  /** Finish the current work; no more will be assigned. */
  should_drain: boolean;
  /** In the order of current_tasks. */
  tasks: Array<QueueLease>;
}

export interface QueueCancelled {
  cancellation_time: Timestamp;
  status: "queued" | "assigned" | "executing" | "completed" | "failed" | "cancelled" | "dead_letter";
  task_id: string;
  /** Whether a worker was executing the task. */
  was_executing: boolean;
  /**
   * Whether a worker holds the task and will be notified with its next heartbeat. All its reports are refused
   * from now on. False if no worker holds the task.
   */
  worker_notified: boolean;
  /** Time at which its next heartbeat is due; null if no worker holds the task. */
  worker_notified_by: Timestamp | null;
}

export interface QueueDepth {
  /** By the name of the level, or its number if it has none. */
  by_priority: Record<string, number>;
  /** Whether there are more than were counted. */
  capped?: boolean;
  ready: number;
}

export interface QueueDispatch {
  /** Whether it currently dispatches. */
  active: boolean;
  /** Whether a dispatcher other than the database is configured. */
  configured: boolean;
  /** The current dispatcher; native is the database. */
  mode: "native" | "redis";
  /** Reason why it does not dispatch. */
  why?: string;
}

export interface QueueError {
  class?: "transient" | "resource" | "logic" | "worker";
  code?: string;
  details?: unknown;
  error_type?: string;
  /** Outcome of the attempt: failed, timed_out, lease_expired, not_started, dispatch_expired. */
  failure_reason: string;
  message: string;
  retryable: boolean;
}

export interface QueueLease {
  /** Continue; the status is held. */
  acknowledged: boolean;
  deadline_at?: Timestamp;
  /**
   * cancelled: the task was cancelled, stop. lost: the task has ended or another worker has it, stop and do not
   * report.
   */
  status: "held" | "cancelled" | "lost";
  task_id: string;
  visibility_timeout_until?: Timestamp;
}

export interface QueueListed {
  /** End of the task, with any outcome. */
  completed_at?: Timestamp;
  correlation_id?: string;
  created_at: Timestamp;
  /** Reason why a part of the stored data cannot be shown; that part is omitted. */
  damage?: string;
  /** Priority with the wait included. */
  effective_priority: string | number;
  idempotency_key?: string;
  max_retries: number;
  namespace: string;
  /** Time at which a waiting task becomes ready: a retry or run_at. */
  next_retry_at?: Timestamp;
  priority: string | number;
  /** Percent. */
  progress: number;
  /** Sort key of the queue in seconds, lowest first. Null if the task does not wait for a worker. */
  queue_score: number | null;
  /** Time at which it last became ready for a worker. */
  queued_at?: Timestamp;
  retry_count: number;
  /** Start of the last attempt. */
  started_at?: Timestamp;
  /** State of the task; status is a simplified form of it. */
  state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  status: "queued" | "assigned" | "executing" | "completed" | "failed" | "cancelled" | "dead_letter";
  task_id: string;
  /** Name of the task: the handler or the template. */
  task_type: string;
  user_id?: string;
}

export interface QueueOfPriority {
  /** Assigned steps that have not started. */
  assigned: number;
  /** Ready steps that wait for a worker. */
  depth: number;
  /** Steps that workers are executing. */
  executing: number;
  /** Level from 0 to 100, higher first. */
  level: number;
  /** Longest wait; null if no step waits. */
  oldest_age_seconds: number | null;
  /** Same as depth. */
  pending: number;
  /** Leased steps: assigned and executing. */
  processing: number;
}

export interface QueuePoll {
  /** Maximum number of tasks. Defaults to 1; 0 returns none. */
  available_capacity?: number | null;
  /** The registered capabilities, or absent; others are refused. */
  capabilities?: Array<string> | null;
  /** Another name of available_capacity, which takes precedence. */
  capacity?: number | null;
  /** Return tasks already started; they need no start call. */
  start?: boolean | null;
  /** Maximum wait for tasks (long poll), at most 60000. */
  wait_ms?: number | null;
  /** Another name of capabilities. */
  worker_capabilities?: Array<string> | null;
}

export interface QueuePolled {
  /**
   * open: the last attempts of the worker all failed, and it gets no steps. half_open: it gets a few attempts as
   * a test.
   */
  circuit_breaker?: "open" | "half_open";
  /** End of this state if nothing else happens. */
  circuit_breaker_until?: Timestamp;
  /** Finish the current work; no more will be assigned. */
  should_drain: boolean;
  tasks: Array<QueueAssignment>;
}

export interface QueueProgress {
  progress_percent: number;
  status_message?: string | null;
  /** Only required if the worker holds several steps of the task. */
  step_uuid?: string | null;
  task_id: string;
  /** Token of the task. Defaults to the lease that the worker holds now. */
  token?: string | null;
}

export interface QueueReceipt {
  /** False if the idempotency key or the unique key named an existing task. */
  created: boolean;
  /**
   * For an item of a batch: its idempotency key was used for another submission. This item was not stored; the
   * others were.
   */
  error?: Error;
  /** Same as estimated_wait_seconds, as a time. */
  estimated_start_time: Timestamp | null;
  /**
   * Estimated time until a worker claims it, without more urgent arrivals: the position divided by the measured
   * claim rate. Null without a measurement in the last two minutes.
   */
  estimated_wait_seconds: number | null;
  /**
   * Position among all tasks of the matching workers; 1 is next. Null if the task does not wait for a worker or
   * was not counted (a batch counts 32 queues).
   */
  position_in_queue: number | null;
  /** Whether the position is a lower bound; counting stops at 10,000. */
  position_is_minimum?: boolean;
  /** Same as position_in_queue. */
  queue_position: number | null;
  /** Sort key of the queue in seconds, lowest first. */
  queue_score: number | null;
  status: "queued" | "assigned" | "executing" | "completed" | "failed" | "cancelled" | "dead_letter";
  task_id: string;
  /** What another task with the same unique key did to the submission. */
  unique?: UniqueMatch;
}

export interface QueueRecovery {
  /** Steps that were assigned and not started in time. */
  assignment_timeouts_last_hour: number;
  /** Null if workers are not probed. */
  health_probe_failures_last_hour: number | null;
  /** Start of the count on the first node; may be less than an hour ago. */
  measured_since: Timestamp;
  /** Expired leases of running steps. */
  visibility_timeouts_last_hour: number;
}

export interface QueueRegistered {
  heartbeat_interval_ms: number;
  /** Maximum size of a result. */
  max_payload_bytes: number;
  /** Pause between polls without wait_ms. */
  poll_interval_ms: number;
  /** Same as poll_interval_ms, in seconds. */
  poll_interval_seconds: number;
  /** Time within which an assigned task must be started. */
  start_timeout_seconds: number;
  /** A started task is lost without a heartbeat for this long. */
  visibility_timeout_seconds: number;
  worker_id: string;
}

export interface QueueResult {
  /** Required by failed. */
  error?: string | FailureOfQueue | null;
  /** Accepted and not stored; the server measures the duration. */
  execution_duration_seconds?: number | null;
  result?: unknown;
  status: "completed" | "failed";
  /** Only required if the worker holds several steps of the task. */
  step_uuid?: string | null;
  task_id: string;
  /** Token of the task. Defaults to the lease that the worker holds now. */
  token?: string | null;
}

export interface QueueSettled {
  acknowledged: boolean;
  next_retry_at?: Timestamp;
  /** New state of the task. */
  step_state: "pending" | "waiting" | "enqueued" | "assigned" | "in_progress" | "enqueued_for_orchestration" | "waiting_for_retry" | "complete" | "skipped" | "error" | "cancelled" | "resolved_manually";
  task_id: string;
}

export interface QueueStart {
  /** Only required if the worker holds several steps of the task. */
  step_uuid?: string | null;
  task_id: string;
  /** Token of the task. Defaults to the lease that the worker holds now. */
  token?: string | null;
}

export interface QueueStateAt {
  state: "queued" | "assigned" | "executing" | "completed" | "failed" | "cancelled" | "dead_letter";
  timestamp: Timestamp;
  /** Worker that has or had it. */
  worker_id?: string;
}

export interface QueueStats {
  aging_stats: QueueAging;
  /** Time of the count. */
  at: Timestamp;
  backpressure: QueueBackpressure;
  dispatch: QueueDispatch;
  queue: QueueTotals;
  /** By priority: the name of a level, or its number if it has none. */
  queues: Record<string, QueueOfPriority>;
  recovery_stats: QueueRecovery;
  throughput: QueueThroughput;
  workers: QueueWorkers;
}

export interface QueueTask {
  assigned_at?: Timestamp;
  /** Name of the worker that holds it. */
  assigned_worker?: string;
  assigned_worker_id?: string;
  /** End of the task, with any outcome. */
  completed_at?: Timestamp;
  correlation_id?: string;
  created_at: Timestamp;
  /** Time in the current status. */
  current_state_duration_seconds: number;
  /** Reason why a part of the stored data cannot be shown; that part is omitted. */
  damage?: string;
  /** Priority with the wait included. */
  effective_priority: string | number;
  /** Latest failure; absent if there was none. */
  error?: QueueError;
  estimated_duration_seconds?: number;
  /** Same as estimated_wait_seconds, as a time. */
  estimated_start_time: Timestamp | null;
  /**
   * Estimated time until a worker claims it, without more urgent arrivals: the position divided by the measured
   * claim rate. Null without a measurement in the last two minutes.
   */
  estimated_wait_seconds: number | null;
  /** Changes with the state and progress of the task. An act with If-Match is refused if it has changed. */
  etag?: string;
  idempotency_key?: string;
  max_retries: number;
  namespace: string;
  /** Time at which a waiting task becomes ready: a retry or run_at. */
  next_retry_at?: Timestamp;
  parameters?: unknown;
  /**
   * Position among all tasks of the matching workers; 1 is next. Null if the task does not wait for a worker or
   * was not counted (a batch counts 32 queues).
   */
  position_in_queue: number | null;
  /** Whether the position is a lower bound; counting stops at 10,000. */
  position_is_minimum?: boolean;
  priority: string | number;
  /** Percent. */
  progress: number;
  /** Same as position_in_queue. */
  queue_position: number | null;
  /** Sort key of the queue in seconds, lowest first. */
  queue_score: number | null;
  /** Time at which it last became ready for a worker. */
  queued_at?: Timestamp;
  /** Number of replays after a failure. */
  replay_count?: number;
  required_capabilities?: Array<string>;
  /** Result of the handler; for several steps, an object by step name. Null until there is one. */
  result: unknown;
  retry_count: number;
  /** Start of the last attempt. */
  started_at?: Timestamp;
  /** State of the task; status is a simplified form of it. */
  state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  /** Earlier statuses, oldest first; only with include_history. */
  state_history?: Array<QueueStateAt>;
  status: "queued" | "assigned" | "executing" | "completed" | "failed" | "cancelled" | "dead_letter";
  task_id: string;
  /** Name of the task: the handler or the template. */
  task_type: string;
  timeout_seconds: number;
  trace_id?: string;
  user_id?: string;
}

export interface QueueTaskPage {
  /** cursor of the next page; absent on the last page. */
  next_cursor?: string;
  tasks: Array<QueueListed>;
}

export interface QueueThroughput {
  /** Mean duration of ended attempts; null if there are none. */
  avg_task_duration_seconds: number | null;
  /** Completed tasks. */
  completed_last_minute: number;
  /** Permanently failed tasks. */
  failed_last_minute: number;
  /** Claimed steps. */
  handed_out_last_minute: number;
}

export interface QueueTotals {
  /** The same, by priority. */
  by_priority: Record<string, number>;
  /** Whether the count is a lower bound (one million). */
  capped: boolean;
  /** Leased steps. */
  executing: number;
  /** Longest wait; null if no step waits. */
  oldest_age_seconds: number | null;
  p50_age_seconds: number | null;
  p95_age_seconds: number | null;
  /** Same as executing. */
  processing: number;
  /** Same as total_depth. */
  queue_depth: number;
  /** Ages and numbers by priority come from a sample of 10,000 steps. */
  sampled: boolean;
  /** Ready steps that wait for a worker, without leased steps. */
  total_depth: number;
}

export interface QueueWorker {
  /** Capabilities of the worker. */
  capabilities?: Array<string> | null;
  /** Maximum number of concurrent tasks. Defaults to no limit. */
  capacity?: number | null;
  /** URL of the health endpoint, without /health. GET <health_url>/health returns 200 if the worker is healthy. */
  health_url?: string | null;
  host?: string | null;
  /** Name for operators. Defaults to the host. */
  name?: string | null;
  /** Served namespaces. Defaults to those of the key, if it is limited, and else to default. * alone: all. */
  namespaces?: Array<string> | null;
  /** Served task types. Defaults to all. */
  task_types?: Array<string> | null;
  version?: string | null;
}

export interface QueueWorkers {
  active: number;
  /** Active workers with steps. */
  busy: number;
  /** Workers with an open circuit breaker. */
  circuit_open: number;
  /** Workers that died within the last hour. */
  dead: number;
  draining: number;
  /** Active workers without steps. */
  idle: number;
  /** Same as idle. */
  idle_workers: number;
  /** Workers that are not dead. */
  total: number;
  /** Total capacity of the live workers that registered one. */
  total_capacity: number;
  /** Same as total. */
  total_workers: number;
  unhealthy: number;
  /** Steps that live workers hold, as counted by the server. */
  used_capacity: number;
}

export interface QueuedCase {
  cause?: string;
  class?: string;
  current_state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  /** Reason why a part of the stored data cannot be shown; that part is omitted. */
  damage?: string;
  dlq_entry_uuid: string;
  dlq_reason: "staleness_timeout" | "max_retries_exceeded" | "dependency_cycle_detected" | "worker_unavailable" | "manual_dlq";
  dlq_timestamp: Timestamp;
  error_message?: string;
  error_pattern?: string;
  failed_step?: string;
  /** Handler of that step. */
  handler?: string;
  last_occurred_at: Timestamp;
  minutes_in_dlq: number;
  namespace: string;
  occurrence_count: number;
  original_state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  priority: string | number;
  priority_score: number;
  /**
   * Whether the task continued or completed, so that the case only needs a resolution. False for a cancelled
   * task.
   */
  recovered: boolean;
  retryable: boolean;
  task_name: string;
  task_uuid: string;
}

export interface Rate {
  /** Steps at once after a pause; defaults to limit. */
  burst?: number | null;
  /** Steps in a period, evenly spread. */
  limit: number;
  /** Length of the period. */
  period_seconds: number;
}

export interface ReasonCount {
  count: number;
  failure_reason: "staleness_timeout" | "max_retries_exceeded" | "dependency_cycle_detected" | "worker_unavailable" | "manual_dlq";
  replayable_count: number;
}

export interface Receipt {
  /** Group of the failure: 16 hexadecimal digits. */
  group_id: string;
  letter_uuid: string;
  /**
   * captured: a new letter; duplicate: known already, nothing changed; returned: a letter that was sent back is
   * open again.
   */
  status: "captured" | "duplicate" | "returned";
}

export interface Redrive {
  actor?: string;
  /** Missing in a list. */
  counts?: ItemCounts;
  created_at: Timestamp;
  destination?: string;
  edit?: Edit;
  ended_at?: Timestamp;
  /** Changes with state and progress. An act with If-Match is refused if it has changed. */
  etag?: string;
  /** When the selection was written down: what arrives later is not included. */
  frozen_at?: Timestamp;
  /** Why the stop rule halted it. */
  halt_reason?: string;
  include_parked?: boolean;
  /** Name of the API key of the request. */
  key_name?: string;
  namespace?: string;
  operation: "redrive" | "discard" | "restore";
  plan: Plan;
  reason?: string;
  redrive_uuid: string;
  selection: Selection;
  started_at?: Timestamp;
  state: "draft" | "running" | "observing" | "paused" | "halted" | "done" | "cancelled";
  /** When it entered the state. */
  state_at: Timestamp;
  stop: StopRule;
  total: number;
  /** Number of the wave under way; 0 before the first. */
  wave: number;
  /** Items of the wave that are decided. */
  wave_sent: number;
  wave_size: number;
  /**
   * The newest waves, in their order: at most 50, fewer where they are larger than 2,000 items. Missing in a
   * list.
   */
  waves?: Array<RedriveWave>;
}

export interface RedriveAct {
  action: "start" | "pause" | "resume" | "cancel";
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  /** Expected ETag of the object, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Reason of the act. */
  reason?: string | null;
}

export interface RedriveEvent {
  /** Missing in events of the states running and observing that a wave causes. */
  counts?: ItemCounts;
  /** Items that have a result. */
  decided: number;
  from_state?: string;
  halt_reason?: string;
  redrive_uuid: string;
  state: string;
  /** Items. */
  total: number;
  wave?: number;
}

export interface RedrivePage {
  /** Start of the next page; missing at the end. */
  next_cursor?: string;
  redrives: Array<Redrive>;
}

export interface RedriveRequest {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  /** Where letters are sent, if their source allows it. Defaults to the origin of each. */
  destination?: string | null;
  edit?: Edit | null;
  /** Expected ETag of the object, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Take letters that were sent back too often as well. */
  include_parked?: boolean | null;
  operation: "redrive" | "discard" | "restore";
  plan?: Plan | null;
  /** Reason of the act. */
  reason?: string | null;
  selection: Selection;
  /** Start at once; otherwise it is a draft. */
  start?: boolean | null;
  stop?: StopRule | null;
}

export interface RedriveWave {
  completed: number;
  failed: number;
  no: number;
  pending: number;
  returned: number;
  sending: number;
  sent: number;
  skipped: number;
  /**
   * Among the others: a try had no answer. What was sent may be there twice, under the same number; what failed
   * may be there once.
   */
  uncertain: number;
  /** They may have arrived, or not, and are sent again under the same numbers until that is known. */
  unknown: number;
}

export interface RegisteredWorker {
  /** Timeout of a step where neither its template nor its submission names one, nor a priority. */
  default_timeout_seconds?: number;
  heartbeat_interval_ms: number;
  /** A started step is lost without a heartbeat for this long. */
  lease_seconds: number;
  /**
   * Maximum size of a result that is sent apart before the step is settled; absent if the server keeps none above
   * max_payload_bytes.
   */
  max_large_result_bytes?: number;
  /** How much of the end of an attempt's log the server keeps; 0: nothing. */
  max_log_bytes: number;
  max_long_poll_seconds: number;
  max_payload_bytes: number;
  /** Namespaces that it serves; * is all. */
  namespaces?: Array<string>;
  /** Pause between polls without wait_ms. */
  poll_interval_ms: number;
  /** Same as poll_interval_ms, in seconds. */
  poll_interval_seconds: number;
  /** Queue in RabbitMQ from which a worker with the transport amqp consumes its steps. */
  queue?: string;
  /** Time within which an assigned step must be started. */
  start_timeout_seconds: number;
  worker_id: string;
}

export interface Removal {
  removed: boolean;
}

export interface Replay {
  /** The pending case, if any. It stays pending. */
  case_id?: string;
  priority: string | number;
  /** Number of replays, including this one. */
  replay_count: number;
  replayed_at: Timestamp;
  replayed_by: string;
  /** Name of the API key. */
  replayed_by_key?: string;
  replayed_steps: number;
  state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  task_id: string;
}

export interface ReplayCounts {
  /** At most that many were deleted on the broker before they were read. */
  gone: number;
  /** A letter of the source or a task already. */
  known: number;
  /** Stored, those included that could not become tasks. */
  letters: number;
  /** Made. */
  tasks: number;
}

export interface ReplayEvent {
  from_state?: string;
  /** At most that many were deleted on the broker before they were read. */
  gone: number;
  into: "inbox" | "tasks";
  /** Messages that were letters or tasks already. */
  known: number;
  /** Offsets to be read; some of them may hold no message. */
  left: number;
  /** Messages that became letters. */
  letters: number;
  replay_uuid: string;
  source: string;
  state: string;
  /** Messages that became tasks. */
  tasks: number;
  topic: string;
  /** Why it failed. */
  why?: string;
}

export interface ReplayPage {
  /** Start of the next page; missing at the end. */
  next_cursor?: string;
  replays: Array<TopicReplay>;
}

export interface ReplayPart {
  from: number;
  /** Offset to read next. */
  next: number;
  partition: number;
  /** Not included. */
  to: number;
}

export interface ReplayPreview {
  /** Time of the first message of the first 16 partitions. */
  first_at?: Timestamp;
  into: "inbox" | "tasks";
  last_at?: Timestamp;
  /** Offsets in the range; some of them may hold no message. */
  messages: number;
  parts: Array<ReplayPart>;
  /** Up to ten messages. */
  samples: Array<ReplaySample>;
  /** Messages that the preview has looked at. */
  scanned: number;
  /** Messages among them that have the key and the headers. */
  selected: number;
  topic: string;
  /** The preview has looked at the whole range. */
  whole: boolean;
}

export interface ReplayRequest {
  /** Expected state of the task. In any other state the act is refused with conflict. */
  expected_state?: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually" | null;
  /** Expected etag. If the etag has changed, the act is refused with conflict. Same as the header If-Match. */
  if_match?: string | null;
  /** New priority of the task and its open steps. Defaults to no change. */
  new_priority?: string | number | null;
  /** Reason for the act; kept in the audit trail. Defaults to "no reason given". */
  reason?: string | null;
  /** Actor. Defaults to the name of the API key, else to anonymous. */
  replayed_by?: string | null;
  /** Give the failed steps all their attempts again. Otherwise they have the attempts left, at least one. */
  reset_retry_count?: boolean | null;
}

export interface ReplaySample {
  at?: Timestamp;
  error_type?: string;
  /** For keys that may read dead letters. */
  key?: string;
  /** It is a letter already. */
  known?: boolean;
  offset: number;
  partition: number;
  /** Why it becomes a letter and not a task. */
  refusal?: IntakeRefusal;
  task?: IntakeTask;
}

export interface Report {
  /** Attempts of the consumer. */
  attempts?: number | null;
  /** Time of the failure. Defaults to now. */
  failed_at?: Timestamp | Date | null;
  failure: LetterFailure;
  /** Consumer that failed. */
  handler?: string | null;
  /** In order; a name may repeat. */
  headers?: Array<Header> | null;
  /** Key of the message, if it is text. */
  key?: string | null;
  /** Key of the message, if it is not text. */
  key_base64?: string | null;
  /**
   * Value of the header tasker-letter, if the message has been sent back before. The letter opens again if the
   * content is what was sent; else the report is a new letter with a link.
   */
  letter_uuid?: string | null;
  /**
   * Identifier of the message. A report of the source that is equal to an earlier one in everything, with the
   * same identifier, changes nothing. Without it a report is always a new letter, unless the batch has an
   * idempotency_key.
   */
  message_id?: string | null;
  /** Queue or topic that the message was taken from; a redrive sends it there. */
  origin?: string | null;
  /** Payload, if it is JSON in UTF-8. White space may differ from that of the message. */
  payload?: unknown;
  /** Payload, if it is not JSON. */
  payload_base64?: string | null;
}

export interface ReportRequest {
  /**
   * Identifies the batch: a report without a message_id is identified by the key, its place and its content, so
   * that the batch can be sent again.
   */
  idempotency_key?: string | null;
  /** Defaults to default. */
  namespace?: string | null;
  reports: Array<Report>;
  /** Name of the source. It is added, with the driver http, if it does not exist. */
  source: string;
}

export interface ResultsQueueReceipt {
  results: Array<QueueReceipt>;
}

export interface ResultsReceipt {
  results: Array<Receipt>;
}

export interface ResultsSettleAnswer {
  results: Array<SettleAnswer>;
}

export interface ResultsTaskReceipt {
  results: Array<TaskReceipt>;
}

export interface ResumePausedRequest {
  /** Of a route: what a worker must have for its steps. None is the route of steps that need none. */
  capabilities?: Array<string> | null;
  /** Of a route or a handler. */
  handler?: string | null;
  kind: "route" | "handler" | "template" | "namespace";
  /** Defaults to the default namespace. */
  namespace?: string | null;
  /** Why; kept in the audit trail. */
  reason?: string | null;
  /** Who resumes it; defaults to the name of the API key. */
  resumed_by?: string | null;
  /** Of a template; all versions are paused. */
  template?: string | null;
}

export interface ResumeRequest {
  /** Reason for the act. Defaults to "no reason given". */
  reason?: string | null;
  /** Actor. Defaults to the name of the API key, else to anonymous. */
  resumed_by?: string | null;
}

export interface RetryPolicy {
  backoff: "none" | "fixed" | "linear" | "exponential";
  backoff_base_ms: number;
  /** Fraction by which the delay may vary, in both directions. */
  jitter: number;
  /** Retries per class of failure, if the template sets them. */
  limits?: Record<string, number>;
  /** 0 if it is left to the priority of the task. */
  max_attempts: number;
  max_backoff_ms: number;
  retryable: boolean;
}

export interface Route {
  /** Steps leased to workers that have not begun. */
  assigned: number;
  /** Capabilities that a worker must have. */
  capabilities: Array<string>;
  /** Steps that workers took in the last minute. */
  claimed_per_minute: number;
  /** Steps that wait for a worker. */
  depth: number;
  /** Steps that workers run. */
  executing: number;
  /** Slots that are free. */
  free_slots: number;
  handler: string;
  namespace: string;
  /** Longest wait so far; null if none waits. */
  oldest_age_seconds: number | null;
  /** The open outage that closes the route. */
  outage_uuid?: string;
  /** Wait so far that half of the waiting steps do not exceed. */
  p50_age_seconds: number | null;
  /** Wait so far that 95 % of the waiting steps do not exceed. */
  p95_age_seconds: number | null;
  /** The pause that closes the route; missing while workers are served. */
  pause?: Pause;
  /** Steps that these workers can hold; they may serve other routes as well. 0: not bounded. */
  slots: number;
  /** Why nothing moves although steps wait. */
  why?: string;
  /** Workers that take steps of the route. */
  workers: number;
}

export interface RoutePage {
  /** Time of the count. */
  at: Timestamp;
  /** Whether more steps wait than were counted. */
  capped: boolean;
  next_cursor?: string;
  routes: Array<Route>;
  /** Whether the percentiles come from a sample of a long queue. */
  sampled: boolean;
}

export interface Rule {
  /** Expressions: failures with the same values are in one group. None puts all into one. */
  group_by?: Array<string> | null;
  name: string;
  /** Defaults to default. */
  namespace?: string | null;
  /** The lowest is tried first; rules of one position are in the order of their names. */
  position?: number | null;
  /** Title of the groups. Defaults to the name and the values of group_by. */
  title?: string | null;
  /** Condition: an expression over the facts of a failure. */
  when: string;
}

export interface RuleItem {
  /** Why the rule cannot be evaluated. */
  error?: string;
  /** Group into which the rule would put such a failure. */
  group_id?: string;
  id?: string;
  /** Values of group_by. */
  keys?: Array<string>;
  kind: "letter" | "case";
  matched: boolean;
  /** Title of that group. */
  title?: string;
}

export interface RuleList {
  rules: Array<SavedRule>;
}

export interface RuleRequest {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  /** Expressions: failures with the same values are in one group. None puts all into one. */
  group_by?: Array<string> | null;
  /** Expected ETag of the object, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  name: string;
  /** Defaults to default. */
  namespace?: string | null;
  /** The lowest is tried first; rules of one position are in the order of their names. */
  position?: number | null;
  /** Reason of the act. */
  reason?: string | null;
  /** Title of the groups. Defaults to the name and the values of group_by. */
  title?: string | null;
  /** Condition: an expression over the facts of a failure. */
  when: string;
}

export interface RuleSample {
  class?: "transient" | "resource" | "logic" | "worker" | null;
  code?: string | null;
  error_type?: string | null;
  /** Top frame of the application's own code. */
  frame?: string | null;
  handler?: string | null;
  headers?: Array<Header> | null;
  /** Defaults to letter. */
  kind?: "letter" | "case" | null;
  message?: string | null;
  origin?: string | null;
  /** Why a task is stuck. */
  reason?: string | null;
  retryable?: boolean | null;
  source?: string | null;
  step?: string | null;
  template?: string | null;
}

export interface RuleStory {
  actor?: string;
  /** Changes with every version. */
  etag?: string;
  /** Evaluations that failed on the node that answers, since its start or the last change. */
  failed?: number;
  /** Expressions: failures with the same values are in one group. None puts all into one. */
  group_by?: Array<string>;
  /** Name of the API key of the request. */
  key_name?: string;
  /** Why the latest of them failed. */
  last_error?: string;
  name: string;
  /** Defaults to default. */
  namespace?: string;
  /** The lowest is tried first; rules of one position are in the order of their names. */
  position?: number;
  reason?: string;
  /** This version took the rule out of force. */
  removed?: boolean;
  saved_at: Timestamp;
  /** Version that first had the present condition and group_by. Groups name it. */
  since_version: number;
  /** Group that the rule splits. It decides about failures of that group only. */
  splits?: string;
  /** Title of the groups. Defaults to the name and the values of group_by. */
  title?: string;
  version: number;
  /** The latest first, at most 100. */
  versions: Array<SavedRule>;
  /** Condition: an expression over the facts of a failure. */
  when: string;
}

export interface RuleTest {
  /** A failure to try the rule on. Excludes group_id. */
  failure?: RuleSample | null;
  /** Group whose recent letters and cases the rule is tried on. Excludes failure. */
  group_id?: string | null;
  rule: Rule;
}

export interface RuleTrial {
  /** Failures about which its evaluation fails. */
  failed: number;
  items: Array<RuleItem>;
  /** Failures that the rule decides about. */
  matched: number;
  /** Failures that the rule was tried on: of a group at most 100 letters and 100 cases. */
  tried: number;
}

export interface SavedRule {
  actor?: string;
  /** Changes with every version. */
  etag?: string;
  /** Evaluations that failed on the node that answers, since its start or the last change. */
  failed?: number;
  /** Expressions: failures with the same values are in one group. None puts all into one. */
  group_by?: Array<string>;
  /** Name of the API key of the request. */
  key_name?: string;
  /** Why the latest of them failed. */
  last_error?: string;
  name: string;
  /** Defaults to default. */
  namespace?: string;
  /** The lowest is tried first; rules of one position are in the order of their names. */
  position?: number;
  reason?: string;
  /** This version took the rule out of force. */
  removed?: boolean;
  saved_at: Timestamp;
  /** Version that first had the present condition and group_by. Groups name it. */
  since_version: number;
  /** Group that the rule splits. It decides about failures of that group only. */
  splits?: string;
  /** Title of the groups. Defaults to the name and the values of group_by. */
  title?: string;
  version: number;
  /** Condition: an expression over the facts of a failure. */
  when: string;
}

export interface SavedSchedule {
  /** Settings that differ from what was stored. */
  changes: Array<ScheduleChange>;
  /** Input of each task, any JSON value; validated against the input_schema of the template. */
  context?: unknown;
  created_at: Timestamp;
  /**
   * Cron expression of five fields, or six with seconds in front; a name such as @daily; or @every and a duration
   * of at least 1s.
   */
  cron: string;
  decided_until: Timestamp;
  description?: string;
  dry_run?: boolean;
  /** No times after. */
  end_at?: Timestamp;
  /** Changes with every act on the schedule. */
  etag: string;
  /** A firing that is later was missed. Defaults to 60. */
  grace_seconds?: number;
  /** Each firing is delayed by a part of it that follows from the name and the time. */
  jitter_seconds?: number;
  last_firing?: Firing;
  /** Only with task_type. */
  max_retries?: number;
  /** What becomes of firings later than the grace. Defaults to skip. */
  missed?: "" | "skip" | "once" | "all";
  /** With missed all: how many of the latest are made up for. */
  missed_limit?: number;
  /** Unique in its namespace. */
  name: string;
  /** Defaults to default. */
  namespace?: string;
  /** Up to ten, without jitter; one in a list of schedules. */
  next_times: Array<Timestamp>;
  /** Tasks of a namespace with the same key run one at a time, in the order of submission. */
  ordering_key?: string;
  /** created, changed or unchanged; what it would be with dry_run. */
  outcome: string;
  /** What becomes of a firing while a task of an earlier one has not ended. Defaults to skip. */
  overlap?: "" | "skip" | "queue_one" | "queue_all" | "cancel_running" | "allow";
  paused?: SchedulePause;
  /** high, medium, low, or an integer level from 0 to 100. */
  priority?: string | number;
  /** Only with task_type. */
  required_capabilities?: Array<string>;
  /** No times before. */
  start_at?: Timestamp;
  /** active, paused, over (it has no more times) or broken (see trouble). */
  state: string;
  tags?: Array<string>;
  /** Handler to run as a task with one step. Either this or template. */
  task_type?: string;
  /** Template to run. Either this or task_type. */
  template?: string;
  /** Defaults to the last registered one at each firing. */
  template_version?: string;
  /** Member of the context that gets the time of the firing. */
  time_field?: string;
  /** Name of the IANA database, such as Europe/Berlin. Defaults to UTC. */
  time_zone?: string;
  /** Time limit of one attempt; only with task_type. */
  timeout_seconds?: number;
  /** Why a firing cannot take place now. */
  trouble?: string;
  trouble_since?: Timestamp;
  updated_at: Timestamp;
}

export interface Schedule {
  /** Input of each task, any JSON value; validated against the input_schema of the template. */
  context?: unknown;
  created_at: Timestamp;
  /**
   * Cron expression of five fields, or six with seconds in front; a name such as @daily; or @every and a duration
   * of at least 1s.
   */
  cron: string;
  decided_until: Timestamp;
  description?: string;
  /** No times after. */
  end_at?: Timestamp;
  /** Changes with every act on the schedule. */
  etag: string;
  /** A firing that is later was missed. Defaults to 60. */
  grace_seconds?: number;
  /** Each firing is delayed by a part of it that follows from the name and the time. */
  jitter_seconds?: number;
  last_firing?: Firing;
  /** Only with task_type. */
  max_retries?: number;
  /** What becomes of firings later than the grace. Defaults to skip. */
  missed?: "" | "skip" | "once" | "all";
  /** With missed all: how many of the latest are made up for. */
  missed_limit?: number;
  /** Unique in its namespace. */
  name: string;
  /** Defaults to default. */
  namespace?: string;
  /** Up to ten, without jitter; one in a list of schedules. */
  next_times: Array<Timestamp>;
  /** Tasks of a namespace with the same key run one at a time, in the order of submission. */
  ordering_key?: string;
  /** What becomes of a firing while a task of an earlier one has not ended. Defaults to skip. */
  overlap?: "" | "skip" | "queue_one" | "queue_all" | "cancel_running" | "allow";
  paused?: SchedulePause;
  /** high, medium, low, or an integer level from 0 to 100. */
  priority?: string | number;
  /** Only with task_type. */
  required_capabilities?: Array<string>;
  /** No times before. */
  start_at?: Timestamp;
  /** active, paused, over (it has no more times) or broken (see trouble). */
  state: string;
  tags?: Array<string>;
  /** Handler to run as a task with one step. Either this or template. */
  task_type?: string;
  /** Template to run. Either this or task_type. */
  template?: string;
  /** Defaults to the last registered one at each firing. */
  template_version?: string;
  /** Member of the context that gets the time of the firing. */
  time_field?: string;
  /** Name of the IANA database, such as Europe/Berlin. Defaults to UTC. */
  time_zone?: string;
  /** Time limit of one attempt; only with task_type. */
  timeout_seconds?: number;
  /** Why a firing cannot take place now. */
  trouble?: string;
  trouble_since?: Timestamp;
  updated_at: Timestamp;
}

export interface ScheduleAct {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  /** Expected ETag of the schedule, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Reason of the act. */
  reason?: string | null;
}

export interface ScheduleChange {
  after: unknown;
  before: unknown;
  field: string;
}

export interface ScheduleEvent {
  /** Number of times. */
  count: number;
  /** The first of the times. */
  first: Timestamp;
  /** Of schedule.fired: why there are tasks. */
  kind?: "time" | "missed" | "run" | "backfill";
  last: Timestamp;
  name: string;
  /** Of schedule.missed. */
  reason?: "missed" | "overlap" | "paused" | "refused";
  /** The first of the tasks, 10 at most. */
  tasks?: Array<string>;
}

export interface SchedulePage {
  /** Of the next page; missing on the last one. */
  cursor?: string;
  schedules: Array<Schedule>;
}

export interface SchedulePause {
  actor: string;
  at: Timestamp;
  reason: string;
  until?: Timestamp;
}

export interface SchedulePauseRequest {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  /** Expected ETag of the schedule, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Reason of the act. */
  reason?: string | null;
  /** When it goes on by itself. Defaults to never. */
  until?: Timestamp | Date | null;
}

export interface ScheduleRemoval {
  removed: boolean;
}

export interface ScheduleRequest {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  /** Input of each task, any JSON value; validated against the input_schema of the template. */
  context?: unknown;
  /**
   * Cron expression of five fields, or six with seconds in front; a name such as @daily; or @every and a duration
   * of at least 1s.
   */
  cron: string;
  description?: string | null;
  /** Only check, and answer what would change. */
  dry_run?: boolean | null;
  /** No times after. */
  end_at?: Timestamp | Date | null;
  /** A firing that is later was missed. Defaults to 60. */
  grace_seconds?: number | null;
  /** Expected ETag of the schedule, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Each firing is delayed by a part of it that follows from the name and the time. */
  jitter_seconds?: number | null;
  /** Only with task_type. */
  max_retries?: number | null;
  /** What becomes of firings later than the grace. Defaults to skip. */
  missed?: "" | "skip" | "once" | "all" | null;
  /** With missed all: how many of the latest are made up for. */
  missed_limit?: number | null;
  /** Unique in its namespace. */
  name: string;
  /** Defaults to default. */
  namespace?: string | null;
  /** Tasks of a namespace with the same key run one at a time, in the order of submission. */
  ordering_key?: string | null;
  /** What becomes of a firing while a task of an earlier one has not ended. Defaults to skip. */
  overlap?: "" | "skip" | "queue_one" | "queue_all" | "cancel_running" | "allow" | null;
  /** high, medium, low, or an integer level from 0 to 100. */
  priority?: string | number | null;
  /** Reason of the act. */
  reason?: string | null;
  /** Only with task_type. */
  required_capabilities?: Array<string> | null;
  /** No times before. */
  start_at?: Timestamp | Date | null;
  tags?: Array<string> | null;
  /** Handler to run as a task with one step. Either this or template. */
  task_type?: string | null;
  /** Template to run. Either this or task_type. */
  template?: string | null;
  /** Defaults to the last registered one at each firing. */
  template_version?: string | null;
  /** Member of the context that gets the time of the firing. */
  time_field?: string | null;
  /** Name of the IANA database, such as Europe/Berlin. Defaults to UTC. */
  time_zone?: string | null;
  /** Time limit of one attempt; only with task_type. */
  timeout_seconds?: number | null;
}

export interface ScheduleRunRequest {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  /** Expected ETag of the schedule, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Policy for this firing. Defaults to that of the schedule. */
  overlap?: "" | "skip" | "queue_one" | "queue_all" | "cancel_running" | "allow" | null;
  /** Reason of the act. */
  reason?: string | null;
}

export interface Selection {
  /** Died last at or after this time. */
  after?: Timestamp | null;
  /** Died last before this time. */
  before?: Timestamp | null;
  error_type?: string | null;
  /** Died first, or case opened, at or after this time. */
  first_after?: Timestamp | null;
  /** Died first, or case opened, before this time. */
  first_before?: Timestamp | null;
  /** IDs of groups. */
  groups?: Array<string> | null;
  /** Letters with this header. */
  header_name?: string | null;
  /** Its value. */
  header_value?: string | null;
  /** Letters and cases by their UUIDs. */
  ids?: Array<string> | null;
  /** Defaults to both. */
  kind?: "letter" | "case" | null;
  min_replays?: number | null;
  /**
   * A redrive has one. Defaults to that of the first group, else of the first letter in ids, else to the only one
   * of the API key.
   */
  namespace?: string | null;
  origin?: string | null;
  parked?: boolean | null;
  /** Why a case was opened. */
  reason?: "staleness_timeout" | "max_retries_exceeded" | "dependency_cycle_detected" | "worker_unavailable" | "manual_dlq" | null;
  /** Sent back before, or not; of cases, whether their tasks were replayed before, under any case. */
  replayed?: boolean | null;
  /** Whether a retry may help. */
  retryable?: boolean | null;
  source?: string | null;
  /** State of letters; open selects pending cases. */
  state?: "open" | "scheduled" | "redriving" | "redriven" | "discarded" | null;
  /** State of the task of a case, now. */
  task_state?: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually" | null;
  /** Template of cases. */
  template?: string | null;
  /** Literal part of an error message or a payload. */
  text?: string | null;
}

export interface SettleAnswer {
  error?: Error;
  next_retry_at?: Timestamp;
  state?: "pending" | "waiting" | "enqueued" | "assigned" | "in_progress" | "enqueued_for_orchestration" | "waiting_for_retry" | "complete" | "skipped" | "error" | "cancelled" | "resolved_manually";
  step_uuid: string;
}

export interface SettleRequest {
  results: Array<StepResult>;
}

export interface Signal {
  /** Until when a step that begins to wait takes it. */
  kept_until: Timestamp;
  key: string;
  name: string;
  namespace: string;
  received_at: Timestamp;
  signal_id: string;
  /** Steps that have taken it so far. */
  taken: number;
}

export interface SignalPage {
  /** Present if there are more. */
  next_cursor?: string;
  /** The one that is kept for the shortest time comes first. Payloads are left out. */
  signals: Array<Signal>;
}

export interface SignalRequest {
  /** What it has happened to, such as the number of an order: the key of a step's wait. */
  key: string;
  /** What has happened, such as payment.settled: the signal of a step's wait. */
  name: string;
  /** Defaults to the default namespace. */
  namespace?: string | null;
  /** Any JSON value: the result of the steps that take the signal. */
  payload?: unknown;
  /**
   * Identifies the signal in the namespace, for as long as it is kept: a second one with this ID changes nothing.
   * Defaults to a new ID.
   */
  signal_id?: string | null;
}

export interface SnapshotStep {
  attempts: number;
  current_state: "pending" | "waiting" | "enqueued" | "assigned" | "in_progress" | "enqueued_for_orchestration" | "waiting_for_retry" | "complete" | "skipped" | "error" | "cancelled" | "resolved_manually";
  dependencies?: Array<string>;
  last_error?: Failure;
  last_failure_at?: Timestamp;
  max_attempts: number;
  name: string;
  next_retry_at?: Timestamp;
  ready_at?: Timestamp;
  started_at?: Timestamp;
  step_uuid: string;
  worker?: string;
}

export interface Source {
  /** http for a program that reports, memory, or the name of a broker's driver. */
  driver: string;
  /** Changes with every change of the source. Ignored in a request: if_match names the expected one. */
  etag?: string;
  /** Convention in which messages tell of their failures. Defaults to detecting it. */
  format?: string;
  /** Makes messages tasks. Without it they become letters. */
  intake?: Intake;
  /** Open letters at which nothing more is captured. Defaults to no bound. */
  max_open?: number;
  /** A letter that was sent back that often is parked. Defaults to 3. */
  max_replays?: number;
  /** Unique in its namespace. */
  name: string;
  /** Defaults to default. */
  namespace?: string;
  paused?: boolean;
  /** List, stream, queue or topic to read. */
  queue?: string;
  /**
   * JSON pointers to values of payloads that are masked for keys that may not see them; a segment * matches every
   * member and element. With any, payloads that are not JSON are masked whole.
   */
  sensitive?: Array<string>;
  /** Names of headers, in any case, whose values are masked likewise. */
  sensitive_headers?: Array<string>;
  /**
   * Destinations that letters may be sent to, besides their origins. An entry that ends in * allows every name
   * that begins with what is before it. With the driver http, an entry is a URL: its * stands for the rest of the
   * path behind a slash, of the last segment, or of the query.
   */
  targets?: Array<string>;
  /** URL of the broker. Answers hide the password in it. */
  url?: string;
}

export interface SourceEvent {
  /** Why it cannot be read; without secrets. */
  error?: string;
  name: string;
}

export interface SourceList {
  sources: Array<SourceStatus>;
}

export interface SourceRequest {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  /** http for a program that reports, memory, or the name of a broker's driver. */
  driver: string;
  /** Changes with every change of the source. Ignored in a request: if_match names the expected one. */
  etag?: string | null;
  /** Convention in which messages tell of their failures. Defaults to detecting it. */
  format?: string | null;
  /** Expected ETag of the object, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Makes messages tasks. Without it they become letters. */
  intake?: Intake | null;
  /** Open letters at which nothing more is captured. Defaults to no bound. */
  max_open?: number | null;
  /** A letter that was sent back that often is parked. Defaults to 3. */
  max_replays?: number | null;
  /** Unique in its namespace. */
  name: string;
  /** Defaults to default. */
  namespace?: string | null;
  paused?: boolean | null;
  /** List, stream, queue or topic to read. */
  queue?: string | null;
  /** Reason of the act. */
  reason?: string | null;
  /**
   * JSON pointers to values of payloads that are masked for keys that may not see them; a segment * matches every
   * member and element. With any, payloads that are not JSON are masked whole.
   */
  sensitive?: Array<string> | null;
  /** Names of headers, in any case, whose values are masked likewise. */
  sensitive_headers?: Array<string> | null;
  /**
   * Destinations that letters may be sent to, besides their origins. An entry that ends in * allows every name
   * that begins with what is before it. With the driver http, an entry is a URL: its * stands for the rest of the
   * path behind a slash, of the last segment, or of the query.
   */
  targets?: Array<string> | null;
  /** URL of the broker. Answers hide the password in it. */
  url?: string | null;
}

export interface SourceStatus {
  /** http for a program that reports, memory, or the name of a broker's driver. */
  driver: string;
  /** The last one. */
  error?: string;
  /** Changes with every change of the source. Ignored in a request: if_match names the expected one. */
  etag?: string;
  /** Convention in which messages tell of their failures. Defaults to detecting it. */
  format?: string;
  /** Makes messages tasks. Without it they become letters. */
  intake?: Intake;
  /** Open letters at which nothing more is captured. Defaults to no bound. */
  max_open?: number;
  /** A letter that was sent back that often is parked. Defaults to 3. */
  max_replays?: number;
  /** Unique in its namespace. */
  name: string;
  /** Defaults to default. */
  namespace?: string;
  /** Open letters, up to 10,000; up to max_open if that is more, and at most 100,000. */
  open: number;
  /** Whether there are more open letters. */
  open_capped?: boolean;
  /**
   * Messages that stay on the broker because they are larger than engine.limits.letter_bytes; missing if there
   * are none.
   */
  oversized?: Oversized;
  paused?: boolean;
  /** In the answer to a request for one source. */
  policies?: Array<Policy>;
  /**
   * What the first messages would become; in the answer to a test of a source with an intake, where its broker
   * can show messages.
   */
  preview?: Array<IntakePreview>;
  /** List, stream, queue or topic to read. */
  queue?: string;
  /**
   * JSON pointers to values of payloads that are masked for keys that may not see them; a segment * matches every
   * member and element. With any, payloads that are not JSON are masked whole.
   */
  sensitive?: Array<string>;
  /** Names of headers, in any case, whose values are masked likewise. */
  sensitive_headers?: Array<string>;
  /** When it entered the state. */
  since?: Timestamp;
  /** reading, reported (driver http: programs report its letters), paused, waiting (for room) or lost. */
  state: string;
  /**
   * Destinations that letters may be sent to, besides their origins. An entry that ends in * allows every name
   * that begins with what is before it. With the driver http, an entry is a URL: its * stands for the rest of the
   * path behind a slash, of the last segment, or of the query.
   */
  targets?: Array<string>;
  /** URL of the broker. Answers hide the password in it. */
  url?: string;
  /**
   * Messages that wait on the broker, in the answer to a request for one source; missing where the broker does
   * not say.
   */
  waiting?: number;
}

export interface SplitRequest {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  /** Expressions: failures with the same values go into one group. */
  group_by?: Array<string> | null;
  /** Expected ETag of the object, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Name of the rule that splits. Defaults to one made of the group. */
  name?: string | null;
  /** Reason of the act. */
  reason?: string | null;
  /** Title of the groups. Defaults to the name and the values of group_by. */
  title?: string | null;
  /** Condition, as of a rule. Defaults to every failure of the group. */
  when?: string | null;
}

export interface Spread {
  max_seconds: number;
  p50_seconds: number;
  p95_seconds: number;
}

export interface StaleTask {
  /** Used part of the threshold: the time in the state or of the whole task. */
  counted_minutes: number;
  current_state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  /** Reason why a part of the stored data cannot be shown; that part is omitted. */
  damage?: string;
  health_status: "healthy" | "warning" | "stale";
  namespace_name: string;
  priority: string | number;
  /** Promise that delays the threshold: attempt, queue or time. */
  promise?: "attempt" | "queue" | "time" | "release" | "outside";
  /** Name of the step with the promise. */
  promised_step?: string;
  /** End of the promise; absent if it has none. */
  promised_until?: Timestamp;
  /** Time at which the task becomes stale if nothing changes. */
  stale_at?: Timestamp;
  /** Effective threshold; 0 while a promise without an end delays it. */
  staleness_threshold_minutes: number;
  task_name: string;
  task_uuid: string;
  /** template, global, promise (global, from the end of a promise) or max_duration. */
  threshold_source: "template" | "global" | "promise" | "max_duration";
  time_in_state_minutes: number;
}

export interface StartRequest {
  steps: Array<LeaseRef>;
}

export interface StateExplanation {
  /** The letter that is explained. */
  letter_uuid?: string;
  /** What would change the state, automatically or by an operator. */
  next?: string;
  /** The redrive that is explained. */
  redrive_uuid?: string;
  state: string;
  /** One sentence. */
  summary: string;
  /** Sentences about what led to it. */
  why?: Array<string>;
}

export interface Stats {
  /** Jobs in dlq:analysis_queue; 0 without such a queue. */
  analysis_queue_count: number;
  /** Jobs in dlq:detection_queue; 0 without such a queue. */
  detection_queue_count: number;
  /** All dead letter queues of the namespace, by name. */
  queues: Array<Queue>;
  /** Jobs in all dead letter queues of the namespace. */
  total_count: number;
}

export interface Step {
  /** Attempts started since the last reset. */
  attempts: number;
  /** Last checkpoint of an attempt, which the next one receives. Absent once the step is complete. */
  checkpoint?: Checkpoint;
  /** Child tasks of the step, counted. */
  children?: StepChildren;
  completed_at?: Timestamp;
  completed_parents: number;
  created_at: Timestamp;
  current_state: "pending" | "waiting" | "enqueued" | "assigned" | "in_progress" | "enqueued_for_orchestration" | "waiting_for_retry" | "complete" | "skipped" | "error" | "cancelled" | "resolved_manually";
  /** Reason why a part of the stored data cannot be shown; that part is omitted. */
  damage?: string;
  dependencies?: Array<string>;
  dependencies_satisfied: boolean;
  /** Level with the wait included while it waits for a worker; else its own level. */
  effective_priority: string | number;
  /** Changes with the state and each lease of the step. An act with If-Match is refused if it has changed. */
  etag?: string;
  handler: string;
  /** A result that is kept apart because of its size, instead of results; get it from /large_result of the step. */
  large_result?: LargeResult;
  last_attempted_at?: Timestamp;
  last_error?: Failure;
  last_failure_at?: Timestamp;
  lease_expires_at?: Timestamp;
  /** Maximum number of attempts, including the first. */
  max_attempts: number;
  name: string;
  next_retry_at?: Timestamp;
  /** It runs only after the task has failed. */
  on_failure?: boolean;
  priority: string | number;
  progress_percent?: number;
  /** Time at which it was last enqueued. */
  ready_at?: Timestamp;
  /** Whether a worker can claim it now. */
  ready_for_execution: boolean;
  required_capabilities?: Array<string>;
  resolution_reason?: string;
  /** Actor of the last act on the step. */
  resolved_by?: string;
  /** Name of that actor's API key. */
  resolved_by_key?: string;
  results?: unknown;
  /** The step has ended and its result was omitted from the list; request the step to get it. */
  results_omitted?: boolean;
  /** Whether the failed step can run again now: retryable, attempts left, and back-off over (next_retry_at). */
  retry_eligible: boolean;
  status_message?: string;
  step_uuid: string;
  task_uuid: string;
  timeout_seconds: number;
  total_parents: number;
  /** What the step waits for, in state waiting. */
  wait?: StepWait;
  /** Worker that holds it or ran it last. */
  worker?: string;
}

export interface StepAction {
  action_type: "reset_for_retry" | "resolve_manually" | "complete_manually" | "approve" | "reject";
  completed_by?: string | null;
  /** Required by complete_manually, refused by the other acts. */
  completion_data?: CompletionData | null;
  /** Actor of approve and reject. */
  decided_by?: string | null;
  /**
   * With reset_for_retry: delete the checkpoint of the step, so that it begins from the start. By default the
   * next attempt receives it.
   */
  discard_checkpoint?: boolean | null;
  /** Expected state of the step. In any other state the act is refused with conflict. */
  expected_state?: "pending" | "waiting" | "enqueued" | "assigned" | "in_progress" | "enqueued_for_orchestration" | "waiting_for_retry" | "complete" | "skipped" | "error" | "cancelled" | "resolved_manually" | null;
  /** Expected etag. If the etag has changed, the act is refused with conflict. Same as the header If-Match. */
  if_match?: string | null;
  reason: string;
  reset_by?: string | null;
  resolved_by?: string | null;
}

export interface StepChildren {
  /** Children that are complete or resolved manually. */
  done: number;
  /** Children in error, which may be repaired. */
  errors: number;
  /** Children that were cancelled, or could not be submitted. */
  given_up: number;
  running: number;
  submitted: number;
  /** Number of children; 0 until the list of items has been read. */
  total: number;
}

export interface StepExplanation {
  name: string;
  /** What would change the state, automatically or by an operator. */
  next?: string;
  state: "pending" | "waiting" | "enqueued" | "assigned" | "in_progress" | "enqueued_for_orchestration" | "waiting_for_retry" | "complete" | "skipped" | "error" | "cancelled" | "resolved_manually";
  step_uuid: string;
  why: string;
}

export interface StepLimit {
  /** Steps of a rate that may begin at once after a pause. */
  burst?: number;
  /** Text with places for values of the context, such as {{customer}}. */
  key?: string;
  /** Steps at once, or in a period. */
  limit: number;
  /** Milliseconds of the period of a rate; absent in a limit of steps at once. */
  per_ms?: number;
}

export interface StepResult {
  /** Required by failed. */
  error?: Failure | null;
  /** Instead of result: the reference of a large result that was sent before. */
  large_result?: string | null;
  /** End of what the attempt has logged. The server keeps at most max_log_bytes of its end. */
  log?: string | null;
  /** Size of all that the attempt has logged. Defaults to the size of log. */
  log_bytes?: number | null;
  result?: unknown;
  snooze_seconds?: number | null;
  /**
   * released: returned to the queue, no attempt charged. snoozed: ready again after snooze_seconds, no attempt
   * charged.
   */
  status: "completed" | "failed" | "released" | "snoozed";
  step_uuid: string;
  /** Token of the step's lease. */
  token: string;
}

export interface StepStats {
  /** Executions since the last reset of each step. */
  attempts: number;
  /** Tasks in which it was begun. */
  begun: number;
  /** Tasks in which it is complete, or was resolved. */
  complete: number;
  /** Tasks in which it is in error. */
  failed: number;
  /** Executions that are over and did not complete the step. */
  failed_attempts: number;
  /** Share of the executions that failed; 0 without any. */
  failure_rate: number;
  name: string;
  /** Time from start to end, of the last executions; null without any. */
  ran: Spread;
  /** Time in the queue before the last executions; null without any. */
  waited: Spread;
}

export interface StepWait {
  /** What a human decides. */
  approval?: string;
  /** Key of the signal. */
  key?: string;
  /** time, approval or signal. */
  kind: string;
  /** Name of the signal. */
  signal?: string;
  /** End of the wait; absent without end. */
  until?: Timestamp;
}

export interface StopRule {
  /** Failed sends of a wave at which it halts. Defaults to 10. */
  failed?: number | null;
  /** Share of a wave that may come back; 1 never halts. Defaults to 0.2. */
  returned_share?: number | null;
  /** Items of a wave with one fingerprint that come back at which it halts. Defaults to 25. */
  same_fingerprint?: number | null;
}

export interface SubmitRequest {
  /** Refuse invalid tasks individually instead of the whole request. */
  item_errors?: boolean | null;
  /** At most 1,000 by default. */
  tasks: Array<TaskRequest>;
}

export interface Task {
  cancel_reason?: string;
  cancelled_by?: string;
  /** Name of the API key that cancelled it. */
  cancelled_by_key?: string;
  cancelled_steps: number;
  /** Steps that are complete or resolved manually. */
  completed_steps: number;
  completion_percentage: number;
  context?: unknown;
  context_edited_at?: Timestamp;
  context_edited_by?: string;
  context_edited_by_key?: string;
  /** Number of edits of the context since submission. */
  context_version?: number;
  correlation_id?: string;
  created_at: Timestamp;
  /** Reason why a part of the stored data cannot be shown; that part is omitted. */
  damage?: string;
  /** Deadline of the whole task: that of its submission, or the end of lifecycle.max_duration_minutes. */
  deadline_at?: Timestamp;
  /** Highest effective level of its waiting steps; else its own level. Not in lists. */
  effective_priority?: string | number;
  /** Changes with the state and progress of the task. An act with If-Match is refused if it has changed. */
  etag?: string;
  failed_steps: number;
  finished_at?: Timestamp;
  idempotency_key?: string;
  /** Steps that are enqueued, assigned or in progress. */
  in_progress_steps: number;
  initiator?: string;
  /** Message of a broker that the task was made of. */
  intake?: TaskIntake;
  last_replayed_at?: Timestamp;
  last_replayed_by?: string;
  last_replayed_by_key?: string;
  /** Name of the task: the template or the task type. */
  name: string;
  namespace: string;
  ordering_key?: string;
  /** Step of another task that this task carries out, as its child. */
  parent?: TaskParent;
  parent_correlation_id?: string;
  pending_steps: number;
  /** Name of the level, or its number if it has none. */
  priority: string | number;
  priority_level: number;
  reason?: string;
  /** Number of replays after a failure. */
  replay_count?: number;
  run_at?: Timestamp;
  /** Firing of a schedule that submitted the task. */
  schedule?: TaskSchedule;
  source_system?: string;
  state: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  tags?: Array<string>;
  task_uuid: string;
  total_steps: number;
  /** W3C trace context of the submission. */
  traceparent?: string;
  /** Its rule of uniqueness. */
  unique?: TaskUnique;
  /** Version of the template; empty for a task without a template. */
  version?: string;
  /** Steps that wait for a retry or run_at. */
  waiting_steps: number;
  /** An earlier task with the same ordering key has not ended yet. */
  waits_for_turn?: boolean;
}

export interface TaskHistory {
  attempts: Array<Attempt>;
  context_edits?: Array<ContextEdit>;
  task_uuid: string;
  transitions: Array<Transition>;
}

export interface TaskIntake {
  /** Of the message in its queue. */
  position?: string;
  queue: string;
  sent_at?: Timestamp;
  source: string;
}

export interface TaskPage {
  next_cursor?: string;
  tasks: Array<Task>;
}

export interface TaskParent {
  /** Place among the children of the step, counted from 0. */
  index: number;
  step_uuid: string;
  task_uuid: string;
}

export interface TaskPolled {
  /**
   * open: the last attempts of the worker all failed, and it gets no steps. half_open: it gets a few attempts as
   * a test.
   */
  circuit_breaker?: "open" | "half_open";
  /** End of this state if nothing else happens. */
  circuit_breaker_until?: Timestamp;
  parameters?: unknown;
  /** Finish the current work; no more will be assigned. */
  should_drain: boolean;
  /** For a poll with worker_capabilities: the task, which is also in tasks. */
  task_id?: string;
  task_type?: string;
  tasks: Array<QueueAssignment>;
  timeout_seconds?: number;
  trace_id?: string;
}

export interface TaskReceipt {
  /** False if the idempotency key or the unique key named an existing task. */
  created: boolean;
  error?: Error;
  state?: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
  task_uuid: string;
  /** What another task with the same unique key did to the submission. */
  unique?: UniqueMatch;
}

export interface TaskRequest {
  /**
   * Input of the task, any JSON value; validated against the input_schema of the template. Limited to 256 KiB by
   * default.
   */
  context?: unknown;
  correlation_id?: string | null;
  /** Time by which the task must be over. If it is not, it is put in error. */
  deadline_at?: Timestamp | Date | null;
  /** Unique per namespace for 24 hours. A second submission returns the first task. */
  idempotency_key?: string | null;
  /** Person or system that requests the task. */
  initiator?: string | null;
  /** Retries after the first attempt; only with task_type. The default depends on the priority. */
  max_retries?: number | null;
  /** Template to run. Either this or task_type. */
  name?: string | null;
  /** Namespace of the template or handler. Defaults to "default". */
  namespace?: string | null;
  /** Tasks of a namespace with the same key run one at a time, in the order of submission. */
  ordering_key?: string | null;
  parent_correlation_id?: string | null;
  /**
   * high, medium, low, or an integer level from 0 to 100, higher first. Defaults to the priority of the template,
   * else medium.
   */
  priority?: string | number | null;
  /** Reason for the task. */
  reason?: string | null;
  /** Capabilities that a worker must have; only with task_type. */
  required_capabilities?: Array<string> | null;
  /** Earliest start. */
  run_at?: Timestamp | Date | null;
  source_system?: string | null;
  /** Tags of the task. */
  tags?: Array<string> | null;
  /** Handler to run as a task with one step. Either this or name. */
  task_type?: string | null;
  /** Time limit of one attempt; only with task_type. The default depends on the priority. */
  timeout_seconds?: number | null;
  /**
   * W3C trace context of the task. Attempts are spans of that trace, and workers receive it. Defaults to the
   * traceparent header of the request.
   */
  traceparent?: string | null;
  /** Rule by which another task with the same fields stands for this one. Defaults to that of the template. */
  unique?: Unique | null;
  /** Version of the template. Defaults to the last registered one. */
  version?: string | null;
}

export interface TaskSchedule {
  /** Why there is a firing: time, missed, run or backfill. */
  kind: string;
  name: string;
  /** Time of the firing. */
  time: Timestamp;
}

export interface TaskUnique {
  /** JSON pointers to the chosen fields of the context, or all or template. */
  by: Array<string>;
  /** Whether the task guards its key now. Not in lists. */
  guards?: boolean;
  /** End of its period. */
  until?: Timestamp;
  /** Phases in which the task guards its key. */
  while: Array<string>;
}

export interface Template {
  /** Limit of the steps at once, for steps without one of their own. */
  concurrency?: StepLimit;
  /** True in the response to the registration that stored the version. */
  created: boolean;
  created_at: Timestamp;
  /** Reason why a part of the stored data cannot be shown; that part is omitted. */
  damage?: string;
  description?: string;
  /**
   * Milliseconds that a step may wait in the queue of a worker to which it was dispatched over AMQP, for steps
   * that set no value.
   */
  dispatch_ttl_ms?: number;
  /** SHA-256 of the canonical content. */
  fingerprint: string;
  /** JSON Schema of a task's context. */
  input_schema?: unknown;
  lifecycle: Lifecycle;
  name: string;
  namespace_name: string;
  priority?: string | number;
  /** Limit of the steps in a time, for steps without one of their own. */
  rate_limit?: StepLimit;
  /**
   * JSON pointers to values of a task's context that are masked for keys that may not see them; a segment *
   * matches every member and element.
   */
  sensitive?: Array<string>;
  steps?: Array<TemplateStep>;
  /** Rule of uniqueness of tasks whose submission has none. */
  unique?: Unique;
  version: string;
  /** The registered source. */
  yaml?: string;
}

export interface TemplateChild {
  /** Expression of the context of the child; absent for that of the parent. */
  context?: string;
  /** Of the only step of the child, instead of a template. */
  handler?: string;
  /** wait: while the child is in error, the step waits for its repair. fail: the step fails. */
  on_error: "wait" | "fail";
  template?: string;
  /** Absent for the newest one when the step begins. */
  version?: string;
}

export interface TemplateEach {
  /** Children that may run at once. */
  concurrency: number;
  /** Expression; absent for an object with item and index. */
  context?: string;
  /** Of the only step of each child, instead of a template. */
  handler?: string;
  /** Expression of the list. */
  items: string;
  /** Children that may fail: a number, or a share such as 10%. */
  max_failed: string;
  /** wait: children in error count once they are cancelled. fail: they count at once. */
  on_error: "wait" | "fail";
  /** list: the result of the step is that of each child. counts: it is their number. */
  results: "list" | "counts";
  template?: string;
  /** Absent for the newest one when the step begins. */
  version?: string;
}

export interface TemplatePage {
  next_cursor?: string;
  templates: Array<Template>;
}

export interface TemplateSource {
  /** File name for problems, reported as file:line:column. */
  filename?: string | null;
  /** Reason for the act. Defaults to "no reason given". */
  reason?: string | null;
  /** Actor. Defaults to the name of the API key, else to anonymous. */
  registered_by?: string | null;
  /** The template document; JSON is YAML. */
  yaml: string;
}

export interface TemplateStats {
  cancelled: number;
  /** Tasks that are complete, or were resolved by an operator. */
  complete: number;
  /** Tasks in error. */
  failed: number;
  /** When the oldest of them was submitted. */
  first_submitted_at?: Timestamp;
  /** When the newest of them was submitted. */
  last_submitted_at?: Timestamp;
  name: string;
  namespace: string;
  /** In the order of the template. */
  steps: Array<StepStats>;
  /** Newest tasks that were looked at. */
  tasks: number;
  /** From submission to the end, of complete tasks; null without any. */
  took: Spread;
  version: string;
}

export interface TemplateStep {
  /** Limit of the steps at once, if the step sets one. */
  concurrency?: StepLimit;
  dependencies?: Array<string>;
  description?: string;
  /**
   * Milliseconds that the step may wait in the queue of a worker to which it was dispatched over AMQP, if the
   * step sets them.
   */
  dispatch_ttl_ms?: number;
  /** Tasks that carry out the step, one for each item of a list. */
  for_each?: TemplateEach;
  /** Empty for a step that no worker runs. */
  handler: string;
  /** Fixed configuration for the handler. */
  initialization?: Record<string, unknown>;
  name: string;
  /** It runs only after the task has failed. */
  on_failure?: boolean;
  priority?: string | number;
  /** Limit of the steps in a time, if the step sets one. */
  rate_limit?: StepLimit;
  required_capabilities?: Array<string>;
  retry: RetryPolicy;
  /** Task that carries out the step, as its child. */
  task?: TemplateChild;
  /** Time limit of an attempt. 0 if it is left to the priority of the task. */
  timeout_seconds: number;
  /** What a step without a handler waits for. */
  wait?: TemplateWait;
  /** Condition of the step, an expression over context and parents: if it does not hold, the step is skipped. */
  when?: string;
}

export interface TemplateWait {
  /** What a human decides. */
  approval?: string;
  /** Milliseconds of the wait. */
  for_ms?: number;
  /** Key of the signal, with places for values of the context, such as {{order_id}}. */
  key?: string;
  /** continue: a rejected step completes. Else it fails. */
  on_reject?: string;
  /** continue: the step completes at the end of that time. Else it fails. */
  on_timeout?: string;
  /** Name of a signal. */
  signal?: string;
  /** Milliseconds after which a decision or a signal comes too late; absent without end. */
  timeout_ms?: number;
  /** RFC 3339 time, or the place of one in the context, such as {{deliver_at}}. */
  until?: string;
}

export interface TopicCount {
  /** Of up to 1,000 messages of each state, the newest. */
  avg_retry_count: number;
  /** Messages in any status. */
  count: number;
  topic: string;
}

export interface TopicPolicy {
  /** Defaults to the API key. */
  actor?: string | null;
  /** Defaults to 60. */
  base_delay_seconds?: number | null;
  /** Copy to the topic with -retry. */
  copy_retries?: boolean | null;
  /** Defaults to the policy before. */
  discard_test_events?: boolean | null;
  /** Defaults to 0.1 for delays that grow. */
  jitter_factor?: number | null;
  /** 0: no limit. */
  max_age_seconds?: number | null;
  /** Defaults to 3600. */
  max_delay_seconds?: number | null;
  /** Defaults to 5. */
  max_retries?: number | null;
  /** Defaults to that of the key. */
  namespace?: string | null;
  /** Reason of the act. */
  reason?: string | null;
  /** Defaults to 2. */
  retry_multiplier?: number | null;
  /** Defaults to all sources. */
  source?: string | null;
  strategy: "immediate" | "exponential_backoff" | "fixed_interval" | "scheduled" | "manual" | "exponential" | "fixed";
  /** Original topic; * for all others. */
  topic: string;
}

export interface TopicReplay {
  actor?: string;
  /** Up to the first message of each partition that is as new as this, which is not included. */
  before?: Timestamp;
  counts: ReplayCounts;
  created_at: Timestamp;
  ended_at?: Timestamp;
  /** Changes with the state. An act with If-Match is refused if it has changed. */
  etag?: string;
  from_offset?: number;
  /** Messages with all of these headers. */
  headers?: Array<Header>;
  /** Which tasks messages become. Defaults to the intake of the source. */
  intake?: Intake;
  /** What messages become: letters of the source, or tasks. Defaults to tasks where there is an intake. */
  into?: "inbox" | "tasks";
  /** Messages with this key. */
  key?: string;
  /** Name of the API key of the request. */
  key_name?: string;
  namespace: string;
  /** Defaults to all. */
  partitions?: Array<number>;
  /** The range of each partition, written down when the replay was made. */
  parts: Array<ReplayPart>;
  /** When it will be deleted: 30 days after its end. */
  purge_at?: Timestamp;
  /** Messages a second; 0: no limit. */
  rate?: number;
  reason?: string;
  /**
   * A name: tasks are made once for each name, also of messages of which tasks were made before. Without it they
   * are not made again.
   */
  repeat?: string;
  replay_uuid: string;
  /** From the first message of each partition that is as new as this. */
  since?: Timestamp;
  source: string;
  started_at?: Timestamp;
  state: "draft" | "running" | "paused" | "failed" | "done" | "cancelled";
  /** When it entered the state. */
  state_at: Timestamp;
  /** Not included. */
  to_offset?: number;
  /** Topic on the broker of the source: its queue, or one that its targets allow. Defaults to the queue. */
  topic?: string;
  /** Why it failed or, while it runs, what holds it up. */
  why?: string;
}

export interface TopicReplayRequest {
  /** Name recorded with the act. Defaults to the name of the API key. */
  actor?: string | null;
  /** Up to the first message of each partition that is as new as this, which is not included. */
  before?: Timestamp | Date | null;
  from_offset?: number | null;
  /** Messages with all of these headers. */
  headers?: Array<Header> | null;
  /** Expected ETag of the object, or *. If it has changed, the act is refused with conflict. */
  if_match?: string | null;
  /** Which tasks messages become. Defaults to the intake of the source. */
  intake?: Intake | null;
  /** What messages become: letters of the source, or tasks. Defaults to tasks where there is an intake. */
  into?: "inbox" | "tasks" | null;
  /** Messages with this key. */
  key?: string | null;
  /** Namespace of the source. Defaults to default. */
  namespace?: string | null;
  /** Defaults to all. */
  partitions?: Array<number> | null;
  /** Messages a second; 0: no limit. */
  rate?: number | null;
  /** Reason of the act. */
  reason?: string | null;
  /**
   * A name: tasks are made once for each name, also of messages of which tasks were made before. Without it they
   * are not made again.
   */
  repeat?: string | null;
  /** From the first message of each partition that is as new as this. */
  since?: Timestamp | Date | null;
  /** Source whose broker has the topic. */
  source: string;
  /** Start at once; otherwise it is a draft. */
  start?: boolean | null;
  /** Not included. */
  to_offset?: number | null;
  /** Topic on the broker of the source: its queue, or one that its targets allow. Defaults to the queue. */
  topic?: string | null;
}

export interface Transition {
  /** Actor, for an act of an operator. */
  actor?: string;
  at: Timestamp;
  attempt?: number;
  from_state?: string;
  /** Name of the operator's API key. */
  key_name?: string;
  reason?: string;
  step_name?: string;
  /** Absent for a transition of the task itself. */
  step_uuid?: string;
  to_state: string;
  worker?: string;
}

export interface TypeCount {
  count: number;
  event_type: string;
}

export interface UncordonRequest {
  /** Reason for the act. Defaults to "no reason given". */
  reason?: string | null;
  /** Actor. Defaults to the name of the API key, else to anonymous. */
  uncordoned_by?: string | null;
}

export interface Unique {
  /**
   * JSON pointers to the fields of the context that make tasks equal; or alone all (the whole context, the
   * default), template (nothing: one task of the template or type), none (no rule, although the template has
   * one).
   */
  by?: Array<string> | null;
  /**
   * What becomes of this submission if another task guards the key: return answers with that task, refuse fails
   * with conflict, replace cancels it if no step of it has begun, else returns it. Defaults to return.
   */
  on_conflict?: "return" | "refuse" | "replace" | null;
  /** How long a task guards its key at most: a duration from 1s to 720h. Defaults to no bound. */
  period?: string | null;
  /**
   * Phases in which a task guards its key: unsettled (always), error, complete, resolved_manually; the last two
   * only with a period. Defaults to unsettled and error or, with a period, to all.
   */
  while?: Array<string> | null;
}

export interface UniqueMatch {
  /**
   * returned: another task guards the key. refused: likewise, and the receipt has an error. replaced: the task is
   * stored, and the one before it cancelled. superseded: a later submission of the same moment took its place
   * before it was stored.
   */
  outcome: "returned" | "refused" | "replaced" | "superseded";
  /** Task that was cancelled, for the outcome replaced. */
  replaced_task_uuid?: string;
  /** Sentence that says which rule matched, and when the key is free. */
  rule: string;
  /** End of the period of the task that guards the key. */
  until?: Timestamp;
}

export interface VersionBody {
  version: string;
}

export interface Webhook {
  events: Array<string>;
  name: string;
  /** Missing for all. */
  namespaces?: Array<string>;
  /** Number of secrets that sign. */
  secrets: number;
  /** Scheme and host; the rest may be a secret. */
  url: string;
}

export interface WebhookAnswer {
  /** Whether the status was 2xx. */
  delivered: boolean;
  error?: string;
  /** The header webhook-id of the request. */
  message_id: string;
  name: string;
  seconds: number;
  /** HTTP status; missing if there was no answer. */
  status?: number;
}

export interface WebhookList {
  webhooks: Array<Webhook>;
}

export interface WorkerInfo {
  capabilities?: Array<string>;
  /** Registered maximum number of concurrent steps; 0: no limit. */
  capacity: number;
  /** closed; open: its last attempts all failed and it gets no steps; half_open: it gets a few attempts as a test. */
  circuit_breaker: string;
  circuit_breaker_opened_at?: Timestamp;
  /**
   * Consecutive failures that its circuit breaker counts; opening resets the count. Each node has its own count;
   * null if this node has none.
   */
  consecutive_failures: number | null;
  cordon_reason?: string;
  /** An operator has cordoned it: it gets no more steps until it is uncordoned. */
  cordoned: boolean;
  cordoned_at?: Timestamp;
  cordoned_by?: string;
  /** Steps that it holds, as counted by the server. */
  current_load: number;
  /** Same as current_load. Not in lists. */
  current_tasks?: number;
  /** Reason why a part of the stored data cannot be shown; that part is omitted. */
  damage?: string;
  drain_reason?: string;
  drained_at?: Timestamp;
  /** Operator who has drained it; it gets no more steps until it is resumed. */
  drained_by?: string;
  /** It drains because its heartbeat said so; the first one that does not ends that. */
  drains_itself?: boolean;
  handlers?: Array<string>;
  /**
   * healthy, degraded or unhealthy, by its heartbeats and its attempts of the last five minutes that ended on the
   * answering node. Of workers with the transport amqp, healthy ones get steps before degraded ones; unhealthy
   * ones get none.
   */
  health: string;
  /** Error of the last failed probe. */
  health_error?: string;
  /** Failed probes since the last success. */
  health_failures?: number;
  /** Why it is not healthy. */
  health_reasons?: Array<string>;
  health_url?: string;
  host?: string;
  last_heartbeat: Timestamp;
  name: string;
  namespaces?: Array<string>;
  /** Number of steps in its last heartbeat. */
  reported_load: number;
  started_at: Timestamp;
  /** active, draining, unhealthy, dead. */
  status: string;
  /** How it gets its steps: http: it polls; amqp: from its queue in RabbitMQ. */
  transport: string;
  version?: string;
  worker_id: string;
}

export interface WorkerList {
  /** cursor of the next page. Even a short or empty page may have one. */
  next_cursor?: string;
  workers: Array<WorkerInfo>;
}

export interface WorkerRegistration {
  /** Capabilities of the worker. */
  capabilities?: Array<string> | null;
  /** Maximum number of concurrent steps. Defaults to no limit. */
  capacity?: number | null;
  /** Served handlers. Defaults to all. */
  handlers?: Array<string> | null;
  /**
   * URL of the health endpoint, without /health: http or https, without user, query and fragment. GET
   * <health_url>/health returns 200 if the worker is healthy.
   */
  health_url?: string | null;
  host?: string | null;
  /** Name for operators. Defaults to the host; the SDK sends host and process ID. */
  name?: string | null;
  /** Served namespaces. Defaults to those of the key, if it is limited, and else to default. * alone: all. */
  namespaces?: Array<string> | null;
  /**
   * http: the worker polls. amqp: the server sends steps to a queue of the worker in RabbitMQ; it may poll too.
   * Defaults to http.
   */
  transport?: "http" | "amqp" | null;
  version?: string | null;
}
