// Package kafka is for applications that consume topics of Kafka: it redelivers failed events, remembers the failures
// across restarts, and sends events that fail for good to a dead letter topic, in a format that Tasker and other
// programs read. It uses franz-go.
//
// A [Consumer] is a member of a consumer group that runs a function for each event:
//
//	letters, err := kafka.OpenDeadLetters(kafka.DeadLetterOptions{
//		Kafka: []kgo.Opt{kgo.SeedBrokers("localhost:9092")}, Dir: "/var/lib/app/spool"})
//	...
//	consumer, err := kafka.NewConsumer(kafka.ConsumerOptions{
//		Kafka: []kgo.Opt{kgo.SeedBrokers("localhost:9092")}, Group: "billing", Topics: []string{"orders"},
//		Handler: func(ctx context.Context, event *kgo.Record) error { return charge(ctx, event.Value) },
//		Letters: letters,
//	})
//	...
//	err = consumer.Run(ctx)
//
// An application with its own loop calls [DeadLetters.SendToDLQ] for an event that failed for good, and commits the
// offset after it returned nil.
//
// # Delivery
//
// Delivery is at least once. Events of a partition run one after another, in order, and partitions run concurrently. A
// failed event runs again before later ones; other partitions continue. The number of its failures is stored with the
// group's committed offset until it succeeds, so it survives a restart and moves with the partition to another member.
// After a crash, the beginnings of attempts are stored as well, so that an event which ends its process becomes a dead
// letter too.
//
// An offset is committed when all events before it have succeeded or are dead letters. A dead letter that Kafka does
// not take goes to files, the spool, and is sent later, even by the next process. When the spool is full, the partition
// waits. Nothing is skipped, and nothing ends the consumer.
//
// # Reading
//
// The package contains no engine and no database driver. Begin with consumer.go, then partition.go and progress.go;
// dead_letters.go sends, letter.go has the format.
package kafka
