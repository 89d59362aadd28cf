// Package starvation shows how long a step of low priority waits while high ones saturate the workers, in each mode of
// scheduling: the engine itself, with a store in memory and a manual clock, so that a day takes a second and every run
// is the same.
//
// Run simulates every mode and returns a Curve for each; Plot draws the curves as SVG. Tests compare a curve with
// Curve.Allowed.
package starvation
