// The operations of the HTTP API that need no more than a request. They are generated from the OpenAPI document of the
// server: run "make models" instead of editing them.

import { pathOf, type CallOptions, type Query } from "./http.js";
import type * as models from "./models.js";

/** A method for each operation. What lists reads page by page. */
export abstract class Operations {
  /** Send any request of the API. */
  abstract call<T = unknown>(method: string, path: string, options?: CallOptions): Promise<T>;

  async *#pages<T>(path: string, query: Query, items: string, next: string): AsyncGenerator<T, void, undefined> {
    for (let cursor: string | undefined; ; ) {
      const page: Record<string, unknown> = await this.call("GET", path, { query: { ...query, cursor } });
      yield* page[items] as T[];
      cursor = page[next] as string | undefined;
      if (!cursor) return;
    }
  }

  /** Reset, resolve or complete the failed steps of the tasks of many cases. */
  actOnCases(
    body: models.BulkStepAction,
  ): Promise<models.BulkResult> {
    return this.call("POST", "/v1/dlq/act", { body });
  }

  /** Start, pause, resume or cancel a redrive. */
  actOnRedrive(
    redriveUuid: string,
    body: models.RedriveAct,
  ): Promise<models.Redrive> {
    return this.call("PATCH", pathOf("v1", "redrives", redriveUuid), { body });
  }

  /** Start, pause, resume or cancel a replay. */
  actOnReplay(
    replayUuid: string,
    body: models.RedriveAct,
  ): Promise<models.TopicReplay> {
    return this.call("PATCH", pathOf("v1", "replays", replayUuid), { body });
  }

  /** Reset, resolve, complete, approve or reject a step. */
  actOnStep(
    uuid: string,
    stepUuid: string,
    body: models.StepAction,
  ): Promise<models.Step> {
    return this.call("PATCH", pathOf("v1", "tasks", uuid, "workflow_steps", stepUuid), { body });
  }

  /** Fire the times of a range in the past. */
  backfillSchedule(
    namespace: string,
    name: string,
    body: models.BackfillRequest,
  ): Promise<models.Backfill> {
    return this.call("POST", pathOf("v1", "schedules", namespace, name, "backfill"), { body });
  }

  /** Cancel many tasks in one transaction. */
  cancelTasks(
    body: models.CancelRequest,
  ): Promise<models.ResultsTaskReceipt> {
    return this.call("POST", "/v1/tasks/cancel", { body });
  }

  /** Acknowledge, resolve, ignore, reopen, assign or annotate a group. */
  changeGroup(
    groupId: string,
    body: models.GroupChange,
  ): Promise<models.Group> {
    return this.call("PATCH", pathOf("v1", "groups", groupId), { body });
  }

  /** Change many groups alike, named or selected by a filter. */
  changeGroups(
    body: models.GroupsChange,
  ): Promise<models.ChangedGroups> {
    return this.call("PATCH", "/v1/groups", { body });
  }

  /** Close an outage. */
  closeOutage(
    outageUuid: string,
    body: models.OutageCloseRequest,
  ): Promise<models.Outage> {
    return this.call("POST", pathOf("v1", "outages", outageUuid, "close"), { body });
  }

  /** Freeze a selection, to act on it in waves. */
  createRedrive(
    body: models.RedriveRequest,
  ): Promise<models.Redrive> {
    return this.call("POST", "/v1/redrives", { body });
  }

  /** Read a range of a topic again, into the inbox or as tasks. */
  createReplay(
    body: models.TopicReplayRequest,
  ): Promise<models.TopicReplay> {
    return this.call("POST", "/v1/replays", { body });
  }

  /** Delete the limit of a handler or a route. */
  deleteLimit(
    body: models.DeleteLimitRequest,
  ): Promise<models.Limit> {
    return this.call("POST", "/v1/limits/delete", { body });
  }

  /** Run the staleness detector now. */
  detectStaleness(
    body?: models.DetectRequest,
  ): Promise<Array<models.Detection>> {
    return this.call("POST", "/v1/dlq/staleness/detect", { body });
  }

  /** Give a dead letter up. */
  discardDeadLetter(
    letterUuid: string,
    body?: models.Act,
  ): Promise<models.Letter> {
    return this.call("POST", pathOf("v1", "dead-letters", letterUuid, "discard"), { body });
  }

  /** Change what is sent instead of a dead letter's original. */
  editDeadLetter(
    letterUuid: string,
    body: models.LetterEdit,
  ): Promise<models.Letter> {
    return this.call("PATCH", pathOf("v1", "dead-letters", letterUuid), { body });
  }

  /** Explain the state of a dead letter and what would change it. */
  explainDeadLetter(
    letterUuid: string,
  ): Promise<models.StateExplanation> {
    return this.call("GET", pathOf("v1", "dead-letters", letterUuid, "explain"));
  }

  /** Explain the state of a redrive and what would change it. */
  explainRedrive(
    redriveUuid: string,
  ): Promise<models.StateExplanation> {
    return this.call("GET", pathOf("v1", "redrives", redriveUuid, "explain"));
  }

  /** Get the latest case of a task with its snapshot. */
  getCase(
    taskUuid: string,
    query: {
      sensitive?: "show";
    } = {},
  ): Promise<models.Case> {
    return this.call("GET", pathOf("v1", "dlq", "task", taskUuid), { query });
  }

  /** Count cases by reason. */
  getCaseStats(
    query: {
      resolution_status?: "pending" | "manually_resolved" | "permanently_failed" | "cancelled";
      dlq_reason?: "staleness_timeout" | "max_retries_exceeded" | "dependency_cycle_detected" | "worker_unavailable" | "manual_dlq";
      namespace?: string;
      task_name?: string;
      current_state?: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
      after?: string | Date;
      before?: string | Date;
    } = {},
  ): Promise<Array<models.CaseStats>> {
    return this.call("GET", "/v1/dlq/stats", { query });
  }

  /** Get a dead letter with its occurrences. */
  getDeadLetter(
    letterUuid: string,
    query: {
      sensitive?: "show";
    } = {},
  ): Promise<models.LetterStory> {
    return this.call("GET", pathOf("v1", "dead-letters", letterUuid), { query });
  }

  /** Get a group with its thread and what its failures have in common. */
  getGroup(
    groupId: string,
    query: {
      sensitive?: "show";
    } = {},
  ): Promise<models.GroupStory> {
    return this.call("GET", pathOf("v1", "groups", groupId), { query });
  }

  /** List pending cases, most urgent first. */
  getInvestigationQueue(
    query: {
      resolution_status?: "pending" | "manually_resolved" | "permanently_failed" | "cancelled";
      dlq_reason?: "staleness_timeout" | "max_retries_exceeded" | "dependency_cycle_detected" | "worker_unavailable" | "manual_dlq";
      namespace?: string;
      task_name?: string;
      current_state?: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
      after?: string | Date;
      before?: string | Date;
      failed_step?: string;
      handler?: string;
      error_pattern?: string;
      error_message?: string;
      limit?: number;
      offset?: number;
    } = {},
  ): Promise<Array<models.QueuedCase>> {
    return this.call("GET", "/v1/dlq/investigation-queue", { query });
  }

  /** Get the large result of a step. */
  getLargeResult(
    uuid: string,
    stepUuid: string,
  ): Promise<string> {
    return this.call("GET", pathOf("v1", "tasks", uuid, "workflow_steps", stepUuid, "large_result"));
  }

  /** Get an outage. */
  getOutage(
    outageUuid: string,
  ): Promise<models.Outage> {
    return this.call("GET", pathOf("v1", "outages", outageUuid));
  }

  /** Get a redrive and its progress. */
  getRedrive(
    redriveUuid: string,
    query: {
      sensitive?: "show";
    } = {},
  ): Promise<models.Redrive> {
    return this.call("GET", pathOf("v1", "redrives", redriveUuid), { query });
  }

  /** Get a replay and its progress. */
  getReplay(
    replayUuid: string,
  ): Promise<models.TopicReplay> {
    return this.call("GET", pathOf("v1", "replays", replayUuid));
  }

  /** Get a rule with its versions. */
  getRule(
    namespace: string,
    name: string,
  ): Promise<models.RuleStory> {
    return this.call("GET", pathOf("v1", "rules", namespace, name));
  }

  /** Get a schedule with its next ten times. */
  getSchedule(
    namespace: string,
    name: string,
    query: {
      sensitive?: "show";
    } = {},
  ): Promise<models.Schedule> {
    return this.call("GET", pathOf("v1", "schedules", namespace, name), { query });
  }

  /** Get a source and the policies of its letters. */
  getSource(
    namespace: string,
    name: string,
  ): Promise<models.SourceStatus> {
    return this.call("GET", pathOf("v1", "sources", namespace, name));
  }

  /** List live tasks by staleness, stale tasks first. */
  getStaleness(
    query: {
      health_status?: "healthy" | "warning" | "stale";
      namespace_name?: string;
      task_name?: string;
      limit?: number;
    } = {},
  ): Promise<Array<models.StaleTask>> {
    return this.call("GET", "/v1/dlq/staleness", { query });
  }

  /** Get the last registered version of a template. */
  getTemplate(
    namespace: string,
    name: string,
  ): Promise<models.Template> {
    return this.call("GET", pathOf("v1", "templates", namespace, name));
  }

  /** Get durations and failures of the steps of a template. */
  getTemplateStats(
    namespace: string,
    name: string,
    version: string,
    query: {
      tasks?: number;
    } = {},
  ): Promise<models.TemplateStats> {
    return this.call("GET", pathOf("v1", "templates", namespace, name, version, "stats"), { query });
  }

  /** Get a version of a template. */
  getTemplateVersion(
    namespace: string,
    name: string,
    version: string,
  ): Promise<models.Template> {
    return this.call("GET", pathOf("v1", "templates", namespace, name, version));
  }

  /** List acts of operators, newest first. */
  listAudit(
    query: {
      sensitive?: "show";
      task_uuid?: string;
      dlq_entry_uuid?: string;
      worker_id?: string;
      namespace?: string;
      template?: string;
      actor?: string;
      key_name?: string;
      kind?: string;
      after?: string | Date;
      before?: string | Date;
      limit?: number;
      below?: number;
    } = {},
  ): Promise<Array<models.AuditRecord>> {
    return this.call("GET", "/v1/audit", { query });
  }

  /** List the hash chain of the audit trail, with its acts. */
  listAuditChain(
    query: {
      sensitive?: "show";
      above?: number;
      limit?: number;
    } = {},
  ): Promise<models.AuditChain> {
    return this.call("GET", "/v1/audit/chain", { query });
  }

  /** List acts on a case. */
  listCaseAudit(
    dlqEntryUuid: string,
    query: {
      sensitive?: "show";
      actor?: string;
      key_name?: string;
      kind?: string;
      after?: string | Date;
      before?: string | Date;
      limit?: number;
      below?: number;
    } = {},
  ): Promise<Array<models.AuditRecord>> {
    return this.call("GET", pathOf("v1", "dlq", "entry", dlqEntryUuid, "audit"), { query });
  }

  /** List cases, newest first. */
  listCases(
    query: {
      sensitive?: "show";
      resolution_status?: "pending" | "manually_resolved" | "permanently_failed" | "cancelled";
      dlq_reason?: "staleness_timeout" | "max_retries_exceeded" | "dependency_cycle_detected" | "worker_unavailable" | "manual_dlq";
      namespace?: string;
      task_name?: string;
      current_state?: "pending" | "initializing" | "enqueuing_steps" | "steps_in_process" | "evaluating_results" | "waiting_for_dependencies" | "waiting_for_retry" | "blocked_by_failures" | "complete" | "error" | "cancelled" | "resolved_manually";
      after?: string | Date;
      before?: string | Date;
      failed_step?: string;
      handler?: string;
      error_pattern?: string;
      error_message?: string;
      limit?: number;
      offset?: number;
    } = {},
  ): Promise<Array<models.Case>> {
    return this.call("GET", "/v1/dlq", { query });
  }

  /** List the child tasks of a step. */
  listChildren(
    uuid: string,
    stepUuid: string,
    query: {
      state?: "running" | "done" | "error" | "given_up";
      from?: number;
      limit?: number;
    } = {},
  ): Promise<models.ChildPage> {
    return this.call("GET", pathOf("v1", "tasks", uuid, "workflow_steps", stepUuid, "children"), { query });
  }

  /** List dead letters, newest first. */
  listDeadLetters(
    query: {
      sensitive?: "show";
      letter_uuid?: readonly string[];
      group_id?: readonly string[];
      namespace?: string;
      source?: string;
      origin?: string;
      state?: "open" | "scheduled" | "redriving" | "redriven" | "discarded";
      error_type?: string;
      text?: string;
      header_name?: string;
      header_value?: string;
      after?: string | Date;
      before?: string | Date;
      min_replays?: number;
      parked?: "true" | "false";
      limit?: number;
    } = {},
  ): AsyncGenerator<models.Letter, void, undefined> {
    return this.#pages("/v1/dead-letters", query, "letters", "next_cursor");
  }

  /** List what became of the times of a schedule, latest first. */
  listFirings(
    namespace: string,
    name: string,
    query: {
      limit?: number;
      cursor?: string;
    } = {},
  ): Promise<models.FiringHistory> {
    return this.call("GET", pathOf("v1", "schedules", namespace, name, "firings"), { query });
  }

  /** List groups of failures of one cause. */
  listGroups(
    query: {
      namespace?: string;
      state?: "open" | "acknowledged" | "resolved" | "ignored";
      owner?: string;
      where?: string;
      text?: string;
      open_only?: boolean;
      order?: "last" | "open" | "first";
      limit?: number;
    } = {},
  ): AsyncGenerator<models.Group, void, undefined> {
    return this.#pages("/v1/groups", query, "groups", "next_cursor");
  }

  /** List the limits of operators on handlers and routes. */
  listLimits(
    query: {
      namespace?: readonly string[];
      kind?: "route" | "handler";
      handler?: string;
      limit?: number;
    } = {},
  ): AsyncGenerator<models.Limit, void, undefined> {
    return this.#pages("/v1/limits", query, "limits", "next_cursor");
  }

  /** List acts outside of the hash chain. */
  listLooseActs(
    query: {
      above?: number;
    } = {},
  ): Promise<models.LooseActs> {
    return this.call("GET", "/v1/audit/loose", { query });
  }

  /** List outages of routes. */
  listOutages(
    query: {
      namespace?: readonly string[];
      state?: "open" | "closed";
      limit?: number;
    } = {},
  ): AsyncGenerator<models.Outage, void, undefined> {
    return this.#pages("/v1/outages", query, "outages", "next_cursor");
  }

  /** List what is paused. */
  listPauses(
    query: {
      namespace?: readonly string[];
      kind?: "route" | "handler" | "template" | "namespace";
      limit?: number;
    } = {},
  ): AsyncGenerator<models.Pause, void, undefined> {
    return this.#pages("/v1/pauses", query, "pauses", "next_cursor");
  }

  /** List policies by which letters are sent back. */
  listPolicies(
    query: {
      namespace?: string;
    } = {},
  ): Promise<models.PolicyList> {
    return this.call("GET", "/v1/policies", { query });
  }

  /** List the items of a redrive with their results. */
  listRedriveItems(
    redriveUuid: string,
    query: {
      state?: "pending" | "sending" | "unknown" | "sent" | "returned" | "completed" | "failed" | "skipped";
      limit?: number;
    } = {},
  ): AsyncGenerator<models.Item, void, undefined> {
    return this.#pages(pathOf("v1", "redrives", redriveUuid, "items"), query, "items", "next_cursor");
  }

  /** List redrives, newest first, without the counts of their items. */
  listRedrives(
    query: {
      sensitive?: "show";
      namespace?: string;
      state?: readonly string[];
      limit?: number;
    } = {},
  ): AsyncGenerator<models.Redrive, void, undefined> {
    return this.#pages("/v1/redrives", query, "redrives", "next_cursor");
  }

  /** List replays, newest first. */
  listReplays(
    query: {
      namespace?: string;
      limit?: number;
    } = {},
  ): AsyncGenerator<models.TopicReplay, void, undefined> {
    return this.#pages("/v1/replays", query, "replays", "next_cursor");
  }

  /** List the queues by route, those that nobody serves first. */
  listRoutes(
    query: {
      namespace?: readonly string[];
      show?: "waiting" | "stuck";
      limit?: number;
    } = {},
  ): AsyncGenerator<models.Route, void, undefined> {
    return this.#pages("/v1/routes", query, "routes", "next_cursor");
  }

  /** List rules that put failures into groups, in the order in which they are tried. */
  listRules(
    query: {
      namespace?: string;
    } = {},
  ): Promise<models.RuleList> {
    return this.call("GET", "/v1/rules", { query });
  }

  /** List schedules by namespace and name. */
  listSchedules(
    query: {
      sensitive?: "show";
      namespace?: string;
      limit?: number;
    } = {},
  ): AsyncGenerator<models.Schedule, void, undefined> {
    return this.#pages("/v1/schedules", query, "schedules", "cursor");
  }

  /** List the signals that are kept. */
  listSignals(
    query: {
      namespace?: readonly string[];
      name?: string;
      key?: string;
      after?: string | Date;
      before?: string | Date;
      include_taken?: boolean;
      limit?: number;
    } = {},
  ): AsyncGenerator<models.Signal, void, undefined> {
    return this.#pages("/v1/signals", query, "signals", "next_cursor");
  }

  /** List sources of dead letters and how they stand. */
  listSources(
    query: {
      namespace?: string;
    } = {},
  ): Promise<models.SourceList> {
    return this.call("GET", "/v1/sources", { query });
  }

  /** List acts on a task, its steps and its cases. */
  listTaskAudit(
    uuid: string,
    query: {
      sensitive?: "show";
      actor?: string;
      key_name?: string;
      kind?: string;
      after?: string | Date;
      before?: string | Date;
      limit?: number;
      below?: number;
    } = {},
  ): Promise<Array<models.AuditRecord>> {
    return this.call("GET", pathOf("v1", "tasks", uuid, "audit"), { query });
  }

  /** List templates. */
  listTemplates(
    query: {
      namespace_name?: string;
      name?: string;
      limit?: number;
    } = {},
  ): AsyncGenerator<models.Template, void, undefined> {
    return this.#pages("/v1/templates", query, "templates", "next_cursor");
  }

  /** List the configured webhooks, without their secrets. */
  listWebhooks(): Promise<models.WebhookList> {
    return this.call("GET", "/v1/webhooks");
  }

  /** Make a group show the failures of others as its own. */
  mergeGroups(
    groupId: string,
    body: models.MergeRequest,
  ): Promise<models.Group> {
    return this.call("POST", pathOf("v1", "groups", groupId, "merge"), { body });
  }

  /** Open a case manually. */
  openCase(
    taskUuid: string,
    body: models.OpenCaseRequest,
  ): Promise<models.Case> {
    return this.call("POST", pathOf("v1", "dlq", "task", taskUuid), { body });
  }

  /** Pause a route, a handler, a template or a namespace. */
  pause(
    body: models.PauseRequest,
  ): Promise<models.Pause> {
    return this.call("POST", "/v1/pauses", { body });
  }

  /** Keep a schedule from firing. */
  pauseSchedule(
    namespace: string,
    name: string,
    body?: models.SchedulePauseRequest,
  ): Promise<models.Schedule> {
    return this.call("POST", pathOf("v1", "schedules", namespace, name, "pause"), { body });
  }

  /** Stop reading a source. */
  pauseSource(
    namespace: string,
    name: string,
    body?: models.Act,
  ): Promise<models.Source> {
    return this.call("POST", pathOf("v1", "sources", namespace, name, "pause"), { body });
  }

  /** Show what an operation on many letters and cases would do. */
  previewRedrive(
    body: models.RedriveRequest,
  ): Promise<models.Preview> {
    return this.call("POST", "/v1/redrives/preview", { body });
  }

  /** Show what a replay of a range of a topic would do. */
  previewReplay(
    body: models.TopicReplayRequest,
  ): Promise<models.ReplayPreview> {
    return this.call("POST", "/v1/replays/preview", { body });
  }

  /** Remove a policy. */
  removePolicy(
    query: {
      namespace?: string;
      source: string;
      origin?: string;
      actor?: string;
      reason?: string;
      if_match?: string;
    },
  ): Promise<models.Removal> {
    return this.call("DELETE", "/v1/policies", { query });
  }

  /** Take a rule out of force; its groups and versions stay. */
  removeRule(
    namespace: string,
    name: string,
    query: {
      actor?: string;
      reason?: string;
      if_match?: string;
    } = {},
  ): Promise<models.Removal> {
    return this.call("DELETE", pathOf("v1", "rules", namespace, name), { query });
  }

  /** Remove a schedule; its tasks stay. */
  removeSchedule(
    namespace: string,
    name: string,
    query: {
      actor?: string;
      reason?: string;
      if_match?: string;
    } = {},
  ): Promise<models.ScheduleRemoval> {
    return this.call("DELETE", pathOf("v1", "schedules", namespace, name), { query });
  }

  /** Remove a source; its letters stay. */
  removeSource(
    namespace: string,
    name: string,
    query: {
      actor?: string;
      reason?: string;
      if_match?: string;
    } = {},
  ): Promise<models.Removal> {
    return this.call("DELETE", pathOf("v1", "sources", namespace, name), { query });
  }

  /** Report messages that could not be processed. */
  reportDeadLetters(
    body: models.ReportRequest,
  ): Promise<models.ResultsReceipt> {
    return this.call("POST", "/v1/dead-letters", { body });
  }

  /** Open a discarded dead letter again. */
  restoreDeadLetter(
    letterUuid: string,
    body?: models.Act,
  ): Promise<models.Letter> {
    return this.call("POST", pathOf("v1", "dead-letters", letterUuid, "restore"), { body });
  }

  /** Resume what is paused. */
  resume(
    body: models.ResumePausedRequest,
  ): Promise<models.Pause> {
    return this.call("POST", "/v1/pauses/resume", { body });
  }

  /** End the pause of a schedule. */
  resumeSchedule(
    namespace: string,
    name: string,
    body?: models.ScheduleAct,
  ): Promise<models.Schedule> {
    return this.call("POST", pathOf("v1", "schedules", namespace, name, "resume"), { body });
  }

  /** Continue to read a source. */
  resumeSource(
    namespace: string,
    name: string,
    body?: models.Act,
  ): Promise<models.Source> {
    return this.call("POST", pathOf("v1", "sources", namespace, name, "resume"), { body });
  }

  /** Submit the task of a schedule now. */
  runSchedule(
    namespace: string,
    name: string,
    body?: models.ScheduleRunRequest,
  ): Promise<models.Firing> {
    return this.call("POST", pathOf("v1", "schedules", namespace, name, "run"), { body });
  }

  /** Add or change a policy. */
  savePolicy(
    body: models.PolicyRequest,
  ): Promise<models.Policy> {
    return this.call("POST", "/v1/policies", { body });
  }

  /** Add a rule, or a new version of one. */
  saveRule(
    body: models.RuleRequest,
  ): Promise<models.SavedRule> {
    return this.call("POST", "/v1/rules", { body });
  }

  /** Add or change a schedule. */
  saveSchedule(
    body: models.ScheduleRequest,
  ): Promise<models.SavedSchedule> {
    return this.call("POST", "/v1/schedules", { body });
  }

  /** Add or change a source of dead letters. */
  saveSource(
    body: models.SourceRequest,
  ): Promise<models.Source> {
    return this.call("POST", "/v1/sources", { body });
  }

  /** Limit how many steps of a handler or a route run at once, or begin in a time. */
  setLimit(
    body: models.LimitRequest,
  ): Promise<models.Limit> {
    return this.call("POST", "/v1/limits", { body });
  }

  /** Divide a group by a rule within it. */
  splitGroup(
    groupId: string,
    body: models.SplitRequest,
  ): Promise<models.SavedRule> {
    return this.call("POST", pathOf("v1", "groups", groupId, "split"), { body });
  }

  /** Show what a rule would decide about a failure or a group. */
  testRule(
    body: models.RuleTest,
  ): Promise<models.RuleTrial> {
    return this.call("POST", "/v1/rules/test", { body });
  }

  /** Connect to the broker of a source once. */
  testSource(
    namespace: string,
    name: string,
  ): Promise<models.SourceStatus> {
    return this.call("POST", pathOf("v1", "sources", namespace, name, "test"));
  }

  /** Send a signed test event to a webhook, once. */
  testWebhook(
    name: string,
  ): Promise<models.WebhookAnswer> {
    return this.call("POST", pathOf("v1", "webhooks", name, "test"));
  }

  /** Take a merged group out again. */
  unmergeGroup(
    groupId: string,
    body?: models.Act,
  ): Promise<models.Group> {
    return this.call("POST", pathOf("v1", "groups", groupId, "unmerge"), { body });
  }

  /** Undo the split that made a group. */
  unsplitGroup(
    groupId: string,
    body?: models.Act,
  ): Promise<models.Group> {
    return this.call("POST", pathOf("v1", "groups", groupId, "unsplit"), { body });
  }

  /** Add notes to a case, resolve it or reopen it. */
  updateCase(
    dlqEntryUuid: string,
    body: models.CaseUpdate,
  ): Promise<models.CaseUpdated> {
    return this.call("PATCH", pathOf("v1", "dlq", "entry", dlqEntryUuid), { body });
  }

  /** Update many cases. */
  updateCases(
    body: models.BulkCaseUpdate,
  ): Promise<models.BulkResult> {
    return this.call("POST", "/v1/dlq/update", { body });
  }
}
