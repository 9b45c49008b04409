package parse

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// maxInterface is the length of an interface's name in bytes (IFNAMSIZ without
// its end).
const maxInterface = 15

// Why a figure of a socket is unknown.
const (
	noExtended   = "ss was asked without -e"
	noInode      = "ss printed no inode"
	fellBack     = "ss printed Send-Q 0 and no skmem: the kernel refused sock_diag, and /proc/net/tcp does not tell the limit"
	noSkmem      = "ss printed no skmem: asked without -m, or the kernel refused sock_diag"
	skmemNoDrops = "this ss or kernel prints skmem without a drop count"
)

// ListenSockets reads the listening TCP sockets from output of ss, meant for
// ss -HOtnme state listening, or -HOltnme, with or without p. It takes what other
// versions and options print as well: a header, a column of protocols, details on
// a line of their own, more details than were asked for. Rows that are not of
// listening TCP sockets are passed over.
//
// ss falls back to /proc/net/tcp silently when the kernel refuses sock_diag: it
// then prints Send-Q 0 and no skmem, so the limit is unknown. A real backlog of
// 0 prints skmem.
func ListenSockets(text string) ([]model.Socket, []error) {
	p := ssReader{problems: problems{what: "ss"}}
	for line := 1; text != ""; {
		row, rest, lines := cutRow(text)
		p.row(row, line)
		line += lines
		text = rest
	}
	p.finish()
	return p.sockets, p.errors()
}

// ssReader gathers sockets row by row.
type ssReader struct {
	problems
	sockets []model.Socket
	// open says that the last socket's row may go on in a line of details.
	open bool
	// of the open socket:
	sendQ    int64
	skmem    bool
	extended bool
}

// cutRow splits off the first row. That is a line, unless a process name in it
// holds newlines, which ss prints as they are: a program may call itself
// "\n0 1 *:1 *:* " and must not become a socket by that.
func cutRow(text string) (row, rest string, lines int) {
	end := strings.IndexByte(text, '\n')
	if end < 0 {
		return text, "", 1
	}
	if at := usersAt(text[:end]); at >= 0 {
		if used, ok := scanUsers(text[at:], func(string, int, int) {}); ok && at+used > end {
			after := strings.IndexByte(text[at+used:], '\n')
			if after < 0 {
				return text, "", strings.Count(text, "\n") + 1
			}
			end = at + used + after
		}
	}
	return text[:end], text[end+1:], strings.Count(text[:end], "\n") + 1
}

func (p *ssReader) row(row string, line int) {
	first, rest := cutField(strings.TrimRight(row, "\r"))
	if first == "" {
		return
	}
	// Without -O the details stand on a line of their own that begins with a blank.
	if (row[0] == ' ' || row[0] == '\t') && first != "LISTEN" && !isDigits(first) {
		if p.open {
			p.details(row, line)
		}
		return
	}
	p.finish()
	if first == "tcp" || first == "tcp6" { // the column of protocols
		first, rest = cutField(rest)
	}
	state := first
	switch {
	case state == "LISTEN":
		first, rest = cutField(rest)
	case isDigits(state): // no column of states: asked for one state only
	case isHeader(state, rest), isOtherState(state), isOtherProtocol(state):
		return
	default:
		p.add(line, row, "not a row of ss")
		return
	}
	depth, ok := count(first)
	if !ok {
		p.add(line, row, "Recv-Q is not a number")
		return
	}
	field, rest := cutField(rest)
	sendQ, ok := count(field)
	if !ok {
		p.add(line, row, "Send-Q is not a number")
		return
	}
	local, rest := cutField(rest)
	peer, _ := cutField(rest)
	if peer == "" { // a torn row: the port may be torn too
		p.add(line, row, "row ends before the peer address")
		return
	}
	if state != "LISTEN" && !listensTo(peer) {
		return
	}
	s := model.Socket{Depth: model.Known(depth)}
	var msg string
	if s.Address, s.Interface, s.Port, msg = splitLocal(local); msg != "" {
		p.add(line, row, msg)
		return
	}
	p.sockets = append(p.sockets, s)
	p.open, p.sendQ, p.skmem, p.extended = true, sendQ, false, false
	p.details(rest, line)
}

// listensTo says whether a peer address is the "any" of a listening socket,
// with or without the process column stuck to it.
func listensTo(peer string) bool {
	peer, _, _ = strings.Cut(peer, usersOpen)
	return strings.HasSuffix(peer, ":*")
}

// details reads what follows the addresses, in any order.
func (p *ssReader) details(text string, line int) {
	s := &p.sockets[len(p.sockets)-1]
	if at := usersAt(text); at >= 0 {
		owners, used, ok := parseUsers(text[at:])
		if !ok {
			p.add(line, text[at:], "users is not a list of processes")
		}
		s.Owners = append(s.Owners, owners...)
		// What a process calls itself must not be read as a detail.
		p.plain(s, text[:at])
		text = text[at+used:]
	}
	p.plain(s, text)
}

// plain reads details that are words.
func (p *ssReader) plain(s *model.Socket, text string) {
	for {
		var word string
		if word, text = cutField(text); word == "" {
			return
		}
		key, value, ok := strings.Cut(word, ":")
		if !ok {
			continue
		}
		switch key {
		case "skmem":
			// The last one counts: skmem stands behind the path of the cgroup, which
			// is the only other word that somebody else may choose.
			p.skmem = true
			s.Drops = skmemDrops(value)
		case "ino":
			// A listening socket always has an inode, so a 0 is not one. The first
			// one counts: it stands before the path of the cgroup.
			if n, err := strconv.ParseUint(value, 10, 64); err == nil && n > 0 && !p.extended {
				s.Inode = model.Known(n)
			}
			p.extended = true
		case "sk":
			p.extended = true
		}
	}
}

// finish settles the last socket once all of its lines were read.
func (p *ssReader) finish() {
	if !p.open {
		return
	}
	p.open = false
	s := &p.sockets[len(p.sockets)-1]
	switch {
	case p.skmem || p.sendQ > 0:
		s.Limit = model.Known(p.sendQ)
	default:
		s.Limit = model.Unknown[int64](fellBack)
	}
	if !p.skmem {
		s.Drops = model.Unknown[int64](noSkmem)
	}
	if !s.Inode.IsKnown() {
		s.Inode = model.Unknown[uint64](noExtended)
		if p.extended {
			s.Inode = model.Unknown[uint64](noInode)
		}
	}
}

// skmemDrops reads the drop count from "(r0,rb131072,…,bl0,d277)". A list
// without its end is torn, and the last figure in it cannot be trusted.
func skmemDrops(list string) model.Value[int64] {
	if strings.HasPrefix(list, "(") && strings.HasSuffix(list, ")") {
		list = list[1 : len(list)-1]
		for list != "" {
			var item string
			item, list, _ = strings.Cut(list, ",")
			if !strings.HasPrefix(item, "d") {
				continue
			}
			if n, ok := count(item[1:]); ok {
				return model.Known(n)
			}
		}
	}
	return model.Unknown[int64](skmemNoDrops)
}

// splitLocal takes a local address apart: 0.0.0.0:80, *:80, [::]:80, :::80 (older
// ss), 0.0.0.0%lo:80, *%lo:80, [fe80::1]%eth0:80, [::ffff:127.0.0.1]:80.
func splitLocal(local string) (address, iface string, port uint16, problem string) {
	colon := strings.LastIndexByte(local, ':')
	if colon < 0 {
		return "", "", 0, "local address has no port"
	}
	n, err := strconv.ParseUint(local[colon+1:], 10, 16)
	if err != nil || n == 0 {
		return "", "", 0, "local port is not a number (ss needs -n)"
	}
	host := local[:colon]
	host, iface, hasIface := strings.Cut(host, "%")
	if strings.HasPrefix(host, "[") {
		host = strings.TrimSuffix(host[1:], "]")
		iface = strings.TrimSuffix(iface, "]") // [fe80::1%eth0]:80
	}
	if hasIface && (iface == "" || len(iface) > maxInterface) {
		return "", "", 0, "local address names no interface"
	}
	if host != "*" {
		if a, err := netip.ParseAddr(host); err != nil || a.Zone() != "" {
			return "", "", 0, "local address is not an IP address"
		}
	}
	return intern(host), strings.Clone(iface), uint16(n), ""
}

// intern copies, so that a socket in the history does not keep the whole frame;
// the addresses that nearly all listeners have cost nothing.
func intern(address string) string {
	switch address {
	case "0.0.0.0":
		return "0.0.0.0"
	case "*":
		return "*"
	case "::":
		return "::"
	case "127.0.0.1":
		return "127.0.0.1"
	}
	return strings.Clone(address)
}

func isHeader(first, rest string) bool {
	switch first {
	case "Recv-Q":
		return true
	case "State", "Netid":
		return strings.Contains(rest, "Recv-Q")
	}
	return false
}

func isOtherState(s string) bool {
	switch s {
	case "ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT",
		"CLOSE-WAIT", "LAST-ACK", "CLOSING", "CLOSED", "UNCONN", "NEW-SYN-RECV", "BOUND-INACTIVE":
		return true
	}
	return false
}

// isOtherProtocol knows the column of protocols for what is not TCP. The
// listener of an MPTCP socket has a TCP row as well.
func isOtherProtocol(s string) bool {
	switch s {
	case "udp", "udp6", "raw", "raw6", "mptcp", "sctp", "dccp", "tipc", "vsock", "xdp",
		"u_str", "u_dgr", "u_seq", "p_raw", "p_dgr", "nl", "icmp", "icmp6", "unix":
		return true
	}
	return false
}
