// Package proof runs a cluster under load while faults strike it, and holds it to
// its guarantees.
//
// Callers of all kinds (package load) write a journal of what they were told,
// which crashtest.Check compares with what is there in the end. Beside them:
//
//   - a Witness between all callers and the nodes: a server error is 503 with
//     Retry-After, or it is a violation;
//   - a watcher per node, who knows that there are tasks and ready steps: an empty
//     list or poll is a violation, and so is no answer at all;
//   - an inquiry of every node that cannot reach the database: each kind of
//     request has to be refused;
//   - ghosts, whose reports stall on the way and arrive when the lease was given
//     away;
//   - probes: how long after a fault is a task accepted, and carried out.
//
// Begin with Run (run.go): it opens the cluster, lets the crew work (crew.go) while strike.go picks one fault after
// the other, and reads what is there in the end. RunFailovers (failover.go) replaces the database instead, with a
// smaller crew. Both return a Report: a run without violations counts only if Weak is empty too.
package proof
