package template

import (
	"github.com/taskerhq/tasker/internal/document"
	"github.com/taskerhq/tasker/internal/task"
)

// What a document may bring. A document comes from outside, so each of these
// keeps some small source from costing much time or memory.
const (
	// MaxSource bounds a document, in bytes.
	MaxSource = 1 << 20
	// MaxName bounds names of templates, namespaces, steps, handlers and
	// capabilities, in characters.
	MaxName = 255
	// MaxVersion bounds a version, in characters.
	MaxVersion = 64
	// MaxCapabilities bounds the capabilities that one step may require.
	MaxCapabilities = 100
	// MaxAttempts bounds max_attempts.
	MaxAttempts = 1000

	// largeSource is the size, in bytes, from which documents are parsed one at a time.
	largeSource = 64 << 10
	// maxDigits bounds a number as written.
	maxDigits = 1000
	// maxContextDepth bounds how deep a context with a schema nests.
	maxContextDepth = 200
	// maxExponent bounds the exponent of a number in a context, both ways.
	maxExponent = 400
	// maxSchemaValues bounds an input schema, in values with aliases expanded.
	maxSchemaValues = 10_000
	// maxInstructions bounds a regular expression as it is compiled.
	maxInstructions = 1000
	// maxSchemaDepth bounds how many subschemas one value goes through, one inside the
	// other: the validator recurses.
	maxSchemaDepth = 64
	// maxExpansion bounds the subschemas that one value is checked against, with all
	// references and alternatives followed: alternatives inside alternatives multiply.
	maxExpansion = 10_000

	// What checking one context may cost, in evaluations of a subschema for a value,
	// about a microsecond and half a kilobyte each: so many, and so many more for every
	// value of the context.
	freeEvaluations     = 20_000
	evaluationsPerValue = 4
	// The same for regular expressions, in steps of about ten nanoseconds: so many, and
	// so many more for every byte of the context.
	freeSteps    = 20_000_000
	stepsPerByte = 200

	// maxProblems bounds a report; nobody reads further.
	maxProblems = 100

	// Minutes of the lifecycle thresholds, as in the documentation of templates.
	maxStateMinutes    = 10_080
	maxDurationMinutes = 43_200

	maxDelayMS        = int(task.MaxDelay / 1e6)
	maxTimeoutSeconds = int(task.MaxDelay / 1e9)
)

// sourceLimits bound the source of a template.
var sourceLimits = document.Limits{Marks: 60_000, Entries: 5000, Depth: 64, Nodes: 200_000, Merged: 50_000,
	Digits: maxDigits}
