// Package archtest checks the tree's rules: allowed imports, purity, sizes of files, and that the documents are true of
// the code.
//
// Each ban has its reason, which a failing test prints. A developer changes the rule or the code. The package has tests
// only.
package archtest
