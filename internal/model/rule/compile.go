package rule

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// builtins are the allowed functions of the language. None returns more than its input.
var builtins = []string{"len", "lower", "upper", "trim", "trimPrefix", "trimSuffix", "hasPrefix", "hasSuffix",
	"indexOf"}

// Program is a compiled rule. It is safe for concurrent use.
type Program struct {
	when *vm.Program
	keys []*vm.Program
	cost int
}

// Compile compiles the condition and the keys of a rule. Problems name field, line and column; with any, the
// Program is nil.
func Compile(r *deadletter.Rule) (*Program, []task.Problem) {
	p, problems := &Program{}, []task.Problem(nil)
	compile := func(at, source string, check func(*vm.Program) string, options ...expr.Option) *vm.Program {
		program, cost, fault := compileOne(source, options)
		if fault == "" {
			fault = check(program)
		}
		if fault != "" {
			problems = append(problems, task.Problem{Location: at, Message: fault})
			return nil
		}
		p.cost += cost
		return program
	}
	p.when = compile("/when", r.When, func(*vm.Program) string { return "" }, expr.AsBool())
	for i, key := range r.Keys {
		p.keys = append(p.keys, compile(fmt.Sprintf("/group_by/%d", i), key, keyFault))
	}
	if p.cost > MaxCost {
		problems = append(problems, task.Problem{Location: "", Message: fmt.Sprintf(
			"the regular expressions of the rule have the size %d; the limit is %d", p.cost, MaxCost)})
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return p, nil
}

// keyFault refuses a key that is not a plain value.
func keyFault(p *vm.Program) string {
	switch kind := p.Node().Type().Kind(); kind {
	case reflect.String, reflect.Bool, reflect.Int:
		return ""
	default:
		return fmt.Sprintf("at 1:1: a key is a text, a number, or true or false, and not %v", p.Node().Type())
	}
}

// fault is "" for a usable expression.
func compileOne(source string, options []expr.Option) (p *vm.Program, cost int, fault string) {
	tree, err := parser.ParseWithConfig(source, parsing())
	if err != nil {
		return nil, 0, faultOf(err)
	}
	c := checker{source: file.NewSource(source), patterns: map[string]*regexp.Regexp{}}
	if fault := c.check(&tree.Node); fault != "" {
		return nil, 0, fault
	}
	options = append(slices.Clone(options), expr.Env(facts{}), expr.MaxNodes(maxNodes), expr.DisableAllBuiltins(),
		expr.Function("extract", c.extract, new(func(string, string) string)),
		expr.Function("normalize", normalize, new(func(string) string)))
	options = append(options, arithmetic()...)
	for _, name := range builtins {
		options = append(options, expr.EnableBuiltin(name))
	}
	if p, err = expr.Compile(source, options...); err != nil {
		return nil, 0, faultOf(err)
	}
	return p, c.cost, ""
}

// parsing keeps the builtins, so that the checker can name a refused one.
func parsing() *conf.Config {
	c := conf.CreateNew()
	c.MaxNodes = maxNodes
	return c
}

func faultOf(err error) string {
	var at *file.Error
	if errors.As(err, &at) && at.Line > 0 {
		return fmt.Sprintf("at %d:%d: %s", at.Line, at.Column+1, at.Message)
	}
	return "at 1:1: " + err.Error()
}

// Cost is the size of the program's regular expressions in instructions: each runs for each byte of a text of at
// most 4 KiB.
func (p *Program) Cost() int { return p.cost }

// Decide evaluates the condition and, if it holds, the keys. An error of the evaluation, such as a division by
// zero, decides nothing.
func (p *Program) Decide(f *deadletter.Facts) (matched bool, keys []string, err error) {
	env := factsOf(f)
	result, err := vm.Run(p.when, env)
	if err != nil {
		return false, nil, fmt.Errorf("when: %s", faultOf(err))
	}
	if matched, _ = result.(bool); !matched {
		return false, nil, nil
	}
	for i, key := range p.keys {
		value, err := vm.Run(key, env)
		if err != nil {
			return false, nil, fmt.Errorf("group_by[%d]: %s", i, faultOf(err))
		}
		keys = append(keys, fmt.Sprint(value))
	}
	return true, keys, nil
}
