package deadletters

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

// IntakeFailure says what happens when a task that was taken in fails for good.
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
	OrderingKey    string  `json:"ordering_key,omitempty" doc:"The name of the source, a slash, and the key; a hash in place of a key that is no text."`
	CorrelationID  string  `json:"correlation_id,omitempty"`
	DelaySeconds   float64 `json:"delay_seconds,omitempty"`
	ContextBytes   int     `json:"context_bytes"`
}

// IntakeRefusal is why a message would become a letter.
type IntakeRefusal struct {
	Code   string `json:"code"`
	Reason string `json:"reason"`
}
