package model

import (
	"net"
	"strconv"
)

// Role says what a listener is for, as far as the pod's proxy tells.
type Role string

// The roles of listeners. RoleApp is any listener that no adapter claims.
const (
	RoleInbound  Role = "inbound"
	RoleOutbound Role = "outbound"
	RoleAdmin    Role = "admin"
	RoleTap      Role = "tap"
	RoleApp      Role = "app"
)

// Socket is one listening socket: one accept queue.
type Socket struct {
	// Address is the local address without the port: "0.0.0.0", "*" (dual
	// stack), "::", "127.0.0.1". Interface is what follows a "%", if anything.
	Address   string `json:"-"`
	Interface string `json:"-"`
	Port      uint16 `json:"-"`
	// Inode identifies the socket: its drop count restarts when it changes.
	// Read with ss -e or from /proc/net/tcp; unknown otherwise.
	Inode Value[uint64] `json:"inode"`
	// Depth is the number of connections that wait to be accepted (Recv-Q).
	Depth Value[int64] `json:"depth"`
	// Limit is the backlog in force (Send-Q): min(asked, somaxconn), taken when
	// listen() was called. The queue holds Limit+1 before the kernel refuses.
	Limit Value[int64] `json:"limit"`
	// Drops is the socket's own drop count, skmem's d. It restarts at 0 with the
	// socket, and counts 2 for an overflow at the last ACK: a weight for the
	// namespace's counter, not an exact count.
	Drops Value[int64] `json:"drops"`
	// Owners are the holders of the socket, only where ss -p may look.
	Owners []Owner `json:"owners,omitempty"`
}

// Place is where a socket listens: what it is known by from one sample to the
// next where there is no inode, and what SO_REUSEPORT siblings share.
type Place struct {
	Address, Interface string
	Port               uint16
}

// Place of the socket.
func (s *Socket) Place() Place { return Place{s.Address, s.Interface, s.Port} }

// Place of the listener.
func (l *Listener) Place() Place { return Place{l.Address, l.Interface, l.Port} }

// Owner is a process that holds a socket.
type Owner struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
	FD   int    `json:"fd"`
}

// Listener is an address that accepts connections: one socket, or several
// equal ones with SO_REUSEPORT, each with a queue of its own.
type Listener struct {
	Address   string   `json:"address"`
	Interface string   `json:"interface,omitempty"`
	Port      uint16   `json:"port"`
	Role      Role     `json:"role"`
	Sockets   []Socket `json:"sockets"`
	// Window is what happened to this listener between two samples.
	Window ListenerWindow `json:"window"`
	// Waiting is who waits in the accept queue, nil when nobody does or it was not
	// asked.
	Waiting *Waiting `json:"waiting,omitempty"`
}

// String gives the address in the usual form: 0.0.0.0:4143, *:80, [::]:80.
func (l Listener) String() string {
	host := l.Address
	port := strconv.Itoa(int(l.Port))
	if net.ParseIP(host) != nil && !isIPv4(host) {
		host = "[" + host + "]"
	}
	if l.Interface != "" {
		host += "%" + l.Interface
	}
	return host + ":" + port
}

func isIPv4(s string) bool { ip := net.ParseIP(s); return ip != nil && ip.To4() != nil && !hasColon(s) }

func hasColon(s string) bool {
	for i := range len(s) {
		if s[i] == ':' {
			return true
		}
	}
	return false
}

// Worst is the socket with the least room left: the one that refuses next.
// Depths of SO_REUSEPORT sockets are never added up, since one full queue
// among empty ones refuses connections all the same. It is the zero Socket for
// a listener without sockets.
func (l Listener) Worst() Socket {
	if len(l.Sockets) == 0 {
		return Socket{}
	}
	worst := 0
	for i := 1; i < len(l.Sockets); i++ {
		if fill(&l.Sockets[i]) > fill(&l.Sockets[worst]) {
			worst = i
		}
	}
	return l.Sockets[worst]
}

// fill orders sockets by how full they are; one of unknown limit is ordered by
// its depth alone, below any that is known to be full.
func fill(s *Socket) float64 {
	depth, ok := s.Depth.Get()
	if !ok {
		return -1
	}
	limit, ok := s.Limit.Get()
	if !ok {
		return float64(depth) / (1 << 20)
	}
	return float64(depth) / float64(limit+1)
}

// GroupSockets turns sockets, in the order in which they were read, into
// listeners: sockets that share address, interface and port are SO_REUSEPORT
// siblings and become one listener. The roles are left empty.
func GroupSockets(sockets []Socket) []Listener {
	at := make(map[Place]int, len(sockets))
	var listeners []Listener
	for _, s := range sockets {
		k := s.Place()
		i, seen := at[k]
		if !seen {
			i = len(listeners)
			at[k] = i
			listeners = append(listeners, Listener{Address: s.Address, Interface: s.Interface, Port: s.Port})
		}
		listeners[i].Sockets = append(listeners[i].Sockets, s)
	}
	return listeners
}
