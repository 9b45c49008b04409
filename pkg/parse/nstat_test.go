package parse

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNstatText(t *testing.T) {
	values, errs := NstatText(readFile(t, "testdata/nstat/used.txt"))
	wantErrors(t, errs)
	want := map[string]int64{
		PassiveOpens: 3, SyncookiesSent: 0, SyncookiesRecv: 0, ListenOverflows: 0,
		ListenDrops: 0, ReqQFullDoCookies: 0, ReqQFullDrop: 0,
	}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The figures of an nstat daemon are its own, counted since it pleased.
func TestNstatRefusesADaemon(t *testing.T) {
	for _, text := range []string{
		"#2147.1804289383 sampling_interval=1 time_const=60\nTcpExtListenDrops 24 0.0\n",
		"#kernel\n#2147.1804289383\nTcpExtListenDrops 24 0.0\n",
	} {
		if values, errs := NstatText(text); values != nil || len(errs) != 1 {
			t.Errorf("%q: took %v, %v", text, values, errs)
		}
	}
	for _, text := range []string{
		`{"2147.1804289383":{"TcpExtListenDrops":24}}`,
		`{"kernel":{"TcpExtListenDrops":24},"2147.1":{"TcpExtListenDrops":2}}`,
		`{}`,
	} {
		if values, errs := NstatJSON(text); values != nil || len(errs) != 1 {
			t.Errorf("%q: took %v, %v", text, values, errs)
		}
	}
}

func TestNstatMalformed(t *testing.T) {
	values, errs := NstatText("#kernel\r\nTcpExtListenDrops\r\nTcpExtListenOverflows x 0.0\r\nTcpPassiveOpens 7 0.0\r\n")
	wantErrors(t, errs,
		`nstat line 2: value is not a number: "TcpExtListenDrops"`,
		`nstat line 3: value is not a number: "TcpExtListenOverflows x 0.0"`)
	if diff := cmp.Diff(map[string]int64{PassiveOpens: 7}, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	values, errs = NstatJSON(`{"kernel":{"TcpExtListenDrops":"1\u001b[2J","TcpPassiveOpens":7}}`)
	wantErrors(t, errs, `nstat line 1: value is not a number: "TcpExtListenDrops: \"1\\u001b[2J\""`)
	if diff := cmp.Diff(map[string]int64{PassiveOpens: 7}, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if values, errs := NstatJSON(`{"kernel":{"TcpPass`); values != nil || len(errs) != 1 {
		t.Errorf("took torn JSON: %v, %v", values, errs)
	}
}

// A counter that was not told is unknown for the reason given, never 0.
func TestCountersFrom(t *testing.T) {
	c := CountersFrom(map[string]int64{ListenOverflows: 0, ListenDrops: 24, PassiveOpens: 3}, "not asked for")
	got := []string{
		show(c.ListenOverflows), show(c.ListenDrops), show(c.PassiveOpens), show(c.SyncookiesRecv),
		show(c.SyncookiesSent), show(c.ReqQFullDrop), show(c.ReqQFullDoCookies), show(c.Somaxconn),
	}
	const not = "?(not asked for)"
	if diff := cmp.Diff([]string{"0", "24", "3", not, not, not, not, not}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every name that is asked for reaches a counter of its own.
func TestCounterNamesAreAllUsed(t *testing.T) {
	for _, name := range CounterNames() {
		c := CountersFrom(map[string]int64{name: 5}, "")
		known := 0
		for _, v := range []bool{
			c.ListenOverflows.IsKnown(), c.ListenDrops.IsKnown(), c.ReqQFullDoCookies.IsKnown(),
			c.ReqQFullDrop.IsKnown(), c.SyncookiesSent.IsKnown(), c.SyncookiesRecv.IsKnown(), c.PassiveOpens.IsKnown(),
		} {
			if v {
				known++
			}
		}
		if known != 1 {
			t.Errorf("%s reaches %d counters", name, known)
		}
	}
}
