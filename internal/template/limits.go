package template

import "github.com/taskerhq/tasker/internal/task"

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

	// maxDepth bounds how deep lists and mappings nest.
	maxDepth = 64
	// maxKeys bounds one mapping: the YAML parser's cost grows with its square.
	maxKeys = 5000
	// maxNodes bounds the document after its aliases are expanded.
	maxNodes = 200_000
	// maxMerged bounds the entries that merge keys copy.
	maxMerged = 50_000
	// maxTokens bounds the document before it is parsed.
	maxTokens = 500_000
	// maxDigits bounds a number as written.
	maxDigits = 1000
	// maxContextDepth bounds how deep a context with a schema nests.
	maxContextDepth = 200
	// maxExponent bounds the exponent of a number in a context, both ways.
	maxExponent = 400
	// maxProblems bounds a report; nobody reads further.
	maxProblems = 100

	// Minutes of the lifecycle thresholds, as in the documentation of templates.
	maxStateMinutes    = 10_080
	maxDurationMinutes = 43_200

	maxDelayMS        = int(task.MaxDelay / 1e6)
	maxTimeoutSeconds = int(task.MaxDelay / 1e9)
)
