// Package topics is the compatibility family /api/v1/dlq/stats, messages, topics, retry and retry-policy: dead letters
// as messages of a dead letter topic, in the words of processors of such topics. It is a thin view: what it shows and
// does is what the inbox has and does. The JSON types are in package deadletters.
package topics
