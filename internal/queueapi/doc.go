// Package queueapi is the compatibility family /api/v1 without its routes: the JSON types of a priority queue of tasks,
// its interface to an engine (Backend), and a client of it. Package httpapi serves it, package local implements it, and
// the command line uses it. Users of the SDK do not need it.
package queueapi
