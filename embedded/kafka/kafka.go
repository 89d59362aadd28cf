// Package kafka links the driver "kafka" of sources, of dead letters and of tasks, into a program with the embedded
// engine:
//
//	import _ "github.com/taskerhq/tasker/embedded/kafka"
package kafka

import (
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/kafka"
)

func init() { driver.Register("kafka", kafka.Open) }
