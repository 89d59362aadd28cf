// Package kafkatest gives tests a real Apache Kafka.
//
// Shared is for nearly all of them: separate topics on a shared broker. TASKER_TEST_KAFKA names it, as in "make test";
// the default is one per test process, which starts in about five seconds. Start gives a test a broker that it may
// stop, kill and freeze. StartSecured gives one with TLS, SASL and ACLs, StartCluster two, of which one may be killed.
//
// No distribution has a package of Kafka. Its JARs come from Maven, once for each user and version (Fetch). Without a
// broker and JARs, tests are skipped with a reason; with CI=true they fail. Nothing outlives the process that started
// it.
package kafkatest
