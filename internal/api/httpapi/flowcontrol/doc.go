// Package flowcontrol is the families of routes /v1/pauses, /v1/limits and /v1/outages: what operators hold back, and
// what Tasker holds back because so much fails, over a flow.Backend.
package flowcontrol
