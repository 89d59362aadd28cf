package template

import (
	"fmt"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Mapping is one kind of mapping in a template document. What names it in messages, as in open.
type Mapping struct {
	What string
	Keys []Key
}

// Key is a key of a mapping, for the reference. Parse accepts only these keys.
type Key struct {
	Name    string
	Type    string
	Default string // "" if the key is required
	Limits  string // "" without any
	Meaning string
}

const (
	aText       = "text"
	aNumber     = "whole number"
	aList       = "list of texts"
	aMapping    = "mapping"
	aDuration   = "duration"
	anExpr      = "expression"
	none        = "none"
	ofTemplate  = "the template's"
	ofServer    = "the server's"
	ofNamespace = "`" + DefaultNamespace + "`"
)

func between(low, high int) string { return fmt.Sprintf("%d to %d", low, high) }

func upTo(characters int) string { return fmt.Sprintf("%d characters", characters) }

func days(d time.Duration) string { return fmt.Sprintf("1s to %d days", d/(24*time.Hour)) }

var (
	priority    = Key{"priority", "name or number", ofTemplate, between(0, task.MaxPriority), "Level of its steps."}
	dispatchTTL = Key{"dispatch_ttl_ms", aNumber, ofTemplate, between(minDispatchTTLMS, maxDispatchTTLMS),
		"Milliseconds that a step may wait in the queue of a worker over AMQP."}
	concurrency = Key{"concurrency", aMapping, ofTemplate, "", "How many steps run at once: [concurrency](#concurrency)."}
	rateLimit   = Key{"rate_limit", aMapping, ofTemplate, "", "How many steps begin in a time: [rate_limit](#rate_limit)."}
	limitKey    = Key{"key", aText, none, fmt.Sprintf("%d bytes", limit.MaxKey),
		"Steps count apart for each of its values, such as `{{customer}}`."}
)

func (k Key) or(text string) Key {
	k.Default = text
	return k
}

// Mappings lists the keys of all mappings of a template, in a new slice.
func Mappings() []Mapping {
	minutes := func(name, meaning string, most int, otherwise string) Key {
		return Key{name, aNumber, otherwise, between(1, most), "Minutes " + meaning}
	}
	class := func(name string) Key {
		return Key{name, aNumber, "`max_attempts` decides", between(0, MaxAttempts-1), "Retries after such a failure."}
	}
	retry := task.DefaultRetry()
	return []Mapping{
		{"a template", []Key{
			{"name", aText, "", upTo(MaxName), "Name of the workflow."},
			{"namespace_name", aText, ofNamespace, upTo(MaxName), "Namespace of the template and its tasks."},
			{"version", aText, "", upTo(MaxVersion), "A registered version never changes. Quote a number: `\"1.10\"`."},
			{"description", aText, none, "", "For people."},
			priority.or(ofServer),
			{"input_schema", "JSON Schema 2020-12", none, fmt.Sprintf("%d values", maxSchemaValues),
				"What contexts of tasks must be like."},
			{"metadata", aMapping, none, "", "For people. It has no effect, but belongs to the version."},
			{"lifecycle", aMapping, ofServer, "", "How long tasks may stay in a state: [lifecycle](#lifecycle)."},
			dispatchTTL.or(ofServer),
			{"sensitive", aList, none, strconv.Itoa(sensitive.MaxPointers) + " pointers",
				"JSON pointers to [sensitive](../guides/sensitive.md) values of the context; `*` matches every member."},
			concurrency.or(none),
			rateLimit.or(none),
			{"unique", aMapping, none, "", "Rule of [unique tasks](../guides/unique.md): [unique](#unique)."},
			{"steps", "list of steps", "", between(1, task.MaxSteps), "The [steps](#a-step)."},
			{"on_failure", "list of steps", none, "with the steps, " + strconv.Itoa(task.MaxSteps),
				"Steps that run after the task has failed ([compensation](../guides/workflows.md#compensation))."},
		}},
		{"a step", []Key{
			{"name", aText, "", upTo(MaxName), "Unique in the template."},
			{"description", aText, none, "", "For people."},
			{"handler", "text or mapping", "required, or one of the others", upTo(MaxName),
				"What a worker runs: a name, or a [handler](#handler). A step has one of `handler`, `wait`, `task`, `for_each`."},
			{"wait", aMapping, none, "", "What the step waits for, without a worker: [wait](#wait)."},
			{"dependencies", aList, none, "", "Names of the steps that must be complete or skipped first."},
			{"retry", aMapping, "see there", "", "What happens after a failure: [retry](#retry)."},
			{"timeout_seconds", aNumber, "the priority's", between(1, maxTimeoutSeconds), "An attempt that takes longer fails."},
			{"required_capabilities", aList, none, strconv.Itoa(MaxCapabilities) + " of " + upTo(MaxName),
				"Only workers with all of them get the step."},
			priority,
			dispatchTTL,
			concurrency,
			rateLimit,
			{"when", anExpr, none, "",
				"The step is skipped unless it is true ([conditions](../guides/workflows.md#conditions))."},
			{"task", aMapping, none, "", "A child task carries out the step: [task](#task)."},
			{"for_each", aMapping, none, "", "A child task for each item of a list: [for_each](#for_each)."},
		}},
		{"handler", []Key{
			{"callable", aText, "", upTo(MaxName), "Name of the handler."},
			{"initialization", aMapping, none, "", "Fixed configuration that the worker receives with the step."},
		}},
		{"retry", []Key{
			{"retryable", "boolean", fmt.Sprintf("`%t`", retry.Retryable), "", "`false`: every failure is permanent."},
			{"max_attempts", aNumber, "the priority's", between(1, MaxAttempts), "Attempts, with the first one."},
			{"backoff", "`none`, `fixed`, `linear`, `exponential`", "`" + string(retry.Backoff) + "`", "",
				"How the delay grows from attempt to attempt."},
			{"backoff_base_ms", aNumber, ofServer + ", else " + strconv.FormatInt(retry.Base.Milliseconds(), 10),
				between(1, maxDelayMS), "Delay before the second attempt, in milliseconds."},
			{"max_backoff_ms", aNumber, "the priority's", between(1, maxDelayMS), "No delay is longer, in milliseconds."},
			{"jitter", "number", fmt.Sprintf("%s, else %v", ofServer, retry.Jitter), "0 to 1", "Random share of each delay."},
			{"limits", aMapping, none, "", "Retries by class of failure: [limits](#limits)."},
		}},
		{"limits", []Key{class("transient"), class("resource"), class("logic"), class("worker")}},
		{"wait", []Key{
			{"for", aDuration, none, days(task.MaxWait), "A time, such as `90s` or `48h`. A wait has one of `for`, `until`, " +
				"`approval`, `signal`."},
			{"until", aText, none, "", "An RFC 3339 time, or its place in the context: `{{deliver_at}}`."},
			{"approval", aText, none, upTo(task.MaxApproval), "What a person decides."},
			{"signal", aText, none, "", "Name of a signal of another system."},
			{"key", aText, "required with `signal`", fmt.Sprintf("%d bytes", limit.MaxKey), "Key of that signal: `{{order_id}}`."},
			{"timeout", aDuration, none, days(task.MaxWait), "After it, a decision or a signal comes too late."},
			{"on_timeout", "`fail`, `continue`", "`fail`", "", "What becomes of the step then."},
			{"on_reject", "`fail`, `continue`", "`fail`", "", "What becomes of a rejected step."},
		}},
		{"task", append(target(),
			Key{"context", anExpr, "the context of the parent", "", "Context of the child."}, onError())},
		{"for_each", append(append([]Key{{"items", anExpr, "", strconv.Itoa(task.MaxChildren) + " items", "The list."}},
			target()...),
			Key{"context", anExpr, "`{item, index}`", "", "Context of a child, of the names of the parent, `item` and `index`."},
			Key{"concurrency", aNumber, strconv.Itoa(task.DefaultConcurrency), between(1, task.MaxChildren),
				"Children that may run at once."},
			Key{"max_failed", "whole number or share", "0", between(0, task.MaxChildren) + ", or 0% to 100%",
				"Children that may fail."},
			onError(),
			Key{"results", "`list`, `counts`", "`list`", "", "Whether the result has that of each child, or numbers only."})},
		{"concurrency", []Key{limitKey, {"limit", aNumber, "", between(1, limit.MaxPermits), "Steps at once."}}},
		{"rate_limit", []Key{limitKey,
			{"limit", aNumber, "", between(1, limit.MaxCount), "Steps in each period."},
			{"per", aDuration, "", "up to " + limit.MaxPer.String(), "The period, such as `1s` or `5m`."},
			{"burst", aNumber, "`limit`", between(1, limit.MaxBurst), "Steps that may begin at once after a pause."}}},
		{"lifecycle", []Key{
			minutes("max_waiting_for_dependencies_minutes", "in which a step must become ready.", maxStateMinutes, ofServer),
			minutes("max_waiting_for_retry_minutes", "of a wait for a retry.", maxStateMinutes, ofServer),
			minutes("max_steps_in_process_minutes", "in which steps in process must settle.", maxStateMinutes, ofServer),
			minutes("max_duration_minutes", "from the submission to the end.", maxDurationMinutes, none)}},
		{"unique", []Key{
			{"by", "text or list", "`" + task.ByAll + "`", strconv.Itoa(task.MaxUniqueFields) + " pointers",
				"JSON pointers into the context, or `" + task.ByAll + "`, `" + task.ByTemplate + "`, `" + task.ByNothing + "`."},
			{"period", aDuration, "no bound", days(task.MaxUniquePeriod), "How long a task guards its key at most."},
			{"while", "list of phases", "see [unique tasks](../guides/unique.md)", "",
				"`unsettled`, `error`, `complete`, `resolved_manually`: when a task guards its key."},
			{"on_conflict", "`return`, `refuse`, `replace`", "`" + string(task.ReturnExisting) + "`", "",
				"What becomes of a duplicate."}}},
	}
}

func target() []Key {
	return []Key{
		{"template", aText, none, upTo(MaxName), "Template of the children. There is either this or `handler`."},
		{"version", aText, "the newest", upTo(MaxVersion), "Version of the template."},
		{"handler", aText, none, upTo(MaxName), "Handler of the only step of the children."},
	}
}

func onError() Key {
	return Key{"on_error", "`wait`, `fail`", "`wait`", "", "`wait`: a child in error waits for its repair. `fail`: it counts " +
		"as failed."}
}

var known = func() map[string][]string {
	names := map[string][]string{}
	for _, m := range Mappings() {
		for _, k := range m.Keys {
			names[m.What] = append(names[m.What], k.Name)
		}
	}
	return names
}()
