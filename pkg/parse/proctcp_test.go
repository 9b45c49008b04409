package parse

import (
	"strings"
	"testing"
)

func TestProcTCPRecorded(t *testing.T) {
	recorded(t, "proc/tcp*.txt", func(t *testing.T, file, text string) {
		sockets, errs := ProcTCP(text)
		golden(t, strings.TrimSuffix(file, "txt")+"golden", showSockets(sockets, errs))
	})
}

// Only listening sockets come first, so a text cut after them lacks nothing.
func TestProcTCPListenersComeFirst(t *testing.T) {
	text := readFile(t, "testdata/proc/tcp.txt")
	whole, _ := ProcTCP(text)
	cut, errs := ProcTCP(text[:strings.Index(text, ": 0100007F:1F41 0100007F:BA6C 01")-4])
	wantErrors(t, errs)
	if len(whole) != 5 || len(cut) != len(whole) {
		t.Errorf("%d of %d sockets", len(cut), len(whole))
	}
}

func TestProcTCPMalformed(t *testing.T) {
	const good = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000041 00:00000000 00000000     0        0 77 1 0 100 0 0 10 0\n"
	for _, test := range []struct{ row, want string }{
		{"cat: can't open", `/proc/net/tcp line 2: not a row of /proc/net/tcp: "cat: can't open"`},
		{"1: 0100007F:1F9 00000000:0000 0A 0:1", `/proc/net/tcp line 2: local port is not four hex digits: "1: 0100007F:1F9 00000000:0000 0A 0:1"`},
		{"1: 0100007:1F90 00000000:0000 0A 0:1", `/proc/net/tcp line 2: local address is not 8 or 32 hex digits: "1: 0100007:1F90 00000000:0000 0A 0:1"`},
		{"1: 0100007F:1F90 00000000:0000 0A 0", `/proc/net/tcp line 2: rx_queue is not a hex number: "1: 0100007F:1F90 00000000:0000 0A 0"`},
	} {
		sockets, errs := ProcTCP(good + test.row + "\n" + good)
		wantErrors(t, errs, test.want)
		if len(sockets) != 2 || sockets[0].Depth.Or(-1) != 65 || sockets[0].Inode.Or(0) != 77 {
			t.Errorf("%s: %+v", test.row, sockets)
		}
	}
}

func TestHexAddress(t *testing.T) {
	for in, want := range map[string]string{
		"0100007F":                         "127.0.0.1",
		"00000000":                         "0.0.0.0",
		"00000000000000000000000000000000": "::",
		"00000000000000000000000001000000": "::1",
		"0000000000000000FFFF00000100007F": "::ffff:127.0.0.1",
		"B80D0120000000000000000001000000": "2001:db8::1",
		"B80D012000000000000000000100000":  "",
		"0100007G":                         "",
		"01":                               "",
		"":                                 "",
	} {
		if got, ok := hexAddress(in); got != want || ok != (want != "") {
			t.Errorf("hexAddress(%q) = %q, %v, want %q", in, got, ok, want)
		}
	}
}
