// Package demo is Tasker's main job on real input: 10,000 bird-strike reports
// of the FAA, in the public domain and as dirty as they were filed, go through
// a workflow of six steps with a diamond in it.
//
// A report fails when it is dirty, and only then: the rules are in parse.go,
// flight.go, names.go and price.go, one pure function each. Nothing fails by
// chance or on request, so each run ends with the same failures.
//
// [Run] does the whole job against any Backend and counts for itself what was
// accepted, settled, lost or settled twice. [Work] only carries steps out; it
// keeps repaired reports moving while the demo stays up.
package demo
