package collect

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/streaming/pkg/httpstream"
)

// RefusedConnectionError says that no process listens on a port of the pod.
type RefusedConnectionError struct{ Port uint16 }

// Error names the port.
func (e *RefusedConnectionError) Error() string {
	return fmt.Sprintf("nothing listens on %d in that pod", e.Port)
}

// ForwardError is what the kubelet or the container runtime says when it cannot
// forward to a pod.
type ForwardError struct{ Message string }

// Error is the message, word for word.
func (e *ForwardError) Error() string { return e.Message }

// streamConn makes a net.Conn of a pair of streams.
type streamConn struct {
	data, errors httpstream.Stream
	port         uint16
	forget       func() // takes the streams off the link
	broken       func() // closes the link
	done         chan struct{}

	closing sync.Once
	mu      sync.Mutex
	problem error // what the other side said, or a deadline
	timers  [2]*time.Timer
}

// readErrors waits for what the kubelet has to say, which is nothing unless the
// connection could not be made or broke.
func (c *streamConn) readErrors() {
	defer close(c.done)
	text, err := io.ReadAll(io.LimitReader(c.errors, 16<<10))
	message := strings.TrimSpace(string(text))
	switch {
	case strings.Contains(message, "connection refused"):
		c.fail(&RefusedConnectionError{Port: c.port})
	case message != "":
		// The sandbox is gone, or the runtime cannot forward: the link is of no
		// use for any later connection either.
		c.fail(&ForwardError{Message: message})
		c.broken()
	case err != nil:
		c.fail(err)
	}
}

// fail ends the connection; the first problem is the one that Read tells.
func (c *streamConn) fail(problem error) {
	c.mu.Lock()
	if c.problem == nil {
		c.problem = problem
	}
	c.mu.Unlock()
	_ = c.reset()
}

func (c *streamConn) reset() error {
	var err error
	c.closing.Do(func() {
		// Reset ends both directions at once, and a Read that waits.
		err = errors.Join(c.data.Reset(), c.errors.Reset())
		c.forget()
	})
	return err
}

func (c *streamConn) why(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problem != nil {
		return c.problem
	}
	return err
}

// Read tells what went wrong instead of an end of file: the data stream ends
// just before or after the words arrive on the error stream.
func (c *streamConn) Read(p []byte) (int, error) {
	n, err := c.data.Read(p)
	if err == nil || n > 0 {
		return n, err
	}
	select {
	case <-c.done:
	case <-time.After(100 * time.Millisecond):
	}
	return 0, c.why(err)
}

func (c *streamConn) Write(p []byte) (int, error) {
	n, err := c.data.Write(p)
	if err != nil {
		err = c.why(err)
	}
	return n, err
}

// Close ends the connection, not the link.
func (c *streamConn) Close() error {
	_ = c.SetDeadline(time.Time{})
	c.mu.Lock()
	if c.problem == nil {
		c.problem = net.ErrClosed
	}
	c.mu.Unlock()
	err := c.reset()
	<-c.done
	return err
}

// SetDeadline sets both deadlines. A connection whose deadline has passed is
// closed for good: a stream cannot be interrupted otherwise, and an HTTP
// connection is of no use after it anyway.
func (c *streamConn) SetDeadline(t time.Time) error {
	c.setTimer(0, t)
	c.setTimer(1, t)
	return nil
}

// SetReadDeadline is as SetDeadline, for reading.
func (c *streamConn) SetReadDeadline(t time.Time) error { c.setTimer(0, t); return nil }

// SetWriteDeadline is as SetDeadline, for writing.
func (c *streamConn) SetWriteDeadline(t time.Time) error { c.setTimer(1, t); return nil }

func (c *streamConn) setTimer(i int, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timers[i] != nil {
		c.timers[i].Stop()
		c.timers[i] = nil
	}
	if !at.IsZero() {
		c.timers[i] = time.AfterFunc(time.Until(at), func() { c.fail(os.ErrDeadlineExceeded) })
	}
}

// LocalAddr and RemoteAddr name the port; there are no addresses.
func (c *streamConn) LocalAddr() net.Addr  { return streamAddr(0) }
func (c *streamConn) RemoteAddr() net.Addr { return streamAddr(c.port) }

type streamAddr uint16

func (streamAddr) Network() string  { return "portforward" }
func (a streamAddr) String() string { return "pod:" + strconv.Itoa(int(a)) }
