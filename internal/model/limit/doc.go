// Package limit has the pure part of limits: how many steps may run at once, how many may begin in a time, and
// under which key a step counts.
//
// A limit holds back steps at a gate. A step passes its gates in a fixed order, permits first, and then enters the
// queue of its route. See docs/design/0042-limits.md.
package limit
