package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Process returns the process ID of the server of a URL, for measurements on its machine.
func Process(ctx context.Context, url string) (pid int, err error) {
	t, err := parseURL(url)
	if err != nil {
		return 0, err
	}
	d := &Dispatcher{option: t.option, timeout: t.timeout}
	d.configure()
	defer d.Close()
	client, err := d.connected()
	if err != nil {
		return 0, err
	}
	info, err := client.Do(ctx, client.B().Info().Section("server").Build()).ToString()
	if err != nil {
		return 0, fmt.Errorf("ask Redis for its process: %w", err)
	}
	for line := range strings.Lines(info) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), "process_id:"); found {
			return strconv.Atoi(text)
		}
	}
	return 0, fmt.Errorf("ask Redis for its process: %w", errAnswer)
}
