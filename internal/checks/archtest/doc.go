// Package archtest holds the tree to its own rules: who may import whom, what stays pure, how
// large a file may grow, and that the documents tell the truth about the code.
//
// Each ban carries its reason, which is what a failing test prints: a developer who wants to
// break a rule reads why it exists, and changes the rule or the code.
//
// It has no code of its own outside its tests.
package archtest
