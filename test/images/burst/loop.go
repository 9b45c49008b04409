package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// result counts connections by how they ended; the ends add up to Opened unless the run
// was interrupted.
type result struct {
	// Opened is the number of connection attempts.
	Opened int `json:"opened"`
	// OK got an answer; with -connect-only and -fill: were established.
	OK int `json:"ok"`
	// Timeouts were not established in time, as when the accept queue is full.
	Timeouts int `json:"timeouts"`
	// Unanswered were established and then heard nothing in time.
	Unanswered int `json:"unanswered"`
	// Refused met no listener.
	Refused int `json:"refused"`
	// Broken were reset or closed before an answer.
	Broken int `json:"broken"`
	// Other failed here, as for lack of descriptors.
	Other int `json:"other"`
	// LastError explains the newest of Other.
	LastError string `json:"lastError,omitempty"`
	// Seconds is the time from the first connection to the last end.
	Seconds float64 `json:"seconds"`
}

type state int

const (
	connecting state = iota
	waiting          // for the answer
	standing         // held by -fill
)

type conn struct {
	fd       int
	state    state
	deadline time.Time
}

// loop drives all connections from one thread with epoll.
type loop struct {
	config
	epoll  int
	to     unix.Sockaddr
	family int
	conns  map[int]*conn
	result result
}

func newLoop(c config) (*loop, error) {
	l := &loop{config: c, conns: map[int]*conn{}, family: unix.AF_INET}
	if a := c.addr.Addr().Unmap(); a.Is4() {
		l.to = &unix.SockaddrInet4{Port: int(c.addr.Port()), Addr: a.As4()}
	} else {
		l.family = unix.AF_INET6
		l.to = &unix.SockaddrInet6{Port: int(c.addr.Port()), Addr: a.As16()}
	}
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("opening epoll: %w", err)
	}
	return l, nil
}

func (l *loop) close() {
	for _, c := range l.conns {
		unix.Close(c.fd)
	}
	unix.Close(l.epoll)
}

// bursts opens connections at each tick until the time is over, then waits for the last.
func (l *loop) bursts(ctx context.Context) error {
	start := time.Now()
	next := start
	for ctx.Err() == nil {
		now := time.Now()
		more := next.Sub(start) < l.total || l.result.Opened == 0
		if more && !now.Before(next) {
			l.open(l.size)
			// A tick that was missed is not made up for: the bound is on the rate too.
			for !next.After(now) {
				next = next.Add(l.every)
			}
			continue
		}
		if !more && len(l.conns) == 0 {
			break
		}
		until := now.Add(l.every)
		if more {
			until = next
		}
		if err := l.step(until); err != nil {
			return err
		}
	}
	return nil
}

// fill opens the connections and returns when each stands or has failed.
func (l *loop) fill(ctx context.Context) error {
	l.open(l.config.fill)
	for ctx.Err() == nil && l.pending() {
		if err := l.step(time.Now().Add(l.timeout)); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) pending() bool {
	for _, c := range l.conns {
		if c.state != standing {
			return true
		}
	}
	return false
}

func (l *loop) open(n int) {
	deadline := time.Now().Add(l.timeout)
	for range n {
		l.result.Opened++
		fd, err := unix.Socket(l.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			l.other(err)
			continue
		}
		err = unix.Connect(fd, l.to)
		if err != nil && !errors.Is(err, unix.EINPROGRESS) {
			unix.Close(fd)
			l.count(err)
			continue
		}
		event := unix.EpollEvent{Events: unix.EPOLLOUT, Fd: int32(fd)}
		if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
			unix.Close(fd)
			l.other(err)
			continue
		}
		l.conns[fd] = &conn{fd: fd, deadline: deadline}
	}
}

// step waits for events until the given time or the next deadline and handles them.
func (l *loop) step(until time.Time) error {
	for _, c := range l.conns {
		if c.state != standing && c.deadline.Before(until) {
			until = c.deadline
		}
	}
	// Rounded up, so that a deadline has passed when the wait ends; at most 100 ms, so
	// that an interrupt is seen.
	wait := min(time.Until(until)+time.Millisecond, 100*time.Millisecond)
	events := make([]unix.EpollEvent, 256)
	n, err := unix.EpollWait(l.epoll, events, int(max(wait, 0).Milliseconds()))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("waiting for connections: %w", err)
	}
	for i := range max(n, 0) {
		if c := l.conns[int(events[i].Fd)]; c != nil {
			l.handle(c)
		}
	}
	now := time.Now()
	for _, c := range l.conns {
		if c.state == standing || now.Before(c.deadline) {
			continue
		}
		if c.state == connecting {
			l.result.Timeouts++
		} else {
			l.result.Unanswered++
		}
		l.end(c)
	}
	return nil
}

func (l *loop) handle(c *conn) {
	switch c.state {
	case connecting:
		code, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && code != 0 {
			err = unix.Errno(code)
		}
		if err != nil {
			l.count(err)
			l.end(c)
			return
		}
		l.established(c)
	case waiting:
		var buf [512]byte
		n, err := unix.Read(c.fd, buf[:])
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			return
		case n > 0:
			l.result.OK++
		default:
			l.result.Broken++
		}
		l.end(c)
	case standing:
		// Whatever the server does, the connection stays until the hold is over.
	}
}

func (l *loop) established(c *conn) {
	if l.config.fill > 0 {
		c.state = standing
		l.result.OK++
		_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, c.fd, nil)
		return
	}
	if l.silent {
		l.result.OK++
		l.end(c)
		return
	}
	request := fmt.Sprintf("GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", l.addr)
	if _, err := unix.Write(c.fd, []byte(request)); err != nil {
		l.count(err)
		l.end(c)
		return
	}
	c.state = waiting
	c.deadline = time.Now().Add(l.timeout)
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(c.fd)}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_MOD, c.fd, &event); err != nil {
		l.other(err)
		l.end(c)
	}
}

func (l *loop) end(c *conn) {
	unix.Close(c.fd)
	delete(l.conns, c.fd)
}

func (l *loop) count(err error) {
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		l.result.Refused++
	case errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EPIPE):
		l.result.Broken++
	case errors.Is(err, unix.ETIMEDOUT):
		l.result.Timeouts++
	default:
		l.other(err)
	}
}

func (l *loop) other(err error) {
	l.result.Other++
	l.result.LastError = err.Error()
}
