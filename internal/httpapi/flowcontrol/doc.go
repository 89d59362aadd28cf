// Package flowcontrol is the families of routes /v1/pauses and /v1/limits: what operators hold back, over a
// flow.Backend.
package flowcontrol
