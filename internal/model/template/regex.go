package template

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// pattern is a regular expression of a schema. Go's expressions are linear in the text: instructions times bytes
// bounds a match.
type pattern struct {
	*regexp.Regexp
	instructions int
}

// compilePattern is a jsonschema.RegexpEngine that refuses too many instructions: repetitions are copied, so nested
// x{1000} has a million.
func compilePattern(source string) (jsonschema.Regexp, error) {
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says all: error parsing regexp
	}
	// Count before compiling, which would take the memory.
	n := instructions(parsed)
	if n > maxInstructions {
		return nil, fmt.Errorf("the regular expression is too large: it compiles to more than %d instructions",
			maxInstructions)
	}
	compiled, err := regexp.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("compile regular expression: %w", err)
	}
	return pattern{compiled, n}, nil
}

// instructions approximates the instructions of a compiled expression up to maxInstructions. It may overestimate.
func instructions(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpCapture, syntax.OpRepeat, syntax.OpConcat,
		syntax.OpAlternate:
		for _, sub := range re.Sub {
			n = min(n+instructions(sub), maxInstructions+1)
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxInstructions+1)
}
