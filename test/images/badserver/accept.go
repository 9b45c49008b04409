package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// answerTimeout bounds what one client may take.
const answerTimeout = 5 * time.Second

// behaviour is how connections are accepted and what becomes of them.
type behaviour struct {
	// delay passes before each accept but the first, for each socket on its own.
	delay time.Duration
	// limit is the number of connections that each socket accepts; negative: no end.
	limit int
	// hold keeps connections open without an answer.
	hold bool
}

// acceptor serves the sockets of one server.
type acceptor struct {
	behaviour
	accepted atomic.Int64

	mu   sync.Mutex
	held []int // descriptors
}

// serve accepts from one socket until ctx is done, or the limit is reached.
func (a *acceptor) serve(ctx context.Context, s *socket, stderr io.Writer) {
	for n := 0; a.limit < 0 || n < a.limit; {
		if n > 0 && !sleep(ctx, a.delay) {
			return
		}
		fd, err := s.accept()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			// Out of descriptors accept fails at once, again and again.
			fmt.Fprintf(stderr, "badserver: accepting on %s: %v\n", s.addr, err)
			if !sleep(ctx, 100*time.Millisecond) {
				return
			}
			continue
		}
		n++
		a.accepted.Add(1)
		if a.hold {
			// As it is: to hand it over to Go takes one descriptor more, for a moment.
			a.mu.Lock()
			a.held = append(a.held, fd)
			a.mu.Unlock()
			continue
		}
		conn, err := connOf(fd)
		if err != nil {
			fmt.Fprintf(stderr, "badserver: taking over a connection on %s: %v\n", s.addr, err)
			continue
		}
		go answer(conn)
	}
}

// connOf hands an accepted descriptor to the Go runtime; it closes fd.
func connOf(fd int) (net.Conn, error) {
	file := os.NewFile(uintptr(fd), "accepted")
	defer file.Close()
	return net.FileConn(file)
}

// answer reads one HTTP request and says "ok".
func answer(conn net.Conn) {
	defer conn.Close()
	if conn.SetDeadline(time.Now().Add(answerTimeout)) != nil {
		return
	}
	if _, err := http.ReadRequest(bufio.NewReader(io.LimitReader(conn, 8<<10))); err != nil {
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
}

// sleep returns false when ctx ended it.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
