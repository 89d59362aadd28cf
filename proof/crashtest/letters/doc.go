// Package letters checks the guarantees of capture and redrive of dead letters while nodes are killed.
//
// Its test is also the program under test: with CRASH_BROKER in its environment, the test binary is the command line
// of Tasker with one more driver, whose broker is in the test process and so survives the node. The broker sees each
// message that is received, acknowledged or sent, and kills the node before or after its answer. Of two nodes it
// sometimes freezes one before the kill: then it delivers messages again that the other node sent back long ago.
//
//	producer -> dlq -> [node, killed again and again] -> letters -> redrives, policy -> orders -> consumer
//	             ^                                                                                    |
//	             +--------------------------------------- dies again ---------------------------------+
//
// In the end every message is one letter. Deliveries are compared with the items of redrives: each is reported, and a
// repeated one is reported as uncertain. The audit trail has what a policy may have sent twice.
//
// TestKillReplays reads a topic of a real Kafka again while nodes are killed: each record becomes one letter and one
// task.
package letters
