// Package starvation shows how long a step of low priority waits while high ones
// saturate the workers, in each mode of scheduling: the engine itself, with a store in
// memory and a clock of its own, so that a day takes a second and every run is the
// same. And it draws that.
//
// Run simulates every mode and returns a Curve for each; Plot draws the curves as SVG. Curve.Allowed is the
// bound that the tests hold a curve to.
package starvation
