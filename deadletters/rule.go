package deadletters

import (
	"time"

	"github.com/google/uuid"
)

// Rule puts failures into groups in place of their fingerprints. The rules of a namespace are tried by position and
// name, and the first whose condition holds decides.
type Rule struct {
	Namespace string `json:"namespace,omitempty" doc:"Defaults to default." maxLength:"255"`
	Name      string `json:"name" minLength:"1" maxLength:"255"`
	Position  int    `json:"position,omitempty" minimum:"-1000000" maximum:"1000000" doc:"The lowest is tried first; rules of one position are in the order of their names."`
	// When is an expression over the facts of a failure that is true or false. docs/guides/dead-letters.md lists the
	// facts.
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
	// Failed counts evaluations that failed; then the rule is passed over.
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

// RuleTest asks what a rule would decide: about a failure, or about recent letters and cases of a group.
type RuleTest struct {
	Rule    Rule        `json:"rule"`
	Failure *RuleSample `json:"failure,omitempty" doc:"A failure to try the rule on. Excludes group_id."`
	GroupID string      `json:"group_id,omitempty" doc:"Group whose recent letters and cases the rule is tried on. Excludes failure." maxLength:"16"`
}

// RuleSample is a failure to try a rule on. Its fields are the facts that expressions can name.
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

// RuleTrial is what a rule decides.
type RuleTrial struct {
	Tried   int        `json:"tried" doc:"Failures that the rule was tried on: of a group at most 100 letters and 100 cases."`
	Matched int        `json:"matched" doc:"Failures that the rule decides about."`
	Failed  int        `json:"failed" doc:"Failures about which its evaluation fails."`
	Items   []RuleItem `json:"items"`
}

// RuleItem is what a rule decides about one failure.
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
