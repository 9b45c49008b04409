package parse

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// What ss really prints, with the options of each file's name: the same eleven
// sockets every time, held by processes that call themselves rows of ss.
func TestListenSocketsRecorded(t *testing.T) {
	recorded(t, "ss/*.txt", func(t *testing.T, file, text string) {
		sockets, errs := ListenSockets(text)
		golden(t, strings.TrimSuffix(file, "txt")+"golden", showSockets(sockets, errs))
	})
}

// Whatever ss was asked for, it tells of the same sockets.
func TestListenSocketsSameWithAllOptions(t *testing.T) {
	reference, _ := ListenSockets(readFile(t, "testdata/ss/HOltnm.txt"))
	recorded(t, "ss/*.txt", func(t *testing.T, file, text string) {
		if strings.Contains(file, "linkerd") {
			t.Skip("recorded elsewhere")
		}
		// The fall-back loses the interface and tells "::" from "*" no more.
		fallback := strings.Contains(file, "fallback")
		sockets, errs := ListenSockets(text)
		wantErrors(t, errs)
		if len(sockets) != len(reference) {
			t.Fatalf("%d sockets, want %d", len(sockets), len(reference))
		}
		for i, s := range sockets {
			want := reference[i]
			if s.Port != want.Port || s.Depth != want.Depth {
				t.Errorf("socket %d: port %d depth %s, want %d and %s", i, s.Port, show(s.Depth), want.Port, show(want.Depth))
			}
			if !fallback && (s.Address != want.Address || s.Interface != want.Interface) {
				t.Errorf("port %d is at %q %q, want %q %q", s.Port, s.Address, s.Interface, want.Address, want.Interface)
			}
			if limit, ok := s.Limit.Get(); ok && s.Limit != want.Limit {
				t.Errorf("port %d: limit %d, want %s", s.Port, limit, show(want.Limit))
			} else if ok && fallback {
				t.Errorf("port %d: limit %d, but /proc/net/tcp tells none", s.Port, limit)
			}
		}
	})
}

func TestListenSocketsRows(t *testing.T) {
	const skmem = " skmem:(r0,rb131072,t0,tb16384,f0,w0,o0,bl0,d7)"
	for _, test := range []struct {
		name, row string
		address   string
		iface     string
		port      uint16
		limit     string
		drops     string
		inode     string
		owners    int
		depth     string
	}{
		{name: "with skmem", row: "LISTEN 3 128 0.0.0.0:80 0.0.0.0:*" + skmem, address: "0.0.0.0", port: 80, depth: "3", limit: "128", drops: "7", inode: "?(ss was asked without -e)"},
		{name: "backlog 0 with skmem is a real one", row: "LISTEN 0 0 0.0.0.0:80 0.0.0.0:*" + skmem, address: "0.0.0.0", port: 80, depth: "0", limit: "0", drops: "7", inode: "?(ss was asked without -e)"},
		{name: "Send-Q 0 without skmem is the fall-back", row: "LISTEN 1 0 0.0.0.0:80 0.0.0.0:*", address: "0.0.0.0", port: 80, depth: "1", limit: "?(" + fellBack + ")", drops: "?(" + noSkmem + ")", inode: "?(ss was asked without -e)"},
		{name: "older skmem has no d", row: "LISTEN 0 5 0.0.0.0:80 0.0.0.0:* skmem:(r0,rb87380,t0,tb16384,f0,w0,o0,bl0)", address: "0.0.0.0", port: 80, depth: "0", limit: "5", drops: "?(" + skmemNoDrops + ")", inode: "?(ss was asked without -e)"},
		{name: "old mem is not skmem", row: "LISTEN 0 5 0.0.0.0:80 0.0.0.0:* mem:(r0,w0,f0,t0)", address: "0.0.0.0", port: 80, depth: "0", limit: "5", drops: "?(" + noSkmem + ")", inode: "?(ss was asked without -e)"},
		{name: "torn skmem: d27 may be d277", row: "LISTEN 0 5 0.0.0.0:80 0.0.0.0:* skmem:(r0,rb1,t0,tb1,f0,w0,o0,bl0,d27", address: "0.0.0.0", port: 80, depth: "0", limit: "5", drops: "?(" + skmemNoDrops + ")", inode: "?(ss was asked without -e)"},
		{name: "a path of a cgroup that looks like details", row: `LISTEN 0 5 *:80 *:* uid:1000 ino:1150 sk:1 cgroup:/ ino:9 skmem:(d9) users:(("x",pid=1,fd=2)) <->` + skmem, address: "*", port: 80, depth: "0", limit: "5", drops: "7", inode: "1150"},
		{name: "inode 0", row: "LISTEN 0 5 *:80 *:* ino:0 sk:1 <->" + skmem, address: "*", port: 80, depth: "0", limit: "5", drops: "7", inode: "?(ss printed no inode)"},
		{name: "old ss writes :::80", row: "LISTEN 0 5 :::80 :::*" + skmem, address: "::", port: 80, depth: "0", limit: "5", drops: "7", inode: "?(ss was asked without -e)"},
		{name: "old ss, mapped address", row: "LISTEN 0 5 ::ffff:10.0.0.1:80 :::*" + skmem, address: "::ffff:10.0.0.1", port: 80, depth: "0", limit: "5", drops: "7", inode: "?(ss was asked without -e)"},
		{name: "zone in the brackets", row: "LISTEN 0 5 [fe80::1%eth0]:80 [::]:*" + skmem, address: "fe80::1", iface: "eth0", port: 80, depth: "0", limit: "5", drops: "7", inode: "?(ss was asked without -e)"},
		{name: "tabs and many blanks", row: "LISTEN\t0   \t 5 \t 127.0.0.1:80\t\t0.0.0.0:*  \t", address: "127.0.0.1", port: 80, depth: "0", limit: "5", drops: "?(" + noSkmem + ")", inode: "?(ss was asked without -e)"},
		{name: "carriage return of a terminal", row: "LISTEN 0 5 *:80 *:*" + skmem + "\r", address: "*", port: 80, depth: "0", limit: "5", drops: "7", inode: "?(ss was asked without -e)"},
		{name: "no state", row: "4 5 *:80 *:*" + skmem, address: "*", port: 80, depth: "4", limit: "5", drops: "7", inode: "?(ss was asked without -e)"},
		{name: "protocol", row: "tcp LISTEN 4 5 *:80 *:*" + skmem, address: "*", port: 80, depth: "4", limit: "5", drops: "7", inode: "?(ss was asked without -e)"},
		{name: "holders stick to the peer", row: `LISTEN 0 5 *:80 *:*users:(("a",pid=1,fd=2))` + skmem, address: "*", port: 80, depth: "0", limit: "5", drops: "7", inode: "?(ss was asked without -e)", owners: 1},
		{name: "a name that looks like skmem", row: `LISTEN 0 5 *:80 *:* users:((" skmem:(d9) ",pid=1,fd=2))` + skmem, address: "*", port: 80, depth: "0", limit: "5", drops: "7", inode: "?(ss was asked without -e)", owners: 1},
		{name: "names that look like details, and no details", row: `LISTEN 0 5 *:80 *:* users:((" skmem:(d9) ",pid=1,fd=2),("a ino:9 b",pid=1,fd=2))`, address: "*", port: 80, depth: "0", limit: "5", drops: "?(" + noSkmem + ")", inode: "?(ss was asked without -e)", owners: 2},
		{name: "the largest port and figures", row: "LISTEN 4294967295 4294967295 *:65535 *:*" + skmem, address: "*", port: 65535, depth: "4294967295", limit: "4294967295", drops: "7", inode: "?(ss was asked without -e)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			sockets, errs := ListenSockets(test.row + "\n")
			wantErrors(t, errs)
			if len(sockets) != 1 {
				t.Fatalf("%d sockets", len(sockets))
			}
			s := sockets[0]
			got := []string{s.Address, s.Interface, show(s.Depth), show(s.Limit), show(s.Drops), show(s.Inode)}
			want := []string{test.address, test.iface, test.depth, test.limit, test.drops, test.inode}
			if diff := cmp.Diff(want, got); diff != "" || s.Port != test.port || len(s.Owners) != test.owners {
				t.Errorf("port %d, owners %v (-want +got):\n%s", s.Port, s.Owners, diff)
			}
		})
	}
}

// What is not a listening TCP socket is no socket and no error.
func TestListenSocketsPassesOver(t *testing.T) {
	sockets, errs := ListenSockets(strings.Join([]string{
		"",
		"   ",
		"State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess",
		"Netid State  Recv-Q Send-Q Local Address:Port Peer Address:Port Process",
		"Recv-Q Send-Q Local Address:Port Peer Address:Port",
		"ESTAB 0 0 10.0.0.1:80 10.0.0.2:1234",
		"SYN-RECV 0 0 10.0.0.1:80 10.0.0.2:1234",
		"tcp ESTAB 0 0 10.0.0.1:80 10.0.0.2:1234 users:((\"a\",pid=1,fd=2))",
		"udp UNCONN 0 0 0.0.0.0:53 0.0.0.0:*",
		"u_str LISTEN 0 128 /run/x 123 * 0",
		"0 0 10.0.0.1:80 10.0.0.2:1234",
		"\t skmem:(r0,d5)",
	}, "\n"))
	wantErrors(t, errs)
	if len(sockets) != 0 {
		t.Errorf("sockets %+v", sockets)
	}
}

// A malformed row is told with its number; the rows around it are kept.
func TestListenSocketsMalformed(t *testing.T) {
	for _, test := range []struct{ row, want string }{
		{"LISTEN x 128 *:81 *:*", `ss line 2: Recv-Q is not a number: "LISTEN x 128 *:81 *:*"`},
		{"LISTEN -1 128 *:81 *:*", `ss line 2: Recv-Q is not a number: "LISTEN -1 128 *:81 *:*"`},
		{"LISTEN 0 12y *:81 *:*", `ss line 2: Send-Q is not a number: "LISTEN 0 12y *:81 *:*"`},
		{"LISTEN 0 128 *:8", `ss line 2: row ends before the peer address: "LISTEN 0 128 *:8"`},
		{"LISTEN 0 128 81 *:*", `ss line 2: local address has no port: "LISTEN 0 128 81 *:*"`},
		{"LISTEN 0 128 *:http *:*", `ss line 2: local port is not a number (ss needs -n): "LISTEN 0 128 *:http *:*"`},
		{"LISTEN 0 128 *:65536 *:*", `ss line 2: local port is not a number (ss needs -n): "LISTEN 0 128 *:65536 *:*"`},
		{"LISTEN 0 128 localhost:81 *:*", `ss line 2: local address is not an IP address: "LISTEN 0 128 localhost:81 *:*"`},
		{"LISTEN 0 128 *%:81 *:*", `ss line 2: local address names no interface: "LISTEN 0 128 *%:81 *:*"`},
		{"LISTEN 0 128 *%sixteen-is-a-lot:81 *:*", `ss line 2: local address names no interface: "LISTEN 0 128 *%sixteen-is-a-lot:81 *:*"`},
		{"ss: not found", `ss line 2: not a row of ss: "ss: not found"`},
		{"\x1b[31mLISTEN 0 1 *:81 *:*", `ss line 2: not a row of ss: "\x1b[31mLISTEN 0 1 *:81 *:*"`},
	} {
		sockets, errs := ListenSockets("LISTEN 0 5 *:80 *:*\n" + test.row + "\nLISTEN 0 5 *:82 *:*\n")
		wantErrors(t, errs, test.want)
		if len(sockets) != 2 || sockets[0].Port != 80 || sockets[1].Port != 82 {
			t.Errorf("%s: the rows around it are lost: %+v", test.row, sockets)
		}
	}
}

// Details of a passed-over or malformed row do not stick to the socket before.
func TestListenSocketsDetailsBelongToTheirRow(t *testing.T) {
	sockets, _ := ListenSockets("LISTEN 0 5 *:80 *:*\nESTAB 0 0 10.0.0.1:80 10.0.0.2:1\n\t skmem:(r0,d9)\nLISTEN x 5 *:81 *:*\n\t skmem:(r0,d8)\n")
	if len(sockets) != 1 || sockets[0].Drops.IsKnown() {
		t.Errorf("%+v", sockets)
	}
}

// After a name with newlines, line numbers still count lines.
func TestListenSocketsLineNumbersAfterNewlines(t *testing.T) {
	_, errs := ListenSockets("LISTEN 0 5 *:80 *:* users:((\"\n\n\n\",pid=1,fd=2))\nnonsense\n")
	wantErrors(t, errs, `ss line 5: not a row of ss: "nonsense"`)
}

// A torn list of holders costs the holders, not the row and not the rows after.
func TestListenSocketsTornUsers(t *testing.T) {
	sockets, errs := ListenSockets("LISTEN 0 5 *:80 *:* users:((\"nginx\",pid=1,f\nLISTEN 0 6 *:81 *:*\n")
	wantErrors(t, errs, `ss line 1: users is not a list of processes: "users:((\"nginx\",pid=1,f"`)
	if len(sockets) != 2 || sockets[1].Port != 81 {
		t.Errorf("%+v", sockets)
	}
}

// Addresses must not keep the text they were cut from: a socket lives in the
// history much longer than its frame.
func TestListenSocketsLongText(t *testing.T) {
	text := strings.Repeat("LISTEN 0 5 10.1.2.3:80 0.0.0.0:*\n", 20000)
	sockets, errs := ListenSockets(text)
	wantErrors(t, errs)
	if len(sockets) != 20000 {
		t.Errorf("%d sockets", len(sockets))
	}
	if got := model.GroupSockets(sockets); len(got) != 1 {
		t.Errorf("%d listeners", len(got))
	}
}

// The limits by which programs give themselves away, each with the row of ss.
func TestListenSocketsFingerprints(t *testing.T) {
	type rows struct {
		SendQ []int64 `json:"send_q"`
		SS    string  `json:"ss"`
	}
	var file struct {
		Rows []struct {
			Program string `json:"program"`
			High    *rows  `json:"somaxconn_4096"`
			Low     *rows  `json:"somaxconn_128"`
		} `json:"rows"`
	}
	if err := json.Unmarshal([]byte(readFile(t, "testdata/send-q.json")), &file); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, program := range file.Rows {
		for _, r := range []*rows{program.High, program.Low} {
			if r == nil {
				continue
			}
			sockets, errs := ListenSockets(r.SS)
			wantErrors(t, errs)
			var limits []int64
			for _, s := range sockets {
				limits = append(limits, s.Limit.Or(-1))
			}
			// The file has each limit once, also for SO_REUSEPORT siblings.
			if diff := cmp.Diff(r.SendQ, slices.Compact(limits)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", program.Program, diff)
			}
			checked++
		}
	}
	if checked < 40 {
		t.Errorf("only %d rows were checked", checked)
	}
}
