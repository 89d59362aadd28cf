// Package deploytest compares the files for Prometheus and Grafana in deploy/, and docs/reference/metrics.md, with the
// /metrics of a running server after real cases were opened, investigated and resolved. It has tests only.
package deploytest
