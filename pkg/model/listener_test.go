package model

import "testing"

func socket(address string, port uint16, inode uint64, depth, limit, drops int64) Socket {
	return Socket{
		Address: address, Port: port, Inode: Known(inode),
		Depth: Known(depth), Limit: Known(limit), Drops: Known(drops),
	}
}

// SO_REUSEPORT shows as equal rows: they are one listener with several queues.
func TestReuseportRowsBecomeOneListener(t *testing.T) {
	got := GroupSockets([]Socket{
		socket("0.0.0.0", 80, 1, 0, 8, 0),
		socket("127.0.0.1", 9000, 2, 0, 8, 0),
		socket("0.0.0.0", 80, 3, 9, 8, 12),
		socket("0.0.0.0", 80, 4, 0, 8, 0),
	})
	if len(got) != 2 || len(got[0].Sockets) != 3 || got[1].Port != 9000 {
		t.Fatalf("listeners = %+v", got)
	}
	if worst := got[0].Worst(); worst.Inode != Known[uint64](3) {
		t.Errorf("worst = %+v, want the full socket and not a sum", worst)
	}
}

func TestWorst(t *testing.T) {
	unknownLimit := socket("*", 80, 9, 500, 0, 0)
	unknownLimit.Limit = Unknown[int64]("from /proc")
	unread := Socket{Depth: Unknown[int64]("refused")}
	full := socket("*", 80, 2, 9, 8, 0)
	for name, c := range map[string]struct {
		sockets []Socket
		want    Socket
	}{
		"none":                                     {nil, Socket{}},
		"relative, not absolute":                   {[]Socket{socket("*", 80, 1, 100, 4096, 0), full}, full},
		"a full one before one of unknown limit":   {[]Socket{unknownLimit, full}, full},
		"unknown limit before an empty queue":      {[]Socket{socket("*", 80, 1, 0, 128, 0), unknownLimit}, unknownLimit},
		"an unread one only when there is no more": {[]Socket{unread, socket("*", 80, 1, 0, 128, 0)}, socket("*", 80, 1, 0, 128, 0)},
	} {
		if got := (Listener{Sockets: c.sockets}).Worst(); got.Inode != c.want.Inode {
			t.Errorf("%s: worst = %+v, want %+v", name, got, c.want)
		}
	}
}

func TestListenerString(t *testing.T) {
	for want, l := range map[string]Listener{
		"0.0.0.0:80":       {Address: "0.0.0.0", Port: 80},
		"*:80":             {Address: "*", Port: 80},
		"[::]:80":          {Address: "::", Port: 80},
		"[fe80::1]%eth0:9": {Address: "fe80::1", Interface: "eth0", Port: 9},
		"*%lo:80":          {Address: "*", Interface: "lo", Port: 80},
	} {
		if got := l.String(); got != want {
			t.Errorf("String of %+v = %s, want %s", l, got, want)
		}
	}
}
