// Package queueapi is the compatibility family /api/v1 without its routes: the JSON
// types of a priority queue of tasks, what the family needs of an engine (Backend),
// and a client of it. Package httpapi serves it, package local implements it, and
// the command line is its user. Users of the SDK need none of it.
package queueapi
