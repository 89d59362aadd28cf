package rabbittest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// managementPort is the usual port of the HTTP API.
func managementPort(port int) int { return port + 10000 }

// Manage calls the HTTP API of the server of an AMQP URL. {vhost} in the path is the virtual host of the URL. A body is
// sent as JSON. The test fails if the server refuses.
func Manage(t testing.TB, amqpURL, method, path string, body any) json.RawMessage {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testserver.Patience)
	defer cancel()
	answer, err := call(ctx, amqpURL, method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func call(ctx context.Context, amqpURL, method, path string, body any) (json.RawMessage, error) {
	u, err := url.Parse(amqpURL)
	if err != nil {
		return nil, fmt.Errorf("the URL of RabbitMQ: %w", err)
	}
	base, err := management(amqpURL)
	if err != nil {
		return nil, err
	}
	var content io.Reader = http.NoBody
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(encoded)
	}
	path = strings.ReplaceAll(path, "{vhost}", url.PathEscape(VhostOf(amqpURL)))
	req, err := http.NewRequestWithContext(ctx, method, base+path, content)
	if err != nil {
		return nil, err
	}
	password, _ := u.User.Password()
	req.SetBasicAuth(u.User.Username(), password)
	req.Header.Set("Content-Type", "application/json")
	// A separate connection leaves nothing open behind a test.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the management of RabbitMQ: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: RabbitMQ answers %s: %s", method, path, resp.Status, answer)
	}
	return answer, err
}

// management returns the URL of the HTTP API, without credentials: ManagementVariable for the shared server, else the
// usual one.
func management(amqpURL string) (string, error) {
	u, err := url.Parse(amqpURL)
	if err != nil {
		return "", fmt.Errorf("the URL of RabbitMQ: %w", err)
	}
	shared, err := url.Parse(os.Getenv(Variable))
	if named := os.Getenv(ManagementVariable); named != "" && err == nil && shared.Host == u.Host {
		m, err := url.Parse(named)
		if err != nil {
			return "", fmt.Errorf("%s: %w", ManagementVariable, err)
		}
		m.User = nil
		return strings.TrimSuffix(m.String(), "/"), nil
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return "", fmt.Errorf("the URL of RabbitMQ has to be amqp://user:password@host:port/vhost")
	}
	return fmt.Sprintf("http://%s:%d", u.Hostname(), managementPort(port)), nil
}

// VhostOf returns the virtual host of an AMQP URL.
func VhostOf(amqpURL string) string {
	u, err := url.Parse(amqpURL)
	if err != nil || u.Path == "" || u.Path == "/" {
		return "/"
	}
	return strings.TrimPrefix(u.Path, "/")
}
