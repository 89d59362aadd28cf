package embedded_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
)

// An order and the task that ships it, in one transaction of the engine's SQLite: both are there, or neither.
func ExampleSubmitSQLite() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	client, err := embedded.Open(ctx, "memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	_, err = embedded.SubmitSQLite(ctx, client, func(tx *sql.Tx) error {
		_, err := tx.Exec(`CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT)`)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	order := func(item string) error {
		_, err := embedded.SubmitSQLite(ctx, client, func(tx *sql.Tx) error {
			if item == "" {
				return errors.New("order without an item")
			}
			_, err := tx.Exec(`INSERT INTO orders (item) VALUES (?)`, item)
			return err
		}, tasker.NewHandlerTask("ship", item))
		return err
	}
	fmt.Println(order("lamp"), order(""))
	tasks, err := client.Tasks(ctx, tasker.TaskFilter{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(tasks.Tasks), "task")
	// Output:
	// <nil> order without an item
	// 1 task
}
