package parse

import (
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	procLimit = "read from /proc/net/tcp, which does not tell the limit"
	procDrops = "read from /proc/net/tcp, which does not tell the socket's drops"
	procInode = "/proc/net/tcp told no inode"
)

// ProcTCP reads the listening sockets (state 0A) from /proc/net/tcp or
// /proc/net/tcp6. rx_queue is the depth; tx_queue is always 0 for a listener,
// so the limit is unknown. Addresses are 32-bit words in the byte order of the
// machine, taken to be little-endian as on all but a few (s390x).
//
// Whether a socket on :: also takes IPv4 is not told: it is "::" here where ss
// says "*".
//
// The kernel lists all listening sockets before any other, so a text that was
// cut after the first row of another state lacks nothing.
func ProcTCP(text string) ([]model.Socket, []error) {
	return procTCP("/proc/net/tcp", text)
}

func procTCP(what, text string) ([]model.Socket, []error) {
	p := problems{what: what}
	var sockets []model.Socket
	for n := 1; text != ""; n++ {
		var line string
		line, text = cutLine(text)
		slot, rest := cutField(line)
		if slot == "" || slot == "sl" { // the header
			continue
		}
		local, rest := cutField(rest)
		_, rest = cutField(rest) // the peer
		state, rest := cutField(rest)
		if len(state) != 2 || !strings.HasSuffix(slot, ":") {
			p.add(n, line, "not a row of /proc/net/tcp")
			continue
		}
		if state != "0A" {
			continue
		}
		s, problem := procListener(local, rest)
		if problem != "" {
			p.add(n, line, problem)
			continue
		}
		sockets = append(sockets, s)
	}
	return sockets, p.errors()
}

// procListener reads a row whose fields before and at the state were taken off.
func procListener(local, rest string) (s model.Socket, problem string) {
	address, port, ok := strings.Cut(local, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || len(port) != 4 {
		return s, "local port is not four hex digits"
	}
	s.Port = uint16(n)
	if s.Address, ok = hexAddress(address); !ok {
		return s, "local address is not 8 or 32 hex digits"
	}
	queues, rest := cutField(rest)
	_, rx, _ := strings.Cut(queues, ":")
	depth, err := strconv.ParseUint(rx, 16, 32)
	if err != nil {
		return s, "rx_queue is not a hex number"
	}
	s.Depth = model.Known(int64(depth))
	s.Limit = model.Unknown[int64](procLimit)
	s.Drops = model.Unknown[int64](procDrops)
	s.Inode = model.Unknown[uint64](procInode)
	for range 4 { // timer, retransmits, uid, timeout
		_, rest = cutField(rest)
	}
	inode, _ := cutField(rest)
	if n, err := strconv.ParseUint(inode, 10, 64); err == nil && n > 0 {
		s.Inode = model.Known(n)
	}
	return s, ""
}

// hexAddress reads 0100007F as 127.0.0.1, and four such words as IPv6.
func hexAddress(s string) (string, bool) {
	var b [16]byte
	n, err := hex.Decode(b[:], []byte(s[:min(len(s), 32)]))
	if err != nil || len(s) != 2*n {
		return "", false
	}
	for w := 0; w+4 <= n; w += 4 {
		b[w], b[w+1], b[w+2], b[w+3] = b[w+3], b[w+2], b[w+1], b[w]
	}
	switch n {
	case 4:
		return intern(netip.AddrFrom4([4]byte(b[:4])).String()), true
	case 16:
		return intern(netip.AddrFrom16(b).String()), true
	}
	return "", false
}
