// Package flowcontrol is the family of routes /v1/pauses: what operators hold back, over a flow.Backend.
package flowcontrol
