package parse

import (
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// The archives in testdata/recorded hold what different tools said of the same
// moment of a real Envoy or nginx, idle, under load, or with a stopped worker
// and its queue full.
func eachMoment(t *testing.T, test func(t *testing.T, name string, file map[string]string)) {
	t.Helper()
	archives, err := filepath.Glob("testdata/recorded/*.txtar")
	if err != nil || len(archives) < 38 {
		t.Fatalf("%d archives (%v)", len(archives), err)
	}
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, f := range archive.Files {
			files[f.Name] = string(f.Data)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) { test(t, name, files) })
	}
}

// depths lists port and depth of all sockets, sorted.
func depths(sockets []model.Socket) []string {
	var list []string
	for _, s := range sockets {
		list = append(list, fmt.Sprintf("%d: %s", s.Port, show(s.Depth)))
	}
	sort.Strings(list)
	return list
}

// ss and /proc/net/tcp tell of the same listeners and depths; only ss tells limits.
func TestSSAndProcTCPAgree(t *testing.T) {
	full := 0
	eachMoment(t, func(t *testing.T, _ string, file map[string]string) {
		ss, errs := ListenSockets(file["ss"])
		wantErrors(t, errs)
		proc, errs := ProcTCP(file["tcp"])
		wantErrors(t, errs)
		if diff := cmp.Diff(depths(ss), depths(proc)); diff != "" || len(ss) < 2 {
			t.Errorf("%d sockets (-ss +/proc/net/tcp):\n%s", len(ss), diff)
		}
		for i := range ss {
			limit, ok := ss[i].Limit.Get()
			if !ok || !ss[i].Drops.IsKnown() || ss[i].Inode.IsKnown() {
				t.Errorf("port %d: limit %s, drops %s, inode %s", ss[i].Port, show(ss[i].Limit), show(ss[i].Drops), show(ss[i].Inode))
			}
			if ss[i].Depth.Or(0) > limit {
				full++
			}
		}
		for i := range proc {
			if proc[i].Limit.IsKnown() || proc[i].Drops.IsKnown() || !proc[i].Inode.IsKnown() {
				t.Errorf("port %d: limit %s, drops %s, inode %s", proc[i].Port, show(proc[i].Limit), show(proc[i].Drops), show(proc[i].Inode))
			}
		}
	})
	if full == 0 {
		t.Error("no full queue among them: the test lost its point")
	}
}

// With -p the same rows carry their holders as well, before skmem.
func TestSSWithHoldersAgrees(t *testing.T) {
	eachMoment(t, func(t *testing.T, name string, file map[string]string) {
		plain, _ := ListenSockets(file["ss"])
		withOwners, errs := ListenSockets(file["ss-p"])
		wantErrors(t, errs)
		if len(plain) != len(withOwners) {
			t.Fatalf("%d rows, with -p %d", len(plain), len(withOwners))
		}
		for i, s := range withOwners {
			if len(s.Owners) == 0 || s.Owners[0].PID == 0 {
				t.Errorf("port %d has no holder", s.Port)
			}
			s.Owners = nil
			// Under load drops come in between the two calls.
			if d := s.Drops.Or(-1) - plain[i].Drops.Or(-1); d > 0 && strings.Contains(name, "while-stopped") {
				s.Drops = plain[i].Drops
			}
			if got, want := showSockets([]model.Socket{s}, nil), showSockets(plain[i:i+1], nil); got != want {
				t.Errorf("%s is %s without -p", got, want)
			}
		}
	})
}

// nstat as text, nstat as JSON and /proc/net/netstat tell the same of every
// counter. Under load a packet or two came in between the three calls.
func TestNstatTextJSONAndProcAgree(t *testing.T) {
	eachMoment(t, func(t *testing.T, name string, file map[string]string) {
		text, errs := NstatText(file["nstat"])
		wantErrors(t, errs)
		inJSON, errs := NstatJSON(file["nstat.json"])
		wantErrors(t, errs)
		proc, errs := ProcNetstat(file["netstat"])
		wantErrors(t, errs)
		if strings.Contains(name, "while-stopped") {
			for k, v := range inJSON {
				if v > text[k] || text[k]-v > 2 && k != "IpExtInOctets" {
					t.Errorf("%s is %d in JSON, %d in text", k, v, text[k])
				}
				inJSON[k] = text[k]
			}
		}
		if diff := cmp.Diff(text, inJSON); diff != "" || len(text) < 15 {
			t.Errorf("%d counters (-text +JSON):\n%s", len(text), diff)
		}
		for k := range text { // /proc/net/netstat has no counters of snmp
			if _, ok := proc[k]; !ok && strings.HasPrefix(k, "Tcp") && !strings.HasPrefix(k, "TcpExt") {
				delete(text, k)
			}
		}
		if diff := cmp.Diff(text, proc); diff != "" || len(proc) < 12 {
			t.Errorf("%d counters (-nstat +/proc/net/netstat):\n%s", len(proc), diff)
		}
		if c := CountersFrom(inJSON, "missing"); !c.ListenOverflows.IsKnown() || !c.PassiveOpens.IsKnown() {
			t.Errorf("%+v", c)
		}
	})
}
