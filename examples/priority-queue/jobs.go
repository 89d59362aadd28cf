package main

import (
	"context"
	"fmt"
	"os"

	"github.com/taskerhq/tasker"
)

// Mail is the argument of the job "mail".
type Mail struct {
	To string `json:"to"`
}

func mail(_ context.Context, m Mail) (string, error) {
	fmt.Println("mail to", m.To)
	return "sent", nil
}

// Customer is the argument of the job "sync_crm".
type Customer struct {
	ID int `json:"id"`
}

// crmDown is a file. While it exists, the service of "sync_crm" is down.
const crmDown = "crm.down"

// syncCRM fails like a client of another service. An error is retried with back-off, as an exception in Sidekiq;
// NonRetryable would send the job to the inbox immediately.
func syncCRM(_ context.Context, c Customer) (string, error) {
	if _, err := os.Stat(crmDown); err == nil {
		return "", &tasker.Failure{Code: "crm_unavailable", Message: "the CRM answers 503", HTTPStatus: 503}
	}
	return fmt.Sprintf("customer %d is up to date", c.ID), nil
}
