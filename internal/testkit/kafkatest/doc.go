// Package kafkatest gives tests a real Apache Kafka, as package rabbittest does RabbitMQ.
//
// Shared is for nearly all of them: topics of their own on a broker that many tests share. That broker is the one that
// TASKER_TEST_KAFKA names, as "make test" does; without it each test process starts one of its own in about five
// seconds. Start gives a test a broker that it may stop, kill and freeze. StartSecured gives one with TLS, SASL and
// ACLs, StartCluster two, of which one may be killed.
//
// No distribution has a package of Kafka. Its JARs come from Maven, once for each user and version (Fetch). Where
// neither a broker nor the JARs are to be had, tests are skipped and say why; with CI=true they fail. Nothing that is
// started here outlives the process that started it, however that ends.
package kafkatest
