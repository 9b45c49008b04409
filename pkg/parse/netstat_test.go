package parse

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProcNetstatByNameNotByPosition(t *testing.T) {
	values, errs := ProcNetstat("TcpExt: New ListenDrops ListenOverflows\nTcpExt: 9 2 1\nIpExt: InOctets\nIpExt: 77\n")
	wantErrors(t, errs)
	want := map[string]int64{"TcpExtNew": 9, "TcpExtListenDrops": 2, "TcpExtListenOverflows": 1, "IpExtInOctets": 77}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The files of a kernel, read at the same time as testdata/nstat/used.txt.
func TestProcNetstatAndSnmpTellWhatNstatTells(t *testing.T) {
	want, errs := NstatText(readFile(t, "testdata/nstat/used.txt"))
	wantErrors(t, errs)
	netstat, errs := ProcNetstat(readFile(t, "testdata/proc/netstat.txt"))
	wantErrors(t, errs)
	snmp, errs := ProcNetstat(readFile(t, "testdata/proc/snmp.txt"))
	wantErrors(t, errs)
	for name, v := range want {
		got, ok := netstat[name]
		if name == PassiveOpens {
			got, ok = snmp[name]
		}
		if !ok || got != v {
			t.Errorf("%s is %d (%v), nstat says %d", name, got, ok, v)
		}
	}
	if v := snmp["TcpMaxConn"]; v != -1 {
		t.Errorf("TcpMaxConn is %d, the kernel says -1", v)
	}
}

func TestProcNetstatMalformed(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       map[string]int64
		errs       []string
	}{
		{
			name: "one value too few: no telling which",
			text: "TcpExt: A B C\nTcpExt: 1 2\nIpExt: D\nIpExt: 4\n",
			want: map[string]int64{"IpExtD": 4},
			errs: []string{`/proc/net/netstat line 2: 3 names but 2 values: "TcpExt: 1 2"`},
		},
		{
			name: "torn after the names",
			text: "TcpExt: A B\n",
			want: map[string]int64{},
			errs: []string{`/proc/net/netstat line 1: no line of values follows: "TcpExt: A B"`},
		},
		{
			name: "values of another prefix",
			text: "TcpExt: A B\nIpExt: D\nIpExt: 4\n",
			want: map[string]int64{"IpExtD": 4},
			errs: []string{`/proc/net/netstat line 1: no line of values follows: "TcpExt: A B"`},
		},
		{
			name: "not a number",
			text: "\nTcpExt: A B\nTcpExt: x 2\n",
			want: map[string]int64{"TcpExtB": 2},
			errs: []string{`/proc/net/netstat line 3: value is not a number: "A x"`},
		},
		{
			name: "something else",
			text: "cat: /proc/net/netstat\nTcpExt: A\nTcpExt: 1\n",
			want: map[string]int64{"TcpExtA": 1},
			errs: []string{`/proc/net/netstat line 1: no line of values follows: "cat: /proc/net/netstat"`},
		},
		{
			name: "no prefix",
			text: "hello\nTcpExt: A\nTcpExt: 1\n",
			want: map[string]int64{"TcpExtA": 1},
			errs: []string{`/proc/net/netstat line 1: line of names has no prefix: "hello"`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			values, errs := ProcNetstat(test.text)
			wantErrors(t, errs, test.errs...)
			if diff := cmp.Diff(test.want, values); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
