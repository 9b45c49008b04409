// Badserver is a TCP server with exact backlogs and bad habits, for tests of accept
// queues: it may accept slowly, a few times, or never.
//
// Each -listen is a socket of its own with the backlog that was asked for, which Go's
// net.Listen cannot do (it always asks for somaxconn). One thread a socket blocks in
// accept, so a connection leaves the queue when the behaviour says so and not before.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "badserver:", err)
		os.Exit(1)
	}
}

// config is what the command line asks for.
type config struct {
	listen    []endpoint
	reuseport int
	stuck     int
	life      time.Duration
	behaviour behaviour
}

// endpoint is one address with its own backlog.
type endpoint struct {
	addr netip.AddrPort
	// backlog is -1 where -backlog holds.
	backlog int
}

// parseEndpoint reads ADDR:PORT or ADDR:PORT/BACKLOG.
func parseEndpoint(text string) (endpoint, error) {
	hostport, depth, own := strings.Cut(text, "/")
	e := endpoint{backlog: -1}
	if own {
		n, err := strconv.ParseUint(depth, 10, 31)
		if err != nil {
			return e, fmt.Errorf("reading the backlog of %q: want a whole number after the slash", text)
		}
		e.backlog = int(n)
	}
	if rest, ok := strings.CutPrefix(hostport, ":"); ok {
		hostport = "0.0.0.0:" + rest
	}
	addr, err := netip.ParseAddrPort(hostport)
	if err != nil {
		return e, fmt.Errorf("reading the address %q: want ADDR:PORT or [ADDR6]:PORT, by number", text)
	}
	e.addr = addr
	return e, nil
}

func parseFlags(args []string, stderr io.Writer) (config, error) {
	var c config
	fs := flag.NewFlagSet("badserver", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Func("listen", "`ADDR:PORT[/BACKLOG]` to listen on; may be repeated", func(text string) error {
		e, err := parseEndpoint(text)
		c.listen = append(c.listen, e)
		return err
	})
	backlog := fs.Uint("backlog", 128, "backlog to ask for, where -listen names none")
	fs.IntVar(&c.reuseport, "reuseport", 1, "sockets for each address, with SO_REUSEPORT when more than 1")
	fs.IntVar(&c.stuck, "stuck", 0, "so many of each address's sockets never accept")
	fs.DurationVar(&c.behaviour.delay, "accept-delay", 0, "time that each socket sleeps before each accept but the first")
	never := fs.Bool("never-accept", false, "listen only")
	fs.IntVar(&c.behaviour.limit, "accept-n", -1, "each socket accepts so many connections, then none (-1: no end)")
	fs.BoolVar(&c.behaviour.hold, "hold", false, "keep accepted connections open and answer none")
	fs.DurationVar(&c.life, "for", 0, "end after this time (0: at SIGTERM)")
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	switch {
	case fs.NArg() > 0:
		return c, fmt.Errorf("reading arguments: %q is not a flag", fs.Arg(0))
	case len(c.listen) == 0:
		return c, errors.New("reading flags: give at least one -listen ADDR:PORT")
	case c.reuseport < 1 || c.reuseport > 64:
		return c, errors.New("reading flags: -reuseport takes 1 to 64")
	case c.stuck < 0 || c.stuck > c.reuseport:
		return c, errors.New("reading flags: -stuck takes 0 to the number of sockets (-reuseport)")
	}
	if *never {
		c.behaviour.limit = 0
	}
	for i := range c.listen {
		if c.listen[i].backlog < 0 {
			c.listen[i].backlog = int(min(*backlog, 1<<31-1))
		}
	}
	return c, nil
}

// run opens all sockets, says on stdout what listens where, ends that with "ready", and
// serves until ctx is done. The last line before it returns counts what was accepted.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	if c.life > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.life)
		defer cancel()
	}

	var sockets []*socket
	defer func() {
		for _, s := range sockets {
			s.close()
		}
	}()
	for _, e := range c.listen {
		for i := range c.reuseport {
			s, err := openSocket(e, c.reuseport > 1)
			if err != nil {
				return err
			}
			s.stuck = i < c.stuck
			sockets = append(sockets, s)
			// Port 0 takes any; the other sockets of the address then share it.
			e.addr = s.addr
			fmt.Fprintf(stdout, "listening on %s backlog %d\n", s.addr, e.backlog)
		}
	}
	fmt.Fprintln(stdout, "ready")

	// The first timer makes Go's runtime open its epoll descriptors; where none is left
	// by then, it ends the process.
	time.Sleep(time.Millisecond)
	acc := &acceptor{behaviour: c.behaviour}
	var running sync.WaitGroup
	for _, s := range sockets {
		if !s.stuck {
			running.Go(func() { acc.serve(ctx, s, stderr) })
		}
	}
	<-ctx.Done()
	// Shutdown wakes the threads that block in accept.
	for _, s := range sockets {
		s.wake()
	}
	running.Wait()
	fmt.Fprintf(stdout, "accepted %d\n", acc.accepted.Load())
	return nil
}
