// Package letters holds the capture and the redrive of dead letters to their guarantees while nodes are killed.
//
// Its test is the program under test as well: started with CRASH_BROKER in its environment, the test binary is the
// command line of Tasker with one more driver, which talks to a broker in the test process. So the broker survives the
// node. It sees each message that is received, acknowledged or sent, and kills the node before or after its answer. Of
// two nodes it freezes one now and then, before it is killed: the broker delivers again what the other one has long
// sent back.
//
//	producer -> dlq -> [node, killed again and again] -> letters -> redrives, policy -> orders -> consumer
//	             ^                                                                                    |
//	             +--------------------------------------- dies again ---------------------------------+
//
// In the end every message that went in is one letter. What the consumer got is compared with what the items of the
// redrives say: each delivery is reported, and one that came twice is reported as uncertain. What a policy may have
// sent twice is in the audit trail.
//
// TestKillReplays reads a topic of a real Kafka again while nodes are killed: each record becomes one letter and one
// task.
package letters
