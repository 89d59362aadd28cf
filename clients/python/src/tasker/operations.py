"""The operations of the HTTP API that need no more than a request.

They are generated from the OpenAPI document of the server: run "make models" instead of editing them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, cast

from . import models
from ._async import asynchronous, listed
from ._http import QueryValue, path_of


class Operations:
    """A method for each operation. None is left out; what lists reads page by page."""

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, QueryValue] | None = None,
        body: Any = None,
    ) -> Any:
        """Send any request of the API."""
        raise NotImplementedError

    def _pages(self, path: str, query: Mapping[str, QueryValue], items: str, cursor: str) -> Iterator[Any]:
        query = dict(query)
        while True:
            page = self.call("GET", path, query=query)
            yield from page[items]
            if not page.get(cursor):
                return
            query["cursor"] = page[cursor]

    def act_on_cases(
        self,
        body: models.BulkStepAction,
    ) -> models.BulkResult:
        """Reset, resolve or complete the failed steps of the tasks of many cases."""
        return cast("models.BulkResult", self.call("POST", "/v1/dlq/act", body=body))

    def act_on_redrive(
        self,
        redrive_uuid: str,
        body: models.RedriveAct,
    ) -> models.Redrive:
        """Start, pause, resume or cancel a redrive."""
        return cast("models.Redrive", self.call("PATCH", path_of("v1", "redrives", redrive_uuid), body=body))

    def act_on_replay(
        self,
        replay_uuid: str,
        body: models.RedriveAct,
    ) -> models.TopicReplay:
        """Start, pause, resume or cancel a replay."""
        return cast("models.TopicReplay", self.call("PATCH", path_of("v1", "replays", replay_uuid), body=body))

    def act_on_step(
        self,
        uuid: str,
        step_uuid: str,
        body: models.StepAction,
    ) -> models.Step:
        """Reset, resolve, complete, approve or reject a step."""
        return cast("models.Step", self.call("PATCH", path_of("v1", "tasks", uuid, "workflow_steps", step_uuid), body=body))

    def backfill_schedule(
        self,
        namespace: str,
        name: str,
        body: models.BackfillRequest,
    ) -> models.Backfill:
        """Fire the times of a range in the past."""
        return cast("models.Backfill", self.call("POST", path_of("v1", "schedules", namespace, name, "backfill"), body=body))

    def cancel_tasks(
        self,
        body: models.CancelRequest,
    ) -> models.ResultsTaskReceipt:
        """Cancel many tasks in one transaction."""
        return cast("models.ResultsTaskReceipt", self.call("POST", "/v1/tasks/cancel", body=body))

    def change_group(
        self,
        group_id: str,
        body: models.GroupChange,
    ) -> models.Group:
        """Acknowledge, resolve, ignore, reopen, assign or annotate a group."""
        return cast("models.Group", self.call("PATCH", path_of("v1", "groups", group_id), body=body))

    def change_groups(
        self,
        body: models.GroupsChange,
    ) -> models.ChangedGroups:
        """Change many groups alike, named or selected by a filter."""
        return cast("models.ChangedGroups", self.call("PATCH", "/v1/groups", body=body))

    def close_outage(
        self,
        outage_uuid: str,
        body: models.OutageCloseRequest,
    ) -> models.Outage:
        """Close an outage."""
        return cast("models.Outage", self.call("POST", path_of("v1", "outages", outage_uuid, "close"), body=body))

    def create_redrive(
        self,
        body: models.RedriveRequest,
    ) -> models.Redrive:
        """Freeze a selection, to act on it in waves."""
        return cast("models.Redrive", self.call("POST", "/v1/redrives", body=body))

    def create_replay(
        self,
        body: models.TopicReplayRequest,
    ) -> models.TopicReplay:
        """Read a range of a topic again, into the inbox or as tasks."""
        return cast("models.TopicReplay", self.call("POST", "/v1/replays", body=body))

    def delete_limit(
        self,
        body: models.DeleteLimitRequest,
    ) -> models.Limit:
        """Delete the limit of a handler or a route."""
        return cast("models.Limit", self.call("POST", "/v1/limits/delete", body=body))

    def detect_staleness(
        self,
        body: models.DetectRequest | None = None,
    ) -> list[models.Detection]:
        """Run the staleness detector now."""
        return cast("list[models.Detection]", self.call("POST", "/v1/dlq/staleness/detect", body=body))

    def discard_dead_letter(
        self,
        letter_uuid: str,
        body: models.Act | None = None,
    ) -> models.Letter:
        """Give a dead letter up."""
        return cast("models.Letter", self.call("POST", path_of("v1", "dead-letters", letter_uuid, "discard"), body=body))

    def edit_dead_letter(
        self,
        letter_uuid: str,
        body: models.LetterEdit,
    ) -> models.Letter:
        """Change what is sent instead of a dead letter's original."""
        return cast("models.Letter", self.call("PATCH", path_of("v1", "dead-letters", letter_uuid), body=body))

    def explain_dead_letter(
        self,
        letter_uuid: str,
    ) -> models.StateExplanation:
        """Explain the state of a dead letter and what would change it."""
        return cast("models.StateExplanation", self.call("GET", path_of("v1", "dead-letters", letter_uuid, "explain")))

    def explain_redrive(
        self,
        redrive_uuid: str,
    ) -> models.StateExplanation:
        """Explain the state of a redrive and what would change it."""
        return cast("models.StateExplanation", self.call("GET", path_of("v1", "redrives", redrive_uuid, "explain")))

    def get_case(
        self,
        task_uuid: str,
        *,
        sensitive: Literal["show"] | None = None,
    ) -> models.Case:
        """Get the latest case of a task with its snapshot."""
        query: dict[str, QueryValue] = {
            "sensitive": sensitive,
        }
        return cast("models.Case", self.call("GET", path_of("v1", "dlq", "task", task_uuid), query=query))

    def get_case_stats(
        self,
        *,
        resolution_status: Literal["pending", "manually_resolved", "permanently_failed", "cancelled"] | None = None,
        dlq_reason: Literal["staleness_timeout", "max_retries_exceeded", "dependency_cycle_detected", "worker_unavailable", "manual_dlq"] | None = None,
        namespace: str | None = None,
        task_name: str | None = None,
        current_state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"] | None = None,
        after: datetime | str | None = None,
        before: datetime | str | None = None,
    ) -> list[models.CaseStats]:
        """Count cases by reason."""
        query: dict[str, QueryValue] = {
            "resolution_status": resolution_status,
            "dlq_reason": dlq_reason,
            "namespace": namespace,
            "task_name": task_name,
            "current_state": current_state,
            "after": after,
            "before": before,
        }
        return cast("list[models.CaseStats]", self.call("GET", "/v1/dlq/stats", query=query))

    def get_dead_letter(
        self,
        letter_uuid: str,
        *,
        sensitive: Literal["show"] | None = None,
    ) -> models.LetterStory:
        """Get a dead letter with its occurrences."""
        query: dict[str, QueryValue] = {
            "sensitive": sensitive,
        }
        return cast("models.LetterStory", self.call("GET", path_of("v1", "dead-letters", letter_uuid), query=query))

    def get_group(
        self,
        group_id: str,
        *,
        sensitive: Literal["show"] | None = None,
    ) -> models.GroupStory:
        """Get a group with its thread and what its failures have in common."""
        query: dict[str, QueryValue] = {
            "sensitive": sensitive,
        }
        return cast("models.GroupStory", self.call("GET", path_of("v1", "groups", group_id), query=query))

    def get_investigation_queue(
        self,
        *,
        resolution_status: Literal["pending", "manually_resolved", "permanently_failed", "cancelled"] | None = None,
        dlq_reason: Literal["staleness_timeout", "max_retries_exceeded", "dependency_cycle_detected", "worker_unavailable", "manual_dlq"] | None = None,
        namespace: str | None = None,
        task_name: str | None = None,
        current_state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"] | None = None,
        after: datetime | str | None = None,
        before: datetime | str | None = None,
        failed_step: str | None = None,
        handler: str | None = None,
        error_pattern: str | None = None,
        error_message: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[models.QueuedCase]:
        """List pending cases, most urgent first."""
        query: dict[str, QueryValue] = {
            "resolution_status": resolution_status,
            "dlq_reason": dlq_reason,
            "namespace": namespace,
            "task_name": task_name,
            "current_state": current_state,
            "after": after,
            "before": before,
            "failed_step": failed_step,
            "handler": handler,
            "error_pattern": error_pattern,
            "error_message": error_message,
            "limit": limit,
            "offset": offset,
        }
        return cast("list[models.QueuedCase]", self.call("GET", "/v1/dlq/investigation-queue", query=query))

    def get_large_result(
        self,
        uuid: str,
        step_uuid: str,
    ) -> str:
        """Get the large result of a step."""
        return cast("str", self.call("GET", path_of("v1", "tasks", uuid, "workflow_steps", step_uuid, "large_result")))

    def get_outage(
        self,
        outage_uuid: str,
    ) -> models.Outage:
        """Get an outage."""
        return cast("models.Outage", self.call("GET", path_of("v1", "outages", outage_uuid)))

    def get_redrive(
        self,
        redrive_uuid: str,
        *,
        sensitive: Literal["show"] | None = None,
    ) -> models.Redrive:
        """Get a redrive and its progress."""
        query: dict[str, QueryValue] = {
            "sensitive": sensitive,
        }
        return cast("models.Redrive", self.call("GET", path_of("v1", "redrives", redrive_uuid), query=query))

    def get_replay(
        self,
        replay_uuid: str,
    ) -> models.TopicReplay:
        """Get a replay and its progress."""
        return cast("models.TopicReplay", self.call("GET", path_of("v1", "replays", replay_uuid)))

    def get_rule(
        self,
        namespace: str,
        name: str,
    ) -> models.RuleStory:
        """Get a rule with its versions."""
        return cast("models.RuleStory", self.call("GET", path_of("v1", "rules", namespace, name)))

    def get_schedule(
        self,
        namespace: str,
        name: str,
        *,
        sensitive: Literal["show"] | None = None,
    ) -> models.Schedule:
        """Get a schedule with its next ten times."""
        query: dict[str, QueryValue] = {
            "sensitive": sensitive,
        }
        return cast("models.Schedule", self.call("GET", path_of("v1", "schedules", namespace, name), query=query))

    def get_source(
        self,
        namespace: str,
        name: str,
    ) -> models.SourceStatus:
        """Get a source and the policies of its letters."""
        return cast("models.SourceStatus", self.call("GET", path_of("v1", "sources", namespace, name)))

    def get_staleness(
        self,
        *,
        health_status: Literal["healthy", "warning", "stale"] | None = None,
        namespace_name: str | None = None,
        task_name: str | None = None,
        limit: int | None = None,
    ) -> list[models.StaleTask]:
        """List live tasks by staleness, stale tasks first."""
        query: dict[str, QueryValue] = {
            "health_status": health_status,
            "namespace_name": namespace_name,
            "task_name": task_name,
            "limit": limit,
        }
        return cast("list[models.StaleTask]", self.call("GET", "/v1/dlq/staleness", query=query))

    def get_template(
        self,
        namespace: str,
        name: str,
    ) -> models.Template:
        """Get the last registered version of a template."""
        return cast("models.Template", self.call("GET", path_of("v1", "templates", namespace, name)))

    def get_template_stats(
        self,
        namespace: str,
        name: str,
        version: str,
        *,
        tasks: int | None = None,
    ) -> models.TemplateStats:
        """Get durations and failures of the steps of a template."""
        query: dict[str, QueryValue] = {
            "tasks": tasks,
        }
        return cast("models.TemplateStats", self.call("GET", path_of("v1", "templates", namespace, name, version, "stats"), query=query))

    def get_template_version(
        self,
        namespace: str,
        name: str,
        version: str,
    ) -> models.Template:
        """Get a version of a template."""
        return cast("models.Template", self.call("GET", path_of("v1", "templates", namespace, name, version)))

    def list_audit(
        self,
        *,
        sensitive: Literal["show"] | None = None,
        task_uuid: str | None = None,
        dlq_entry_uuid: str | None = None,
        worker_id: str | None = None,
        namespace: str | None = None,
        template: str | None = None,
        actor: str | None = None,
        key_name: str | None = None,
        kind: str | None = None,
        after: datetime | str | None = None,
        before: datetime | str | None = None,
        limit: int | None = None,
        below: int | None = None,
    ) -> list[models.AuditRecord]:
        """List acts of operators, newest first."""
        query: dict[str, QueryValue] = {
            "sensitive": sensitive,
            "task_uuid": task_uuid,
            "dlq_entry_uuid": dlq_entry_uuid,
            "worker_id": worker_id,
            "namespace": namespace,
            "template": template,
            "actor": actor,
            "key_name": key_name,
            "kind": kind,
            "after": after,
            "before": before,
            "limit": limit,
            "below": below,
        }
        return cast("list[models.AuditRecord]", self.call("GET", "/v1/audit", query=query))

    def list_audit_chain(
        self,
        *,
        sensitive: Literal["show"] | None = None,
        above: int | None = None,
        limit: int | None = None,
    ) -> models.AuditChain:
        """List the hash chain of the audit trail, with its acts."""
        query: dict[str, QueryValue] = {
            "sensitive": sensitive,
            "above": above,
            "limit": limit,
        }
        return cast("models.AuditChain", self.call("GET", "/v1/audit/chain", query=query))

    def list_case_audit(
        self,
        dlq_entry_uuid: str,
        *,
        sensitive: Literal["show"] | None = None,
        actor: str | None = None,
        key_name: str | None = None,
        kind: str | None = None,
        after: datetime | str | None = None,
        before: datetime | str | None = None,
        limit: int | None = None,
        below: int | None = None,
    ) -> list[models.AuditRecord]:
        """List acts on a case."""
        query: dict[str, QueryValue] = {
            "sensitive": sensitive,
            "actor": actor,
            "key_name": key_name,
            "kind": kind,
            "after": after,
            "before": before,
            "limit": limit,
            "below": below,
        }
        return cast("list[models.AuditRecord]", self.call("GET", path_of("v1", "dlq", "entry", dlq_entry_uuid, "audit"), query=query))

    def list_cases(
        self,
        *,
        sensitive: Literal["show"] | None = None,
        resolution_status: Literal["pending", "manually_resolved", "permanently_failed", "cancelled"] | None = None,
        dlq_reason: Literal["staleness_timeout", "max_retries_exceeded", "dependency_cycle_detected", "worker_unavailable", "manual_dlq"] | None = None,
        namespace: str | None = None,
        task_name: str | None = None,
        current_state: Literal["pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results", "waiting_for_dependencies", "waiting_for_retry", "blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"] | None = None,
        after: datetime | str | None = None,
        before: datetime | str | None = None,
        failed_step: str | None = None,
        handler: str | None = None,
        error_pattern: str | None = None,
        error_message: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[models.Case]:
        """List cases, newest first."""
        query: dict[str, QueryValue] = {
            "sensitive": sensitive,
            "resolution_status": resolution_status,
            "dlq_reason": dlq_reason,
            "namespace": namespace,
            "task_name": task_name,
            "current_state": current_state,
            "after": after,
            "before": before,
            "failed_step": failed_step,
            "handler": handler,
            "error_pattern": error_pattern,
            "error_message": error_message,
            "limit": limit,
            "offset": offset,
        }
        return cast("list[models.Case]", self.call("GET", "/v1/dlq", query=query))

    def list_children(
        self,
        uuid: str,
        step_uuid: str,
        *,
        state: Literal["running", "done", "error", "given_up"] | None = None,
        from_: int | None = None,
        limit: int | None = None,
    ) -> models.ChildPage:
        """List the child tasks of a step."""
        query: dict[str, QueryValue] = {
            "state": state,
            "from": from_,
            "limit": limit,
        }
        return cast("models.ChildPage", self.call("GET", path_of("v1", "tasks", uuid, "workflow_steps", step_uuid, "children"), query=query))

    def list_dead_letters(
        self,
        *,
        sensitive: Literal["show"] | None = None,
        letter_uuid: Sequence[str] | None = None,
        group_id: Sequence[str] | None = None,
        namespace: str | None = None,
        source: str | None = None,
        origin: str | None = None,
        state: Literal["open", "scheduled", "redriving", "redriven", "discarded"] | None = None,
        error_type: str | None = None,
        text: str | None = None,
        header_name: str | None = None,
        header_value: str | None = None,
        after: datetime | str | None = None,
        before: datetime | str | None = None,
        min_replays: int | None = None,
        parked: Literal["true", "false"] | None = None,
        limit: int | None = None,
    ) -> Iterator[models.Letter]:
        """List dead letters, newest first."""
        query: dict[str, QueryValue] = {
            "sensitive": sensitive,
            "letter_uuid": letter_uuid,
            "group_id": group_id,
            "namespace": namespace,
            "source": source,
            "origin": origin,
            "state": state,
            "error_type": error_type,
            "text": text,
            "header_name": header_name,
            "header_value": header_value,
            "after": after,
            "before": before,
            "min_replays": min_replays,
            "parked": parked,
            "limit": limit,
        }
        return self._pages("/v1/dead-letters", query, "letters", "next_cursor")

    def list_firings(
        self,
        namespace: str,
        name: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> models.FiringHistory:
        """List what became of the times of a schedule, latest first."""
        query: dict[str, QueryValue] = {
            "limit": limit,
            "cursor": cursor,
        }
        return cast("models.FiringHistory", self.call("GET", path_of("v1", "schedules", namespace, name, "firings"), query=query))

    def list_groups(
        self,
        *,
        namespace: str | None = None,
        state: Literal["open", "acknowledged", "resolved", "ignored"] | None = None,
        owner: str | None = None,
        where: str | None = None,
        text: str | None = None,
        open_only: bool | None = None,
        order: Literal["last", "open", "first"] | None = None,
        limit: int | None = None,
    ) -> Iterator[models.Group]:
        """List groups of failures of one cause."""
        query: dict[str, QueryValue] = {
            "namespace": namespace,
            "state": state,
            "owner": owner,
            "where": where,
            "text": text,
            "open_only": open_only,
            "order": order,
            "limit": limit,
        }
        return self._pages("/v1/groups", query, "groups", "next_cursor")

    def list_limits(
        self,
        *,
        namespace: Sequence[str] | None = None,
        kind: Literal["route", "handler"] | None = None,
        handler: str | None = None,
        limit: int | None = None,
    ) -> Iterator[models.Limit]:
        """List the limits of operators on handlers and routes."""
        query: dict[str, QueryValue] = {
            "namespace": namespace,
            "kind": kind,
            "handler": handler,
            "limit": limit,
        }
        return self._pages("/v1/limits", query, "limits", "next_cursor")

    def list_loose_acts(
        self,
        *,
        above: int | None = None,
    ) -> models.LooseActs:
        """List acts outside of the hash chain."""
        query: dict[str, QueryValue] = {
            "above": above,
        }
        return cast("models.LooseActs", self.call("GET", "/v1/audit/loose", query=query))

    def list_outages(
        self,
        *,
        namespace: Sequence[str] | None = None,
        state: Literal["open", "closed"] | None = None,
        limit: int | None = None,
    ) -> Iterator[models.Outage]:
        """List outages of routes."""
        query: dict[str, QueryValue] = {
            "namespace": namespace,
            "state": state,
            "limit": limit,
        }
        return self._pages("/v1/outages", query, "outages", "next_cursor")

    def list_pauses(
        self,
        *,
        namespace: Sequence[str] | None = None,
        kind: Literal["route", "handler", "template", "namespace"] | None = None,
        limit: int | None = None,
    ) -> Iterator[models.Pause]:
        """List what is paused."""
        query: dict[str, QueryValue] = {
            "namespace": namespace,
            "kind": kind,
            "limit": limit,
        }
        return self._pages("/v1/pauses", query, "pauses", "next_cursor")

    def list_policies(
        self,
        *,
        namespace: str | None = None,
    ) -> models.PolicyList:
        """List policies by which letters are sent back."""
        query: dict[str, QueryValue] = {
            "namespace": namespace,
        }
        return cast("models.PolicyList", self.call("GET", "/v1/policies", query=query))

    def list_redrive_items(
        self,
        redrive_uuid: str,
        *,
        state: Literal["pending", "sending", "unknown", "sent", "returned", "completed", "failed", "skipped"] | None = None,
        limit: int | None = None,
    ) -> Iterator[models.Item]:
        """List the items of a redrive with their results."""
        query: dict[str, QueryValue] = {
            "state": state,
            "limit": limit,
        }
        return self._pages(path_of("v1", "redrives", redrive_uuid, "items"), query, "items", "next_cursor")

    def list_redrives(
        self,
        *,
        sensitive: Literal["show"] | None = None,
        namespace: str | None = None,
        state: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Iterator[models.Redrive]:
        """List redrives, newest first, without the counts of their items."""
        query: dict[str, QueryValue] = {
            "sensitive": sensitive,
            "namespace": namespace,
            "state": state,
            "limit": limit,
        }
        return self._pages("/v1/redrives", query, "redrives", "next_cursor")

    def list_replays(
        self,
        *,
        namespace: str | None = None,
        limit: int | None = None,
    ) -> Iterator[models.TopicReplay]:
        """List replays, newest first."""
        query: dict[str, QueryValue] = {
            "namespace": namespace,
            "limit": limit,
        }
        return self._pages("/v1/replays", query, "replays", "next_cursor")

    def list_routes(
        self,
        *,
        namespace: Sequence[str] | None = None,
        show: Literal["waiting", "stuck"] | None = None,
        limit: int | None = None,
    ) -> Iterator[models.Route]:
        """List the queues by route, those that nobody serves first."""
        query: dict[str, QueryValue] = {
            "namespace": namespace,
            "show": show,
            "limit": limit,
        }
        return self._pages("/v1/routes", query, "routes", "next_cursor")

    def list_rules(
        self,
        *,
        namespace: str | None = None,
    ) -> models.RuleList:
        """List rules that put failures into groups, in the order in which they are tried."""
        query: dict[str, QueryValue] = {
            "namespace": namespace,
        }
        return cast("models.RuleList", self.call("GET", "/v1/rules", query=query))

    def list_schedules(
        self,
        *,
        sensitive: Literal["show"] | None = None,
        namespace: str | None = None,
        limit: int | None = None,
    ) -> Iterator[models.Schedule]:
        """List schedules by namespace and name."""
        query: dict[str, QueryValue] = {
            "sensitive": sensitive,
            "namespace": namespace,
            "limit": limit,
        }
        return self._pages("/v1/schedules", query, "schedules", "cursor")

    def list_signals(
        self,
        *,
        namespace: Sequence[str] | None = None,
        name: str | None = None,
        key: str | None = None,
        after: datetime | str | None = None,
        before: datetime | str | None = None,
        include_taken: bool | None = None,
        limit: int | None = None,
    ) -> Iterator[models.Signal]:
        """List the signals that are kept."""
        query: dict[str, QueryValue] = {
            "namespace": namespace,
            "name": name,
            "key": key,
            "after": after,
            "before": before,
            "include_taken": include_taken,
            "limit": limit,
        }
        return self._pages("/v1/signals", query, "signals", "next_cursor")

    def list_sources(
        self,
        *,
        namespace: str | None = None,
    ) -> models.SourceList:
        """List sources of dead letters and how they stand."""
        query: dict[str, QueryValue] = {
            "namespace": namespace,
        }
        return cast("models.SourceList", self.call("GET", "/v1/sources", query=query))

    def list_task_audit(
        self,
        uuid: str,
        *,
        sensitive: Literal["show"] | None = None,
        actor: str | None = None,
        key_name: str | None = None,
        kind: str | None = None,
        after: datetime | str | None = None,
        before: datetime | str | None = None,
        limit: int | None = None,
        below: int | None = None,
    ) -> list[models.AuditRecord]:
        """List acts on a task, its steps and its cases."""
        query: dict[str, QueryValue] = {
            "sensitive": sensitive,
            "actor": actor,
            "key_name": key_name,
            "kind": kind,
            "after": after,
            "before": before,
            "limit": limit,
            "below": below,
        }
        return cast("list[models.AuditRecord]", self.call("GET", path_of("v1", "tasks", uuid, "audit"), query=query))

    def list_templates(
        self,
        *,
        namespace_name: str | None = None,
        name: str | None = None,
        limit: int | None = None,
    ) -> Iterator[models.Template]:
        """List templates."""
        query: dict[str, QueryValue] = {
            "namespace_name": namespace_name,
            "name": name,
            "limit": limit,
        }
        return self._pages("/v1/templates", query, "templates", "next_cursor")

    def list_webhooks(
        self,
    ) -> models.WebhookList:
        """List the configured webhooks, without their secrets."""
        return cast("models.WebhookList", self.call("GET", "/v1/webhooks"))

    def merge_groups(
        self,
        group_id: str,
        body: models.MergeRequest,
    ) -> models.Group:
        """Make a group show the failures of others as its own."""
        return cast("models.Group", self.call("POST", path_of("v1", "groups", group_id, "merge"), body=body))

    def open_case(
        self,
        task_uuid: str,
        body: models.OpenCaseRequest,
    ) -> models.Case:
        """Open a case manually."""
        return cast("models.Case", self.call("POST", path_of("v1", "dlq", "task", task_uuid), body=body))

    def pause(
        self,
        body: models.PauseRequest,
    ) -> models.Pause:
        """Pause a route, a handler, a template or a namespace."""
        return cast("models.Pause", self.call("POST", "/v1/pauses", body=body))

    def pause_schedule(
        self,
        namespace: str,
        name: str,
        body: models.SchedulePauseRequest | None = None,
    ) -> models.Schedule:
        """Keep a schedule from firing."""
        return cast("models.Schedule", self.call("POST", path_of("v1", "schedules", namespace, name, "pause"), body=body))

    def pause_source(
        self,
        namespace: str,
        name: str,
        body: models.Act | None = None,
    ) -> models.Source:
        """Stop reading a source."""
        return cast("models.Source", self.call("POST", path_of("v1", "sources", namespace, name, "pause"), body=body))

    def preview_redrive(
        self,
        body: models.RedriveRequest,
    ) -> models.Preview:
        """Show what an operation on many letters and cases would do."""
        return cast("models.Preview", self.call("POST", "/v1/redrives/preview", body=body))

    def preview_replay(
        self,
        body: models.TopicReplayRequest,
    ) -> models.ReplayPreview:
        """Show what a replay of a range of a topic would do."""
        return cast("models.ReplayPreview", self.call("POST", "/v1/replays/preview", body=body))

    def remove_policy(
        self,
        *,
        namespace: str | None = None,
        source: str,
        origin: str | None = None,
        actor: str | None = None,
        reason: str | None = None,
        if_match: str | None = None,
    ) -> models.Removal:
        """Remove a policy."""
        query: dict[str, QueryValue] = {
            "namespace": namespace,
            "source": source,
            "origin": origin,
            "actor": actor,
            "reason": reason,
            "if_match": if_match,
        }
        return cast("models.Removal", self.call("DELETE", "/v1/policies", query=query))

    def remove_rule(
        self,
        namespace: str,
        name: str,
        *,
        actor: str | None = None,
        reason: str | None = None,
        if_match: str | None = None,
    ) -> models.Removal:
        """Take a rule out of force; its groups and versions stay."""
        query: dict[str, QueryValue] = {
            "actor": actor,
            "reason": reason,
            "if_match": if_match,
        }
        return cast("models.Removal", self.call("DELETE", path_of("v1", "rules", namespace, name), query=query))

    def remove_schedule(
        self,
        namespace: str,
        name: str,
        *,
        actor: str | None = None,
        reason: str | None = None,
        if_match: str | None = None,
    ) -> models.ScheduleRemoval:
        """Remove a schedule; its tasks stay."""
        query: dict[str, QueryValue] = {
            "actor": actor,
            "reason": reason,
            "if_match": if_match,
        }
        return cast("models.ScheduleRemoval", self.call("DELETE", path_of("v1", "schedules", namespace, name), query=query))

    def remove_source(
        self,
        namespace: str,
        name: str,
        *,
        actor: str | None = None,
        reason: str | None = None,
        if_match: str | None = None,
    ) -> models.Removal:
        """Remove a source; its letters stay."""
        query: dict[str, QueryValue] = {
            "actor": actor,
            "reason": reason,
            "if_match": if_match,
        }
        return cast("models.Removal", self.call("DELETE", path_of("v1", "sources", namespace, name), query=query))

    def report_dead_letters(
        self,
        body: models.ReportRequest,
    ) -> models.ResultsReceipt:
        """Report messages that could not be processed."""
        return cast("models.ResultsReceipt", self.call("POST", "/v1/dead-letters", body=body))

    def restore_dead_letter(
        self,
        letter_uuid: str,
        body: models.Act | None = None,
    ) -> models.Letter:
        """Open a discarded dead letter again."""
        return cast("models.Letter", self.call("POST", path_of("v1", "dead-letters", letter_uuid, "restore"), body=body))

    def resume(
        self,
        body: models.ResumePausedRequest,
    ) -> models.Pause:
        """Resume what is paused."""
        return cast("models.Pause", self.call("POST", "/v1/pauses/resume", body=body))

    def resume_schedule(
        self,
        namespace: str,
        name: str,
        body: models.ScheduleAct | None = None,
    ) -> models.Schedule:
        """End the pause of a schedule."""
        return cast("models.Schedule", self.call("POST", path_of("v1", "schedules", namespace, name, "resume"), body=body))

    def resume_source(
        self,
        namespace: str,
        name: str,
        body: models.Act | None = None,
    ) -> models.Source:
        """Continue to read a source."""
        return cast("models.Source", self.call("POST", path_of("v1", "sources", namespace, name, "resume"), body=body))

    def run_schedule(
        self,
        namespace: str,
        name: str,
        body: models.ScheduleRunRequest | None = None,
    ) -> models.Firing:
        """Submit the task of a schedule now."""
        return cast("models.Firing", self.call("POST", path_of("v1", "schedules", namespace, name, "run"), body=body))

    def save_policy(
        self,
        body: models.PolicyRequest,
    ) -> models.Policy:
        """Add or change a policy."""
        return cast("models.Policy", self.call("POST", "/v1/policies", body=body))

    def save_rule(
        self,
        body: models.RuleRequest,
    ) -> models.SavedRule:
        """Add a rule, or a new version of one."""
        return cast("models.SavedRule", self.call("POST", "/v1/rules", body=body))

    def save_schedule(
        self,
        body: models.ScheduleRequest,
    ) -> models.SavedSchedule:
        """Add or change a schedule."""
        return cast("models.SavedSchedule", self.call("POST", "/v1/schedules", body=body))

    def save_source(
        self,
        body: models.SourceRequest,
    ) -> models.Source:
        """Add or change a source of dead letters."""
        return cast("models.Source", self.call("POST", "/v1/sources", body=body))

    def set_limit(
        self,
        body: models.LimitRequest,
    ) -> models.Limit:
        """Limit how many steps of a handler or a route run at once, or begin in a time."""
        return cast("models.Limit", self.call("POST", "/v1/limits", body=body))

    def split_group(
        self,
        group_id: str,
        body: models.SplitRequest,
    ) -> models.SavedRule:
        """Divide a group by a rule within it."""
        return cast("models.SavedRule", self.call("POST", path_of("v1", "groups", group_id, "split"), body=body))

    def test_rule(
        self,
        body: models.RuleTest,
    ) -> models.RuleTrial:
        """Show what a rule would decide about a failure or a group."""
        return cast("models.RuleTrial", self.call("POST", "/v1/rules/test", body=body))

    def test_source(
        self,
        namespace: str,
        name: str,
    ) -> models.SourceStatus:
        """Connect to the broker of a source once."""
        return cast("models.SourceStatus", self.call("POST", path_of("v1", "sources", namespace, name, "test")))

    def test_webhook(
        self,
        name: str,
    ) -> models.WebhookAnswer:
        """Send a signed test event to a webhook, once."""
        return cast("models.WebhookAnswer", self.call("POST", path_of("v1", "webhooks", name, "test")))

    def unmerge_group(
        self,
        group_id: str,
        body: models.Act | None = None,
    ) -> models.Group:
        """Take a merged group out again."""
        return cast("models.Group", self.call("POST", path_of("v1", "groups", group_id, "unmerge"), body=body))

    def unsplit_group(
        self,
        group_id: str,
        body: models.Act | None = None,
    ) -> models.Group:
        """Undo the split that made a group."""
        return cast("models.Group", self.call("POST", path_of("v1", "groups", group_id, "unsplit"), body=body))

    def update_case(
        self,
        dlq_entry_uuid: str,
        body: models.CaseUpdate,
    ) -> models.CaseUpdated:
        """Add notes to a case, resolve it or reopen it."""
        return cast("models.CaseUpdated", self.call("PATCH", path_of("v1", "dlq", "entry", dlq_entry_uuid), body=body))

    def update_cases(
        self,
        body: models.BulkCaseUpdate,
    ) -> models.BulkResult:
        """Update many cases."""
        return cast("models.BulkResult", self.call("POST", "/v1/dlq/update", body=body))


class AsyncOperations:
    """The same methods, to be awaited. Lists are whole."""

    act_on_cases = asynchronous(Operations.act_on_cases)
    act_on_redrive = asynchronous(Operations.act_on_redrive)
    act_on_replay = asynchronous(Operations.act_on_replay)
    act_on_step = asynchronous(Operations.act_on_step)
    backfill_schedule = asynchronous(Operations.backfill_schedule)
    cancel_tasks = asynchronous(Operations.cancel_tasks)
    change_group = asynchronous(Operations.change_group)
    change_groups = asynchronous(Operations.change_groups)
    close_outage = asynchronous(Operations.close_outage)
    create_redrive = asynchronous(Operations.create_redrive)
    create_replay = asynchronous(Operations.create_replay)
    delete_limit = asynchronous(Operations.delete_limit)
    detect_staleness = asynchronous(Operations.detect_staleness)
    discard_dead_letter = asynchronous(Operations.discard_dead_letter)
    edit_dead_letter = asynchronous(Operations.edit_dead_letter)
    explain_dead_letter = asynchronous(Operations.explain_dead_letter)
    explain_redrive = asynchronous(Operations.explain_redrive)
    get_case = asynchronous(Operations.get_case)
    get_case_stats = asynchronous(Operations.get_case_stats)
    get_dead_letter = asynchronous(Operations.get_dead_letter)
    get_group = asynchronous(Operations.get_group)
    get_investigation_queue = asynchronous(Operations.get_investigation_queue)
    get_large_result = asynchronous(Operations.get_large_result)
    get_outage = asynchronous(Operations.get_outage)
    get_redrive = asynchronous(Operations.get_redrive)
    get_replay = asynchronous(Operations.get_replay)
    get_rule = asynchronous(Operations.get_rule)
    get_schedule = asynchronous(Operations.get_schedule)
    get_source = asynchronous(Operations.get_source)
    get_staleness = asynchronous(Operations.get_staleness)
    get_template = asynchronous(Operations.get_template)
    get_template_stats = asynchronous(Operations.get_template_stats)
    get_template_version = asynchronous(Operations.get_template_version)
    list_audit = asynchronous(Operations.list_audit)
    list_audit_chain = asynchronous(Operations.list_audit_chain)
    list_case_audit = asynchronous(Operations.list_case_audit)
    list_cases = asynchronous(Operations.list_cases)
    list_children = asynchronous(Operations.list_children)
    list_dead_letters = asynchronous(listed(Operations.list_dead_letters))
    list_firings = asynchronous(Operations.list_firings)
    list_groups = asynchronous(listed(Operations.list_groups))
    list_limits = asynchronous(listed(Operations.list_limits))
    list_loose_acts = asynchronous(Operations.list_loose_acts)
    list_outages = asynchronous(listed(Operations.list_outages))
    list_pauses = asynchronous(listed(Operations.list_pauses))
    list_policies = asynchronous(Operations.list_policies)
    list_redrive_items = asynchronous(listed(Operations.list_redrive_items))
    list_redrives = asynchronous(listed(Operations.list_redrives))
    list_replays = asynchronous(listed(Operations.list_replays))
    list_routes = asynchronous(listed(Operations.list_routes))
    list_rules = asynchronous(Operations.list_rules)
    list_schedules = asynchronous(listed(Operations.list_schedules))
    list_signals = asynchronous(listed(Operations.list_signals))
    list_sources = asynchronous(Operations.list_sources)
    list_task_audit = asynchronous(Operations.list_task_audit)
    list_templates = asynchronous(listed(Operations.list_templates))
    list_webhooks = asynchronous(Operations.list_webhooks)
    merge_groups = asynchronous(Operations.merge_groups)
    open_case = asynchronous(Operations.open_case)
    pause = asynchronous(Operations.pause)
    pause_schedule = asynchronous(Operations.pause_schedule)
    pause_source = asynchronous(Operations.pause_source)
    preview_redrive = asynchronous(Operations.preview_redrive)
    preview_replay = asynchronous(Operations.preview_replay)
    remove_policy = asynchronous(Operations.remove_policy)
    remove_rule = asynchronous(Operations.remove_rule)
    remove_schedule = asynchronous(Operations.remove_schedule)
    remove_source = asynchronous(Operations.remove_source)
    report_dead_letters = asynchronous(Operations.report_dead_letters)
    restore_dead_letter = asynchronous(Operations.restore_dead_letter)
    resume = asynchronous(Operations.resume)
    resume_schedule = asynchronous(Operations.resume_schedule)
    resume_source = asynchronous(Operations.resume_source)
    run_schedule = asynchronous(Operations.run_schedule)
    save_policy = asynchronous(Operations.save_policy)
    save_rule = asynchronous(Operations.save_rule)
    save_schedule = asynchronous(Operations.save_schedule)
    save_source = asynchronous(Operations.save_source)
    set_limit = asynchronous(Operations.set_limit)
    split_group = asynchronous(Operations.split_group)
    test_rule = asynchronous(Operations.test_rule)
    test_source = asynchronous(Operations.test_source)
    test_webhook = asynchronous(Operations.test_webhook)
    unmerge_group = asynchronous(Operations.unmerge_group)
    unsplit_group = asynchronous(Operations.unsplit_group)
    update_case = asynchronous(Operations.update_case)
    update_cases = asynchronous(Operations.update_cases)
