// Package wording helps to write messages for people: a noun with its number ("1 step", "2 steps"), and the likely word
// for "unknown key X, did you mean Y".
//
// Count and Nearest are pure. The configuration, templates and commands share them, so that they word messages alike
// and tolerate the same typing errors.
package wording
