// Package deploytest holds what is shipped for Prometheus and Grafana in deploy/,
// and docs/reference/metrics.md, to what a running server answers at /metrics when real
// cases have been opened, looked into and resolved. It has no code of its own
// outside its tests.
package deploytest
