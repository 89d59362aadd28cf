package testserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// FreePort finds a free TCP port on 127.0.0.1, below those that the kernel gives to clients: while a server is down, a
// client's connection could take its port.
func FreePort() (int, error) {
	for range 1000 {
		port := 10000 + rand.IntN(10000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("find a free port: 1000 were taken")
}
