// Package pipeline is an example of a data pipeline with a worker in Python: extract, transform chunks in parallel,
// report. See README.md.
package pipeline
