package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
)

// Order is the context of a task.
type Order struct {
	ID      string `json:"id"`
	Item    string `json:"item"`
	Cents   int    `json:"cents"`
	Address string `json:"address"`
}

// Payment is the result of the step charge.
type Payment struct {
	Cents int `json:"cents"`
}

// Shop is the outside world: a stock, a bank, a carrier and a mailbox. Its methods are the handlers of the steps.
//
// An attempt may be repeated: a worker that dies after the bank's answer leaves no result. So every outside call
// carries the task's UUID, and repeating it has no effect. Real banks and carriers take such a key, too.
type Shop struct {
	mu       sync.Mutex
	stock    map[string]int
	reserved map[uuid.UUID]string
	paid     map[uuid.UUID]int
	shipped  map[uuid.UUID]string
	mails    []string
}

// NewShop returns a shop with a stock.
func NewShop(stock map[string]int) *Shop {
	return &Shop{stock: stock, reserved: map[uuid.UUID]string{}, paid: map[uuid.UUID]int{},
		shipped: map[uuid.UUID]string{}}
}

// Register gives the handlers to a worker.
func (s *Shop) Register(w *worker.Worker) {
	worker.Handle(w, "order.reserve", s.reserve)
	worker.Handle(w, "order.charge", s.charge)
	worker.Handle(w, "order.ship", s.ship)
	worker.Handle(w, "order.release", s.release)
	w.Handle("order.refund", s.refund)
	worker.Handle(w, "order.tell", s.tell)
}

func (s *Shop) reserve(ctx context.Context, o Order) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := worker.JobFrom(ctx).TaskUUID
	if _, done := s.reserved[id]; done {
		return o.Item, nil
	}
	if s.stock[o.Item] == 0 {
		return "", worker.NonRetryable(&tasker.Failure{Code: "out_of_stock", Message: "no " + o.Item + " is left"})
	}
	s.stock[o.Item]--
	s.reserved[id] = o.Item
	return o.Item, nil
}

func (s *Shop) charge(ctx context.Context, o Order) (Payment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paid[worker.JobFrom(ctx).TaskUUID] = o.Cents
	return Payment{o.Cents}, nil
}

// An unserved address is retryable: the template says how often.
func (s *Shop) ship(ctx context.Context, o Order) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Address == "moon" {
		return "", fmt.Errorf("the carrier does not go to the %s", o.Address)
	}
	s.shipped[worker.JobFrom(ctx).TaskUUID] = o.Address
	return "parcel " + o.ID, nil
}

func (s *Shop) release(ctx context.Context, o Order) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := worker.JobFrom(ctx).TaskUUID
	if item, held := s.reserved[id]; held {
		s.stock[item]++
		delete(s.reserved, id)
	}
	return o.Item, nil
}

// refund reads what was paid from the result of the step that it undoes.
func (s *Shop) refund(_ context.Context, job *worker.Job) (any, error) {
	paid, err := worker.ParentResult[Payment](job, "charge")
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.paid, job.TaskUUID)
	return paid, nil
}

func (s *Shop) tell(_ context.Context, o Order) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mail := "order " + o.ID + " was not possible"
	s.mails = append(s.mails, mail)
	return mail, nil
}
