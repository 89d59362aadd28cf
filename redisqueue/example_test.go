package redisqueue_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/redisqueue"
)

// An application takes jobs from a list until it is stopped.
func Example() {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	letters, err := redisqueue.OpenDeadLetters(redisqueue.DeadLetterOptions{
		Client: client, Dir: "/var/lib/detector/spool"})
	if err != nil {
		log.Fatal(err)
	}
	defer letters.Close() // waiting letters are on disk

	consumer, err := redisqueue.NewConsumer(redisqueue.ConsumerOptions{
		Client: client,
		Queue:  "detection_queue",
		HandlerOptions: redisqueue.HandlerOptions{
			Letters:       letters,
			ContextQueues: []string{"detection_queue", "analysis_queue"},
		},
		Handler: func(_ context.Context, job redisqueue.Job) (any, error) {
			if len(job.Payload) == 0 {
				return nil, redisqueue.Permanent(errors.New("the job is empty"))
			}
			return nil, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := consumer.Run(ctx); err != nil {
		log.Print(err)
	}
}

// The delays after four attempts, without their jitter.
func ExampleRetryPolicy_Delay() {
	p := redisqueue.RetryPolicy{MaxAttempts: 5, NoJitter: true}
	for n := 1; n < p.MaxAttempts; n++ {
		fmt.Println(p.Delay(n, 0))
	}
	// Output:
	// 1s
	// 2s
	// 4s
	// 8s
}
