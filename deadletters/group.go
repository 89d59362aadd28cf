package deadletters

import (
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// Group is everything with one fingerprint: letters, and cases of tasks.
type Group struct {
	GroupID     string      `json:"group_id" doc:"16 hexadecimal digits."`
	Namespace   string      `json:"namespace"`
	Title       string      `json:"title"`
	Fingerprint Fingerprint `json:"fingerprint"`

	State      GroupState `json:"state" enum:"open,acknowledged,resolved,ignored"`
	StateAt    time.Time  `json:"state_at" doc:"When it entered the state."`
	ResolvedIn string     `json:"resolved_in,omitempty" doc:"Version that is said to fix it."`
	Ignore     *Ignore    `json:"ignore,omitempty"`
	Regression bool       `json:"regression,omitempty" doc:"It was resolved, and has failed since."`
	// Regressions counts how often it was reopened by failures.
	Regressions     int        `json:"regressions,omitempty"`
	ResolvedAt      *time.Time `json:"resolved_at,omitempty" doc:"Last time."`
	MeanOpenSeconds float64    `json:"mean_open_seconds,omitempty" doc:"Mean time from opening to resolution."`

	Owner      string     `json:"owner,omitempty"`
	Runbook    string     `json:"runbook,omitempty" doc:"URL."`
	DueAt      *time.Time `json:"due_at,omitempty"`
	MergedInto string     `json:"merged_into,omitempty" doc:"Group that shows its failures as its own."`

	FirstAt     time.Time `json:"first_at"`
	LastAt      time.Time `json:"last_at"`
	Failures    int64     `json:"failures" doc:"In all."`
	OpenLetters int64     `json:"open_letters"`
	OpenCases   int64     `json:"open_cases"`
	NoteCount   int       `json:"note_count"`
	Hours       []Hour    `json:"hours,omitempty" doc:"Failures by the hour: of 24 hours in a list, of 14 days for one group. Hours without any are left out."`

	ETag string `json:"etag,omitempty" doc:"Changes with its state, owner, runbook, due time and ignoring; a note alone leaves it. A change with If-Match is refused if it has changed."`
}

// Fingerprint is the common part of a group's failures; unknown parts are "".
type Fingerprint struct {
	Version int    `json:"version" doc:"Version of the rules by which the parts were derived."`
	Type    string `json:"error_type,omitempty"`
	Message string `json:"message,omitempty" doc:"First line of the message, with marks for the parts that vary."`
	Frame   string `json:"frame,omitempty" doc:"Top frame of the application's own code."`
	Where   string `json:"where,omitempty" doc:"Handler or source."`
	Rule    string `json:"rule,omitempty" doc:"Rule that decided."`
}

// Ignore bounds how long a group is ignored. The first bound that is reached opens it again.
type Ignore struct {
	Until   *time.Time `json:"until,omitempty" doc:"Time in the future."`
	Count   int64      `json:"count,omitempty" doc:"Number of failures from now on." minimum:"0"`
	PerHour int64      `json:"per_hour,omitempty" doc:"Number of failures within a clock hour." minimum:"0"`
}

// Hour counts the failures of one clock hour.
type Hour struct {
	At       time.Time `json:"at" doc:"Beginning of the hour."`
	Failures int64     `json:"failures"`
}

// Note is an entry in the thread of a group.
type Note struct {
	No      int       `json:"no"`
	At      time.Time `json:"at"`
	Actor   string    `json:"actor,omitempty"`
	KeyName string    `json:"key_name,omitempty" doc:"Name of the API key of the request."`
	Kind    string    `json:"kind" doc:"note, or the act that it reports."`
	Text    string    `json:"text,omitempty"`
}

// Part is one part of a fingerprint, and the text behind it.
type Part struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from,omitempty"`
}

// GroupStory is a group with its history.
type GroupStory struct {
	Group
	Merged []Group `json:"merged,omitempty" doc:"Groups that are merged into it."`
	Notes  []Note  `json:"notes" doc:"Its thread, the latest first."`
	Why    []Part  `json:"why,omitempty" doc:"The parts of its fingerprint, and the texts they were derived from."`
	Sample *Letter `json:"sample,omitempty" doc:"A recent letter. Needs the permission dead-letters:read."`
}

// GroupFilter selects a page of groups. Zero fields do not restrict.
type GroupFilter struct {
	Namespace string     `query:"namespace" maxLength:"255"`
	State     GroupState `query:"state" enum:"open,acknowledged,resolved,ignored"`
	Owner     string     `query:"owner" maxLength:"255"`
	Where     string     `query:"where" maxLength:"255" doc:"Handler or source."`
	Text      string     `query:"text" maxLength:"255" doc:"Literal part of the title."`
	OpenOnly  bool       `query:"open_only" doc:"Only groups with open letters or pending cases."`
	Order     string     `query:"order" enum:"last,open,first" default:"last" doc:"last: failed last first; open: most open items first; first: newest first."`
	Limit     int        `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Cursor    string     `query:"cursor" maxLength:"1024" doc:"next_cursor of the previous page."`
}

// GroupPage is a page of groups.
type GroupPage struct {
	Groups []Group `json:"groups"`
	// Resolutions and MeanOpenSeconds are about all groups of the namespace, or of all namespaces without a filter; not
	// only those of the page.
	Resolutions     int64   `json:"resolutions" doc:"How often groups of the namespace were resolved."`
	MeanOpenSeconds float64 `json:"mean_open_seconds,omitempty" doc:"Mean time from opening to resolution, of all groups of the namespace."`
	NextCursor      string  `json:"next_cursor,omitempty" doc:"Start of the next page; missing at the end."`
}

// GroupChange changes a group. Fields that are left out keep their value. NoDueAt removes a due time.
type GroupChange struct {
	State      GroupState `json:"state,omitempty" enum:"open,acknowledged,resolved,ignored"`
	ResolvedIn string     `json:"resolved_in,omitempty" doc:"Version that fixes it, with state resolved." maxLength:"255"`
	Ignore     *Ignore    `json:"ignore,omitempty" doc:"Bounds, with state ignored. Without any, the group is ignored until an operator changes that."`
	Owner      *string    `json:"owner,omitempty" doc:"Empty removes the owner." maxLength:"255"`
	Runbook    *string    `json:"runbook,omitempty" doc:"URL; empty removes it." maxLength:"2048"`
	DueAt      *time.Time `json:"due_at,omitempty"`
	NoDueAt    bool       `json:"no_due_at,omitempty" doc:"Removes the due time."`
	Note       string     `json:"note,omitempty" doc:"Added to the thread." maxLength:"16384"`
	Act
}

// GroupsChange changes many groups alike: named ones, or those of a filter. Each group has its own transaction, so a
// refusal does not affect the others.
type GroupsChange struct {
	Groups []string        `json:"groups,omitempty" maxItems:"1000" doc:"Groups to change, instead of a filter."`
	Filter *GroupSelection `json:"filter,omitempty" doc:"Changes the groups that the list with this filter shows, at most 1,000."`
	DryRun bool            `json:"dry_run,omitempty" doc:"Changes nothing, and answers which groups would be changed."`
	GroupChange
}

// GroupSelection selects groups as their list does. Empty fields do not restrict; at least one must be given.
type GroupSelection struct {
	Namespace string     `json:"namespace,omitempty" maxLength:"255"`
	State     GroupState `json:"state,omitempty" enum:"open,acknowledged,resolved,ignored"`
	Owner     string     `json:"owner,omitempty" maxLength:"255"`
	Where     string     `json:"where,omitempty" maxLength:"255" doc:"Handler or source."`
	Text      string     `json:"text,omitempty" maxLength:"255" doc:"Literal part of the title."`
	OpenOnly  bool       `json:"open_only,omitempty" doc:"Only groups with open letters or pending cases."`
}

// GroupResult is the result of a GroupsChange for one group.
type GroupResult struct {
	GroupID string        `json:"group_id"`
	Title   string        `json:"title,omitempty"`
	State   GroupState    `json:"state,omitempty" enum:"open,acknowledged,resolved,ignored" doc:"After the change."`
	Error   *tasker.Error `json:"error,omitempty" doc:"Why it was not changed."`
}

// ChangedGroups answers a GroupsChange, in the order of the request or of the list.
type ChangedGroups struct {
	Results []GroupResult `json:"results"`
	DryRun  bool          `json:"dry_run,omitempty" doc:"Nothing was changed."`
}

// MergeRequest names the groups to merge into another.
type MergeRequest struct {
	Groups []string `json:"groups" minItems:"1" maxItems:"100"`
	Act
}

// SplitRequest takes failures that meet a condition out of a group, into one group for each combination of the values
// of GroupBy.
type SplitRequest struct {
	Name    string   `json:"name,omitempty" maxLength:"255" doc:"Name of the rule that splits. Defaults to one made of the group."`
	When    string   `json:"when,omitempty" maxLength:"2048" doc:"Condition, as of a rule. Defaults to every failure of the group."`
	GroupBy []string `json:"group_by,omitempty" maxItems:"8" doc:"Expressions: failures with the same values go into one group."`
	Title   string   `json:"title,omitempty" maxLength:"240" doc:"Title of the groups. Defaults to the name and the values of group_by."`
	Act
}

// Rule puts failures into groups instead of their fingerprints. The rules of a namespace are tried by position and
// name, and the first whose condition holds decides.
type Rule struct {
	Namespace string `json:"namespace,omitempty" doc:"Defaults to default." maxLength:"255"`
	Name      string `json:"name" minLength:"1" maxLength:"255"`
	Position  int    `json:"position,omitempty" minimum:"-1000000" maximum:"1000000" doc:"The lowest is tried first; rules of one position are in the order of their names."`
	// When is a boolean expression over the facts of a failure; docs/guides/dead-letters.md lists them.
	When    string   `json:"when" minLength:"1" maxLength:"2048" doc:"Condition: an expression over the facts of a failure."`
	GroupBy []string `json:"group_by,omitempty" maxItems:"8" doc:"Expressions: failures with the same values are in one group. None puts all into one."`
	Title   string   `json:"title,omitempty" maxLength:"240" doc:"Title of the groups. Defaults to the name and the values of group_by."`
}

// SavedRule is a version of a rule.
type SavedRule struct {
	Rule
	Splits  string    `json:"splits,omitempty" doc:"Group that the rule splits. It decides about failures of that group only."`
	Version int64     `json:"version"`
	Since   int64     `json:"since_version" doc:"Version that first had the present condition and group_by. Groups name it."`
	SavedAt time.Time `json:"saved_at"`
	Actor   string    `json:"actor,omitempty"`
	KeyName string    `json:"key_name,omitempty" doc:"Name of the API key of the request."`
	Reason  string    `json:"reason,omitempty"`
	Removed bool      `json:"removed,omitempty" doc:"This version took the rule out of force."`
	// Failed counts failed evaluations, which skip the rule.
	Failed    int64  `json:"failed,omitempty" doc:"Evaluations that failed on the node that answers, since its start or the last change."`
	LastError string `json:"last_error,omitempty" doc:"Why the latest of them failed."`
	ETag      string `json:"etag,omitempty" doc:"Changes with every version."`
}

// RuleStory is a rule with its versions.
type RuleStory struct {
	SavedRule
	Versions []SavedRule `json:"versions" doc:"The latest first, at most 100."`
}

// RuleRequest saves a rule.
type RuleRequest struct {
	Rule
	Act
}

// RuleTest asks for the decisions of a rule: about a failure, or about recent letters and cases of a group.
type RuleTest struct {
	Rule    Rule        `json:"rule"`
	Failure *RuleSample `json:"failure,omitempty" doc:"A failure to try the rule on. Excludes group_id."`
	GroupID string      `json:"group_id,omitempty" doc:"Group whose recent letters and cases the rule is tried on. Excludes failure." maxLength:"16"`
}

// RuleSample is a failure to try a rule on. Its fields are the facts of expressions.
type RuleSample struct {
	Kind      Kind     `json:"kind,omitempty" enum:"letter,case" doc:"Defaults to letter."`
	ErrorType string   `json:"error_type,omitempty" maxLength:"255"`
	Code      string   `json:"code,omitempty" maxLength:"255"`
	Message   string   `json:"message,omitempty" maxLength:"4096"`
	Class     string   `json:"class,omitempty" enum:"transient,resource,logic,worker"`
	Retryable bool     `json:"retryable,omitempty"`
	Frame     string   `json:"frame,omitempty" maxLength:"255" doc:"Top frame of the application's own code."`
	Handler   string   `json:"handler,omitempty" maxLength:"255"`
	Source    string   `json:"source,omitempty" maxLength:"255"`
	Origin    string   `json:"origin,omitempty" maxLength:"255"`
	Template  string   `json:"template,omitempty" maxLength:"255"`
	Step      string   `json:"step,omitempty" maxLength:"255"`
	Reason    string   `json:"reason,omitempty" maxLength:"255" doc:"Why a task is stuck."`
	Headers   []Header `json:"headers,omitempty" maxItems:"256"`
}

// RuleTrial has the decisions of a rule.
type RuleTrial struct {
	Tried   int        `json:"tried" doc:"Failures that the rule was tried on: of a group at most 100 letters and 100 cases."`
	Matched int        `json:"matched" doc:"Failures that the rule decides about."`
	Failed  int        `json:"failed" doc:"Failures about which its evaluation fails."`
	Items   []RuleItem `json:"items"`
}

// RuleItem is a rule's decision about one failure.
type RuleItem struct {
	Kind Kind `json:"kind" enum:"letter,case"`
	// ID is the UUID of the letter or the case; nil for a sample.
	ID      *uuid.UUID `json:"id,omitempty"`
	Matched bool       `json:"matched"`
	GroupID string     `json:"group_id,omitempty" doc:"Group into which the rule would put such a failure."`
	Title   string     `json:"title,omitempty" doc:"Title of that group."`
	Keys    []string   `json:"keys,omitempty" doc:"Values of group_by."`
	Error   string     `json:"error,omitempty" doc:"Why the rule cannot be evaluated."`
}
