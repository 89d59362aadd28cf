// Package rule compiles the expressions of rules that put failures into groups; see deadletter.Rule. It is the only
// package that knows their language.
//
// An expression has no loops, no variables, and no function that makes a text longer than its arguments together. So
// its time and memory are bounded by its number of nodes and by the size of its regular expressions, which [Compile]
// bounds, and no evaluation needs a clock: the same facts have the same result on every node.
//
// Begin with compile.go. check.go has the bounds, facts.go what an expression can look at.
package rule
