"""The objects of the HTTP API.

They are generated from the OpenAPI document of the server: run "make models" instead of editing them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

#: A time as JSON has it, such as "2026-11-26T09:00:00Z". datetime.fromisoformat reads it.
Timestamp = str


class Act(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    #: Expected ETag of the object, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Reason of the act.
    reason: NotRequired[str | None]


class Approval(TypedDict):
    #: What is decided.
    approval: NotRequired[str]
    namespace: str
    #: When it began to wait.
    since: Timestamp
    step: str
    step_uuid: str
    task_uuid: str
    template: str
    #: End of the wait; missing without end.
    until: NotRequired[Timestamp]


class ApprovalEvent(TypedDict):
    #: What is to be approved, the first 300 bytes.
    approval: str
    #: Of approval.decided; system when its time was over.
    decided_by: NotRequired[str]
    #: Of approval.decided.
    reason: NotRequired[str]
    #: Of approval.decided.
    result: NotRequired[Literal["approved", "rejected", "timed_out", "cancelled", "resolved"]]
    step: str
    step_uuid: str
    task_uuid: str
    template: str
    #: Of approval.requested: when its time is over; missing without an end.
    until: NotRequired[Timestamp]


class ApprovalPage(TypedDict):
    #: The one that has waited longest comes first.
    approvals: list[Approval]
    #: Present if there are more.
    next_cursor: NotRequired[str]


class Assignment(TypedDict):
    #: Counted from 1; for an assigned step, the attempt that start will begin.
    attempt: int
    #: The last checkpoint that an earlier attempt of the step has stored.
    checkpoint: NotRequired[Any]
    correlation_id: NotRequired[str]
    #: When the attempt times out, once started.
    deadline_at: NotRequired[Timestamp]
    handler: str
    initialization: NotRequired[dict[str, Any]]
    #: Those of them that are kept apart, by step name: read them one by one. They are not in parent_results.
    large_results: NotRequired[dict[str, LargeResult]]
    lease_expires_at: Timestamp
    max_attempts: int
    namespace: str
    #: The task's context.
    parameters: NotRequired[Any]
    #: Results of the direct dependencies, by step name.
    parent_results: NotRequired[dict[str, Any]]
    priority_level: int
    state: Literal["pending", "waiting", "enqueued", "assigned", "in_progress", "enqueued_for_orchestration", "waiting_for_retry", "complete", "skipped", "error", "cancelled", "resolved_manually"]
    step_name: str
    step_uuid: str
    task_name: str
    task_uuid: str
    timeout_seconds: int
    #: Opaque fencing token of the lease. Send it back with start, progress, heartbeat and result. Valid for this
    #: worker only.
    token: str
    #: W3C trace context of the step, if the task was submitted with one.
    traceparent: NotRequired[str]
    version: NotRequired[str]


class Attempt(TypedDict):
    assigned_at: NotRequired[Timestamp]
    #: Counted from 1 since the last reset.
    attempt: int
    #: Reason why a part of the stored data cannot be shown; that part is omitted.
    damage: NotRequired[str]
    error: NotRequired[Failure]
    finished_at: NotRequired[Timestamp]
    #: Number of the lease; grows with each lease of the step. The token of the lease begins with it.
    lease: int
    #: running, completed, failed, timed_out, lease_expired, not_started, dispatch_expired, released, snoozed,
    #: cancelled.
    outcome: str
    ready_at: NotRequired[Timestamp]
    started_at: NotRequired[Timestamp]
    step_name: str
    step_uuid: str
    worker: NotRequired[str]
    #: Absent when the worker has been deleted.
    worker_id: NotRequired[str]


class AttemptLog(TypedDict):
    #: Number of the attempt, counted from 1 since the last reset.
    attempt: int
    #: Size of all that the attempt has logged.
    bytes: int
    #: Number of the lease; see the attempts of the history.
    lease: int
    step_uuid: str
    stored_at: Timestamp
    #: The end of it, as the worker sent it: it may contain control characters.
    text: str


class AuditArchive(TypedDict):
    #: Number of acts in this archive.
    acts: int
    at: Timestamp
    #: Last archived link: its number and its hash.
    head: str
    #: Number of the last archived link.
    seq: int


class AuditChain(TypedDict):
    #: Heads up to which the chain was archived and may have been deleted, the earliest first. The chain starts behind
    #: the last one.
    archives: list[AuditArchive]
    links: list[AuditLink]


class AuditLink(TypedDict):
    #: The act as it is now. Absent when it does not exist.
    act: NotRequired[AuditRecord]
    #: Number of the sealed act.
    act_no: int
    #: SHA-256 of the act, in hexadecimal.
    content: str
    #: SHA-256 of the link and the hash of the link before it, in hexadecimal.
    hash: str
    sealed_at: Timestamp
    #: Links are numbered from 1 without gaps.
    seq: int


class AuditRecord(TypedDict):
    #: The claimed name.
    actor: str
    after: str
    at: Timestamp
    #: How the actor was authenticated: by the API key key_name; not at all, on a server without keys or in process;
    #: as Tasker itself; or unknown, because the act is older than this field or a database function stored it.
    authenticated: Literal["key", "none", "system", "unknown"]
    before: str
    #: Reason why a part of the stored data cannot be shown; that part is omitted.
    damage: NotRequired[str]
    data: NotRequired[Any]
    #: Sensitive values of the data are masked; the hash of the act cannot be computed from what is left.
    data_masked: NotRequired[bool]
    #: The data was omitted because the page would be too long; request a page with only this record.
    data_omitted: NotRequired[bool]
    dlq_entry_uuid: NotRequired[str]
    #: Name of the API key of the request.
    key_name: NotRequired[str]
    kind: str
    #: Namespace of the task or template.
    namespace: NotRequired[str]
    no: int
    reason: NotRequired[str]
    step_uuid: NotRequired[str]
    #: Absent when the act is not about a task. The task may have been deleted.
    task_uuid: NotRequired[str]
    #: Name of the task (template or task type) or of the registered template.
    template: NotRequired[str]
    worker_id: NotRequired[str]


class Backfill(TypedDict):
    dry_run: NotRequired[bool]
    fired: int
    #: They have fired already.
    known: int
    #: Their tasks were refused; see the firings of the schedule.
    refused: int
    #: By the policy of overlap.
    skipped: int
    #: All times of the range.
    times: list[Timestamp]
    #: They wait for tasks of earlier firings.
    waiting: int


BackfillRequest = TypedDict(
    "BackfillRequest",
    {
        #: Name recorded with the act. Defaults to the name of the API key.
        "actor": NotRequired["str | None"],
        #: Only answer the times of the range.
        "dry_run": NotRequired["bool | None"],
        #: First time of the range.
        "from": "Timestamp | datetime",
        #: Expected ETag of the schedule, or *. If it has changed, the act is refused with conflict.
        "if_match": NotRequired["str | None"],
        #: Policy for these firings. Defaults to that of the schedule.
        "overlap": NotRequired["Literal['', 'skip', 'queue_one', 'queue_all', 'cancel_running', 'allow'] | None"],
        #: Reason of the act.
        "reason": NotRequired["str | None"],
        #: Last time of the range. Not after the times that the schedule has decided about.
        "until": "Timestamp | datetime",
    },
)


class BulkCaseUpdate(TypedDict):
    #: next_cursor of the previous request.
    cursor: NotRequired[str | None]
    #: Show what would be done without changing anything.
    dry_run: NotRequired[bool | None]
    #: Selects the cases, by default pending ones. Must not be empty.
    filter: CaseFilter
    #: Maximum number of cases. Defaults to 100, or to all cases that the filter names.
    limit: NotRequired[int | None]
    update: CaseUpdate


class BulkItem(TypedDict):
    #: In a dry run, the expected value.
    after: NotRequired[str]
    #: Resolution status of the case, or state of the step.
    before: NotRequired[str]
    dlq_entry_uuid: str
    #: The item was refused and not changed.
    error: NotRequired[Error]
    step_name: NotRequired[str]
    step_uuid: NotRequired[str]
    task_uuid: NotRequired[str]


class BulkResult(TypedDict):
    dry_run: NotRequired[bool]
    #: Reason for an early stop; the acts in results are done.
    error: NotRequired[Error]
    failed: int
    next_cursor: NotRequired[str]
    results: list[BulkItem]
    succeeded: int


class BulkStepAction(TypedDict):
    #: Name of the step to act on, in any state. Defaults to all failed steps.
    act_on_step: NotRequired[str | None]
    action: StepAction
    #: next_cursor of the previous request.
    cursor: NotRequired[str | None]
    #: Show what would be done without changing anything.
    dry_run: NotRequired[bool | None]
    #: Selects the cases, by default pending ones. Must not be empty.
    filter: CaseFilter
    #: Maximum number of cases. Defaults to 100, or to all cases that the filter names.
    limit: NotRequired[int | None]


class CancelRequest(TypedDict):
    #: Actor. Defaults to the name of the API key, else to anonymous.
    cancelled_by: NotRequired[str | None]
    #: Expected state of each task. In any other state the act is refused with conflict.
    expected_state: NotRequired[Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"] | None]
    #: Expected etag. If the etag has changed, the act is refused with conflict. Same as the header If-Match.
    if_match: NotRequired[str | None]
    #: Reason for the act. Defaults to "no reason given".
    reason: NotRequired[str | None]
    task_uuids: list[str]


Case = TypedDict(
    "Case",
    {
        #: Detailed cause. Absent if unknown.
        "cause": NotRequired["str"],
        #: Class of the failure: transient, resource, logic or worker.
        "class": NotRequired["str"],
        "created_at": "Timestamp",
        #: Current state of the task.
        "current_state": NotRequired["Literal['pending', 'initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results', 'waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures', 'complete', 'error', 'cancelled', 'resolved_manually']"],
        #: Reason why a part of the stored data cannot be shown; that part is omitted.
        "damage": NotRequired["str"],
        "dlq_entry_uuid": "str",
        "dlq_reason": "Literal['staleness_timeout', 'max_retries_exceeded', 'dependency_cycle_detected', 'worker_unavailable', 'manual_dlq']",
        #: Time of opening, that is, of the first occurrence.
        "dlq_timestamp": "Timestamp",
        #: The first 1 KiB of the error message.
        "error_message": NotRequired["str"],
        #: Fingerprint of the failure: its code, else its type, else its message without numbers.
        "error_pattern": NotRequired["str"],
        #: Changes with every change of the case. An update with If-Match is refused if it has changed.
        "etag": NotRequired["str"],
        #: Name of the failed step that stops the task.
        "failed_step": NotRequired["str"],
        #: Handler of that step.
        "handler": NotRequired["str"],
        "last_occurred_at": "Timestamp",
        "last_replayed_at": NotRequired["Timestamp"],
        "last_replayed_by": NotRequired["str"],
        "last_replayed_by_key": NotRequired["str"],
        "metadata": NotRequired["dict[str, Any]"],
        #: The metadata was omitted because the page would be too long; request the case or a shorter page.
        "metadata_omitted": NotRequired["bool"],
        "namespace": "str",
        "note_count": "int",
        #: All notes, oldest first. Not in lists.
        "notes": NotRequired["list[CaseNote]"],
        #: Number of occurrences in this case.
        "occurrence_count": "int",
        #: The first, the latest and up to 8 occurrences in between, oldest first. Not in lists.
        "occurrences": NotRequired["list[CaseOccurrence]"],
        "original_state": "Literal['pending', 'initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results', 'waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures', 'complete', 'error', 'cancelled', 'resolved_manually']",
        #: How the task recovered. Absent while it is stuck or when it was cancelled.
        "recovery": NotRequired["CaseRecovery"],
        #: Number of replays while the case was pending.
        "replay_count": NotRequired["int"],
        #: Note of the resolution, or the last note while the case is pending.
        "resolution_notes": NotRequired["str"],
        "resolution_status": "Literal['pending', 'manually_resolved', 'permanently_failed', 'cancelled']",
        "resolved_at": NotRequired["Timestamp"],
        "resolved_by": NotRequired["str"],
        #: Name of the API key that resolved the case.
        "resolved_by_key": NotRequired["str"],
        #: Whether a retry may help: the failure was retryable, or the time ran out without a failure.
        "retryable": "bool",
        "task_name": "str",
        #: A CaseSnapshot of the task at the latest occurrence, up to 512 KiB. Not in lists.
        "task_snapshot": NotRequired["Any"],
        "task_uuid": "str",
        "updated_at": "Timestamp",
    },
)


class CaseFilter(TypedDict):
    #: Opened at or after this time.
    after: NotRequired[Timestamp | datetime | None]
    #: Opened before this time.
    before: NotRequired[Timestamp | datetime | None]
    #: Current state of the task.
    current_state: NotRequired[Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"] | None]
    dlq_entry_uuids: NotRequired[list[str] | None]
    dlq_reason: NotRequired[Literal["staleness_timeout", "max_retries_exceeded", "dependency_cycle_detected", "worker_unavailable", "manual_dlq"] | None]
    #: A literal part of the error message.
    error_message: NotRequired[str | None]
    #: Fingerprint as lists show it.
    error_pattern: NotRequired[str | None]
    #: Name of the step.
    failed_step: NotRequired[str | None]
    #: Handler of that step.
    handler: NotRequired[str | None]
    namespace: NotRequired[str | None]
    resolution_status: NotRequired[Literal["pending", "manually_resolved", "permanently_failed", "cancelled"] | None]
    #: Template name or task type.
    task_name: NotRequired[str | None]


class CaseNote(TypedDict):
    at: Timestamp
    author: NotRequired[str]
    #: Name of the author's API key.
    author_key: NotRequired[str]
    no: int
    text: str


CaseOccurrence = TypedDict(
    "CaseOccurrence",
    {
        "cause": NotRequired["str"],
        "class": NotRequired["str"],
        "dlq_reason": "Literal['staleness_timeout', 'max_retries_exceeded', 'dependency_cycle_detected', 'worker_unavailable', 'manual_dlq']",
        "error_message": NotRequired["str"],
        "error_pattern": NotRequired["str"],
        "failed_step": NotRequired["str"],
        #: 1 opened the case. Numbers between the first and the latest may be missing, because only some are kept.
        "no": "int",
        "occurred_at": "Timestamp",
        "original_state": "Literal['pending', 'initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results', 'waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures', 'complete', 'error', 'cancelled', 'resolved_manually']",
        #: How the task recovered before it got stuck again.
        "recovery": NotRequired["CaseRecovery"],
        "retryable": "bool",
        #: A CaseSnapshot. Absent for the latest occurrence, whose snapshot is that of the case.
        "task_snapshot": NotRequired["Any"],
    },
)


class CaseRecovery(TypedDict):
    at: Timestamp
    #: The operator, or system.
    by: str
    #: Name of the operator's API key.
    by_key: NotRequired[str]
    #: Time at which the task ended.
    finished_at: NotRequired[Timestamp]
    #: Kind of the act, or the worker that claimed the step.
    how: NotRequired[str]
    #: The new state of the task; the last one when it has ended.
    state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]


class CaseSnapshot(TypedDict):
    context: NotRequired[Any]
    correlation_id: NotRequired[str]
    created_at: Timestamp
    current_state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]
    detail: NotRequired[str]
    detection_time: Timestamp
    dlq_reason: Literal["staleness_timeout", "max_retries_exceeded", "dependency_cycle_detected", "worker_unavailable", "manual_dlq"]
    namespace: str
    priority: str | int
    steps: list[SnapshotStep]
    steps_omitted: NotRequired[int]
    task_age_minutes: float
    task_name: str
    task_uuid: str
    template: NotRequired[Any]
    threshold_minutes: NotRequired[float]
    time_in_state_minutes: float
    version: str


class CaseStats(TypedDict):
    avg_resolution_time_minutes: float | None
    cancelled: int
    dlq_reason: Literal["staleness_timeout", "max_retries_exceeded", "dependency_cycle_detected", "worker_unavailable", "manual_dlq"]
    manually_resolved: int
    newest_entry: NotRequired[Timestamp]
    oldest_entry: NotRequired[Timestamp]
    pending: int
    permanent_failures: int
    total_entries: int


class CaseUpdate(TypedDict):
    #: Expected resolution_status. With any other the update is refused with conflict.
    expected_state: NotRequired[Literal["pending", "manually_resolved", "permanently_failed", "cancelled"] | None]
    #: Expected etag. If the etag has changed, the act is refused with conflict. Same as the header If-Match.
    if_match: NotRequired[str | None]
    #: Object to merge; null removes a member.
    metadata: NotRequired[dict[str, Any] | None]
    #: Make a resolved case pending again.
    reopen: NotRequired[bool | None]
    #: A note to add, with resolved_by as its author. A case has up to 200 notes of 256 KiB in all.
    resolution_notes: NotRequired[str | None]
    resolution_status: NotRequired[Literal["pending", "manually_resolved", "permanently_failed", "cancelled"] | None]
    #: Actor of the update and author of the note; required to resolve or reopen. Defaults to the name of the API key.
    resolved_by: NotRequired[str | None]


class CaseUpdated(TypedDict):
    dlq_entry_uuid: str
    message: str
    success: bool


class Change(TypedDict):
    after: NotRequired[str]
    before: NotRequired[str]
    #: JSON pointer into the payload, or key, header NAME, payload.
    pointer: str


class ChangedGroups(TypedDict):
    #: Nothing was changed.
    dry_run: NotRequired[bool]
    results: list[GroupResult]


class Checkpoint(TypedDict):
    #: Size of the value.
    bytes: int
    #: Number of the lease under which it was stored; see the attempts of the history.
    lease: int
    stored_at: Timestamp
    #: Left out of lists of steps without results, and where the checkpoints of a task are too large for a page.
    value: NotRequired[Any]


class Child(TypedDict):
    #: Place among the children of the step, counted from 0.
    index: int
    #: Why the child could not be submitted; of a child in error, the first line of its last failure.
    reason: NotRequired[str]
    state: Literal["running", "done", "error", "given_up"]
    task_uuid: NotRequired[str]


class ChildPage(TypedDict):
    children: list[Child]
    #: Index at which the next page begins; absent at the end.
    next: NotRequired[int]


class ClearDone(TypedDict):
    #: Identifies this clearing for restore; null for a single job.
    cleared_at: Timestamp | None
    #: Jobs that were changed.
    count: int
    message: str
    queue_name: str
    success: bool


class CompletionData(TypedDict):
    metadata: NotRequired[dict[str, Any] | None]
    result: Any


class Content(TypedDict):
    #: In order; a name may repeat.
    headers: NotRequired[list[Header]]
    #: Key of the message, if it is text.
    key: NotRequired[str]
    #: Key of the message, if it is not text.
    key_base64: NotRequired[str]
    #: Payload, if it is JSON in UTF-8. White space may differ from that of the message.
    payload: NotRequired[Any]
    #: Payload, if it is not JSON.
    payload_base64: NotRequired[str]


class ContextEdit(TypedDict):
    actor: str
    at: Timestamp
    #: Version of the resulting context.
    context_version: int
    ended_steps: NotRequired[list[str]]
    #: The merge patch of the edit, if it used one.
    merge: NotRequired[Any]
    #: Number of the record in the audit trail.
    no: int
    #: The previous context. A history contains up to 1 MiB of them, newest first; the audit trail has the others.
    old_context: NotRequired[Any]
    #: The old context was omitted because the response would be too long.
    old_context_omitted: NotRequired[bool]
    reason: str
    #: Whether the failed steps ran again.
    replayed: bool


class CordonRequest(TypedDict):
    #: Actor. Defaults to the name of the API key, else to anonymous.
    cordoned_by: NotRequired[str | None]
    #: Reason for the act, shown with the worker. Defaults to "no reason given".
    reason: NotRequired[str | None]


class DeadMessage(TypedDict):
    #: Since failed_at.
    age_seconds: float
    #: Attempts of consumers, in all.
    attempt_count: int
    #: When it was stored.
    created_at: Timestamp
    discard_reason: str | None
    discarded_at: Timestamp | None
    #: Error of the first or, after a return, the latest death.
    error: str
    error_type: str
    #: What is sent back. Null for more than 1 KiB in a list.
    event: Any
    #: ID of the message, or else UUID of the letter.
    event_id: str
    #: From the content of the message; empty if it says none.
    event_type: str
    #: When it died first.
    failed_at: Timestamp
    #: In their order; not in a list.
    headers: NotRequired[list[MessageHeader]]
    #: Why it could not be sent, or why its policy left it.
    last_error: str | None
    last_failed_at: Timestamp
    #: When it entered its status.
    last_updated: Timestamp
    letter_uuid: str
    #: Of a scheduled message.
    next_retry_at: Timestamp | None
    original_topic: str
    #: It was sent back too often: operations on many leave it out.
    parked: bool
    #: Consumer or producer that reported the failure.
    producer_id: str
    #: Of a retried message: the latest time.
    retried_at: Timestamp | None
    #: Times that it was sent back. It never goes down.
    retry_count: int
    source: str
    status: Literal["pending", "scheduled", "retried", "discarded"]


class DeadTopic(TypedDict):
    #: Of up to 1,000 messages of each state, the newest.
    avg_retry_count: float
    #: Likewise.
    max_retry_count: int
    #: When the newest one died last.
    newest_message: Timestamp | None
    #: When the oldest one died first.
    oldest_message: Timestamp | None
    status_breakdown: MessageCounts
    topic: str
    #: In any status.
    total_messages: int


class DeleteLimitRequest(TypedDict):
    #: Of a route: what a worker must have for its steps. None is the route of steps that need none.
    capabilities: NotRequired[list[str] | None]
    #: Who deletes it; defaults to the name of the API key.
    deleted_by: NotRequired[str | None]
    handler: str
    kind: Literal["route", "handler"]
    #: Defaults to the default namespace.
    namespace: NotRequired[str | None]
    #: Why; kept in the audit trail.
    reason: NotRequired[str | None]


class DestinationCheck(TypedDict):
    allowed: bool
    destination: str
    exists: bool
    letters: int
    source: str


class Detail(TypedDict):
    location: NotRequired[str]
    message: str


class DetectRequest(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    batch_size: NotRequired[int | None]
    dry_run: NotRequired[bool | None]
    #: Reason of the act.
    reason: NotRequired[str | None]


class Detection(TypedDict):
    action_taken: Literal["would_transition_to_dlq_and_error", "transitioned_to_dlq_and_error", "moved_to_dlq_only", "transitioned_to_error_only", "transition_failed"]
    current_state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]
    moved_to_dlq: bool
    namespace_name: str
    staleness_threshold_minutes: float
    task_name: str
    task_uuid: str
    time_in_state_minutes: float
    transition_success: bool


class Done(TypedDict):
    #: Jobs that could not be sent; they are still in the queue.
    failed: int
    #: Always null.
    job: Any
    message: str
    #: Jobs that are sent later, since the time of the request was up.
    pending: int
    #: The redrives that sent them, with the result of each job.
    redrive_uuids: list[str]
    #: Jobs that were sent back.
    requeued: int
    success: bool


class DrainRequest(TypedDict):
    #: Actor. Defaults to the name of the API key, else to anonymous; for a final drain with the permission work, to
    #: the worker.
    drained_by: NotRequired[str | None]
    final: NotRequired[bool | None]
    #: Reason for the act. Defaults to "no reason given".
    reason: NotRequired[str | None]


class DrainResponse(TypedDict):
    released: int


class Edit(TypedDict):
    #: Removes the headers of these names.
    drop_headers: NotRequired[list[str] | None]
    #: Replaces the key.
    key: NotRequired[str | None]
    #: Replaces the key by one that is not text.
    key_base64: NotRequired[str | None]
    #: JSON Patch (RFC 6902, an array) or JSON merge patch (RFC 7396, an object) of the payload; of a case, of the
    #: context of its task.
    patch: NotRequired[Any]
    #: Replaces the headers of these names.
    set_headers: NotRequired[list[Header] | None]


class EditContextRequest(TypedDict):
    #: The complete new context, any JSON value except null. Either this or merge.
    context: NotRequired[Any]
    #: Actor. Required, but defaults to the name of the API key.
    edited_by: NotRequired[str | None]
    #: Expected context_version. With any other the edit is refused with conflict.
    expected_context_version: NotRequired[int | None]
    #: A JSON merge patch (RFC 7396) for the context; null removes a member. Either this or context.
    merge: NotRequired[Any]
    #: Leave the task in error instead of running its failed steps again.
    no_retry: NotRequired[bool | None]
    #: Reason for the edit; kept with the task.
    reason: str
    #: Give the failed steps all their attempts again. Otherwise they have the attempts left, at least one.
    reset_retry_count: NotRequired[bool | None]


class EditedContext(TypedDict):
    #: False if the task already had this context; then nothing was stored.
    changed: bool
    #: The new context.
    context: Any
    context_version: int
    #: Steps that ended earlier. They do not run again, even if they used the old context.
    ended_steps: list[str]
    old_context: NotRequired[Any]
    #: Names of the steps that run again.
    replayed_steps: int
    state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]
    task_uuid: str


class EnqueueRequest(TypedDict):
    #: At most 1,000 by default.
    tasks: list[EnqueueTask]


class EnqueueTask(TypedDict):
    correlation_id: NotRequired[str | None]
    #: Expected duration. Stored and shown only; estimated waits use measurements.
    estimated_duration_seconds: NotRequired[int | None]
    #: Unique per namespace for 24 hours. A second submission returns the first task.
    idempotency_key: NotRequired[str | None]
    #: Retries after the first attempt. The default depends on the priority.
    max_retries: NotRequired[int | None]
    #: Namespace of the handler. Defaults to "default".
    namespace: NotRequired[str | None]
    #: Input of the task, any JSON value. Limited to 256 KiB by default; store large data elsewhere and submit a
    #: reference.
    parameters: NotRequired[Any]
    #: high, medium, low, or an integer level from 0 to 100, higher first. Defaults to medium.
    priority: NotRequired[str | int | None]
    #: Capabilities that a worker must have.
    required_capabilities: NotRequired[list[str] | None]
    #: Earliest start.
    run_at: NotRequired[Timestamp | datetime | None]
    #: Tags of the task.
    tags: NotRequired[list[str] | None]
    #: Handler to run.
    task_type: str
    #: Time limit of one attempt. The default depends on the priority.
    timeout_seconds: NotRequired[int | None]
    #: W3C trace id, 32 hexadecimal digits. Either this or traceparent.
    trace_id: NotRequired[str | None]
    #: W3C trace context. Defaults to the traceparent header of the request.
    traceparent: NotRequired[str | None]
    #: Rule by which another task with the same parameters stands for this one.
    unique: NotRequired[Unique | None]
    #: Initiator of the task. Limits per user apply to it, within the API key.
    user_id: NotRequired[str | None]


class Error(TypedDict):
    code: Literal["invalid", "too_large", "unauthenticated", "forbidden", "not_found", "conflict", "wrong_state", "stale_token", "exhausted", "unavailable", "internal"]
    details: NotRequired[list[Detail]]
    hint: NotRequired[str]
    message: str
    #: For a refused item: time to wait before the next try.
    retry_after_seconds: NotRequired[float]


class Event(TypedDict):
    #: Present in events of approvals.
    approval: NotRequired[ApprovalEvent]
    at: Timestamp
    #: Cause of the event: submit, settle, cancelled and so on; for a gap, its reason.
    cause: NotRequired[str]
    correlation_id: NotRequired[str]
    dlq_entry_uuid: NotRequired[str]
    dlq_reason: NotRequired[Literal["staleness_timeout", "max_retries_exceeded", "dependency_cycle_detected", "worker_unavailable", "manual_dlq"]]
    #: Absent in the initial events of a stream about tasks.
    from_state: NotRequired[Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]]
    #: Present in events of groups.
    group: NotRequired[GroupEvent]
    #: ID to resume after this event, as Last-Event-ID.
    id: str
    #: Present in events of dead letters.
    letters: NotRequired[LetterEvent]
    #: Name of the task: the template or the task type.
    name: NotRequired[str]
    namespace: NotRequired[str]
    #: Present in events of outages.
    outage: NotRequired[OutageEvent]
    #: Present in events of pauses.
    pause: NotRequired[PauseEvent]
    priority: NotRequired[str | int]
    #: Present in queue.stats.
    queue: NotRequired[QueueDepth]
    #: Present in events of redrives.
    redrive: NotRequired[RedriveEvent]
    #: Present in events of replays.
    replay: NotRequired[ReplayEvent]
    resolution_status: NotRequired[Literal["pending", "manually_resolved", "permanently_failed", "cancelled"]]
    #: Present in events of schedules.
    schedule: NotRequired[ScheduleEvent]
    #: Present in events of sources.
    source: NotRequired[SourceEvent]
    tags: NotRequired[list[str]]
    task_uuid: NotRequired[str]
    to_state: NotRequired[Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]]
    type: Literal["task.submitted", "task.state", "case.opened", "case.resolved", "queue.stats", "group.new", "group.regression", "group.burst", "group.state", "redrive.state", "replay.state", "source.lost", "source.found", "letter.retrying", "letter.retried", "letter.discarded", "outage.opened", "outage.closed", "pause.begun", "pause.ended", "schedule.fired", "schedule.missed", "approval.requested", "approval.decided", "stream.open", "stream.gap", "stream.alive", "stream.end"]


class EventLetter(TypedDict):
    letter_uuid: str
    #: The sender's ID of the message, cut to 128 bytes.
    message_id: NotRequired[str]


class Execution(TypedDict):
    #: Name of the template or of the handler.
    action_ref: str
    correlation_id: NotRequired[str]
    created: Timestamp
    #: Reason why a part of the stored data cannot be shown; that part is omitted.
    damage: NotRequired[str]
    #: Changes with the state and progress of the execution. An act with If-Match is refused if it has changed.
    etag: NotRequired[str]
    finished_at: NotRequired[Timestamp]
    #: UUID of the task.
    id: str
    idempotency_key: NotRequired[str]
    initiator: NotRequired[str]
    max_retries: int
    namespace: str
    next_retry_at: NotRequired[Timestamp]
    parameters: NotRequired[Any]
    priority: str | int
    #: Result of the handler; for several steps, an object by step name. Of an execution that failed: an object with
    #: error, message, code, worker and expired_at, as far as they are known. Null until there is one.
    result: Any
    retry_count: int
    #: Why it was last tried again; absent if it was not.
    retry_reason: NotRequired[Literal["worker_unavailable", "queue_timeout", "worker_heartbeat_stale", "transient_error", "manual_retry", "unknown"]]
    #: Start of the last attempt.
    started_at: NotRequired[Timestamp]
    #: State of the task; status is a simplified form of it.
    state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]
    status: Literal["requested", "scheduling", "scheduled", "running", "completed", "failed", "canceling", "cancelled", "timeout", "abandoned"]
    #: Name of the worker that holds it.
    worker: NotRequired[str]
    worker_id: NotRequired[str]


class ExecutionCancel(TypedDict):
    #: Actor. Defaults to the name of the API key, else to anonymous.
    cancelled_by: NotRequired[str | None]
    #: Reason for the act. Defaults to "no reason given".
    reason: NotRequired[str | None]


class ExecutionChange(TypedDict):
    action_ref: NotRequired[str]
    at: Timestamp
    #: Cause of the event; for a gap, its reason.
    cause: NotRequired[str]
    execution_id: NotRequired[str]
    #: ID to resume after this event, as Last-Event-ID.
    id: str
    namespace: NotRequired[str]
    #: scheduling: a worker can take it, or has it. failed: also timeout and abandoned.
    status: NotRequired[Literal["requested", "scheduling", "completed", "failed", "cancelled"]]
    type: Literal["execution.created", "execution.status", "stream.open", "stream.gap", "stream.alive", "stream.end"]


class ExecutionPage(TypedDict):
    executions: list[ListedExecution]
    #: cursor of the next page; absent on the last page.
    next_cursor: NotRequired[str]


class ExecutionRequest(TypedDict):
    #: Action to run: the last registered version of the template of this name, else the handler of this name.
    action_ref: str
    correlation_id: NotRequired[str | None]
    #: Unique per namespace for 24 hours. A second request returns the first execution.
    idempotency_key: NotRequired[str | None]
    #: Person or system that requests the execution.
    initiator: NotRequired[str | None]
    #: Retries after the first attempt; only for a handler. The default depends on the priority.
    max_retries: NotRequired[int | None]
    #: Namespace of the action. Defaults to "default".
    namespace: NotRequired[str | None]
    #: Input of the action, any JSON value. Limited to 256 KiB by default.
    parameters: NotRequired[Any]
    #: high, medium, low, or an integer level from 0 to 100, higher first. Defaults to the priority of the template,
    #: else medium.
    priority: NotRequired[str | int | None]
    #: Capabilities that a worker must have; only for a handler.
    required_capabilities: NotRequired[list[str] | None]
    #: Earliest start.
    run_at: NotRequired[Timestamp | datetime | None]
    #: Time limit of one attempt; only for a handler. The default depends on the priority.
    timeout_seconds: NotRequired[int | None]


class ExecutionRetry(TypedDict):
    #: Reason for the act. Defaults to "no reason given".
    reason: NotRequired[str | None]
    #: Give the failed steps all their attempts again. Otherwise they have the attempts left, at least one.
    reset_retry_count: NotRequired[bool | None]
    #: Actor. Defaults to the name of the API key, else to anonymous.
    retried_by: NotRequired[str | None]


class ExecutionStats(TypedDict):
    at: Timestamp
    #: Whether scheduling is a lower bound (one million).
    capped: bool
    completed_last_minute: int
    failed_last_minute: int
    #: Longest wait for a worker; null if nothing waits.
    oldest_age_seconds: float | None
    running: int
    #: Assigned to a worker that has not started them.
    scheduled: int
    #: Ready for a worker. Steps are counted, here and below.
    scheduling: int


class ExpiredCount(TypedDict):
    action_ref: NotRequired[str]
    count: int
    last_expired_at: Timestamp
    namespace: NotRequired[str]
    worker: NotRequired[str]
    worker_id: NotRequired[str]


class ExpiredInHour(TypedDict):
    count: int
    #: Its beginning, in UTC.
    hour: Timestamp


class ExpiredReport(TypedDict):
    #: By action, the most first.
    actions: list[ExpiredCount]
    #: Whether older ones are left out, because there are more than 10,000 combinations of hour, worker and action.
    capped: bool
    #: By hour, the latest first; hours without any are left out.
    hours: list[ExpiredInHour]
    since: Timestamp
    total: int
    #: By worker, the most first.
    workers: list[ExpiredCount]


class Explanation(TypedDict):
    #: One sentence for each time limit of the task, with its reason.
    limits: NotRequired[list[str]]
    #: One sentence on the message of a broker that the task was made of; empty for a task that was submitted.
    origin: NotRequired[str]
    state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]
    #: One entry per step that is unsettled or failed.
    steps: NotRequired[list[StepExplanation]]
    #: One sentence.
    summary: str
    task_uuid: str
    #: One sentence on the unique key of the task; empty without one.
    unique: NotRequired[str]


class FailedTask(TypedDict):
    #: ID of the case, called dlq_entry_uuid elsewhere.
    case_id: str
    #: Detailed cause of the failure.
    cause: NotRequired[str]
    created_at: Timestamp
    #: Reason why a part of the stored data cannot be shown; that part is omitted.
    damage: NotRequired[str]
    #: The first 1 KiB of the error message.
    error_message: NotRequired[str]
    #: Fingerprint of the latest failure: its code, else its type, else its message without numbers.
    error_pattern: NotRequired[str]
    #: Name of the failed step that stops the task.
    failed_step: NotRequired[str]
    failure_reason: Literal["staleness_timeout", "max_retries_exceeded", "dependency_cycle_detected", "worker_unavailable", "manual_dlq"]
    #: Time of the last failed attempt of the failed step, including replays.
    last_error: NotRequired[Failure]
    last_failure_at: NotRequired[Timestamp]
    last_occurred_at: Timestamp
    last_replayed_at: NotRequired[Timestamp]
    last_replayed_by: NotRequired[str]
    last_replayed_by_key: NotRequired[str]
    moved_to_dlq_at: Timestamp
    namespace: str
    #: Number of occurrences of the case.
    occurrence_count: int
    priority: str | int
    replay_count: int
    resolution_status: Literal["pending", "manually_resolved", "permanently_failed", "cancelled"]
    #: Retries of the last failed step.
    retry_count: int
    #: Whether a retry may help: the failure was retryable, or the time ran out without a failure.
    retryable: bool
    #: Current priority.
    state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]
    task_id: str
    #: Name of the task: the task type or the template.
    task_type: str


class FailedTaskPage(TypedDict):
    next_cursor: NotRequired[str]
    tasks: list[FailedTask]
    #: Whether there are more.
    total_capped: NotRequired[bool]
    #: Total of all pages, counted up to 10,000.
    total_count: int


Failure = TypedDict(
    "Failure",
    {
        #: Class of the failure; limits the retries. Defaults to logic if retryable is false, else to the class of the
        #: code or error_type, else to transient.
        "class": NotRequired["Literal['transient', 'resource', 'logic', 'worker'] | None"],
        #: The application's own code.
        "code": NotRequired["str | None"],
        "details": NotRequired["Any"],
        #: Class of the error.
        "error_type": NotRequired["str | None"],
        "http_status": NotRequired["int | None"],
        #: Truncated to 8 KiB.
        "message": "str",
        #: Truncated to 8 KiB.
        "response_body": NotRequired["str | None"],
        #: Earliest next attempt, from a Retry-After header.
        "retry_after_seconds": NotRequired["float | None"],
        #: False fails the step permanently. Defaults to true.
        "retryable": NotRequired["bool | None"],
        #: Truncated to 32 KiB.
        "stack_trace": NotRequired["str | None"],
    },
)


class FailureAlarm(TypedDict):
    count: int
    #: The new fingerprint.
    error_pattern: NotRequired[str]
    failure_reason: NotRequired[Literal["staleness_timeout", "max_retries_exceeded", "dependency_cycle_detected", "worker_unavailable", "manual_dlq"]]
    kind: str
    message: str
    #: The new fingerprint.
    namespace: NotRequired[str]


FailureOfQueue = TypedDict(
    "FailureOfQueue",
    {
        "class": NotRequired["Literal['transient', 'resource', 'logic', 'worker'] | None"],
        #: The application's own code.
        "code": NotRequired["str | None"],
        "details": NotRequired["Any"],
        #: Class of the error.
        "error_type": NotRequired["str | None"],
        #: Another name of error_type.
        "failure_reason": NotRequired["str | None"],
        #: Truncated to 8 KiB.
        "message": "str",
        #: Another spelling of retryable.
        "retriable": NotRequired["bool | None"],
        "retry_after_seconds": NotRequired["float | None"],
        #: False fails the task permanently. Defaults to true.
        "retryable": NotRequired["bool | None"],
    },
)


class FailureReport(TypedDict):
    alarms: list[FailureAlarm]
    analyzed_at: Timestamp
    #: Most frequent first; at most 200.
    patterns: list[FingerprintCount]
    #: Most frequent first.
    reasons: list[ReasonCount]
    #: Number of these that are pending, in error and retryable.
    replayable_count: int
    #: Start of the analysed period.
    since: Timestamp
    total_count: int


class Fingerprint(TypedDict):
    error_type: NotRequired[str]
    #: Top frame of the application's own code.
    frame: NotRequired[str]
    #: First line of the message, with marks for the parts that vary.
    message: NotRequired[str]
    #: Rule that decided.
    rule: NotRequired[str]
    #: Version of the rules by which the parts were derived.
    version: int
    #: Handler or source.
    where: NotRequired[str]


class FingerprintCount(TypedDict):
    count: int
    #: Empty if there was no failure.
    error_pattern: str
    failure_reason: Literal["staleness_timeout", "max_retries_exceeded", "dependency_cycle_detected", "worker_unavailable", "manual_dlq"]
    first_at: Timestamp
    last_at: Timestamp
    namespace: str
    #: Not seen by any analysis in the last 30 days.
    new: NotRequired[bool]
    replayable_count: int


class Firing(TypedDict):
    #: Why the task was refused.
    error: NotRequired[str]
    #: Why there is a firing: time, missed, run or backfill.
    kind: str
    #: waiting (for a task of an earlier firing), running, ended or refused.
    state: str
    submitted_at: NotRequired[Timestamp]
    #: Of the task now, or when it was deleted.
    task_state: NotRequired[Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]]
    task_uuid: NotRequired[str]
    time: Timestamp


class FiringHistory(TypedDict):
    #: Of the next page; missing on the last one.
    cursor: NotRequired[str]
    firings: list[Firing]
    skips: list[FiringSkip]


class FiringSkip(TypedDict):
    first: Timestamp
    last: Timestamp
    #: There are more than were counted.
    more: NotRequired[bool]
    #: missed, overlap or paused.
    reason: str
    times: int


class Fleet(TypedDict):
    #: cursor of the next page. Even a short or empty page may have one.
    next_cursor: NotRequired[str]
    workers: list[FleetWorker]


class FleetWorker(TypedDict):
    capabilities: NotRequired[list[str]]
    #: Most tasks at a time; 0: no limit.
    capacity: int
    cordon_reason: NotRequired[str]
    #: An operator has stopped handing tasks to it.
    cordoned: bool
    cordoned_at: NotRequired[Timestamp]
    cordoned_by: NotRequired[str]
    #: Tasks at its last heartbeat.
    current_load: int
    drain_reason: NotRequired[str]
    drained_at: NotRequired[Timestamp]
    #: Operator who has drained it; it gets no more tasks until it is resumed.
    drained_by: NotRequired[str]
    #: It drains because its heartbeat said so; the first one that does not ends that.
    drains_itself: NotRequired[bool]
    #: healthy, degraded or unhealthy, as the answering node sees it.
    health: str
    #: Why it is not healthy.
    health_reasons: NotRequired[list[str]]
    host: NotRequired[str]
    id: str
    last_heartbeat: Timestamp
    name: str
    #: Namespaces that it serves; *: all.
    namespaces: NotRequired[list[str]]
    #: Always action: a worker that runs tasks.
    role: str
    #: busy: it runs something. inactive: it drains, has signed off, or was lost. error: its health probes fail, or
    #: its circuit breaker is open.
    status: Literal["active", "busy", "inactive", "error"]
    #: Task types that it runs; all if absent.
    task_types: NotRequired[list[str]]
    #: http: it polls. amqp: it gets its tasks from a queue of its own.
    transport: str
    version: NotRequired[str]


class Group(TypedDict):
    due_at: NotRequired[Timestamp]
    #: Changes with its state, owner, runbook, due time and ignoring; a note alone leaves it. A change with If-Match
    #: is refused if it has changed.
    etag: NotRequired[str]
    #: In all.
    failures: int
    fingerprint: Fingerprint
    first_at: Timestamp
    #: 16 hexadecimal digits.
    group_id: str
    #: Failures by the hour: of 24 hours in a list, of 14 days for one group. Hours without any are left out.
    hours: NotRequired[list[Hour]]
    ignore: NotRequired[Ignore]
    last_at: Timestamp
    #: Mean time from opening to resolution.
    mean_open_seconds: NotRequired[float]
    #: Group that shows its failures as its own.
    merged_into: NotRequired[str]
    namespace: str
    note_count: int
    open_cases: int
    open_letters: int
    owner: NotRequired[str]
    #: It was resolved, and has failed since.
    regression: NotRequired[bool]
    regressions: NotRequired[int]
    #: Last time.
    resolved_at: NotRequired[Timestamp]
    #: Version that is said to fix it.
    resolved_in: NotRequired[str]
    #: URL.
    runbook: NotRequired[str]
    state: Literal["open", "acknowledged", "resolved", "ignored"]
    #: When it entered the state.
    state_at: Timestamp
    title: str


class GroupChange(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    due_at: NotRequired[Timestamp | datetime | None]
    #: Expected ETag of the object, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Bounds, with state ignored. Without any, the group is ignored until an operator changes that.
    ignore: NotRequired[Ignore | None]
    #: Removes the due time.
    no_due_at: NotRequired[bool | None]
    #: Added to the thread.
    note: NotRequired[str | None]
    #: Empty removes the owner.
    owner: NotRequired[str | None]
    #: Reason of the act.
    reason: NotRequired[str | None]
    #: Version that fixes it, with state resolved.
    resolved_in: NotRequired[str | None]
    #: URL; empty removes it.
    runbook: NotRequired[str | None]
    state: NotRequired[Literal["open", "acknowledged", "resolved", "ignored"] | None]


class GroupEvent(TypedDict):
    #: In all.
    failures: int
    from_state: NotRequired[str]
    #: 16 hexadecimal digits.
    group_id: str
    state: str
    #: Of a burst: failures of the current clock hour.
    this_hour: NotRequired[int]
    #: Cut to 300 bytes.
    title: str
    #: Of a burst: mean number of failures in an hour of the day before.
    usual_per_hour: NotRequired[float]
    #: Handler or source.
    where: NotRequired[str]


class GroupPage(TypedDict):
    groups: list[Group]
    #: Mean time from opening to resolution, of all groups of the namespace.
    mean_open_seconds: NotRequired[float]
    #: Start of the next page; missing at the end.
    next_cursor: NotRequired[str]
    #: How often groups of the namespace were resolved.
    resolutions: int


class GroupResult(TypedDict):
    #: Why it was not changed.
    error: NotRequired[Error]
    group_id: str
    #: After the change.
    state: NotRequired[Literal["open", "acknowledged", "resolved", "ignored"]]
    title: NotRequired[str]


class GroupSelection(TypedDict):
    namespace: NotRequired[str | None]
    #: Only groups with open letters or pending cases.
    open_only: NotRequired[bool | None]
    owner: NotRequired[str | None]
    state: NotRequired[Literal["open", "acknowledged", "resolved", "ignored"] | None]
    #: Literal part of the title.
    text: NotRequired[str | None]
    #: Handler or source.
    where: NotRequired[str | None]


class GroupStory(TypedDict):
    due_at: NotRequired[Timestamp]
    #: Changes with its state, owner, runbook, due time and ignoring; a note alone leaves it. A change with If-Match
    #: is refused if it has changed.
    etag: NotRequired[str]
    #: In all.
    failures: int
    fingerprint: Fingerprint
    first_at: Timestamp
    #: 16 hexadecimal digits.
    group_id: str
    #: Failures by the hour: of 24 hours in a list, of 14 days for one group. Hours without any are left out.
    hours: NotRequired[list[Hour]]
    ignore: NotRequired[Ignore]
    last_at: Timestamp
    #: Mean time from opening to resolution.
    mean_open_seconds: NotRequired[float]
    #: Groups that are merged into it.
    merged: NotRequired[list[Group]]
    #: Group that shows its failures as its own.
    merged_into: NotRequired[str]
    namespace: str
    note_count: int
    #: Its thread, the latest first.
    notes: list[Note]
    open_cases: int
    open_letters: int
    owner: NotRequired[str]
    #: It was resolved, and has failed since.
    regression: NotRequired[bool]
    regressions: NotRequired[int]
    #: Last time.
    resolved_at: NotRequired[Timestamp]
    #: Version that is said to fix it.
    resolved_in: NotRequired[str]
    #: URL.
    runbook: NotRequired[str]
    #: A recent letter. Needs the permission dead-letters:read.
    sample: NotRequired[Letter]
    state: Literal["open", "acknowledged", "resolved", "ignored"]
    #: When it entered the state.
    state_at: Timestamp
    title: str
    #: The parts of its fingerprint, and the texts they were derived from.
    why: NotRequired[list[Part]]


class GroupsChange(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    #: Changes nothing, and answers which groups would be changed.
    dry_run: NotRequired[bool | None]
    due_at: NotRequired[Timestamp | datetime | None]
    #: Changes the groups that the list with this filter shows, at most 1,000.
    filter: NotRequired[GroupSelection | None]
    #: Groups to change, instead of a filter.
    groups: NotRequired[list[str] | None]
    #: Expected ETag of the object, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Bounds, with state ignored. Without any, the group is ignored until an operator changes that.
    ignore: NotRequired[Ignore | None]
    #: Removes the due time.
    no_due_at: NotRequired[bool | None]
    #: Added to the thread.
    note: NotRequired[str | None]
    #: Empty removes the owner.
    owner: NotRequired[str | None]
    #: Reason of the act.
    reason: NotRequired[str | None]
    #: Version that fixes it, with state resolved.
    resolved_in: NotRequired[str | None]
    #: URL; empty removes it.
    runbook: NotRequired[str | None]
    state: NotRequired[Literal["open", "acknowledged", "resolved", "ignored"] | None]


class Header(TypedDict):
    name: str
    #: Value, if it is text.
    value: NotRequired[str | None]
    #: Value, if it is not text.
    value_base64: NotRequired[str | None]


class HealthBody(TypedDict):
    status: Literal["live", "ready"]


class Heartbeat(TypedDict):
    current_load: NotRequired[int | None]
    health: NotRequired[dict[str, float] | None]
    #: active or draining.
    status: NotRequired[str | None]
    #: Leases to renew. If absent, all leases of the worker are renewed; an empty list renews none, so that lost
    #: leases expire.
    steps: NotRequired[list[LeaseRef] | None]


class HeartbeatResponse(TypedDict):
    acknowledged: bool
    #: open: the last attempts of the worker all failed, and it gets no steps. half_open: it gets a few attempts as a
    #: test.
    circuit_breaker: NotRequired[Literal["open", "half_open"]]
    #: End of this state if nothing else happens.
    circuit_breaker_until: NotRequired[Timestamp]
    leases: NotRequired[list[LeaseAnswer]]
    should_drain: bool


class Hour(TypedDict):
    #: Beginning of the hour.
    at: Timestamp
    failures: int


class Ignore(TypedDict):
    #: Number of failures from now on.
    count: NotRequired[int | None]
    #: Number of failures within a clock hour.
    per_hour: NotRequired[int | None]
    #: Time in the future.
    until: NotRequired[Timestamp | None]


class Intake(TypedDict):
    #: Value.
    correlation_id: NotRequired[str | None]
    #: Value: wait before the task may run; a constant such as 30s, or seconds in the message. At most 30 days.
    delay: NotRequired[str | None]
    #: Value, no constant: messages with one key are one task. Defaults to the identity of the message on its broker.
    idempotency_key: NotRequired[str | None]
    #: Context of the task: the payload, which must be JSON, or an object around any payload. Defaults to payload.
    input: NotRequired[Literal["payload", "message"] | None]
    #: Highest level of a task; a higher one of a message becomes this.
    max_priority: NotRequired[str | None]
    #: With task_type only. Defaults to that of the priority.
    max_retries: NotRequired[int | None]
    #: Lowest level of a task; a lower one of a message becomes this.
    min_priority: NotRequired[str | None]
    on_failure: NotRequired[IntakeFailure | None]
    #: Value, such as message:key: tasks of messages with one key run one at a time, in the order of the messages.
    #: Defaults to no order.
    ordering_key: NotRequired[str | None]
    #: Value: name or number of a level. Defaults to the template's, else medium.
    priority: NotRequired[str | None]
    #: Tags of each task.
    tags: NotRequired[list[str] | None]
    #: Value: handler of the task. Either this or template is given.
    task_type: NotRequired[str | None]
    #: Value: template of the task.
    template: NotRequired[str | None]
    #: Constant. Defaults to the newest version.
    template_version: NotRequired[str | None]
    #: With task_type only. Defaults to that of the priority.
    timeout_seconds: NotRequired[float | None]


class IntakeFailure(TypedDict):
    #: Queue of the same broker that gets a message of the format job_failure. Defaults to none.
    write: NotRequired[str | None]


class IntakePreview(TypedDict):
    refusal: NotRequired[IntakeRefusal]
    task: NotRequired[IntakeTask]


class IntakeRefusal(TypedDict):
    code: str
    reason: str


class IntakeTask(TypedDict):
    context_bytes: int
    correlation_id: NotRequired[str]
    delay_seconds: NotRequired[float]
    #: Empty where the broker gives an identity only to a message that is received.
    idempotency_key: NotRequired[str]
    #: The name of the source, a slash, and the key; a hash instead of a key that is no text.
    ordering_key: NotRequired[str]
    #: As the message has it, within the bounds; empty for the default.
    priority: NotRequired[str]
    task_type: NotRequired[str]
    template: NotRequired[str]


class Item(TypedDict):
    #: Time of the state.
    at: NotRequired[Timestamp]
    #: Group in which it came back.
    group_id: NotRequired[str]
    #: Letter or case.
    id: str
    kind: Literal["letter", "case"]
    #: Why it failed, was skipped, or is unknown.
    message: NotRequired[str]
    #: Items are numbered in the order in which they are sent.
    no: int
    state: Literal["pending", "sending", "unknown", "sent", "returned", "completed", "failed", "skipped"]
    #: A try had no answer: what was sent may be there twice, under the same number; what failed may be there once.
    uncertain: NotRequired[bool]
    wave: NotRequired[int]


class ItemCounts(TypedDict):
    completed: int
    failed: int
    pending: int
    returned: int
    sending: int
    sent: int
    skipped: int
    #: Among the others: a try had no answer. What was sent may be there twice, under the same number; what failed may
    #: be there once.
    uncertain: int
    #: They may have arrived, or not, and are sent again under the same numbers until that is known.
    unknown: int


class ItemPage(TypedDict):
    items: list[Item]
    #: Start of the next page; missing at the end.
    next_cursor: NotRequired[str]


class Job(TypedDict):
    #: Attempts of its consumers, in all.
    attempt_count: int
    #: State of the system when the job failed; or null.
    context: Any
    #: Last error message.
    error: str
    error_type: str | None
    first_failed_at: Timestamp
    http_status: int | None
    #: UUID of the dead letter: by it one job is requeued, moved, discarded or restored.
    job_id: str
    last_failed_at: Timestamp
    #: The job. One that is no JSON is a string, and one that is no text an object with its base64.
    original_job: Any
    #: It was sent back too often: requeue-all leaves it out.
    parked: bool
    #: Queue that the job came from.
    queue_name: str
    #: Times that it was sent back.
    requeue_count: int
    #: At most 2,048 bytes.
    response_body: str | None
    #: List of the delays between the attempts, in seconds; or null.
    retry_delays: Any
    #: At most 4,096 bytes.
    stack_trace: str | None
    #: scheduled: a policy sends it back.
    state: Literal["open", "scheduled"]


class LargeResult(TypedDict):
    #: Size of the JSON document.
    bytes: int
    #: SHA-256 of the document, in hexadecimal.
    sha256: str


class LargeResultReceipt(TypedDict):
    #: Size of the JSON document.
    bytes: int
    #: Name of the result in the call that settles the step, as large_result.
    large_result: str
    #: SHA-256 of the document, in hexadecimal.
    sha256: str


class LeaseAnswer(TypedDict):
    deadline_at: NotRequired[Timestamp]
    error: NotRequired[Error]
    lease_expires_at: NotRequired[Timestamp]
    #: held: continue. cancelled: the task was cancelled, stop. lost: the step is settled or another worker has it,
    #: stop and do not report.
    status: Literal["held", "cancelled", "lost"]
    step_uuid: str


class LeaseList(TypedDict):
    leases: list[LeaseAnswer]


class LeaseRef(TypedDict):
    step_uuid: str
    #: Token of the step's lease.
    token: str


class Letter(TypedDict):
    #: Attempts of its consumers, in all.
    attempts: int
    captured_at: Timestamp
    #: An early version has kept only the beginning of the payload: the letter can be neither edited nor sent back.
    cut: NotRequired[bool]
    #: When a policy sends it back.
    due_at: NotRequired[Timestamp]
    #: What is sent instead of the original.
    edited: NotRequired[Content]
    #: Changes with every change of the letter. An act with If-Match is refused if it has changed.
    etag: NotRequired[str]
    #: Of its latest occurrence.
    failure: LetterFailure
    #: When it died first, as its message says.
    first_at: Timestamp
    #: Convention in which the message told of its failure; http for a report, raw if none was recognised.
    format: NotRequired[str]
    #: Group of its latest occurrence: 16 hexadecimal digits.
    group_id: str
    #: Consumer that failed.
    handler: NotRequired[str]
    #: When it died last, as its message says.
    last_at: Timestamp
    letter_uuid: str
    #: How often the letters that it continues were sent back. Bounds on replays count it.
    lineage: NotRequired[int]
    #: Why: it carries the headers of a send of that letter and is another message; it has the same message ID; or it
    #: was sent as that letter without a confirmation, while an equal message died.
    linked_by: NotRequired[Literal["copied_header", "same_id", "same_content"]]
    #: Letter that it resembles.
    linked_uuid: NotRequired[str]
    message_id: NotRequired[str]
    namespace: str
    #: How often it died.
    occurrences: int
    #: Queue or topic that its consumer took it from.
    origin: NotRequired[str]
    original: Content
    #: It was sent back too often: no redrive takes it unless told to.
    parked: NotRequired[bool]
    #: The payload is above 1 KiB and was left out of the list: the letter by its UUID has it.
    payload_omitted: NotRequired[bool]
    #: Place of the message on its broker.
    position: NotRequired[str]
    #: When it will be deleted. Open letters never are.
    purge_at: NotRequired[Timestamp]
    #: Why it was discarded, or left to an operator.
    reason: NotRequired[str]
    #: Redrive that holds it, or held it last.
    redrive_uuid: NotRequired[str]
    #: How often it was sent back.
    replays: int
    #: Size of the payload. Of a letter that is cut: before that.
    size_bytes: int
    source: str
    state: Literal["open", "scheduled", "redriving", "redriven", "discarded"]
    #: When it entered the state.
    state_at: Timestamp
    #: Why the message could not be decoded.
    undecoded: NotRequired[str]
    #: The outcome of its last send is not known: it may have arrived, or not.
    unknown: NotRequired[bool]


class LetterEdit(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    #: Drop the edited form, so that the original is sent. Excludes the other fields of the edit.
    clear: NotRequired[bool | None]
    #: Removes the headers of these names.
    drop_headers: NotRequired[list[str] | None]
    #: Expected ETag of the object, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Replaces the key.
    key: NotRequired[str | None]
    #: Replaces the key by one that is not text.
    key_base64: NotRequired[str | None]
    #: JSON Patch (RFC 6902, an array) or JSON merge patch (RFC 7396, an object) of the payload; of a case, of the
    #: context of its task.
    patch: NotRequired[Any]
    #: Reason of the act.
    reason: NotRequired[str | None]
    #: Replaces the headers of these names.
    set_headers: NotRequired[list[Header] | None]


class LetterEvent(TypedDict):
    #: Number of letters.
    count: int
    #: The first of them, 10 at most.
    first: list[EventLetter]
    #: Of letter.discarded: why.
    kind: NotRequired[Literal["max_retries", "max_age", "test_event", "manual"]]
    #: Queue or topic that the letters came from.
    origin: NotRequired[str]
    #: Reason or error of the first letter.
    reason: NotRequired[str]
    #: Of letter.retried. A failed one is open or scheduled again.
    result: NotRequired[Literal["sent", "failed"]]
    source: str


LetterFailure = TypedDict(
    "LetterFailure",
    {
        #: Class of the failure.
        "class": NotRequired["Literal['transient', 'resource', 'logic', 'worker'] | None"],
        #: The application's own code.
        "code": NotRequired["str | None"],
        #: Class of the error.
        "error_type": NotRequired["str | None"],
        #: Truncated to 4 KiB.
        "message": "str",
        #: False if a retry cannot help. Defaults to true.
        "retryable": NotRequired["bool | None"],
        #: Truncated to 16 KiB. Missing in a list.
        "stack_trace": NotRequired["str | None"],
    },
)


class LetterPage(TypedDict):
    #: Without payloads above 1 KiB, headers, edited contents and stack traces, which a letter by its UUID has.
    letters: list[Letter]
    #: Start of the next page; missing at the end. A page may be short, or empty, and have a next one.
    next_cursor: NotRequired[str]


class LetterStory(TypedDict):
    #: Attempts of its consumers, in all.
    attempts: int
    captured_at: Timestamp
    #: An early version has kept only the beginning of the payload: the letter can be neither edited nor sent back.
    cut: NotRequired[bool]
    #: When a policy sends it back.
    due_at: NotRequired[Timestamp]
    #: What is sent instead of the original.
    edited: NotRequired[Content]
    #: Changes with every change of the letter. An act with If-Match is refused if it has changed.
    etag: NotRequired[str]
    #: Of its latest occurrence.
    failure: LetterFailure
    #: When it died first, as its message says.
    first_at: Timestamp
    #: Convention in which the message told of its failure; http for a report, raw if none was recognised.
    format: NotRequired[str]
    group: NotRequired[Group]
    #: Group of its latest occurrence: 16 hexadecimal digits.
    group_id: str
    #: Consumer that failed.
    handler: NotRequired[str]
    #: Its latest occurrences, the latest first.
    history: list[Occurrence]
    #: When it died last, as its message says.
    last_at: Timestamp
    letter_uuid: str
    #: How often the letters that it continues were sent back. Bounds on replays count it.
    lineage: NotRequired[int]
    #: Why: it carries the headers of a send of that letter and is another message; it has the same message ID; or it
    #: was sent as that letter without a confirmation, while an equal message died.
    linked_by: NotRequired[Literal["copied_header", "same_id", "same_content"]]
    #: Letter that it resembles.
    linked_uuid: NotRequired[str]
    message_id: NotRequired[str]
    namespace: str
    #: How often it died.
    occurrences: int
    #: Queue or topic that its consumer took it from.
    origin: NotRequired[str]
    original: Content
    #: It was sent back too often: no redrive takes it unless told to.
    parked: NotRequired[bool]
    #: The payload is above 1 KiB and was left out of the list: the letter by its UUID has it.
    payload_omitted: NotRequired[bool]
    #: Place of the message on its broker.
    position: NotRequired[str]
    #: When it will be deleted. Open letters never are.
    purge_at: NotRequired[Timestamp]
    #: Why it was discarded, or left to an operator.
    reason: NotRequired[str]
    #: Redrive that holds it, or held it last.
    redrive_uuid: NotRequired[str]
    #: How often it was sent back.
    replays: int
    #: Size of the payload. Of a letter that is cut: before that.
    size_bytes: int
    source: str
    state: Literal["open", "scheduled", "redriving", "redriven", "discarded"]
    #: When it entered the state.
    state_at: Timestamp
    #: Why the message could not be decoded.
    undecoded: NotRequired[str]
    #: The outcome of its last send is not known: it may have arrived, or not.
    unknown: NotRequired[bool]


class Lifecycle(TypedDict):
    max_duration_minutes: NotRequired[int]
    max_steps_in_process_minutes: NotRequired[int]
    max_waiting_for_dependencies_minutes: NotRequired[int]
    max_waiting_for_retry_minutes: NotRequired[int]


class Limit(TypedDict):
    #: Of a route: what a worker must have for its steps. None is the route of steps that need none.
    capabilities: NotRequired[list[str]]
    #: When it was set or changed last.
    changed_at: Timestamp
    #: Steps at once, on all nodes; missing without such a limit.
    concurrency: NotRequired[int]
    #: When it was deleted; missing while it is in force.
    deleted_at: NotRequired[Timestamp]
    handler: str
    kind: Literal["route", "handler"]
    #: Defaults to the default namespace.
    namespace: NotRequired[str]
    #: When the rate lets the next step begin; missing if that is at once.
    next_at: NotRequired[Timestamp]
    rate: NotRequired[Rate]
    reason: NotRequired[str]
    #: Steps that workers hold at present and that count; 0 without a concurrency.
    running: int
    set_at: Timestamp
    set_by: str


class LimitPage(TypedDict):
    #: In the order of namespace, kind and handler.
    limits: list[Limit]
    #: Present if there are more.
    next_cursor: NotRequired[str]


class LimitRequest(TypedDict):
    #: Of a route: what a worker must have for its steps. None is the route of steps that need none.
    capabilities: NotRequired[list[str] | None]
    #: Steps at once, on all nodes; 0 is no limit.
    concurrency: NotRequired[int | None]
    handler: str
    kind: Literal["route", "handler"]
    #: Defaults to the default namespace.
    namespace: NotRequired[str | None]
    #: How many steps may begin in a time, on all nodes.
    rate: NotRequired[Rate | None]
    #: Why; shown wherever somebody asks why a step waits.
    reason: NotRequired[str | None]
    #: Who sets it; defaults to the name of the API key.
    set_by: NotRequired[str | None]


class ListedExecution(TypedDict):
    #: Name of the template or of the handler.
    action_ref: str
    correlation_id: NotRequired[str]
    created: Timestamp
    #: Reason why a part of the stored data cannot be shown; that part is omitted.
    damage: NotRequired[str]
    finished_at: NotRequired[Timestamp]
    #: UUID of the task.
    id: str
    idempotency_key: NotRequired[str]
    initiator: NotRequired[str]
    max_retries: int
    namespace: str
    next_retry_at: NotRequired[Timestamp]
    priority: str | int
    retry_count: int
    #: Start of the last attempt.
    started_at: NotRequired[Timestamp]
    #: State of the task; status is a simplified form of it.
    state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]
    status: Literal["requested", "scheduling", "scheduled", "running", "completed", "failed", "canceling", "cancelled", "timeout", "abandoned"]


class LooseAct(TypedDict):
    no: int
    #: waiting: it will be sealed within about a second; inserted: it was not stored by Tasker; removed: it was stored
    #: and does not exist.
    state: Literal["waiting", "inserted", "removed"]


class LooseActs(TypedDict):
    acts: list[LooseAct]
    #: Continue above this number; absent at the end.
    next: NotRequired[int]


class MergeRequest(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    groups: list[str]
    #: Expected ETag of the object, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Reason of the act.
    reason: NotRequired[str | None]


class MessageAges(TypedDict):
    avg: float
    max: float
    min: float


class MessageCounts(TypedDict):
    discarded: int
    pending: int
    retried: int
    scheduled: int


class MessageDone(TypedDict):
    message: str


class MessageHeader(TypedDict):
    name: str
    value: str
    value_base64: NotRequired[str]


class MessagePage(TypedDict):
    limit: int
    #: The newest first.
    messages: list[DeadMessage]
    offset: int
    #: Messages that the filter selects, up to 1,000,000 for each state.
    total: int


class MessageRetry(TypedDict):
    #: Defaults to the API key.
    actor: NotRequired[str | None]
    #: IDs of messages, or UUIDs of letters.
    event_ids: list[str]
    #: Defaults to that of the key.
    namespace: NotRequired[str | None]
    #: Reason of the act.
    reason: NotRequired[str | None]
    #: Only messages of this source.
    source: NotRequired[str | None]


class MessageRetryAnswer(TypedDict):
    #: One for each ID, in their order.
    details: list[MessageRetryDetail]
    failed: int
    #: Messages that are sent after the answer.
    pending: int
    successful: int
    total: int


class MessageRetryDetail(TypedDict):
    #: Of a failed one.
    error: NotRequired[str]
    event_id: str
    status: Literal["success", "failed", "pending"]


class MessageStats(TypedDict):
    #: Of pending and scheduled messages, in seconds.
    age_stats: MessageAges
    #: The ten types with the most messages.
    by_event_type: list[TypeCount]
    by_status: MessageCounts
    #: The ten topics with the most messages.
    by_topic: list[TopicCount]
    timestamp: Timestamp


class Note(TypedDict):
    actor: NotRequired[str]
    at: Timestamp
    #: Name of the API key of the request.
    key_name: NotRequired[str]
    #: note, or the act that it reports.
    kind: str
    no: int
    text: NotRequired[str]


class Nothing(TypedDict):
    pass


class Occurrence(TypedDict):
    at: Timestamp
    attempts: int
    failure: LetterFailure
    group_id: str
    handler: NotRequired[str]
    no: int
    origin: NotRequired[str]
    #: What died, where it differs from what was sent.
    payload: NotRequired[Any]
    #: The same, if it is not JSON.
    payload_base64: NotRequired[str]
    position: NotRequired[str]
    #: Redrive after which it came back.
    redrive_uuid: NotRequired[str]


class OpenCaseRequest(TypedDict):
    #: An object.
    metadata: NotRequired[dict[str, Any] | None]
    #: Actor. Required, but defaults to the name of the API key.
    opened_by: NotRequired[str | None]
    #: The reason in words.
    reason: str


class Outage(TypedDict):
    #: What a worker needs for the steps of the route.
    capabilities: NotRequired[list[str]]
    close_reason: NotRequired[str]
    closed_at: NotRequired[Timestamp]
    #: Who closed it; system after a probe that succeeded.
    closed_by: NotRequired[str]
    #: Changes with every change of the outage.
    etag: str
    #: Failures that opened it, less the successes between them.
    failures: int
    #: Group of the inbox to which failures for good with this fingerprint belong. It exists once there is one.
    group_id: str
    handler: str
    #: How the last probe ended: no_step if none was ready, lost if it was given back or its worker died.
    last_probe: NotRequired[Literal["succeeded", "failed", "no_step", "lost"]]
    #: When it ended.
    last_probe_at: NotRequired[Timestamp]
    namespace: str
    #: When the next step is let through; a time in the past waits for a worker, or for the end of a pause.
    next_probe_at: NotRequired[Timestamp]
    opened_at: Timestamp
    outage_uuid: str
    #: The step that is let through now.
    probe: NotRequired[Probe]
    #: Steps that were let through.
    probes: int
    #: When these failures began.
    since: Timestamp
    #: Attempts that failed with the fingerprint while it was open, and were not charged.
    spared: int
    state: Literal["open", "closed"]
    #: The fingerprint, for people.
    title: NotRequired[str]


class OutageCloseRequest(TypedDict):
    #: Who closes it; defaults to the name of the API key.
    closed_by: NotRequired[str | None]
    #: Expected ETag of the outage, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Why; kept with the outage and in the audit trail.
    reason: NotRequired[str | None]


class OutageEvent(TypedDict):
    capabilities: NotRequired[list[str]]
    #: Who closed it; system after a probe that succeeded.
    closed_by: NotRequired[str]
    #: Failures that opened it.
    failures: int
    #: Group of the inbox to which failures for good with its fingerprint belong.
    group_id: str
    handler: str
    opened_at: Timestamp
    outage_uuid: str
    #: Steps that were let through until it was closed.
    probes: NotRequired[int]
    #: Attempts that failed meanwhile and were not charged.
    spared: NotRequired[int]
    #: The fingerprint, for people.
    title: NotRequired[str]


class OutagePage(TypedDict):
    #: Present if there are more.
    next_cursor: NotRequired[str]
    #: The newest first.
    outages: list[Outage]


class Oversized(TypedDict):
    #: Position on the broker of the message that was found first; a hash of it where the broker has no positions.
    first_position: str
    #: Key, headers and payload of the largest message.
    largest_bytes: int
    #: Number of messages, up to 1,000: at that many the source waits.
    messages: int
    #: When the first one was found.
    since: Timestamp


class Page(TypedDict):
    #: The oldest first.
    items: list[Job]
    pagination: Pagination
    queue_name: str


class Pagination(TypedDict):
    has_more: bool
    limit: int
    offset: int
    #: Jobs in the queue, up to 1,000,000.
    total: int
    #: Whether there are more.
    total_capped: NotRequired[bool]


Part = TypedDict(
    "Part",
    {
        "from": NotRequired["str"],
        "name": "str",
        "value": "str",
    },
)


class Pause(TypedDict):
    #: Of a route: what a worker must have for its steps. None is the route of steps that need none.
    capabilities: NotRequired[list[str]]
    #: When it was resumed; missing while it is in force.
    ended_at: NotRequired[Timestamp]
    #: Of a route or a handler.
    handler: NotRequired[str]
    kind: Literal["route", "handler", "template", "namespace"]
    #: Defaults to the default namespace.
    namespace: NotRequired[str]
    paused_at: Timestamp
    paused_by: str
    reason: NotRequired[str]
    #: Of a template; all versions are paused.
    template: NotRequired[str]
    #: When the pause ends automatically.
    until: NotRequired[Timestamp]


class PauseEvent(TypedDict):
    #: Of a route.
    capabilities: NotRequired[list[str]]
    #: Who ended it; system when its time was over.
    ended_by: NotRequired[str]
    #: Of a handler or a route.
    handler: NotRequired[str]
    kind: Literal["route", "handler", "template", "namespace"]
    paused_at: Timestamp
    paused_by: str
    #: Of a template.
    template: NotRequired[str]
    #: When it ends by itself; missing without an end.
    until: NotRequired[Timestamp]


class PausePage(TypedDict):
    #: Present if there are more.
    next_cursor: NotRequired[str]
    #: In the order of namespace, kind and name.
    pauses: list[Pause]


class PauseRequest(TypedDict):
    #: Of a route: what a worker must have for its steps. None is the route of steps that need none.
    capabilities: NotRequired[list[str] | None]
    #: Of a route or a handler.
    handler: NotRequired[str | None]
    kind: Literal["route", "handler", "template", "namespace"]
    #: Defaults to the default namespace.
    namespace: NotRequired[str | None]
    #: Who pauses it; defaults to the name of the API key.
    paused_by: NotRequired[str | None]
    #: Why; shown wherever somebody asks why a step waits.
    reason: NotRequired[str | None]
    #: Of a template; all versions are paused.
    template: NotRequired[str | None]
    #: When the pause ends automatically; it must be in the future. Without, it lasts until it is resumed.
    until: NotRequired[Timestamp | datetime | None]


class Plan(TypedDict):
    #: A letter whose send had no answer stays open, as unknown. By default it is sent again under the same number
    #: until the outcome is known.
    at_most_once: NotRequired[bool | None]
    #: Size of the first wave. Defaults to 10.
    canary: NotRequired[int | None]
    #: Each wave is that many times the size of the one before. Defaults to 2.
    factor: NotRequired[float | None]
    #: Of cases: failed steps have only the attempts left, at least one. By default they have all attempts again.
    keep_attempts: NotRequired[bool | None]
    #: Size of the largest wave. Defaults to 1000.
    largest: NotRequired[int | None]
    #: Items at most: of more, those that died first. 0: all, of at most 1,000,000.
    limit: NotRequired[int | None]
    #: Time to watch for returns after each wave. Defaults to 30; in an answer, none if it is missing.
    observe_seconds: NotRequired[float | None]
    #: Of cases: new priority of the tasks and their open steps.
    priority: NotRequired[str | int | None]
    #: Items per second; 0: no limit.
    rate: NotRequired[float | None]


class Policy(TypedDict):
    #: Wait before the first replay, at most 30 days. Defaults to 60.
    base_seconds: NotRequired[float]
    #: Longest wait of strategy exponential, at most 30 days. Defaults to 3600.
    cap_seconds: NotRequired[float]
    #: Send a copy of each letter that the policy sends to its destination with -retry behind its name, if that
    #: exists.
    copy_retries: NotRequired[bool]
    #: Discard letters whose message ID begins with test-, with that reason.
    discard_test_events: NotRequired[bool]
    #: Changes with every change of the policy. Ignored in a request: if_match names the expected one.
    etag: NotRequired[str]
    #: Share by which a delay varies in both directions. Defaults to 0.
    jitter: NotRequired[float]
    #: Leave letters beyond max_retries or max_age_seconds open, and discard none.
    keep_exhausted: NotRequired[bool]
    #: Letters that died first before that are discarded with that reason. Defaults to no limit.
    max_age_seconds: NotRequired[float]
    #: Replays, failed sends included, after which a letter is discarded with that reason. Defaults to 3.
    max_retries: NotRequired[int]
    #: Growth of the wait with strategy exponential, 1 to 100. Defaults to 2.
    multiplier: NotRequired[float]
    #: Defaults to default.
    namespace: NotRequired[str]
    #: Restricts the policy to these error types.
    only_error_types: NotRequired[list[str]]
    #: Defaults to every origin of the source without a policy of its own.
    origin: NotRequired[str]
    #: When. Ignored in a request.
    set_at: NotRequired[Timestamp]
    #: Who set them. Ignored in a request.
    set_by: NotRequired[str]
    #: Where the settings come from. In a request preset is kept, and all else is ignored.
    set_from: NotRequired[Literal["operator", "preset", "configuration", "environment", "default"]]
    #: Name of a source, or * for all sources of the namespace without a policy of their own.
    source: str
    strategy: Literal["manual", "immediate", "fixed", "exponential", "scheduled"]
    #: HH:MM in UTC, with strategy scheduled. Defaults to 00:00.
    time_of_day: NotRequired[str]


class PolicyList(TypedDict):
    policies: list[Policy]


class PolicyRequest(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    #: Wait before the first replay, at most 30 days. Defaults to 60.
    base_seconds: NotRequired[float | None]
    #: Longest wait of strategy exponential, at most 30 days. Defaults to 3600.
    cap_seconds: NotRequired[float | None]
    #: Send a copy of each letter that the policy sends to its destination with -retry behind its name, if that
    #: exists.
    copy_retries: NotRequired[bool | None]
    #: Discard letters whose message ID begins with test-, with that reason.
    discard_test_events: NotRequired[bool | None]
    #: Changes with every change of the policy. Ignored in a request: if_match names the expected one.
    etag: NotRequired[str | None]
    #: Expected ETag of the object, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Share by which a delay varies in both directions. Defaults to 0.
    jitter: NotRequired[float | None]
    #: Leave letters beyond max_retries or max_age_seconds open, and discard none.
    keep_exhausted: NotRequired[bool | None]
    #: Letters that died first before that are discarded with that reason. Defaults to no limit.
    max_age_seconds: NotRequired[float | None]
    #: Replays, failed sends included, after which a letter is discarded with that reason. Defaults to 3.
    max_retries: NotRequired[int | None]
    #: Growth of the wait with strategy exponential, 1 to 100. Defaults to 2.
    multiplier: NotRequired[float | None]
    #: Defaults to default.
    namespace: NotRequired[str | None]
    #: Restricts the policy to these error types.
    only_error_types: NotRequired[list[str] | None]
    #: Defaults to every origin of the source without a policy of its own.
    origin: NotRequired[str | None]
    #: Reason of the act.
    reason: NotRequired[str | None]
    #: When. Ignored in a request.
    set_at: NotRequired[Timestamp | datetime | None]
    #: Who set them. Ignored in a request.
    set_by: NotRequired[str | None]
    #: Where the settings come from. In a request preset is kept, and all else is ignored.
    set_from: NotRequired[Literal["operator", "preset", "configuration", "environment", "default"] | None]
    #: Name of a source, or * for all sources of the namespace without a policy of their own.
    source: str
    strategy: Literal["manual", "immediate", "fixed", "exponential", "scheduled"]
    #: HH:MM in UTC, with strategy scheduled. Defaults to 00:00.
    time_of_day: NotRequired[str | None]


class PollOfMany(TypedDict):
    #: Maximum number of tasks. Defaults to 1; 0 returns none.
    available_capacity: NotRequired[int | None]
    #: The registered capabilities.
    capabilities: list[str]
    #: Return tasks already started; they need no start call.
    start: NotRequired[bool | None]
    #: Maximum wait for tasks (long poll).
    wait_ms: NotRequired[int | None]


class PollOfOne(TypedDict):
    #: Number of concurrent tasks of the worker; 0 returns none. Each poll returns one.
    capacity: NotRequired[int | None]
    #: Maximum wait for a task (long poll).
    wait_ms: NotRequired[int | None]
    #: The registered capabilities.
    worker_capabilities: list[str]


class PollRequest(TypedDict):
    #: Maximum number of steps. Defaults to 1.
    capacity: NotRequired[int | None]
    #: Claim and start in one call: steps come back in_progress and need no start call.
    start: NotRequired[bool | None]
    #: Maximum wait for steps (long poll). The server limits it.
    wait_ms: NotRequired[int | None]


class PollResponse(TypedDict):
    #: open: the last attempts of the worker all failed, and it gets no steps. half_open: it gets a few attempts as a
    #: test.
    circuit_breaker: NotRequired[Literal["open", "half_open"]]
    #: End of this state if nothing else happens.
    circuit_breaker_until: NotRequired[Timestamp]
    #: Finish the current work; no more will be assigned.
    should_drain: NotRequired[bool]
    steps: list[Assignment]


class Preview(TypedDict):
    #: There are more than total.
    capped: NotRequired[bool]
    destinations: list[DestinationCheck]
    plan: Plan
    #: What would refuse the operation; missing if it could start.
    problems: NotRequired[list[Detail]]
    #: Up to ten items.
    samples: list[PreviewItem]
    stop: StopRule
    total: int


class PreviewItem(TypedDict):
    #: What the edit changes.
    changes: NotRequired[list[Change]]
    destination: NotRequired[str]
    id: str
    kind: Literal["letter", "case"]
    #: Why the edit does not apply to it.
    problem: NotRequired[str]


class Probe(TypedDict):
    since: Timestamp
    step_uuid: str
    task_uuid: str


class Problem(TypedDict):
    #: Error code for programs.
    code: Literal["invalid", "too_large", "unauthenticated", "forbidden", "not_found", "conflict", "wrong_state", "stale_token", "exhausted", "unavailable", "internal"]
    #: Explanation of this problem, in one sentence.
    detail: str
    #: One entry per problem with its location, at most 50 per body.
    errors: NotRequired[list[Detail]]
    #: Suggested fix.
    hint: NotRequired[str]
    #: The HTTP status.
    status: int
    #: The code in words; the same for every problem of the code.
    title: str
    #: Reference to the explanation of the code, relative to the server.
    type: str


class ProgressReport(TypedDict):
    #: Any JSON value. It replaces the last checkpoint of the step, and the next attempt receives it; null deletes the
    #: last one. Left out, it changes nothing.
    checkpoint: NotRequired[Any]
    #: Defaults to 0; with a checkpoint and without a status_message, 0 leaves the progress as it is.
    progress_percent: NotRequired[int | None]
    status_message: NotRequired[str | None]
    step_uuid: str
    #: Token of the step's lease.
    token: str


class Queue(TypedDict):
    #: Jobs: open dead letters, and messages on the broker that are not captured yet. Letters are counted up to
    #: 1,000,000.
    count: int
    #: Whether there are more.
    count_capped: NotRequired[bool]
    #: Queue that a source reads, or the name of a source that programs report to.
    queue_name: str


class QueueAging(TypedDict):
    oldest_queued_task_age_seconds: float | None
    tasks_waiting_over_threshold: int
    #: Wait after which the lowest priority is promoted or goes first; null if never.
    threshold_seconds: float | None


class QueueAssignment(TypedDict):
    #: Counted from 1.
    attempt: int
    correlation_id: NotRequired[str]
    #: When the attempt times out, once started.
    deadline_at: NotRequired[Timestamp]
    #: Those of them that are kept apart, by step name; see /internal/workers.
    large_results: NotRequired[dict[str, LargeResult]]
    max_attempts: int
    namespace: str
    parameters: NotRequired[Any]
    #: Results of the direct dependencies, by step name.
    parent_results: NotRequired[dict[str, Any]]
    priority_level: int
    #: assigned or executing.
    status: Literal["queued", "assigned", "executing", "completed", "failed", "cancelled", "dead_letter"]
    #: Name of the step; tasks of this API have only one.
    step_uuid: str
    task_id: str
    task_type: str
    timeout_seconds: int
    #: Token of the lease. Send it back, so that a report for a lost attempt does not apply to a later one.
    token: str
    trace_id: NotRequired[str]
    #: W3C trace context of the task.
    traceparent: NotRequired[str]
    #: End of the lease, unless the task is started or renewed.
    visibility_timeout_until: Timestamp


class QueueBackpressure(TypedDict):
    #: Submitted tasks that are not stored yet.
    in_hand: int
    #: Normal number of these; at twice that the node is overloaded. Null: no limit.
    normal_load: int | None
    #: Tasks refused since the start of the node, by reason.
    refused: dict[str, int]
    #: Which submissions can be refused: queue (those through /api/v1) or all.
    scope: str
    #: open: all submissions are accepted. Else the current tier, or overloaded.
    state: Literal["open", "soft", "high_only", "allow_list_only", "overloaded"]


class QueueBeat(TypedDict):
    current_load: NotRequired[int | None]
    #: Tasks to keep; each gets an answer. If absent, the worker keeps all its tasks, without answers. A task missing
    #: from the list is lost when its visibility timeout ends.
    current_tasks: NotRequired[list[str] | None]
    #: memory_usage_percent, cpu_usage_percent. Accepted and not stored.
    health: NotRequired[dict[str, float] | None]
    #: draining requests no more tasks; the other values have no effect.
    status: NotRequired[Literal["active", "idle", "busy", "draining"] | None]


class QueueBeaten(TypedDict):
    acknowledged: bool
    #: open: the last attempts of the worker all failed, and it gets no steps. half_open: it gets a few attempts as a
    #: test.
    circuit_breaker: NotRequired[Literal["open", "half_open"]]
    #: End of this state if nothing else happens.
    circuit_breaker_until: NotRequired[Timestamp]
    #: Finish the current work; no more will be assigned.
    should_drain: bool
    #: In the order of current_tasks.
    tasks: list[QueueLease]


class QueueCancelled(TypedDict):
    cancellation_time: Timestamp
    status: Literal["queued", "assigned", "executing", "completed", "failed", "cancelled", "dead_letter"]
    task_id: str
    #: Whether a worker was executing the task.
    was_executing: bool
    #: Whether a worker holds the task and will be notified with its next heartbeat. All its reports are refused from
    #: now on. False if no worker holds the task.
    worker_notified: bool
    #: Time at which its next heartbeat is due; null if no worker holds the task.
    worker_notified_by: Timestamp | None


class QueueDepth(TypedDict):
    #: By the name of the level, or its number if it has none.
    by_priority: dict[str, int]
    #: Whether there are more than were counted.
    capped: NotRequired[bool]
    ready: int


class QueueDispatch(TypedDict):
    #: Whether it currently dispatches.
    active: bool
    #: Whether a dispatcher other than the database is configured.
    configured: bool
    #: The current dispatcher; native is the database.
    mode: Literal["native", "redis"]
    #: Reason why it does not dispatch.
    why: NotRequired[str]


QueueError = TypedDict(
    "QueueError",
    {
        "class": NotRequired["Literal['transient', 'resource', 'logic', 'worker']"],
        "code": NotRequired["str"],
        "details": NotRequired["Any"],
        "error_type": NotRequired["str"],
        #: Outcome of the attempt: failed, timed_out, lease_expired, not_started, dispatch_expired.
        "failure_reason": "str",
        "message": "str",
        "retryable": "bool",
    },
)


class QueueLease(TypedDict):
    #: Continue; the status is held.
    acknowledged: bool
    deadline_at: NotRequired[Timestamp]
    #: cancelled: the task was cancelled, stop. lost: the task has ended or another worker has it, stop and do not
    #: report.
    status: Literal["held", "cancelled", "lost"]
    task_id: str
    visibility_timeout_until: NotRequired[Timestamp]


class QueueListed(TypedDict):
    #: End of the task, with any outcome.
    completed_at: NotRequired[Timestamp]
    correlation_id: NotRequired[str]
    created_at: Timestamp
    #: Reason why a part of the stored data cannot be shown; that part is omitted.
    damage: NotRequired[str]
    #: Priority with the wait included.
    effective_priority: str | int
    idempotency_key: NotRequired[str]
    max_retries: int
    namespace: str
    #: Time at which a waiting task becomes ready: a retry or run_at.
    next_retry_at: NotRequired[Timestamp]
    priority: str | int
    #: Percent.
    progress: int
    #: Sort key of the queue in seconds, lowest first. Null if the task does not wait for a worker.
    queue_score: float | None
    #: Time at which it last became ready for a worker.
    queued_at: NotRequired[Timestamp]
    retry_count: int
    #: Start of the last attempt.
    started_at: NotRequired[Timestamp]
    #: State of the task; status is a simplified form of it.
    state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]
    status: Literal["queued", "assigned", "executing", "completed", "failed", "cancelled", "dead_letter"]
    task_id: str
    #: Name of the task: the handler or the template.
    task_type: str
    user_id: NotRequired[str]


class QueueOfPriority(TypedDict):
    #: Assigned steps that have not started.
    assigned: int
    #: Ready steps that wait for a worker.
    depth: int
    #: Steps that workers are executing.
    executing: int
    #: Level from 0 to 100, higher first.
    level: int
    #: Longest wait; null if no step waits.
    oldest_age_seconds: float | None
    #: Same as depth.
    pending: int
    #: Leased steps: assigned and executing.
    processing: int


class QueuePoll(TypedDict):
    #: Maximum number of tasks. Defaults to 1; 0 returns none.
    available_capacity: NotRequired[int | None]
    #: The registered capabilities, or absent; others are refused.
    capabilities: NotRequired[list[str] | None]
    #: Another name of available_capacity, which takes precedence.
    capacity: NotRequired[int | None]
    #: Return tasks already started; they need no start call.
    start: NotRequired[bool | None]
    #: Maximum wait for tasks (long poll), at most 60000.
    wait_ms: NotRequired[int | None]
    #: Another name of capabilities.
    worker_capabilities: NotRequired[list[str] | None]


class QueuePolled(TypedDict):
    #: open: the last attempts of the worker all failed, and it gets no steps. half_open: it gets a few attempts as a
    #: test.
    circuit_breaker: NotRequired[Literal["open", "half_open"]]
    #: End of this state if nothing else happens.
    circuit_breaker_until: NotRequired[Timestamp]
    #: Finish the current work; no more will be assigned.
    should_drain: bool
    tasks: list[QueueAssignment]


class QueueProgress(TypedDict):
    progress_percent: int
    status_message: NotRequired[str | None]
    #: Only required if the worker holds several steps of the task.
    step_uuid: NotRequired[str | None]
    task_id: str
    #: Token of the task. Defaults to the lease that the worker holds now.
    token: NotRequired[str | None]


class QueueReceipt(TypedDict):
    #: False if the idempotency key or the unique key named an existing task.
    created: bool
    #: For an item of a batch: its idempotency key was used for another submission. This item was not stored; the
    #: others were.
    error: NotRequired[Error]
    #: Same as estimated_wait_seconds, as a time.
    estimated_start_time: Timestamp | None
    #: Estimated time until a worker claims it, without more urgent arrivals: the position divided by the measured
    #: claim rate. Null without a measurement in the last two minutes.
    estimated_wait_seconds: float | None
    #: Position among all tasks of the matching workers; 1 is next. Null if the task does not wait for a worker or was
    #: not counted (a batch counts 32 queues).
    position_in_queue: int | None
    #: Whether the position is a lower bound; counting stops at 10,000.
    position_is_minimum: NotRequired[bool]
    #: Same as position_in_queue.
    queue_position: int | None
    #: Sort key of the queue in seconds, lowest first.
    queue_score: float | None
    status: Literal["queued", "assigned", "executing", "completed", "failed", "cancelled", "dead_letter"]
    task_id: str
    #: What another task with the same unique key did to the submission.
    unique: NotRequired[UniqueMatch]


class QueueRecovery(TypedDict):
    #: Steps that were assigned and not started in time.
    assignment_timeouts_last_hour: int
    #: Null if workers are not probed.
    health_probe_failures_last_hour: int | None
    #: Start of the count on the first node; may be less than an hour ago.
    measured_since: Timestamp
    #: Expired leases of running steps.
    visibility_timeouts_last_hour: int


class QueueRegistered(TypedDict):
    heartbeat_interval_ms: int
    #: Maximum size of a result.
    max_payload_bytes: int
    #: Pause between polls without wait_ms.
    poll_interval_ms: int
    #: Same as poll_interval_ms, in seconds.
    poll_interval_seconds: float
    #: Time within which an assigned task must be started.
    start_timeout_seconds: int
    #: A started task is lost without a heartbeat for this long.
    visibility_timeout_seconds: int
    worker_id: str


class QueueResult(TypedDict):
    #: Required by failed.
    error: NotRequired[str | FailureOfQueue | None]
    #: Accepted and not stored; the server measures the duration.
    execution_duration_seconds: NotRequired[float | None]
    result: NotRequired[Any]
    status: Literal["completed", "failed"]
    #: Only required if the worker holds several steps of the task.
    step_uuid: NotRequired[str | None]
    task_id: str
    #: Token of the task. Defaults to the lease that the worker holds now.
    token: NotRequired[str | None]


class QueueSettled(TypedDict):
    acknowledged: bool
    next_retry_at: NotRequired[Timestamp]
    #: New state of the task.
    step_state: Literal["pending", "waiting", "enqueued", "assigned", "in_progress", "enqueued_for_orchestration", "waiting_for_retry", "complete", "skipped", "error", "cancelled", "resolved_manually"]
    task_id: str


class QueueStart(TypedDict):
    #: Only required if the worker holds several steps of the task.
    step_uuid: NotRequired[str | None]
    task_id: str
    #: Token of the task. Defaults to the lease that the worker holds now.
    token: NotRequired[str | None]


class QueueStateAt(TypedDict):
    state: Literal["queued", "assigned", "executing", "completed", "failed", "cancelled", "dead_letter"]
    timestamp: Timestamp
    #: Worker that has or had it.
    worker_id: NotRequired[str]


class QueueStats(TypedDict):
    aging_stats: QueueAging
    #: Time of the count.
    at: Timestamp
    backpressure: QueueBackpressure
    dispatch: QueueDispatch
    queue: QueueTotals
    #: By priority: the name of a level, or its number if it has none.
    queues: dict[str, QueueOfPriority]
    recovery_stats: QueueRecovery
    throughput: QueueThroughput
    workers: QueueWorkers


class QueueTask(TypedDict):
    assigned_at: NotRequired[Timestamp]
    #: Name of the worker that holds it.
    assigned_worker: NotRequired[str]
    assigned_worker_id: NotRequired[str]
    #: End of the task, with any outcome.
    completed_at: NotRequired[Timestamp]
    correlation_id: NotRequired[str]
    created_at: Timestamp
    #: Time in the current status.
    current_state_duration_seconds: float
    #: Reason why a part of the stored data cannot be shown; that part is omitted.
    damage: NotRequired[str]
    #: Priority with the wait included.
    effective_priority: str | int
    #: Latest failure; absent if there was none.
    error: NotRequired[QueueError]
    estimated_duration_seconds: NotRequired[int]
    #: Same as estimated_wait_seconds, as a time.
    estimated_start_time: Timestamp | None
    #: Estimated time until a worker claims it, without more urgent arrivals: the position divided by the measured
    #: claim rate. Null without a measurement in the last two minutes.
    estimated_wait_seconds: float | None
    #: Changes with the state and progress of the task. An act with If-Match is refused if it has changed.
    etag: NotRequired[str]
    idempotency_key: NotRequired[str]
    max_retries: int
    namespace: str
    #: Time at which a waiting task becomes ready: a retry or run_at.
    next_retry_at: NotRequired[Timestamp]
    parameters: NotRequired[Any]
    #: Position among all tasks of the matching workers; 1 is next. Null if the task does not wait for a worker or was
    #: not counted (a batch counts 32 queues).
    position_in_queue: int | None
    #: Whether the position is a lower bound; counting stops at 10,000.
    position_is_minimum: NotRequired[bool]
    priority: str | int
    #: Percent.
    progress: int
    #: Same as position_in_queue.
    queue_position: int | None
    #: Sort key of the queue in seconds, lowest first.
    queue_score: float | None
    #: Time at which it last became ready for a worker.
    queued_at: NotRequired[Timestamp]
    #: Number of replays after a failure.
    replay_count: NotRequired[int]
    required_capabilities: NotRequired[list[str]]
    #: Result of the handler; for several steps, an object by step name. Null until there is one.
    result: Any
    retry_count: int
    #: Start of the last attempt.
    started_at: NotRequired[Timestamp]
    #: State of the task; status is a simplified form of it.
    state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]
    #: Earlier statuses, oldest first; only with include_history.
    state_history: NotRequired[list[QueueStateAt]]
    status: Literal["queued", "assigned", "executing", "completed", "failed", "cancelled", "dead_letter"]
    task_id: str
    #: Name of the task: the handler or the template.
    task_type: str
    timeout_seconds: int
    trace_id: NotRequired[str]
    user_id: NotRequired[str]


class QueueTaskPage(TypedDict):
    #: cursor of the next page; absent on the last page.
    next_cursor: NotRequired[str]
    tasks: list[QueueListed]


class QueueThroughput(TypedDict):
    #: Mean duration of ended attempts; null if there are none.
    avg_task_duration_seconds: float | None
    #: Completed tasks.
    completed_last_minute: int
    #: Permanently failed tasks.
    failed_last_minute: int
    #: Claimed steps.
    handed_out_last_minute: int


class QueueTotals(TypedDict):
    #: The same, by priority.
    by_priority: dict[str, int]
    #: Whether the count is a lower bound (one million).
    capped: bool
    #: Leased steps.
    executing: int
    #: Longest wait; null if no step waits.
    oldest_age_seconds: float | None
    p50_age_seconds: float | None
    p95_age_seconds: float | None
    #: Same as executing.
    processing: int
    #: Same as total_depth.
    queue_depth: int
    #: Ages and numbers by priority come from a sample of 10,000 steps.
    sampled: bool
    #: Ready steps that wait for a worker, without leased steps.
    total_depth: int


class QueueWorker(TypedDict):
    #: Capabilities of the worker.
    capabilities: NotRequired[list[str] | None]
    #: Maximum number of concurrent tasks. Defaults to no limit.
    capacity: NotRequired[int | None]
    #: URL of the health endpoint, without /health. GET <health_url>/health returns 200 if the worker is healthy.
    health_url: NotRequired[str | None]
    host: NotRequired[str | None]
    #: Name for operators. Defaults to the host.
    name: NotRequired[str | None]
    #: Served namespaces. Defaults to those of the key, if it is limited, and else to default. * alone: all.
    namespaces: NotRequired[list[str] | None]
    #: Served task types. Defaults to all.
    task_types: NotRequired[list[str] | None]
    version: NotRequired[str | None]


class QueueWorkers(TypedDict):
    active: int
    #: Active workers with steps.
    busy: int
    #: Workers with an open circuit breaker.
    circuit_open: int
    #: Workers that died within the last hour.
    dead: int
    draining: int
    #: Active workers without steps.
    idle: int
    #: Same as idle.
    idle_workers: int
    #: Workers that are not dead.
    total: int
    #: Total capacity of the live workers that registered one.
    total_capacity: int
    #: Same as total.
    total_workers: int
    unhealthy: int
    #: Steps that live workers hold, as counted by the server.
    used_capacity: int


QueuedCase = TypedDict(
    "QueuedCase",
    {
        "cause": NotRequired["str"],
        "class": NotRequired["str"],
        "current_state": "Literal['pending', 'initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results', 'waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures', 'complete', 'error', 'cancelled', 'resolved_manually']",
        #: Reason why a part of the stored data cannot be shown; that part is omitted.
        "damage": NotRequired["str"],
        "dlq_entry_uuid": "str",
        "dlq_reason": "Literal['staleness_timeout', 'max_retries_exceeded', 'dependency_cycle_detected', 'worker_unavailable', 'manual_dlq']",
        "dlq_timestamp": "Timestamp",
        "error_message": NotRequired["str"],
        "error_pattern": NotRequired["str"],
        "failed_step": NotRequired["str"],
        #: Handler of that step.
        "handler": NotRequired["str"],
        "last_occurred_at": "Timestamp",
        "minutes_in_dlq": "float",
        "namespace": "str",
        "occurrence_count": "int",
        "original_state": "Literal['pending', 'initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results', 'waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures', 'complete', 'error', 'cancelled', 'resolved_manually']",
        "priority": "str | int",
        "priority_score": "float",
        #: Whether the task continued or completed, so that the case only needs a resolution. False for a cancelled
        #: task.
        "recovered": "bool",
        "retryable": "bool",
        "task_name": "str",
        "task_uuid": "str",
    },
)


class Rate(TypedDict):
    #: Steps at once after a pause; defaults to limit.
    burst: NotRequired[int | None]
    #: Steps in a period, evenly spread.
    limit: int
    #: Length of the period.
    period_seconds: float


class ReasonCount(TypedDict):
    count: int
    failure_reason: Literal["staleness_timeout", "max_retries_exceeded", "dependency_cycle_detected", "worker_unavailable", "manual_dlq"]
    replayable_count: int


class Receipt(TypedDict):
    #: Group of the failure: 16 hexadecimal digits.
    group_id: str
    letter_uuid: str
    #: captured: a new letter; duplicate: known already, nothing changed; returned: a letter that was sent back is
    #: open again.
    status: Literal["captured", "duplicate", "returned"]


class Redrive(TypedDict):
    actor: NotRequired[str]
    #: Missing in a list.
    counts: NotRequired[ItemCounts]
    created_at: Timestamp
    destination: NotRequired[str]
    edit: NotRequired[Edit]
    ended_at: NotRequired[Timestamp]
    #: Changes with state and progress. An act with If-Match is refused if it has changed.
    etag: NotRequired[str]
    #: When the selection was written down: what arrives later is not included.
    frozen_at: NotRequired[Timestamp]
    #: Why the stop rule halted it.
    halt_reason: NotRequired[str]
    include_parked: NotRequired[bool]
    #: Name of the API key of the request.
    key_name: NotRequired[str]
    namespace: NotRequired[str]
    operation: Literal["redrive", "discard", "restore"]
    plan: Plan
    reason: NotRequired[str]
    redrive_uuid: str
    selection: Selection
    started_at: NotRequired[Timestamp]
    state: Literal["draft", "running", "observing", "paused", "halted", "done", "cancelled"]
    #: When it entered the state.
    state_at: Timestamp
    stop: StopRule
    total: int
    #: Number of the wave under way; 0 before the first.
    wave: int
    #: Items of the wave that are decided.
    wave_sent: int
    wave_size: int
    #: The newest waves, in their order: at most 50, fewer where they are larger than 2,000 items. Missing in a list.
    waves: NotRequired[list[RedriveWave]]


class RedriveAct(TypedDict):
    action: Literal["start", "pause", "resume", "cancel"]
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    #: Expected ETag of the object, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Reason of the act.
    reason: NotRequired[str | None]


class RedriveEvent(TypedDict):
    #: Missing in events of the states running and observing that a wave causes.
    counts: NotRequired[ItemCounts]
    #: Items that have a result.
    decided: int
    from_state: NotRequired[str]
    halt_reason: NotRequired[str]
    redrive_uuid: str
    state: str
    #: Items.
    total: int
    wave: NotRequired[int]


class RedrivePage(TypedDict):
    #: Start of the next page; missing at the end.
    next_cursor: NotRequired[str]
    redrives: list[Redrive]


class RedriveRequest(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    #: Where letters are sent, if their source allows it. Defaults to the origin of each.
    destination: NotRequired[str | None]
    edit: NotRequired[Edit | None]
    #: Expected ETag of the object, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Take letters that were sent back too often as well.
    include_parked: NotRequired[bool | None]
    operation: Literal["redrive", "discard", "restore"]
    plan: NotRequired[Plan | None]
    #: Reason of the act.
    reason: NotRequired[str | None]
    selection: Selection
    #: Start at once; otherwise it is a draft.
    start: NotRequired[bool | None]
    stop: NotRequired[StopRule | None]


class RedriveWave(TypedDict):
    completed: int
    failed: int
    no: int
    pending: int
    returned: int
    sending: int
    sent: int
    skipped: int
    #: Among the others: a try had no answer. What was sent may be there twice, under the same number; what failed may
    #: be there once.
    uncertain: int
    #: They may have arrived, or not, and are sent again under the same numbers until that is known.
    unknown: int


class RegisteredWorker(TypedDict):
    #: Timeout of a step where neither its template nor its submission names one, nor a priority.
    default_timeout_seconds: NotRequired[int]
    heartbeat_interval_ms: int
    #: A started step is lost without a heartbeat for this long.
    lease_seconds: int
    #: Maximum size of a result that is sent apart before the step is settled; absent if the server keeps none above
    #: max_payload_bytes.
    max_large_result_bytes: NotRequired[int]
    #: How much of the end of an attempt's log the server keeps; 0: nothing.
    max_log_bytes: int
    max_long_poll_seconds: int
    max_payload_bytes: int
    #: Namespaces that it serves; * is all.
    namespaces: NotRequired[list[str]]
    #: Pause between polls without wait_ms.
    poll_interval_ms: int
    #: Same as poll_interval_ms, in seconds.
    poll_interval_seconds: float
    #: Queue in RabbitMQ from which a worker with the transport amqp consumes its steps.
    queue: NotRequired[str]
    #: Time within which an assigned step must be started.
    start_timeout_seconds: int
    worker_id: str


class Removal(TypedDict):
    removed: bool


class Replay(TypedDict):
    #: The pending case, if any. It stays pending.
    case_id: NotRequired[str]
    priority: str | int
    #: Number of replays, including this one.
    replay_count: int
    replayed_at: Timestamp
    replayed_by: str
    #: Name of the API key.
    replayed_by_key: NotRequired[str]
    replayed_steps: int
    state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]
    task_id: str


class ReplayCounts(TypedDict):
    #: At most that many were deleted on the broker before they were read.
    gone: int
    #: A letter of the source or a task already.
    known: int
    #: Stored, those included that could not become tasks.
    letters: int
    #: Made.
    tasks: int


class ReplayEvent(TypedDict):
    from_state: NotRequired[str]
    #: At most that many were deleted on the broker before they were read.
    gone: int
    into: Literal["inbox", "tasks"]
    #: Messages that were letters or tasks already.
    known: int
    #: Offsets to be read; some of them may hold no message.
    left: int
    #: Messages that became letters.
    letters: int
    replay_uuid: str
    source: str
    state: str
    #: Messages that became tasks.
    tasks: int
    topic: str
    #: Why it failed.
    why: NotRequired[str]


class ReplayPage(TypedDict):
    #: Start of the next page; missing at the end.
    next_cursor: NotRequired[str]
    replays: list[TopicReplay]


ReplayPart = TypedDict(
    "ReplayPart",
    {
        "from": "int",
        #: Offset to read next.
        "next": "int",
        "partition": "int",
        #: Not included.
        "to": "int",
    },
)


class ReplayPreview(TypedDict):
    #: Time of the first message of the first 16 partitions.
    first_at: NotRequired[Timestamp]
    into: Literal["inbox", "tasks"]
    last_at: NotRequired[Timestamp]
    #: Offsets in the range; some of them may hold no message.
    messages: int
    parts: list[ReplayPart]
    #: Up to ten messages.
    samples: list[ReplaySample]
    #: Messages that the preview has looked at.
    scanned: int
    #: Messages among them that have the key and the headers.
    selected: int
    topic: str
    #: The preview has looked at the whole range.
    whole: bool


class ReplayRequest(TypedDict):
    #: Expected state of the task. In any other state the act is refused with conflict.
    expected_state: NotRequired[Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"] | None]
    #: Expected etag. If the etag has changed, the act is refused with conflict. Same as the header If-Match.
    if_match: NotRequired[str | None]
    #: New priority of the task and its open steps. Defaults to no change.
    new_priority: NotRequired[str | int | None]
    #: Reason for the act; kept in the audit trail. Defaults to "no reason given".
    reason: NotRequired[str | None]
    #: Actor. Defaults to the name of the API key, else to anonymous.
    replayed_by: NotRequired[str | None]
    #: Give the failed steps all their attempts again. Otherwise they have the attempts left, at least one.
    reset_retry_count: NotRequired[bool | None]


class ReplaySample(TypedDict):
    at: NotRequired[Timestamp]
    error_type: NotRequired[str]
    #: For keys that may read dead letters.
    key: NotRequired[str]
    #: It is a letter already.
    known: NotRequired[bool]
    offset: int
    partition: int
    #: Why it becomes a letter and not a task.
    refusal: NotRequired[IntakeRefusal]
    task: NotRequired[IntakeTask]


class Report(TypedDict):
    #: Attempts of the consumer.
    attempts: NotRequired[int | None]
    #: Time of the failure. Defaults to now.
    failed_at: NotRequired[Timestamp | datetime | None]
    failure: LetterFailure
    #: Consumer that failed.
    handler: NotRequired[str | None]
    #: In order; a name may repeat.
    headers: NotRequired[list[Header] | None]
    #: Key of the message, if it is text.
    key: NotRequired[str | None]
    #: Key of the message, if it is not text.
    key_base64: NotRequired[str | None]
    #: Value of the header tasker-letter, if the message has been sent back before. The letter opens again if the
    #: content is what was sent; else the report is a new letter with a link.
    letter_uuid: NotRequired[str | None]
    #: Identifier of the message. A report of the source that is equal to an earlier one in everything, with the same
    #: identifier, changes nothing. Without it a report is always a new letter, unless the batch has an
    #: idempotency_key.
    message_id: NotRequired[str | None]
    #: Queue or topic that the message was taken from; a redrive sends it there.
    origin: NotRequired[str | None]
    #: Payload, if it is JSON in UTF-8. White space may differ from that of the message.
    payload: NotRequired[Any]
    #: Payload, if it is not JSON.
    payload_base64: NotRequired[str | None]


class ReportRequest(TypedDict):
    #: Identifies the batch: a report without a message_id is identified by the key, its place and its content, so
    #: that the batch can be sent again.
    idempotency_key: NotRequired[str | None]
    #: Defaults to default.
    namespace: NotRequired[str | None]
    reports: list[Report]
    #: Name of the source. It is added, with the driver http, if it does not exist.
    source: str


class ResultsQueueReceipt(TypedDict):
    results: list[QueueReceipt]


class ResultsReceipt(TypedDict):
    results: list[Receipt]


class ResultsSettleAnswer(TypedDict):
    results: list[SettleAnswer]


class ResultsTaskReceipt(TypedDict):
    results: list[TaskReceipt]


class ResumePausedRequest(TypedDict):
    #: Of a route: what a worker must have for its steps. None is the route of steps that need none.
    capabilities: NotRequired[list[str] | None]
    #: Of a route or a handler.
    handler: NotRequired[str | None]
    kind: Literal["route", "handler", "template", "namespace"]
    #: Defaults to the default namespace.
    namespace: NotRequired[str | None]
    #: Why; kept in the audit trail.
    reason: NotRequired[str | None]
    #: Who resumes it; defaults to the name of the API key.
    resumed_by: NotRequired[str | None]
    #: Of a template; all versions are paused.
    template: NotRequired[str | None]


class ResumeRequest(TypedDict):
    #: Reason for the act. Defaults to "no reason given".
    reason: NotRequired[str | None]
    #: Actor. Defaults to the name of the API key, else to anonymous.
    resumed_by: NotRequired[str | None]


class RetryPolicy(TypedDict):
    backoff: Literal["none", "fixed", "linear", "exponential"]
    backoff_base_ms: int
    #: Fraction by which the delay may vary, in both directions.
    jitter: float
    #: Retries per class of failure, if the template sets them.
    limits: NotRequired[dict[str, int]]
    #: 0 if it is left to the priority of the task.
    max_attempts: int
    max_backoff_ms: int
    retryable: bool


class Route(TypedDict):
    #: Steps leased to workers that have not begun.
    assigned: int
    #: Capabilities that a worker must have.
    capabilities: list[str]
    #: Steps that workers took in the last minute.
    claimed_per_minute: int
    #: Steps that wait for a worker.
    depth: int
    #: Steps that workers run.
    executing: int
    #: Slots that are free.
    free_slots: int
    handler: str
    namespace: str
    #: Longest wait so far; null if none waits.
    oldest_age_seconds: float | None
    #: The open outage that closes the route.
    outage_uuid: NotRequired[str]
    #: Wait so far that half of the waiting steps do not exceed.
    p50_age_seconds: float | None
    #: Wait so far that 95 % of the waiting steps do not exceed.
    p95_age_seconds: float | None
    #: The pause that closes the route; missing while workers are served.
    pause: NotRequired[Pause]
    #: Steps that these workers can hold; they may serve other routes as well. 0: not bounded.
    slots: int
    #: Why nothing moves although steps wait.
    why: NotRequired[str]
    #: Workers that take steps of the route.
    workers: int


class RoutePage(TypedDict):
    #: Time of the count.
    at: Timestamp
    #: Whether more steps wait than were counted.
    capped: bool
    next_cursor: NotRequired[str]
    routes: list[Route]
    #: Whether the percentiles come from a sample of a long queue.
    sampled: bool


class Rule(TypedDict):
    #: Expressions: failures with the same values are in one group. None puts all into one.
    group_by: NotRequired[list[str] | None]
    name: str
    #: Defaults to default.
    namespace: NotRequired[str | None]
    #: The lowest is tried first; rules of one position are in the order of their names.
    position: NotRequired[int | None]
    #: Title of the groups. Defaults to the name and the values of group_by.
    title: NotRequired[str | None]
    #: Condition: an expression over the facts of a failure.
    when: str


class RuleItem(TypedDict):
    #: Why the rule cannot be evaluated.
    error: NotRequired[str]
    #: Group into which the rule would put such a failure.
    group_id: NotRequired[str]
    id: NotRequired[str]
    #: Values of group_by.
    keys: NotRequired[list[str]]
    kind: Literal["letter", "case"]
    matched: bool
    #: Title of that group.
    title: NotRequired[str]


class RuleList(TypedDict):
    rules: list[SavedRule]


class RuleRequest(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    #: Expressions: failures with the same values are in one group. None puts all into one.
    group_by: NotRequired[list[str] | None]
    #: Expected ETag of the object, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    name: str
    #: Defaults to default.
    namespace: NotRequired[str | None]
    #: The lowest is tried first; rules of one position are in the order of their names.
    position: NotRequired[int | None]
    #: Reason of the act.
    reason: NotRequired[str | None]
    #: Title of the groups. Defaults to the name and the values of group_by.
    title: NotRequired[str | None]
    #: Condition: an expression over the facts of a failure.
    when: str


RuleSample = TypedDict(
    "RuleSample",
    {
        "class": NotRequired["Literal['transient', 'resource', 'logic', 'worker'] | None"],
        "code": NotRequired["str | None"],
        "error_type": NotRequired["str | None"],
        #: Top frame of the application's own code.
        "frame": NotRequired["str | None"],
        "handler": NotRequired["str | None"],
        "headers": NotRequired["list[Header] | None"],
        #: Defaults to letter.
        "kind": NotRequired["Literal['letter', 'case'] | None"],
        "message": NotRequired["str | None"],
        "origin": NotRequired["str | None"],
        #: Why a task is stuck.
        "reason": NotRequired["str | None"],
        "retryable": NotRequired["bool | None"],
        "source": NotRequired["str | None"],
        "step": NotRequired["str | None"],
        "template": NotRequired["str | None"],
    },
)


class RuleStory(TypedDict):
    actor: NotRequired[str]
    #: Changes with every version.
    etag: NotRequired[str]
    #: Evaluations that failed on the node that answers, since its start or the last change.
    failed: NotRequired[int]
    #: Expressions: failures with the same values are in one group. None puts all into one.
    group_by: NotRequired[list[str]]
    #: Name of the API key of the request.
    key_name: NotRequired[str]
    #: Why the latest of them failed.
    last_error: NotRequired[str]
    name: str
    #: Defaults to default.
    namespace: NotRequired[str]
    #: The lowest is tried first; rules of one position are in the order of their names.
    position: NotRequired[int]
    reason: NotRequired[str]
    #: This version took the rule out of force.
    removed: NotRequired[bool]
    saved_at: Timestamp
    #: Version that first had the present condition and group_by. Groups name it.
    since_version: int
    #: Group that the rule splits. It decides about failures of that group only.
    splits: NotRequired[str]
    #: Title of the groups. Defaults to the name and the values of group_by.
    title: NotRequired[str]
    version: int
    #: The latest first, at most 100.
    versions: list[SavedRule]
    #: Condition: an expression over the facts of a failure.
    when: str


class RuleTest(TypedDict):
    #: A failure to try the rule on. Excludes group_id.
    failure: NotRequired[RuleSample | None]
    #: Group whose recent letters and cases the rule is tried on. Excludes failure.
    group_id: NotRequired[str | None]
    rule: Rule


class RuleTrial(TypedDict):
    #: Failures about which its evaluation fails.
    failed: int
    items: list[RuleItem]
    #: Failures that the rule decides about.
    matched: int
    #: Failures that the rule was tried on: of a group at most 100 letters and 100 cases.
    tried: int


class SavedRule(TypedDict):
    actor: NotRequired[str]
    #: Changes with every version.
    etag: NotRequired[str]
    #: Evaluations that failed on the node that answers, since its start or the last change.
    failed: NotRequired[int]
    #: Expressions: failures with the same values are in one group. None puts all into one.
    group_by: NotRequired[list[str]]
    #: Name of the API key of the request.
    key_name: NotRequired[str]
    #: Why the latest of them failed.
    last_error: NotRequired[str]
    name: str
    #: Defaults to default.
    namespace: NotRequired[str]
    #: The lowest is tried first; rules of one position are in the order of their names.
    position: NotRequired[int]
    reason: NotRequired[str]
    #: This version took the rule out of force.
    removed: NotRequired[bool]
    saved_at: Timestamp
    #: Version that first had the present condition and group_by. Groups name it.
    since_version: int
    #: Group that the rule splits. It decides about failures of that group only.
    splits: NotRequired[str]
    #: Title of the groups. Defaults to the name and the values of group_by.
    title: NotRequired[str]
    version: int
    #: Condition: an expression over the facts of a failure.
    when: str


class SavedSchedule(TypedDict):
    #: Settings that differ from what was stored.
    changes: list[ScheduleChange]
    #: Input of each task, any JSON value; validated against the input_schema of the template.
    context: NotRequired[Any]
    created_at: Timestamp
    #: Cron expression of five fields, or six with seconds in front; a name such as @daily; or @every and a duration
    #: of at least 1s.
    cron: str
    decided_until: Timestamp
    description: NotRequired[str]
    dry_run: NotRequired[bool]
    #: No times after.
    end_at: NotRequired[Timestamp]
    #: Changes with every act on the schedule.
    etag: str
    #: A firing that is later was missed. Defaults to 60.
    grace_seconds: NotRequired[int]
    #: Each firing is delayed by a part of it that follows from the name and the time.
    jitter_seconds: NotRequired[float]
    last_firing: NotRequired[Firing]
    #: Only with task_type.
    max_retries: NotRequired[int]
    #: What becomes of firings later than the grace. Defaults to skip.
    missed: NotRequired[Literal["", "skip", "once", "all"]]
    #: With missed all: how many of the latest are made up for.
    missed_limit: NotRequired[int]
    #: Unique in its namespace.
    name: str
    #: Defaults to default.
    namespace: NotRequired[str]
    #: Up to ten, without jitter; one in a list of schedules.
    next_times: list[Timestamp]
    #: Tasks of a namespace with the same key run one at a time, in the order of submission.
    ordering_key: NotRequired[str]
    #: created, changed or unchanged; what it would be with dry_run.
    outcome: str
    #: What becomes of a firing while a task of an earlier one has not ended. Defaults to skip.
    overlap: NotRequired[Literal["", "skip", "queue_one", "queue_all", "cancel_running", "allow"]]
    paused: NotRequired[SchedulePause]
    #: high, medium, low, or an integer level from 0 to 100.
    priority: NotRequired[str | int]
    #: Only with task_type.
    required_capabilities: NotRequired[list[str]]
    #: No times before.
    start_at: NotRequired[Timestamp]
    #: active, paused, over (it has no more times) or broken (see trouble).
    state: str
    tags: NotRequired[list[str]]
    #: Handler to run as a task with one step. Either this or template.
    task_type: NotRequired[str]
    #: Template to run. Either this or task_type.
    template: NotRequired[str]
    #: Defaults to the last registered one at each firing.
    template_version: NotRequired[str]
    #: Member of the context that gets the time of the firing.
    time_field: NotRequired[str]
    #: Name of the IANA database, such as Europe/Berlin. Defaults to UTC.
    time_zone: NotRequired[str]
    #: Time limit of one attempt; only with task_type.
    timeout_seconds: NotRequired[int]
    #: Why a firing cannot take place now.
    trouble: NotRequired[str]
    trouble_since: NotRequired[Timestamp]
    updated_at: Timestamp


class Schedule(TypedDict):
    #: Input of each task, any JSON value; validated against the input_schema of the template.
    context: NotRequired[Any]
    created_at: Timestamp
    #: Cron expression of five fields, or six with seconds in front; a name such as @daily; or @every and a duration
    #: of at least 1s.
    cron: str
    decided_until: Timestamp
    description: NotRequired[str]
    #: No times after.
    end_at: NotRequired[Timestamp]
    #: Changes with every act on the schedule.
    etag: str
    #: A firing that is later was missed. Defaults to 60.
    grace_seconds: NotRequired[int]
    #: Each firing is delayed by a part of it that follows from the name and the time.
    jitter_seconds: NotRequired[float]
    last_firing: NotRequired[Firing]
    #: Only with task_type.
    max_retries: NotRequired[int]
    #: What becomes of firings later than the grace. Defaults to skip.
    missed: NotRequired[Literal["", "skip", "once", "all"]]
    #: With missed all: how many of the latest are made up for.
    missed_limit: NotRequired[int]
    #: Unique in its namespace.
    name: str
    #: Defaults to default.
    namespace: NotRequired[str]
    #: Up to ten, without jitter; one in a list of schedules.
    next_times: list[Timestamp]
    #: Tasks of a namespace with the same key run one at a time, in the order of submission.
    ordering_key: NotRequired[str]
    #: What becomes of a firing while a task of an earlier one has not ended. Defaults to skip.
    overlap: NotRequired[Literal["", "skip", "queue_one", "queue_all", "cancel_running", "allow"]]
    paused: NotRequired[SchedulePause]
    #: high, medium, low, or an integer level from 0 to 100.
    priority: NotRequired[str | int]
    #: Only with task_type.
    required_capabilities: NotRequired[list[str]]
    #: No times before.
    start_at: NotRequired[Timestamp]
    #: active, paused, over (it has no more times) or broken (see trouble).
    state: str
    tags: NotRequired[list[str]]
    #: Handler to run as a task with one step. Either this or template.
    task_type: NotRequired[str]
    #: Template to run. Either this or task_type.
    template: NotRequired[str]
    #: Defaults to the last registered one at each firing.
    template_version: NotRequired[str]
    #: Member of the context that gets the time of the firing.
    time_field: NotRequired[str]
    #: Name of the IANA database, such as Europe/Berlin. Defaults to UTC.
    time_zone: NotRequired[str]
    #: Time limit of one attempt; only with task_type.
    timeout_seconds: NotRequired[int]
    #: Why a firing cannot take place now.
    trouble: NotRequired[str]
    trouble_since: NotRequired[Timestamp]
    updated_at: Timestamp


class ScheduleAct(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    #: Expected ETag of the schedule, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Reason of the act.
    reason: NotRequired[str | None]


class ScheduleChange(TypedDict):
    after: Any
    before: Any
    field: str


class ScheduleEvent(TypedDict):
    #: Number of times.
    count: int
    #: The first of the times.
    first: Timestamp
    #: Of schedule.fired: why there are tasks.
    kind: NotRequired[Literal["time", "missed", "run", "backfill"]]
    last: Timestamp
    name: str
    #: Of schedule.missed.
    reason: NotRequired[Literal["missed", "overlap", "paused", "refused"]]
    #: The first of the tasks, 10 at most.
    tasks: NotRequired[list[str]]


class SchedulePage(TypedDict):
    #: Of the next page; missing on the last one.
    cursor: NotRequired[str]
    schedules: list[Schedule]


class SchedulePause(TypedDict):
    actor: str
    at: Timestamp
    reason: str
    until: NotRequired[Timestamp]


class SchedulePauseRequest(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    #: Expected ETag of the schedule, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Reason of the act.
    reason: NotRequired[str | None]
    #: When it goes on by itself. Defaults to never.
    until: NotRequired[Timestamp | datetime | None]


class ScheduleRemoval(TypedDict):
    removed: bool


class ScheduleRequest(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    #: Input of each task, any JSON value; validated against the input_schema of the template.
    context: NotRequired[Any]
    #: Cron expression of five fields, or six with seconds in front; a name such as @daily; or @every and a duration
    #: of at least 1s.
    cron: str
    description: NotRequired[str | None]
    #: Only check, and answer what would change.
    dry_run: NotRequired[bool | None]
    #: No times after.
    end_at: NotRequired[Timestamp | datetime | None]
    #: A firing that is later was missed. Defaults to 60.
    grace_seconds: NotRequired[int | None]
    #: Expected ETag of the schedule, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Each firing is delayed by a part of it that follows from the name and the time.
    jitter_seconds: NotRequired[float | None]
    #: Only with task_type.
    max_retries: NotRequired[int | None]
    #: What becomes of firings later than the grace. Defaults to skip.
    missed: NotRequired[Literal["", "skip", "once", "all"] | None]
    #: With missed all: how many of the latest are made up for.
    missed_limit: NotRequired[int | None]
    #: Unique in its namespace.
    name: str
    #: Defaults to default.
    namespace: NotRequired[str | None]
    #: Tasks of a namespace with the same key run one at a time, in the order of submission.
    ordering_key: NotRequired[str | None]
    #: What becomes of a firing while a task of an earlier one has not ended. Defaults to skip.
    overlap: NotRequired[Literal["", "skip", "queue_one", "queue_all", "cancel_running", "allow"] | None]
    #: high, medium, low, or an integer level from 0 to 100.
    priority: NotRequired[str | int | None]
    #: Reason of the act.
    reason: NotRequired[str | None]
    #: Only with task_type.
    required_capabilities: NotRequired[list[str] | None]
    #: No times before.
    start_at: NotRequired[Timestamp | datetime | None]
    tags: NotRequired[list[str] | None]
    #: Handler to run as a task with one step. Either this or template.
    task_type: NotRequired[str | None]
    #: Template to run. Either this or task_type.
    template: NotRequired[str | None]
    #: Defaults to the last registered one at each firing.
    template_version: NotRequired[str | None]
    #: Member of the context that gets the time of the firing.
    time_field: NotRequired[str | None]
    #: Name of the IANA database, such as Europe/Berlin. Defaults to UTC.
    time_zone: NotRequired[str | None]
    #: Time limit of one attempt; only with task_type.
    timeout_seconds: NotRequired[int | None]


class ScheduleRunRequest(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    #: Expected ETag of the schedule, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Policy for this firing. Defaults to that of the schedule.
    overlap: NotRequired[Literal["", "skip", "queue_one", "queue_all", "cancel_running", "allow"] | None]
    #: Reason of the act.
    reason: NotRequired[str | None]


class Selection(TypedDict):
    #: Died last at or after this time.
    after: NotRequired[Timestamp | None]
    #: Died last before this time.
    before: NotRequired[Timestamp | None]
    error_type: NotRequired[str | None]
    #: Died first, or case opened, at or after this time.
    first_after: NotRequired[Timestamp | None]
    #: Died first, or case opened, before this time.
    first_before: NotRequired[Timestamp | None]
    #: IDs of groups.
    groups: NotRequired[list[str] | None]
    #: Letters with this header.
    header_name: NotRequired[str | None]
    #: Its value.
    header_value: NotRequired[str | None]
    #: Letters and cases by their UUIDs.
    ids: NotRequired[list[str] | None]
    #: Defaults to both.
    kind: NotRequired[Literal["letter", "case"] | None]
    min_replays: NotRequired[int | None]
    #: A redrive has one. Defaults to that of the first group, else of the first letter in ids, else to the only one
    #: of the API key.
    namespace: NotRequired[str | None]
    origin: NotRequired[str | None]
    parked: NotRequired[bool | None]
    #: Why a case was opened.
    reason: NotRequired[Literal["staleness_timeout", "max_retries_exceeded", "dependency_cycle_detected", "worker_unavailable", "manual_dlq"] | None]
    #: Sent back before, or not; of cases, whether their tasks were replayed before, under any case.
    replayed: NotRequired[bool | None]
    #: Whether a retry may help.
    retryable: NotRequired[bool | None]
    source: NotRequired[str | None]
    #: State of letters; open selects pending cases.
    state: NotRequired[Literal["open", "scheduled", "redriving", "redriven", "discarded"] | None]
    #: State of the task of a case, now.
    task_state: NotRequired[Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"] | None]
    #: Template of cases.
    template: NotRequired[str | None]
    #: Literal part of an error message or a payload.
    text: NotRequired[str | None]


class SettleAnswer(TypedDict):
    error: NotRequired[Error]
    next_retry_at: NotRequired[Timestamp]
    state: NotRequired[Literal["pending", "waiting", "enqueued", "assigned", "in_progress", "enqueued_for_orchestration", "waiting_for_retry", "complete", "skipped", "error", "cancelled", "resolved_manually"]]
    step_uuid: str


class SettleRequest(TypedDict):
    results: list[StepResult]


class Signal(TypedDict):
    #: Until when a step that begins to wait takes it.
    kept_until: Timestamp
    key: str
    name: str
    namespace: str
    received_at: Timestamp
    signal_id: str
    #: Steps that have taken it so far.
    taken: int


class SignalPage(TypedDict):
    #: Present if there are more.
    next_cursor: NotRequired[str]
    #: The one that is kept for the shortest time comes first. Payloads are left out.
    signals: list[Signal]


class SignalRequest(TypedDict):
    #: What it has happened to, such as the number of an order: the key of a step's wait.
    key: str
    #: What has happened, such as payment.settled: the signal of a step's wait.
    name: str
    #: Defaults to the default namespace.
    namespace: NotRequired[str | None]
    #: Any JSON value: the result of the steps that take the signal.
    payload: NotRequired[Any]
    #: Identifies the signal in the namespace, for as long as it is kept: a second one with this ID changes nothing.
    #: Defaults to a new ID.
    signal_id: NotRequired[str | None]


class SnapshotStep(TypedDict):
    attempts: int
    current_state: Literal["pending", "waiting", "enqueued", "assigned", "in_progress", "enqueued_for_orchestration", "waiting_for_retry", "complete", "skipped", "error", "cancelled", "resolved_manually"]
    dependencies: NotRequired[list[str]]
    last_error: NotRequired[Failure]
    last_failure_at: NotRequired[Timestamp]
    max_attempts: int
    name: str
    next_retry_at: NotRequired[Timestamp]
    ready_at: NotRequired[Timestamp]
    started_at: NotRequired[Timestamp]
    step_uuid: str
    worker: NotRequired[str]


class Source(TypedDict):
    #: http for a program that reports, memory, or the name of a broker's driver.
    driver: str
    #: Changes with every change of the source. Ignored in a request: if_match names the expected one.
    etag: NotRequired[str]
    #: Convention in which messages tell of their failures. Defaults to detecting it.
    format: NotRequired[str]
    #: Makes messages tasks. Without it they become letters.
    intake: NotRequired[Intake]
    #: Open letters at which nothing more is captured. Defaults to no bound.
    max_open: NotRequired[int]
    #: A letter that was sent back that often is parked. Defaults to 3.
    max_replays: NotRequired[int]
    #: Unique in its namespace.
    name: str
    #: Defaults to default.
    namespace: NotRequired[str]
    paused: NotRequired[bool]
    #: List, stream, queue or topic to read.
    queue: NotRequired[str]
    #: JSON pointers to values of payloads that are masked for keys that may not see them; a segment * matches every
    #: member and element. With any, payloads that are not JSON are masked whole.
    sensitive: NotRequired[list[str]]
    #: Names of headers, in any case, whose values are masked likewise.
    sensitive_headers: NotRequired[list[str]]
    #: Destinations that letters may be sent to, besides their origins. An entry that ends in * allows every name that
    #: begins with what is before it. With the driver http, an entry is a URL: its * stands for the rest of the path
    #: behind a slash, of the last segment, or of the query.
    targets: NotRequired[list[str]]
    #: URL of the broker. Answers hide the password in it.
    url: NotRequired[str]


class SourceEvent(TypedDict):
    #: Why it cannot be read; without secrets.
    error: NotRequired[str]
    name: str


class SourceList(TypedDict):
    sources: list[SourceStatus]


class SourceRequest(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    #: http for a program that reports, memory, or the name of a broker's driver.
    driver: str
    #: Changes with every change of the source. Ignored in a request: if_match names the expected one.
    etag: NotRequired[str | None]
    #: Convention in which messages tell of their failures. Defaults to detecting it.
    format: NotRequired[str | None]
    #: Expected ETag of the object, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Makes messages tasks. Without it they become letters.
    intake: NotRequired[Intake | None]
    #: Open letters at which nothing more is captured. Defaults to no bound.
    max_open: NotRequired[int | None]
    #: A letter that was sent back that often is parked. Defaults to 3.
    max_replays: NotRequired[int | None]
    #: Unique in its namespace.
    name: str
    #: Defaults to default.
    namespace: NotRequired[str | None]
    paused: NotRequired[bool | None]
    #: List, stream, queue or topic to read.
    queue: NotRequired[str | None]
    #: Reason of the act.
    reason: NotRequired[str | None]
    #: JSON pointers to values of payloads that are masked for keys that may not see them; a segment * matches every
    #: member and element. With any, payloads that are not JSON are masked whole.
    sensitive: NotRequired[list[str] | None]
    #: Names of headers, in any case, whose values are masked likewise.
    sensitive_headers: NotRequired[list[str] | None]
    #: Destinations that letters may be sent to, besides their origins. An entry that ends in * allows every name that
    #: begins with what is before it. With the driver http, an entry is a URL: its * stands for the rest of the path
    #: behind a slash, of the last segment, or of the query.
    targets: NotRequired[list[str] | None]
    #: URL of the broker. Answers hide the password in it.
    url: NotRequired[str | None]


class SourceStatus(TypedDict):
    #: http for a program that reports, memory, or the name of a broker's driver.
    driver: str
    #: The last one.
    error: NotRequired[str]
    #: Changes with every change of the source. Ignored in a request: if_match names the expected one.
    etag: NotRequired[str]
    #: Convention in which messages tell of their failures. Defaults to detecting it.
    format: NotRequired[str]
    #: Makes messages tasks. Without it they become letters.
    intake: NotRequired[Intake]
    #: Open letters at which nothing more is captured. Defaults to no bound.
    max_open: NotRequired[int]
    #: A letter that was sent back that often is parked. Defaults to 3.
    max_replays: NotRequired[int]
    #: Unique in its namespace.
    name: str
    #: Defaults to default.
    namespace: NotRequired[str]
    #: Open letters, up to 10,000; up to max_open if that is more, and at most 100,000.
    open: int
    #: Whether there are more open letters.
    open_capped: NotRequired[bool]
    #: Messages that stay on the broker because they are larger than engine.limits.letter_bytes; missing if there are
    #: none.
    oversized: NotRequired[Oversized]
    paused: NotRequired[bool]
    #: In the answer to a request for one source.
    policies: NotRequired[list[Policy]]
    #: What the first messages would become; in the answer to a test of a source with an intake, where its broker can
    #: show messages.
    preview: NotRequired[list[IntakePreview]]
    #: List, stream, queue or topic to read.
    queue: NotRequired[str]
    #: JSON pointers to values of payloads that are masked for keys that may not see them; a segment * matches every
    #: member and element. With any, payloads that are not JSON are masked whole.
    sensitive: NotRequired[list[str]]
    #: Names of headers, in any case, whose values are masked likewise.
    sensitive_headers: NotRequired[list[str]]
    #: When it entered the state.
    since: NotRequired[Timestamp]
    #: reading, reported (driver http: programs report its letters), paused, waiting (for room) or lost.
    state: str
    #: Destinations that letters may be sent to, besides their origins. An entry that ends in * allows every name that
    #: begins with what is before it. With the driver http, an entry is a URL: its * stands for the rest of the path
    #: behind a slash, of the last segment, or of the query.
    targets: NotRequired[list[str]]
    #: URL of the broker. Answers hide the password in it.
    url: NotRequired[str]
    #: Messages that wait on the broker, in the answer to a request for one source; missing where the broker does not
    #: say.
    waiting: NotRequired[int]


class SplitRequest(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    #: Expressions: failures with the same values go into one group.
    group_by: NotRequired[list[str] | None]
    #: Expected ETag of the object, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Name of the rule that splits. Defaults to one made of the group.
    name: NotRequired[str | None]
    #: Reason of the act.
    reason: NotRequired[str | None]
    #: Title of the groups. Defaults to the name and the values of group_by.
    title: NotRequired[str | None]
    #: Condition, as of a rule. Defaults to every failure of the group.
    when: NotRequired[str | None]


class Spread(TypedDict):
    max_seconds: float
    p50_seconds: float
    p95_seconds: float


class StaleTask(TypedDict):
    #: Used part of the threshold: the time in the state or of the whole task.
    counted_minutes: float
    current_state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]
    #: Reason why a part of the stored data cannot be shown; that part is omitted.
    damage: NotRequired[str]
    health_status: Literal["healthy", "warning", "stale"]
    namespace_name: str
    priority: str | int
    #: Promise that delays the threshold: attempt, queue or time.
    promise: NotRequired[Literal["attempt", "queue", "time", "release", "outside"]]
    #: Name of the step with the promise.
    promised_step: NotRequired[str]
    #: End of the promise; absent if it has none.
    promised_until: NotRequired[Timestamp]
    #: Time at which the task becomes stale if nothing changes.
    stale_at: NotRequired[Timestamp]
    #: Effective threshold; 0 while a promise without an end delays it.
    staleness_threshold_minutes: float
    task_name: str
    task_uuid: str
    #: template, global, promise (global, from the end of a promise) or max_duration.
    threshold_source: Literal["template", "global", "promise", "max_duration"]
    time_in_state_minutes: float


class StartRequest(TypedDict):
    steps: list[LeaseRef]


class StateExplanation(TypedDict):
    #: The letter that is explained.
    letter_uuid: NotRequired[str]
    #: What would change the state, automatically or by an operator.
    next: NotRequired[str]
    #: The redrive that is explained.
    redrive_uuid: NotRequired[str]
    state: str
    #: One sentence.
    summary: str
    #: Sentences about what led to it.
    why: NotRequired[list[str]]


class Stats(TypedDict):
    #: Jobs in dlq:analysis_queue; 0 without such a queue.
    analysis_queue_count: int
    #: Jobs in dlq:detection_queue; 0 without such a queue.
    detection_queue_count: int
    #: All dead letter queues of the namespace, by name.
    queues: list[Queue]
    #: Jobs in all dead letter queues of the namespace.
    total_count: int


class Step(TypedDict):
    #: Attempts started since the last reset.
    attempts: int
    #: Last checkpoint of an attempt, which the next one receives. Absent once the step is complete.
    checkpoint: NotRequired[Checkpoint]
    #: Child tasks of the step, counted.
    children: NotRequired[StepChildren]
    completed_at: NotRequired[Timestamp]
    completed_parents: int
    created_at: Timestamp
    current_state: Literal["pending", "waiting", "enqueued", "assigned", "in_progress", "enqueued_for_orchestration", "waiting_for_retry", "complete", "skipped", "error", "cancelled", "resolved_manually"]
    #: Reason why a part of the stored data cannot be shown; that part is omitted.
    damage: NotRequired[str]
    dependencies: NotRequired[list[str]]
    dependencies_satisfied: bool
    #: Level with the wait included while it waits for a worker; else its own level.
    effective_priority: str | int
    #: Changes with the state and each lease of the step. An act with If-Match is refused if it has changed.
    etag: NotRequired[str]
    handler: str
    #: A result that is kept apart because of its size, instead of results; get it from /large_result of the step.
    large_result: NotRequired[LargeResult]
    last_attempted_at: NotRequired[Timestamp]
    last_error: NotRequired[Failure]
    last_failure_at: NotRequired[Timestamp]
    lease_expires_at: NotRequired[Timestamp]
    #: Maximum number of attempts, including the first.
    max_attempts: int
    name: str
    next_retry_at: NotRequired[Timestamp]
    #: It runs only after the task has failed.
    on_failure: NotRequired[bool]
    priority: str | int
    progress_percent: NotRequired[int]
    #: Time at which it was last enqueued.
    ready_at: NotRequired[Timestamp]
    #: Whether a worker can claim it now.
    ready_for_execution: bool
    required_capabilities: NotRequired[list[str]]
    resolution_reason: NotRequired[str]
    #: Actor of the last act on the step.
    resolved_by: NotRequired[str]
    #: Name of that actor's API key.
    resolved_by_key: NotRequired[str]
    results: NotRequired[Any]
    #: The step has ended and its result was omitted from the list; request the step to get it.
    results_omitted: NotRequired[bool]
    #: Whether the failed step can run again now: retryable, attempts left, and back-off over (next_retry_at).
    retry_eligible: bool
    status_message: NotRequired[str]
    step_uuid: str
    task_uuid: str
    timeout_seconds: int
    total_parents: int
    #: What the step waits for, in state waiting.
    wait: NotRequired[StepWait]
    #: Worker that holds it or ran it last.
    worker: NotRequired[str]


class StepAction(TypedDict):
    action_type: Literal["reset_for_retry", "resolve_manually", "complete_manually", "approve", "reject"]
    completed_by: NotRequired[str | None]
    #: Required by complete_manually, refused by the other acts.
    completion_data: NotRequired[CompletionData | None]
    #: Actor of approve and reject.
    decided_by: NotRequired[str | None]
    #: With reset_for_retry: delete the checkpoint of the step, so that it begins from the start. By default the next
    #: attempt receives it.
    discard_checkpoint: NotRequired[bool | None]
    #: Expected state of the step. In any other state the act is refused with conflict.
    expected_state: NotRequired[Literal["pending", "waiting", "enqueued", "assigned", "in_progress", "enqueued_for_orchestration", "waiting_for_retry", "complete", "skipped", "error", "cancelled", "resolved_manually"] | None]
    #: Expected etag. If the etag has changed, the act is refused with conflict. Same as the header If-Match.
    if_match: NotRequired[str | None]
    reason: str
    reset_by: NotRequired[str | None]
    resolved_by: NotRequired[str | None]


class StepChildren(TypedDict):
    #: Children that are complete or resolved manually.
    done: int
    #: Children in error, which may be repaired.
    errors: int
    #: Children that were cancelled, or could not be submitted.
    given_up: int
    running: int
    submitted: int
    #: Number of children; 0 until the list of items has been read.
    total: int


class StepExplanation(TypedDict):
    name: str
    #: What would change the state, automatically or by an operator.
    next: NotRequired[str]
    state: Literal["pending", "waiting", "enqueued", "assigned", "in_progress", "enqueued_for_orchestration", "waiting_for_retry", "complete", "skipped", "error", "cancelled", "resolved_manually"]
    step_uuid: str
    why: str


class StepLimit(TypedDict):
    #: Steps of a rate that may begin at once after a pause.
    burst: NotRequired[int]
    #: Text with places for values of the context, such as {{customer}}.
    key: NotRequired[str]
    #: Steps at once, or in a period.
    limit: int
    #: Milliseconds of the period of a rate; absent in a limit of steps at once.
    per_ms: NotRequired[int]


class StepResult(TypedDict):
    #: Required by failed.
    error: NotRequired[Failure | None]
    #: Instead of result: the reference of a large result that was sent before.
    large_result: NotRequired[str | None]
    #: End of what the attempt has logged. The server keeps at most max_log_bytes of its end.
    log: NotRequired[str | None]
    #: Size of all that the attempt has logged. Defaults to the size of log.
    log_bytes: NotRequired[int | None]
    result: NotRequired[Any]
    snooze_seconds: NotRequired[float | None]
    #: released: returned to the queue, no attempt charged. snoozed: ready again after snooze_seconds, no attempt
    #: charged.
    status: Literal["completed", "failed", "released", "snoozed"]
    step_uuid: str
    #: Token of the step's lease.
    token: str


class StepStats(TypedDict):
    #: Executions since the last reset of each step.
    attempts: int
    #: Tasks in which it was begun.
    begun: int
    #: Tasks in which it is complete, or was resolved.
    complete: int
    #: Tasks in which it is in error.
    failed: int
    #: Executions that are over and did not complete the step.
    failed_attempts: int
    #: Share of the executions that failed; 0 without any.
    failure_rate: float
    name: str
    #: Time from start to end, of the last executions; null without any.
    ran: Spread
    #: Time in the queue before the last executions; null without any.
    waited: Spread


class StepWait(TypedDict):
    #: What a human decides.
    approval: NotRequired[str]
    #: Key of the signal.
    key: NotRequired[str]
    #: time, approval or signal.
    kind: str
    #: Name of the signal.
    signal: NotRequired[str]
    #: End of the wait; absent without end.
    until: NotRequired[Timestamp]


class StopRule(TypedDict):
    #: Failed sends of a wave at which it halts. Defaults to 10.
    failed: NotRequired[int | None]
    #: Share of a wave that may come back; 1 never halts. Defaults to 0.2.
    returned_share: NotRequired[float | None]
    #: Items of a wave with one fingerprint that come back at which it halts. Defaults to 25.
    same_fingerprint: NotRequired[int | None]


class SubmitRequest(TypedDict):
    #: Refuse invalid tasks individually instead of the whole request.
    item_errors: NotRequired[bool | None]
    #: At most 1,000 by default.
    tasks: list[TaskRequest]


class Task(TypedDict):
    cancel_reason: NotRequired[str]
    cancelled_by: NotRequired[str]
    #: Name of the API key that cancelled it.
    cancelled_by_key: NotRequired[str]
    cancelled_steps: int
    #: Steps that are complete or resolved manually.
    completed_steps: int
    completion_percentage: float
    context: NotRequired[Any]
    context_edited_at: NotRequired[Timestamp]
    context_edited_by: NotRequired[str]
    context_edited_by_key: NotRequired[str]
    #: Number of edits of the context since submission.
    context_version: NotRequired[int]
    correlation_id: NotRequired[str]
    created_at: Timestamp
    #: Reason why a part of the stored data cannot be shown; that part is omitted.
    damage: NotRequired[str]
    #: Deadline of the whole task: that of its submission, or the end of lifecycle.max_duration_minutes.
    deadline_at: NotRequired[Timestamp]
    #: Highest effective level of its waiting steps; else its own level. Not in lists.
    effective_priority: NotRequired[str | int]
    #: Changes with the state and progress of the task. An act with If-Match is refused if it has changed.
    etag: NotRequired[str]
    failed_steps: int
    finished_at: NotRequired[Timestamp]
    idempotency_key: NotRequired[str]
    #: Steps that are enqueued, assigned or in progress.
    in_progress_steps: int
    initiator: NotRequired[str]
    #: Message of a broker that the task was made of.
    intake: NotRequired[TaskIntake]
    last_replayed_at: NotRequired[Timestamp]
    last_replayed_by: NotRequired[str]
    last_replayed_by_key: NotRequired[str]
    #: Name of the task: the template or the task type.
    name: str
    namespace: str
    ordering_key: NotRequired[str]
    #: Step of another task that this task carries out, as its child.
    parent: NotRequired[TaskParent]
    parent_correlation_id: NotRequired[str]
    pending_steps: int
    #: Name of the level, or its number if it has none.
    priority: str | int
    priority_level: int
    reason: NotRequired[str]
    #: Number of replays after a failure.
    replay_count: NotRequired[int]
    run_at: NotRequired[Timestamp]
    #: Firing of a schedule that submitted the task.
    schedule: NotRequired[TaskSchedule]
    source_system: NotRequired[str]
    state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]
    tags: NotRequired[list[str]]
    task_uuid: str
    total_steps: int
    #: W3C trace context of the submission.
    traceparent: NotRequired[str]
    #: Its rule of uniqueness.
    unique: NotRequired[TaskUnique]
    #: Version of the template; empty for a task without a template.
    version: NotRequired[str]
    #: Steps that wait for a retry or run_at.
    waiting_steps: int
    #: An earlier task with the same ordering key has not ended yet.
    waits_for_turn: NotRequired[bool]


class TaskHistory(TypedDict):
    attempts: list[Attempt]
    context_edits: NotRequired[list[ContextEdit]]
    task_uuid: str
    transitions: list[Transition]


class TaskIntake(TypedDict):
    #: Of the message in its queue.
    position: NotRequired[str]
    queue: str
    sent_at: NotRequired[Timestamp]
    source: str


class TaskPage(TypedDict):
    next_cursor: NotRequired[str]
    tasks: list[Task]


class TaskParent(TypedDict):
    #: Place among the children of the step, counted from 0.
    index: int
    step_uuid: str
    task_uuid: str


class TaskPolled(TypedDict):
    #: open: the last attempts of the worker all failed, and it gets no steps. half_open: it gets a few attempts as a
    #: test.
    circuit_breaker: NotRequired[Literal["open", "half_open"]]
    #: End of this state if nothing else happens.
    circuit_breaker_until: NotRequired[Timestamp]
    parameters: NotRequired[Any]
    #: Finish the current work; no more will be assigned.
    should_drain: bool
    #: For a poll with worker_capabilities: the task, which is also in tasks.
    task_id: NotRequired[str]
    task_type: NotRequired[str]
    tasks: list[QueueAssignment]
    timeout_seconds: NotRequired[int]
    trace_id: NotRequired[str]


class TaskReceipt(TypedDict):
    #: False if the idempotency key or the unique key named an existing task.
    created: bool
    error: NotRequired[Error]
    state: NotRequired[Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]]
    task_uuid: str
    #: What another task with the same unique key did to the submission.
    unique: NotRequired[UniqueMatch]


class TaskRequest(TypedDict):
    #: Input of the task, any JSON value; validated against the input_schema of the template. Limited to 256 KiB by
    #: default.
    context: NotRequired[Any]
    correlation_id: NotRequired[str | None]
    #: Time by which the task must be over. If it is not, it is put in error.
    deadline_at: NotRequired[Timestamp | datetime | None]
    #: Unique per namespace for 24 hours. A second submission returns the first task.
    idempotency_key: NotRequired[str | None]
    #: Person or system that requests the task.
    initiator: NotRequired[str | None]
    #: Retries after the first attempt; only with task_type. The default depends on the priority.
    max_retries: NotRequired[int | None]
    #: Template to run. Either this or task_type.
    name: NotRequired[str | None]
    #: Namespace of the template or handler. Defaults to "default".
    namespace: NotRequired[str | None]
    #: Tasks of a namespace with the same key run one at a time, in the order of submission.
    ordering_key: NotRequired[str | None]
    parent_correlation_id: NotRequired[str | None]
    #: high, medium, low, or an integer level from 0 to 100, higher first. Defaults to the priority of the template,
    #: else medium.
    priority: NotRequired[str | int | None]
    #: Reason for the task.
    reason: NotRequired[str | None]
    #: Capabilities that a worker must have; only with task_type.
    required_capabilities: NotRequired[list[str] | None]
    #: Earliest start.
    run_at: NotRequired[Timestamp | datetime | None]
    source_system: NotRequired[str | None]
    #: Tags of the task.
    tags: NotRequired[list[str] | None]
    #: Handler to run as a task with one step. Either this or name.
    task_type: NotRequired[str | None]
    #: Time limit of one attempt; only with task_type. The default depends on the priority.
    timeout_seconds: NotRequired[int | None]
    #: W3C trace context of the task. Attempts are spans of that trace, and workers receive it. Defaults to the
    #: traceparent header of the request.
    traceparent: NotRequired[str | None]
    #: Rule by which another task with the same fields stands for this one. Defaults to that of the template.
    unique: NotRequired[Unique | None]
    #: Version of the template. Defaults to the last registered one.
    version: NotRequired[str | None]


class TaskSchedule(TypedDict):
    #: Why there is a firing: time, missed, run or backfill.
    kind: str
    name: str
    #: Time of the firing.
    time: Timestamp


TaskUnique = TypedDict(
    "TaskUnique",
    {
        #: JSON pointers to the chosen fields of the context, or all or template.
        "by": "list[str]",
        #: Whether the task guards its key now. Not in lists.
        "guards": NotRequired["bool"],
        #: End of its period.
        "until": NotRequired["Timestamp"],
        #: Phases in which the task guards its key.
        "while": "list[str]",
    },
)


class Template(TypedDict):
    #: Limit of the steps at once, for steps without one of their own.
    concurrency: NotRequired[StepLimit]
    #: True in the response to the registration that stored the version.
    created: bool
    created_at: Timestamp
    #: Reason why a part of the stored data cannot be shown; that part is omitted.
    damage: NotRequired[str]
    description: NotRequired[str]
    #: Milliseconds that a step may wait in the queue of a worker to which it was dispatched over AMQP, for steps that
    #: set no value.
    dispatch_ttl_ms: NotRequired[int]
    #: SHA-256 of the canonical content.
    fingerprint: str
    #: JSON Schema of a task's context.
    input_schema: NotRequired[Any]
    lifecycle: Lifecycle
    name: str
    namespace_name: str
    priority: NotRequired[str | int]
    #: Limit of the steps in a time, for steps without one of their own.
    rate_limit: NotRequired[StepLimit]
    #: JSON pointers to values of a task's context that are masked for keys that may not see them; a segment * matches
    #: every member and element.
    sensitive: NotRequired[list[str]]
    steps: NotRequired[list[TemplateStep]]
    #: Rule of uniqueness of tasks whose submission has none.
    unique: NotRequired[Unique]
    version: str
    #: The registered source.
    yaml: NotRequired[str]


class TemplateChild(TypedDict):
    #: Expression of the context of the child; absent for that of the parent.
    context: NotRequired[str]
    #: Of the only step of the child, instead of a template.
    handler: NotRequired[str]
    #: wait: while the child is in error, the step waits for its repair. fail: the step fails.
    on_error: Literal["wait", "fail"]
    template: NotRequired[str]
    #: Absent for the newest one when the step begins.
    version: NotRequired[str]


class TemplateEach(TypedDict):
    #: Children that may run at once.
    concurrency: int
    #: Expression; absent for an object with item and index.
    context: NotRequired[str]
    #: Of the only step of each child, instead of a template.
    handler: NotRequired[str]
    #: Expression of the list.
    items: str
    #: Children that may fail: a number, or a share such as 10%.
    max_failed: str
    #: wait: children in error count once they are cancelled. fail: they count at once.
    on_error: Literal["wait", "fail"]
    #: list: the result of the step is that of each child. counts: it is their number.
    results: Literal["list", "counts"]
    template: NotRequired[str]
    #: Absent for the newest one when the step begins.
    version: NotRequired[str]


class TemplatePage(TypedDict):
    next_cursor: NotRequired[str]
    templates: list[Template]


class TemplateSource(TypedDict):
    #: File name for problems, reported as file:line:column.
    filename: NotRequired[str | None]
    #: Reason for the act. Defaults to "no reason given".
    reason: NotRequired[str | None]
    #: Actor. Defaults to the name of the API key, else to anonymous.
    registered_by: NotRequired[str | None]
    #: The template document; JSON is YAML.
    yaml: str


class TemplateStats(TypedDict):
    cancelled: int
    #: Tasks that are complete, or were resolved by an operator.
    complete: int
    #: Tasks in error.
    failed: int
    #: When the oldest of them was submitted.
    first_submitted_at: NotRequired[Timestamp]
    #: When the newest of them was submitted.
    last_submitted_at: NotRequired[Timestamp]
    name: str
    namespace: str
    #: In the order of the template.
    steps: list[StepStats]
    #: Newest tasks that were looked at.
    tasks: int
    #: From submission to the end, of complete tasks; null without any.
    took: Spread
    version: str


class TemplateStep(TypedDict):
    #: Limit of the steps at once, if the step sets one.
    concurrency: NotRequired[StepLimit]
    dependencies: NotRequired[list[str]]
    description: NotRequired[str]
    #: Milliseconds that the step may wait in the queue of a worker to which it was dispatched over AMQP, if the step
    #: sets them.
    dispatch_ttl_ms: NotRequired[int]
    #: Tasks that carry out the step, one for each item of a list.
    for_each: NotRequired[TemplateEach]
    #: Empty for a step that no worker runs.
    handler: str
    #: Fixed configuration for the handler.
    initialization: NotRequired[dict[str, Any]]
    name: str
    #: It runs only after the task has failed.
    on_failure: NotRequired[bool]
    priority: NotRequired[str | int]
    #: Limit of the steps in a time, if the step sets one.
    rate_limit: NotRequired[StepLimit]
    required_capabilities: NotRequired[list[str]]
    retry: RetryPolicy
    #: Task that carries out the step, as its child.
    task: NotRequired[TemplateChild]
    #: Time limit of an attempt. 0 if it is left to the priority of the task.
    timeout_seconds: int
    #: What a step without a handler waits for.
    wait: NotRequired[TemplateWait]
    #: Condition of the step, an expression over context and parents: if it does not hold, the step is skipped.
    when: NotRequired[str]


class TemplateWait(TypedDict):
    #: What a human decides.
    approval: NotRequired[str]
    #: Milliseconds of the wait.
    for_ms: NotRequired[int]
    #: Key of the signal, with places for values of the context, such as {{order_id}}.
    key: NotRequired[str]
    #: continue: a rejected step completes. Else it fails.
    on_reject: NotRequired[str]
    #: continue: the step completes at the end of that time. Else it fails.
    on_timeout: NotRequired[str]
    #: Name of a signal.
    signal: NotRequired[str]
    #: Milliseconds after which a decision or a signal comes too late; absent without end.
    timeout_ms: NotRequired[int]
    #: RFC 3339 time, or the place of one in the context, such as {{deliver_at}}.
    until: NotRequired[str]


class TopicCount(TypedDict):
    #: Of up to 1,000 messages of each state, the newest.
    avg_retry_count: float
    #: Messages in any status.
    count: int
    topic: str


class TopicPolicy(TypedDict):
    #: Defaults to the API key.
    actor: NotRequired[str | None]
    #: Defaults to 60.
    base_delay_seconds: NotRequired[float | None]
    #: Copy to the topic with -retry.
    copy_retries: NotRequired[bool | None]
    #: Defaults to the policy before.
    discard_test_events: NotRequired[bool | None]
    #: Defaults to 0.1 for delays that grow.
    jitter_factor: NotRequired[float | None]
    #: 0: no limit.
    max_age_seconds: NotRequired[float | None]
    #: Defaults to 3600.
    max_delay_seconds: NotRequired[float | None]
    #: Defaults to 5.
    max_retries: NotRequired[int | None]
    #: Defaults to that of the key.
    namespace: NotRequired[str | None]
    #: Reason of the act.
    reason: NotRequired[str | None]
    #: Defaults to 2.
    retry_multiplier: NotRequired[float | None]
    #: Defaults to all sources.
    source: NotRequired[str | None]
    strategy: Literal["immediate", "exponential_backoff", "fixed_interval", "scheduled", "manual", "exponential", "fixed"]
    #: Original topic; * for all others.
    topic: str


class TopicReplay(TypedDict):
    actor: NotRequired[str]
    #: Up to the first message of each partition that is as new as this, which is not included.
    before: NotRequired[Timestamp]
    counts: ReplayCounts
    created_at: Timestamp
    ended_at: NotRequired[Timestamp]
    #: Changes with the state. An act with If-Match is refused if it has changed.
    etag: NotRequired[str]
    from_offset: NotRequired[int]
    #: Messages with all of these headers.
    headers: NotRequired[list[Header]]
    #: Which tasks messages become. Defaults to the intake of the source.
    intake: NotRequired[Intake]
    #: What messages become: letters of the source, or tasks. Defaults to tasks where there is an intake.
    into: NotRequired[Literal["inbox", "tasks"]]
    #: Messages with this key.
    key: NotRequired[str]
    #: Name of the API key of the request.
    key_name: NotRequired[str]
    namespace: str
    #: Defaults to all.
    partitions: NotRequired[list[int]]
    #: The range of each partition, written down when the replay was made.
    parts: list[ReplayPart]
    #: When it will be deleted: 30 days after its end.
    purge_at: NotRequired[Timestamp]
    #: Messages a second; 0: no limit.
    rate: NotRequired[float]
    reason: NotRequired[str]
    #: A name: tasks are made once for each name, also of messages of which tasks were made before. Without it they
    #: are not made again.
    repeat: NotRequired[str]
    replay_uuid: str
    #: From the first message of each partition that is as new as this.
    since: NotRequired[Timestamp]
    source: str
    started_at: NotRequired[Timestamp]
    state: Literal["draft", "running", "paused", "failed", "done", "cancelled"]
    #: When it entered the state.
    state_at: Timestamp
    #: Not included.
    to_offset: NotRequired[int]
    #: Topic on the broker of the source: its queue, or one that its targets allow. Defaults to the queue.
    topic: NotRequired[str]
    #: Why it failed or, while it runs, what holds it up.
    why: NotRequired[str]


class TopicReplayRequest(TypedDict):
    #: Name recorded with the act. Defaults to the name of the API key.
    actor: NotRequired[str | None]
    #: Up to the first message of each partition that is as new as this, which is not included.
    before: NotRequired[Timestamp | datetime | None]
    from_offset: NotRequired[int | None]
    #: Messages with all of these headers.
    headers: NotRequired[list[Header] | None]
    #: Expected ETag of the object, or *. If it has changed, the act is refused with conflict.
    if_match: NotRequired[str | None]
    #: Which tasks messages become. Defaults to the intake of the source.
    intake: NotRequired[Intake | None]
    #: What messages become: letters of the source, or tasks. Defaults to tasks where there is an intake.
    into: NotRequired[Literal["inbox", "tasks"] | None]
    #: Messages with this key.
    key: NotRequired[str | None]
    #: Namespace of the source. Defaults to default.
    namespace: NotRequired[str | None]
    #: Defaults to all.
    partitions: NotRequired[list[int] | None]
    #: Messages a second; 0: no limit.
    rate: NotRequired[float | None]
    #: Reason of the act.
    reason: NotRequired[str | None]
    #: A name: tasks are made once for each name, also of messages of which tasks were made before. Without it they
    #: are not made again.
    repeat: NotRequired[str | None]
    #: From the first message of each partition that is as new as this.
    since: NotRequired[Timestamp | datetime | None]
    #: Source whose broker has the topic.
    source: str
    #: Start at once; otherwise it is a draft.
    start: NotRequired[bool | None]
    #: Not included.
    to_offset: NotRequired[int | None]
    #: Topic on the broker of the source: its queue, or one that its targets allow. Defaults to the queue.
    topic: NotRequired[str | None]


class Transition(TypedDict):
    #: Actor, for an act of an operator.
    actor: NotRequired[str]
    at: Timestamp
    attempt: NotRequired[int]
    from_state: NotRequired[str]
    #: Name of the operator's API key.
    key_name: NotRequired[str]
    reason: NotRequired[str]
    step_name: NotRequired[str]
    #: Absent for a transition of the task itself.
    step_uuid: NotRequired[str]
    to_state: str
    worker: NotRequired[str]


class TypeCount(TypedDict):
    count: int
    event_type: str


class UncordonRequest(TypedDict):
    #: Reason for the act. Defaults to "no reason given".
    reason: NotRequired[str | None]
    #: Actor. Defaults to the name of the API key, else to anonymous.
    uncordoned_by: NotRequired[str | None]


Unique = TypedDict(
    "Unique",
    {
        #: JSON pointers to the fields of the context that make tasks equal; or alone all (the whole context, the
        #: default), template (nothing: one task of the template or type), none (no rule, although the template has
        #: one).
        "by": NotRequired["list[str] | None"],
        #: What becomes of this submission if another task guards the key: return answers with that task, refuse fails
        #: with conflict, replace cancels it if no step of it has begun, else returns it. Defaults to return.
        "on_conflict": NotRequired["Literal['return', 'refuse', 'replace'] | None"],
        #: How long a task guards its key at most: a duration from 1s to 720h. Defaults to no bound.
        "period": NotRequired["str | None"],
        #: Phases in which a task guards its key: unsettled (always), error, complete, resolved_manually; the last two
        #: only with a period. Defaults to unsettled and error or, with a period, to all.
        "while": NotRequired["list[str] | None"],
    },
)


class UniqueMatch(TypedDict):
    #: returned: another task guards the key. refused: likewise, and the receipt has an error. replaced: the task is
    #: stored, and the one before it cancelled. superseded: a later submission of the same moment took its place
    #: before it was stored.
    outcome: Literal["returned", "refused", "replaced", "superseded"]
    #: Task that was cancelled, for the outcome replaced.
    replaced_task_uuid: NotRequired[str]
    #: Sentence that says which rule matched, and when the key is free.
    rule: str
    #: End of the period of the task that guards the key.
    until: NotRequired[Timestamp]


class VersionBody(TypedDict):
    version: str


class Webhook(TypedDict):
    events: list[str]
    name: str
    #: Missing for all.
    namespaces: NotRequired[list[str]]
    #: Number of secrets that sign.
    secrets: int
    #: Scheme and host; the rest may be a secret.
    url: str


class WebhookAnswer(TypedDict):
    #: Whether the status was 2xx.
    delivered: bool
    error: NotRequired[str]
    #: The header webhook-id of the request.
    message_id: str
    name: str
    seconds: float
    #: HTTP status; missing if there was no answer.
    status: NotRequired[int]


class WebhookList(TypedDict):
    webhooks: list[Webhook]


class WorkerInfo(TypedDict):
    capabilities: NotRequired[list[str]]
    #: Registered maximum number of concurrent steps; 0: no limit.
    capacity: int
    #: closed; open: its last attempts all failed and it gets no steps; half_open: it gets a few attempts as a test.
    circuit_breaker: str
    circuit_breaker_opened_at: NotRequired[Timestamp]
    #: Consecutive failures that its circuit breaker counts; opening resets the count. Each node has its own count;
    #: null if this node has none.
    consecutive_failures: int | None
    cordon_reason: NotRequired[str]
    #: An operator has cordoned it: it gets no more steps until it is uncordoned.
    cordoned: bool
    cordoned_at: NotRequired[Timestamp]
    cordoned_by: NotRequired[str]
    #: Steps that it holds, as counted by the server.
    current_load: int
    #: Same as current_load. Not in lists.
    current_tasks: NotRequired[int]
    #: Reason why a part of the stored data cannot be shown; that part is omitted.
    damage: NotRequired[str]
    drain_reason: NotRequired[str]
    drained_at: NotRequired[Timestamp]
    #: Operator who has drained it; it gets no more steps until it is resumed.
    drained_by: NotRequired[str]
    #: It drains because its heartbeat said so; the first one that does not ends that.
    drains_itself: NotRequired[bool]
    handlers: NotRequired[list[str]]
    #: healthy, degraded or unhealthy, by its heartbeats and its attempts of the last five minutes that ended on the
    #: answering node. Of workers with the transport amqp, healthy ones get steps before degraded ones; unhealthy ones
    #: get none.
    health: str
    #: Error of the last failed probe.
    health_error: NotRequired[str]
    #: Failed probes since the last success.
    health_failures: NotRequired[int]
    #: Why it is not healthy.
    health_reasons: NotRequired[list[str]]
    health_url: NotRequired[str]
    host: NotRequired[str]
    last_heartbeat: Timestamp
    name: str
    namespaces: NotRequired[list[str]]
    #: Number of steps in its last heartbeat.
    reported_load: int
    started_at: Timestamp
    #: active, draining, unhealthy, dead.
    status: str
    #: How it gets its steps: http: it polls; amqp: from its queue in RabbitMQ.
    transport: str
    version: NotRequired[str]
    worker_id: str


class WorkerList(TypedDict):
    #: cursor of the next page. Even a short or empty page may have one.
    next_cursor: NotRequired[str]
    workers: list[WorkerInfo]


class WorkerRegistration(TypedDict):
    #: Capabilities of the worker.
    capabilities: NotRequired[list[str] | None]
    #: Maximum number of concurrent steps. Defaults to no limit.
    capacity: NotRequired[int | None]
    #: Served handlers. Defaults to all.
    handlers: NotRequired[list[str] | None]
    #: URL of the health endpoint, without /health: http or https, without user, query and fragment. GET
    #: <health_url>/health returns 200 if the worker is healthy.
    health_url: NotRequired[str | None]
    host: NotRequired[str | None]
    #: Name for operators. Defaults to the host; the SDK sends host and process ID.
    name: NotRequired[str | None]
    #: Served namespaces. Defaults to those of the key, if it is limited, and else to default. * alone: all.
    namespaces: NotRequired[list[str] | None]
    #: http: the worker polls. amqp: the server sends steps to a queue of the worker in RabbitMQ; it may poll too.
    #: Defaults to http.
    transport: NotRequired[Literal["http", "amqp"] | None]
    version: NotRequired[str | None]
