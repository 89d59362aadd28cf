// Package flowcontrol is the families of routes /v1/pauses, /v1/limits and /v1/outages over a flow.Backend.
package flowcontrol
