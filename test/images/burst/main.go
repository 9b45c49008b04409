// Burst makes bounded load on a loopback address: so many connections at once, again and
// again, or a queue filled to an exact depth. It refuses every other address.
//
// One thread opens all connections of a burst before it looks at any answer, so that
// they reach the kernel within a few milliseconds: that is what overflows an accept queue
// between two samples.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Limits of what one run may do.
const (
	maxConns = 10_000
	maxFor   = 10 * time.Minute
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "burst:", err)
		os.Exit(1)
	}
}

// config is what the command line asks for.
type config struct {
	addr netip.AddrPort
	// size connections are opened at each tick.
	size  int
	every time.Duration
	total time.Duration
	// timeout holds for the connection and, on its own, for the answer.
	timeout time.Duration
	// silent connections send nothing and are closed once they stand.
	silent bool
	// fill, when not 0, is the number of connections to open once and hold.
	fill int
	hold time.Duration
}

func parseFlags(args []string, stderr io.Writer) (config, error) {
	var c config
	fs := flag.NewFlagSet("burst", flag.ContinueOnError)
	fs.SetOutput(stderr)
	addr := fs.String("addr", "", "loopback `ADDR:PORT` to connect to")
	fs.IntVar(&c.size, "n", 100, "connections in each burst")
	fs.DurationVar(&c.every, "every", time.Second, "time between bursts")
	fs.DurationVar(&c.total, "for", 5*time.Second, "time until the last burst")
	fs.DurationVar(&c.timeout, "timeout", time.Second, "time for each connection, and then for its answer")
	fs.BoolVar(&c.silent, "connect-only", false, "close each connection once it stands, without a request")
	fs.IntVar(&c.fill, "fill", 0, "open exactly so many connections once and hold them, sending nothing")
	fs.DurationVar(&c.hold, "hold", 10*time.Second, "how long -fill holds its connections")
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	if fs.NArg() > 0 {
		return c, fmt.Errorf("reading arguments: %q is not a flag", fs.Arg(0))
	}
	var err error
	if c.addr, err = loopback(*addr); err != nil {
		return c, err
	}
	switch {
	case c.size < 1 || c.size > maxConns:
		return c, fmt.Errorf("reading flags: -n takes 1 to %d", maxConns)
	case c.fill < 0 || c.fill > maxConns:
		return c, fmt.Errorf("reading flags: -fill takes 1 to %d", maxConns)
	case c.every < time.Millisecond:
		return c, errors.New("reading flags: -every takes 1ms or more")
	case c.total < 0 || c.total > maxFor || c.hold < 0 || c.hold > maxFor:
		return c, fmt.Errorf("reading flags: -for and -hold take up to %s", maxFor)
	case c.timeout < time.Millisecond || c.timeout > time.Minute:
		return c, errors.New("reading flags: -timeout takes 1ms to 1m")
	}
	return c, nil
}

// loopback reads an address by number and refuses what leaves this machine.
func loopback(text string) (netip.AddrPort, error) {
	addr, err := netip.ParseAddrPort(text)
	if err != nil {
		return addr, fmt.Errorf("reading -addr %q: want a loopback address by number, such as 127.0.0.1:8080 or [::1]:8080", text)
	}
	if !addr.Addr().Unmap().IsLoopback() {
		return addr, fmt.Errorf("refusing -addr %s: it is not a loopback address, and this program makes load on this machine only", text)
	}
	return addr, nil
}

// run prints one JSON line: with -fill as soon as the connections stand or have failed,
// otherwise at the end.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	l, err := newLoop(c)
	if err != nil {
		return err
	}
	defer l.close()
	start := time.Now()
	if c.fill > 0 {
		err = l.fill(ctx)
	} else {
		err = l.bursts(ctx)
	}
	l.result.Seconds = time.Since(start).Seconds()
	if encodeErr := json.NewEncoder(stdout).Encode(l.result); encodeErr != nil {
		return fmt.Errorf("writing the result: %w", encodeErr)
	}
	if err != nil || c.fill == 0 {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(c.hold):
	}
	return nil
}
