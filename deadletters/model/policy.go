package model

// Strategy is how a policy sends letters back.
type Strategy string

// The strategies.
const (
	Manual      Strategy = "manual"      // not at all: an operator decides
	Immediate   Strategy = "immediate"   // at once
	Fixed       Strategy = "fixed"       // after the base
	Exponential Strategy = "exponential" // after the base, multiplied for each replay, up to the cap
	Scheduled   Strategy = "scheduled"   // at a time of day
)

// Strategies lists the strategies.
var Strategies = []Strategy{Manual, Immediate, Fixed, Exponential, Scheduled}

// PolicySetter is where the settings of a policy come from.
type PolicySetter string

// The setters of policies.
const (
	SetByOperator      PolicySetter = "operator"      // over the API
	SetByPreset        PolicySetter = "preset"        // likewise, with the settings of a preset
	SetByConfiguration PolicySetter = "configuration" // the file of a node
	SetByEnvironment   PolicySetter = "environment"   // variables of a node
	SetByDefault       PolicySetter = "default"       // nobody: letters are left to operators
)
