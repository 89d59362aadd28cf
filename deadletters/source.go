package deadletters

import (
	"cmp"
	"time"
)

// Source is a place that letters come from.
type Source struct {
	Namespace  string   `json:"namespace,omitempty" doc:"Defaults to default." maxLength:"255"`
	Name       string   `json:"name" minLength:"1" maxLength:"255" doc:"Unique in its namespace."`
	Driver     string   `json:"driver" minLength:"1" maxLength:"64" doc:"http for a program that reports, memory, or the name of a broker's driver."`
	URL        string   `json:"url,omitempty" maxLength:"2048" doc:"URL of the broker. Answers hide the password in it."`
	Queue      string   `json:"queue,omitempty" maxLength:"255" doc:"List, stream, queue or topic to read."`
	Format     string   `json:"format,omitempty" maxLength:"64" doc:"Convention in which messages tell of their failures. Defaults to detecting it."`
	Targets    []string `json:"targets,omitempty" maxItems:"100" doc:"Destinations that letters may be sent to, besides their origins. An entry that ends in * allows every name that begins with what is before it. With the driver http, an entry is a URL: its * stands for the rest of the path behind a slash, of the last segment, or of the query."`
	MaxReplays int      `json:"max_replays,omitempty" minimum:"0" maximum:"1000" doc:"A letter that was sent back that often is parked. Defaults to 3."`
	MaxOpen    int      `json:"max_open,omitempty" minimum:"0" maximum:"100000000" doc:"Open letters at which nothing more is captured. Defaults to no bound."`
	Paused     bool     `json:"paused,omitempty"`
	Intake     *Intake  `json:"intake,omitempty" doc:"Makes messages tasks. Without it they become letters."`
	// Sensitive and SensitiveHeaders are the parts of letters that only some keys may see; they apply to all letters
	// immediately.
	Sensitive        []string `json:"sensitive,omitempty" maxItems:"64" doc:"JSON pointers to values of payloads that are masked for keys that may not see them; a segment * matches every member and element. With any, payloads that are not JSON are masked whole."`
	SensitiveHeaders []string `json:"sensitive_headers,omitempty" maxItems:"64" doc:"Names of headers, in any case, whose values are masked likewise."`
	ETag             string   `json:"etag,omitempty" doc:"Changes with every change of the source. Ignored in a request: if_match names the expected one."`
}

// SourceRequest makes or changes a source. Its ETag is ignored; Act.IfMatch names the expected one.
type SourceRequest struct {
	Source
	Act
}

// SourceState is the state of a source.
type SourceState string

// The states of sources.
const (
	SourceReading SourceState = "reading"
	SourcePaused  SourceState = "paused"
	SourceWaiting SourceState = "waiting" // for a turn, or for room
	SourceLost    SourceState = "lost"    // its broker does not answer
)

// Oversized sums up messages left on the broker because they are larger than a letter may be.
type Oversized struct {
	Messages      int       `json:"messages" doc:"Number of messages, up to 1,000: at that many the source waits."`
	FirstPosition string    `json:"first_position" doc:"Position on the broker of the message that was found first; a hash of it where the broker has no positions."`
	LargestBytes  int       `json:"largest_bytes" doc:"Key, headers and payload of the largest message."`
	Since         time.Time `json:"since" doc:"When the first one was found."`
}

// SourceStatus is a source with its state.
type SourceStatus struct {
	Source
	State      SourceState `json:"state" doc:"reading, reported (driver http: programs report its letters), paused, waiting (for room) or lost."`
	Error      string      `json:"error,omitempty" doc:"The last one."`
	Since      time.Time   `json:"since,omitzero" doc:"When it entered the state."`
	Open       int         `json:"open" doc:"Open letters, up to 10,000; up to max_open if that is more, and at most 100,000."`
	OpenCapped bool        `json:"open_capped,omitempty" doc:"Whether there are more open letters."`
	Waiting    *int64      `json:"waiting,omitempty" doc:"Messages that wait on the broker, in the answer to a request for one source; missing where the broker does not say."`
	Oversized  *Oversized  `json:"oversized,omitempty" doc:"Messages that stay on the broker because they are larger than engine.limits.letter_bytes; missing if there are none."`
	// Policies decide about letters of the source: one for each origin with its own, then that for all others. Only the
	// answer to Source has them.
	Policies []Policy        `json:"policies,omitempty" doc:"In the answer to a request for one source."`
	Preview  []IntakePreview `json:"preview,omitempty" doc:"What the first messages would become; in the answer to a test of a source with an intake, where its broker can show messages."`
}

// Policy decides which letters of a source are sent back without an operator, and when.
type Policy struct {
	Namespace     string       `json:"namespace,omitempty" doc:"Defaults to default." maxLength:"255"`
	Source        string       `json:"source" minLength:"1" maxLength:"255" doc:"Name of a source, or * for all sources of the namespace without a policy of their own."`
	Origin        string       `json:"origin,omitempty" maxLength:"255" doc:"Defaults to every origin of the source without a policy of its own."`
	Strategy      Strategy     `json:"strategy" enum:"manual,immediate,fixed,exponential,scheduled"`
	MaxRetries    int          `json:"max_retries,omitempty" minimum:"0" maximum:"1000" doc:"Replays, failed sends included, after which a letter is discarded with that reason. Defaults to 3."`
	KeepExhausted bool         `json:"keep_exhausted,omitempty" doc:"Leave letters beyond max_retries or max_age_seconds open, and discard none."`
	BaseSeconds   float64      `json:"base_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"Wait before the first replay, at most 30 days. Defaults to 60."`
	CapSeconds    float64      `json:"cap_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"Longest wait of strategy exponential, at most 30 days. Defaults to 3600."`
	Multiplier    float64      `json:"multiplier,omitempty" minimum:"0" maximum:"100" doc:"Growth of the wait with strategy exponential, 1 to 100. Defaults to 2."`
	Jitter        float64      `json:"jitter,omitempty" minimum:"0" maximum:"1" doc:"Share by which a delay varies in both directions. Defaults to 0."`
	TimeOfDay     string       `json:"time_of_day,omitempty" maxLength:"5" doc:"HH:MM in UTC, with strategy scheduled. Defaults to 00:00."`
	MaxAgeSeconds float64      `json:"max_age_seconds,omitempty" minimum:"0" maximum:"315360000" doc:"Letters that died first before that are discarded with that reason. Defaults to no limit."`
	OnlyTypes     []string     `json:"only_error_types,omitempty" maxItems:"100" doc:"Restricts the policy to these error types."`
	DiscardTests  bool         `json:"discard_test_events,omitempty" doc:"Discard letters whose message ID begins with test-, with that reason."`
	CopyRetries   bool         `json:"copy_retries,omitempty" doc:"Send a copy of each letter that the policy sends to its destination with -retry behind its name, if that exists."`
	SetFrom       PolicySetter `json:"set_from,omitempty" enum:"operator,preset,configuration,environment,default" doc:"Where the settings come from. In a request preset is kept, and all else is ignored."`
	SetBy         string       `json:"set_by,omitempty" maxLength:"255" doc:"Who set them. Ignored in a request."`
	SetAt         *time.Time   `json:"set_at,omitempty" doc:"When. Ignored in a request."`
	ETag          string       `json:"etag,omitempty" doc:"Changes with every change of the policy. Ignored in a request: if_match names the expected one."`
}

// AllSources is the Source of a policy for all sources of its namespace.
const AllSources = "*"

// PolicyRequest makes or changes a policy. Its ETag is ignored; Act.IfMatch names the expected one.
type PolicyRequest struct {
	Policy
	Act
}

// Intake makes the messages of a source tasks instead of letters. Its values are texts: one that begins with "/" is a
// JSON pointer into the payload, "header:NAME" is a header, "message:id", "message:key" and "message:queue" are fields
// of the message, and any other text is a constant.
type Intake struct {
	TaskType        string `json:"task_type,omitempty" maxLength:"1024" doc:"Value: handler of the task. Either this or template is given."`
	Template        string `json:"template,omitempty" maxLength:"1024" doc:"Value: template of the task."`
	TemplateVersion string `json:"template_version,omitempty" maxLength:"255" doc:"Constant. Defaults to the newest version."`
	Priority        string `json:"priority,omitempty" maxLength:"1024" doc:"Value: name or number of a level. Defaults to the template's, else medium."`
	MinPriority     string `json:"min_priority,omitempty" maxLength:"255" doc:"Lowest level of a task; a lower one of a message becomes this."`
	MaxPriority     string `json:"max_priority,omitempty" maxLength:"255" doc:"Highest level of a task; a higher one of a message becomes this."`
	IdempotencyKey  string `json:"idempotency_key,omitempty" maxLength:"1024" doc:"Value, no constant: messages with one key are one task. Defaults to the identity of the message on its broker."`
	OrderingKey     string `json:"ordering_key,omitempty" maxLength:"1024" doc:"Value, such as message:key: tasks of messages with one key run one at a time, in the order of the messages. Defaults to no order."`
	CorrelationID   string `json:"correlation_id,omitempty" maxLength:"1024" doc:"Value."`
	Delay           string `json:"delay,omitempty" maxLength:"1024" doc:"Value: wait before the task may run; a constant such as 30s, or seconds in the message. At most 30 days."`
	Input           string `json:"input,omitempty" enum:"payload,message" doc:"Context of the task: the payload, which must be JSON, or an object around any payload. Defaults to payload."`

	MaxRetries     *int     `json:"max_retries,omitempty" minimum:"0" maximum:"1000" doc:"With task_type only. Defaults to that of the priority."`
	TimeoutSeconds float64  `json:"timeout_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"With task_type only. Defaults to that of the priority."`
	Tags           []string `json:"tags,omitempty" maxItems:"32" doc:"Tags of each task."`

	OnFailure *IntakeFailure `json:"on_failure,omitempty"`
}

// IntakeFailure is the consequence of the final failure of a task from an intake.
type IntakeFailure struct {
	Write string `json:"write,omitempty" maxLength:"255" doc:"Queue of the same broker that gets a message of the format job_failure. Defaults to none."`
}

// IntakePreview is what a message would become. It is a task, or else a letter with a reason.
type IntakePreview struct {
	Task    *IntakeTask    `json:"task,omitempty"`
	Refusal *IntakeRefusal `json:"refusal,omitempty"`
}

// IntakeTask is the task that a message would become.
type IntakeTask struct {
	TaskType       string  `json:"task_type,omitempty"`
	Template       string  `json:"template,omitempty"`
	Priority       string  `json:"priority,omitempty" doc:"As the message has it, within the bounds; empty for the default."`
	IdempotencyKey string  `json:"idempotency_key,omitempty" doc:"Empty where the broker gives an identity only to a message that is received."`
	OrderingKey    string  `json:"ordering_key,omitempty" doc:"The name of the source, a slash, and the key; a hash instead of a key that is no text."`
	CorrelationID  string  `json:"correlation_id,omitempty"`
	DelaySeconds   float64 `json:"delay_seconds,omitempty"`
	ContextBytes   int     `json:"context_bytes"`
}

// IntakeRefusal is why a message would become a letter.
type IntakeRefusal struct {
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// PresetEventPlatform is the preset for a platform that runs user code: requests for executions, events of pods,
// resources, and events for browsers.
const PresetEventPlatform = "event-platform"

// Presets lists the names of the presets of policies.
func Presets() []string { return []string{PresetEventPlatform} }

// PresetOptions adapt a preset.
type PresetOptions struct {
	Namespace string                   // "" is default
	Source    string                   // "" is AllSources
	Topics    func(name string) string // the origin of a topic of the preset; nil keeps the names
	KeepTests bool                     // keeps test events, for a system under test
}

// presetAge is the greatest age of letters under a preset, presetJitter the jitter of delays that grow.
const (
	presetAge    = 7 * 24 * time.Hour
	presetJitter = 0.1
)

// Preset returns the policies of a preset, that for all other origins last; nil for an unknown name. Save each with
// SavePolicy.
func Preset(name string, o PresetOptions) []Policy {
	if name != PresetEventPlatform {
		return nil
	}
	list := []Policy{
		{Origin: "execution-requests", Strategy: Exponential, MaxRetries: 5, BaseSeconds: 30, CapSeconds: 300, Multiplier: 2},
		{Origin: "pod-events", Strategy: Exponential, MaxRetries: 3, BaseSeconds: 60, CapSeconds: 600, Multiplier: 3},
		{Origin: "resource-allocation", Strategy: Immediate, MaxRetries: 3},
		{Origin: "websocket-events", Strategy: Fixed, MaxRetries: 10, BaseSeconds: 10},
		{Strategy: Exponential, MaxRetries: 4, BaseSeconds: 60, CapSeconds: 1800, Multiplier: 2.5},
	}
	for i := range list {
		p := &list[i]
		p.Namespace, p.Source, p.SetFrom = o.Namespace, o.Source, SetByPreset
		p.Source = cmp.Or(p.Source, AllSources)
		if p.Origin != "" && o.Topics != nil {
			p.Origin = o.Topics(p.Origin)
		}
		if p.Strategy == Exponential {
			p.Jitter = presetJitter
		}
		p.MaxAgeSeconds, p.DiscardTests = presetAge.Seconds(), !o.KeepTests
	}
	return list
}
