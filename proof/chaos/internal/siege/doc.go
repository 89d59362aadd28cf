// Package siege runs a cluster under load and faults, and checks its guarantees.
//
// Callers of all kinds (package load) keep a journal of their answers, which crashtest.Check compares with the end
// state. Besides them there are:
//
//   - a Witness between all callers and the nodes: a server error is 503 with
//     Retry-After, or it is a violation;
//   - a watcher per node, with tasks and ready steps: an empty list or poll is a
//     violation, and so is no answer;
//   - an inquiry of every node without a database, which must refuse each kind of
//     request;
//   - ghosts, whose reports stall and arrive when others have the leases;
//   - probes, which measure the time from a fault to the next accepted and the next
//     completed task.
//
// Begin with Run (run.go): it opens the cluster, lets the crew work (crew.go) while strike.go applies faults in
// sequence, and reads the end state. RunFailovers (failover.go) replaces the database instead, with a smaller crew.
// Both return a Report: a run without violations counts only if Weak is empty.
package siege
