package collect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// catFiles are read at once, in this order: the clock first, as in a sampler's
// frame.
func catFiles() []string {
	return []string{
		"/proc/uptime", "/proc/sys/net/core/somaxconn", "/proc/net/netstat", "/proc/net/snmp", "/proc/net/tcp", "/proc/net/tcp6",
	}
}

const (
	// maxCat bounds what is read of one cat: a row of /proc/net/tcp has 150 bytes,
	// and all connections of a busy server are among them.
	maxCat = 64 << 20
	// maxCatLine bounds a line of it; the longest are the names of netstat.
	maxCatLine = 16 << 10
	// maxCatRows bounds the listening sockets that are kept.
	maxCatRows = 4096
)

// followCat samples a container that has no shell: one cat for each frame.
func (f *execFollower) followCat(ctx context.Context, w way) error {
	for {
		begun := time.Now()
		frame, err := f.cat(ctx, w.container)
		if err != nil {
			return err
		}
		f.deliver(w, frame)
		if err := pause(ctx, f.execer.interval()-time.Since(begun)); err != nil {
			return err
		}
	}
}

func (f *execFollower) cat(ctx context.Context, container string) (parse.Frame, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	out, in := io.Pipe()
	said := &words{}
	type result struct {
		files catText
		err   error
	}
	read := make(chan result, 1)
	go func() {
		files, err := readCat(out)
		if err != nil {
			cancel() // of no use any more
		}
		_ = out.CloseWithError(io.ErrClosedPipe)
		read <- result{files, err}
	}()
	err := f.execer.run(ctx, command{
		namespace: f.pod.Namespace, pod: f.pod.Name, container: container,
		words: append([]string{"cat"}, catFiles()...), stdout: in, stderr: said,
	})
	_ = in.Close()
	got := <-read
	if got.err != nil {
		return parse.Frame{}, got.err
	}
	// cat goes on after a file that is not there, and ends with 1.
	if _, exited := exitCode(err); err != nil && (!exited || !got.files.tables()) {
		if text := said.line(); text != "" {
			return parse.Frame{}, &saidError{err: err, said: text}
		}
		return parse.Frame{}, err
	}
	if !got.files.tables() {
		return parse.Frame{}, errors.New("cat printed neither /proc/net/tcp nor /proc/net/tcp6")
	}
	got.files.note("there is no shell in container " + container + ": depths are from /proc/net/tcp, which does not tell limits and drops")
	if text := said.line(); text != "" {
		got.files.note("cat says: " + answer(nil, text))
	}
	return parse.NewFrameReader(strings.NewReader(got.files.frame())).Next()
}

// catText is what one cat of catFiles printed, by file.
type catText struct {
	uptime, somaxconn string
	netstat, snmp     []string
	tcp, tcp6         []string
	sawTCP, sawTCP6   bool
	notes             []string
	rows, all         int
}

func (c *catText) note(text string) { c.notes = append(c.notes, text) }

// tables says whether a table of sockets was there at all.
func (c *catText) tables() bool { return c.sawTCP || c.sawTCP6 }

// readCat sorts the lines of several files that follow each other without a
// mark, by their form. It keeps no more than the listening sockets: the rest of
// a table is thrown away as it comes.
func readCat(r io.Reader) (catText, error) {
	var c catText
	var table *[]string
	cut := false // the line is longer than the buffer
	in := bufio.NewReaderSize(r, maxCatLine)
	for {
		line, err := in.ReadSlice('\n')
		if c.all += len(line); c.all > maxCat {
			return c, fmt.Errorf("the tables of sockets are larger than %d MiB", maxCat>>20)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			cut = true
			continue
		case cut && err == nil:
			cut = false // this was the rest of it
			continue
		case errors.Is(err, io.EOF) && len(line) == 0:
			return c, nil
		case err != nil && !errors.Is(err, io.EOF):
			return c, fmt.Errorf("reading what cat prints: %w", err)
		}
		table = c.line(strings.TrimRight(string(line), "\r\n"), table)
	}
}

// line takes one line, and gives the table that the next one may be a row of.
func (c *catText) line(line string, table *[]string) *[]string {
	fields := strings.Fields(line)
	switch {
	case len(fields) == 0:
	case fields[0] == "sl" && len(fields) > 3 && fields[2] == "remote_address":
		c.sawTCP6, table = true, &c.tcp6
		*table = append(*table, line)
	case fields[0] == "sl" && len(fields) > 3:
		c.sawTCP, table = true, &c.tcp
		*table = append(*table, line)
	case table != nil && strings.HasSuffix(fields[0], ":"):
		if len(fields) < 4 || fields[3] != "0A" {
			break
		}
		if c.rows++; c.rows <= maxCatRows {
			*table = append(*table, line)
		} else if c.rows == maxCatRows+1 {
			c.note(fmt.Sprintf("only %d listening sockets are shown", maxCatRows))
		}
	case fields[0] == "TcpExt:" && len(c.netstat) < 2:
		c.netstat = append(c.netstat, line)
	case fields[0] == "Tcp:" && len(c.snmp) < 2:
		c.snmp = append(c.snmp, line)
	case len(fields) == 2 && c.uptime == "" && isDecimal(fields[0]) && isDecimal(fields[1]):
		c.uptime = fields[0]
	case len(fields) == 1 && c.somaxconn == "" && isDecimal(fields[0]):
		c.somaxconn = fields[0]
	}
	return table
}

// frame writes a frame as the sampler would have. Every line in it has been
// recognised as one of /proc's, so that none can be a mark.
func (c *catText) frame() string {
	var b strings.Builder
	fmt.Fprintf(&b, "==backlog-frame/1 begin seq=1 uptime=%s==\n", c.uptime)
	section := func(name string, there bool, lines []string) {
		if !there {
			return
		}
		fmt.Fprintf(&b, "==backlog-section %s==\n", name)
		for _, l := range lines {
			b.WriteString(l + "\n")
		}
	}
	section("note", len(c.notes) > 0, c.notes)
	section("tcp", c.sawTCP, c.tcp)
	section("tcp6", c.sawTCP6, c.tcp6)
	section("netstat", len(c.netstat) > 0, c.netstat)
	section("snmp", len(c.snmp) > 0, c.snmp)
	section("somaxconn", c.somaxconn != "", []string{c.somaxconn})
	b.WriteString("==backlog-frame/1 end seq=1==\n")
	return b.String()
}

// isDecimal: digits, and at most one point among them.
func isDecimal(s string) bool {
	points := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.' && i > 0:
			points++
		case c < '0' || c > '9':
			return false
		}
	}
	return s != "" && points <= 1 && len(s) <= 32
}
