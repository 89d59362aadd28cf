package template

import (
	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Limits of a document. A document comes from outside, so each limit keeps a small source from costing much time or
// memory.
const (
	// MaxSource bounds a document, in bytes.
	MaxSource = 1 << 20
	// MaxName bounds names of templates, namespaces, steps, handlers and
	// capabilities, in characters.
	MaxName = 255
	// MaxVersion bounds a version, in characters.
	MaxVersion = 64
	// MaxCapabilities bounds the required capabilities of one step.
	MaxCapabilities = 100
	// MaxAttempts bounds max_attempts.
	MaxAttempts = 1000

	// largeSource is the size, in bytes, from which documents are parsed one at a time.
	largeSource = 64 << 10
	// maxDigits bounds the written digits of a number.
	maxDigits = 1000
	// maxContextDepth bounds the depth of a context with a schema.
	maxContextDepth = 200
	// maxExponent bounds the exponent of a number in a context, in both directions.
	maxExponent = 400
	// maxSchemaValues bounds an input schema, in values with aliases expanded.
	maxSchemaValues = 10_000
	// maxInstructions bounds a compiled regular expression.
	maxInstructions = 1000
	// maxSchemaDepth bounds the chain of subschemas for one value: the validator is recursive.
	maxSchemaDepth = 64
	// maxExpansion bounds the subschemas for one value, with all references and alternatives followed: alternatives
	// inside alternatives multiply.
	maxExpansion = 10_000

	// Limits of the work of checking one context, in evaluations of a subschema for a value, about a microsecond and
	// half a kilobyte each: a base, plus a number for every value of the context.
	freeEvaluations     = 20_000
	evaluationsPerValue = 4
	// The same for regular expressions, in steps of about ten nanoseconds: a base, plus a number for every byte of the
	// context.
	freeSteps    = 20_000_000
	stepsPerByte = 200

	// maxProblems bounds a report: more are of no use to a reader.
	maxProblems = 100

	// Minutes of the lifecycle thresholds, as in the documentation of templates.
	maxStateMinutes    = 10_080
	maxDurationMinutes = 43_200

	maxDelayMS        = int(task.MaxDelay / 1e6)
	maxTimeoutSeconds = int(task.MaxDelay / 1e9)
	minDispatchTTLMS  = int(task.MinDispatchTTL / 1e6)
	maxDispatchTTLMS  = int(task.MaxDispatchTTL / 1e6)
)

// sourceLimits bound the source of a template.
var sourceLimits = document.Limits{Marks: 60_000, Entries: 5000, Depth: 64, Nodes: 200_000, Merged: 50_000,
	Digits: maxDigits}
