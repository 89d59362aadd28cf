// Package rule compiles the expressions of rules that group failures; see deadletter.Rule. No other package imports
// their language.
//
// An expression has no loops, no variables, and no function whose result is longer than its arguments together. So
// its time and memory are bounded by its nodes and the size of its regular expressions, which [Compile] bounds, and
// the same facts have the same result on every node.
//
// Begin with compile.go. check.go has the bounds, facts.go the inputs of an expression.
package rule
