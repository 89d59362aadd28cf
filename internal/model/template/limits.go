package template

import (
	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Limits of a document, which keep a small untrusted source from costing much time or memory.
const (
	// MaxSource bounds a document, in bytes.
	MaxSource = 1 << 20
	// MaxName bounds names of all kinds, in characters.
	MaxName = 255
	// MaxVersion bounds a version, in characters.
	MaxVersion      = 64
	MaxCapabilities = 100
	MaxAttempts     = 1000

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
	maxInstructions = 1000
	// maxSchemaDepth bounds the chain of subschemas for one value, because the validator is recursive.
	maxSchemaDepth = 64
	// maxExpansion bounds the subschemas for one value with all references and alternatives followed: nested
	// alternatives multiply.
	maxExpansion = 10_000

	// Limits of checking one context, in evaluations of a subschema for a value (about a microsecond and half a
	// kilobyte each): a base, plus some for every value.
	freeEvaluations     = 20_000
	evaluationsPerValue = 4
	// The same for regular expressions, in steps of about ten nanoseconds: a base, plus some for every byte.
	freeSteps    = 20_000_000
	stepsPerByte = 200

	// maxProblems bounds a report.
	maxProblems = 100

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
