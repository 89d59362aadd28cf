package cli

// A server links every driver.
import (
	_ "github.com/taskerhq/tasker/embedded/kafka"
	_ "github.com/taskerhq/tasker/embedded/postgres"
	_ "github.com/taskerhq/tasker/embedded/rabbitmq"
	_ "github.com/taskerhq/tasker/embedded/redis"
	_ "github.com/taskerhq/tasker/embedded/s3"
)
