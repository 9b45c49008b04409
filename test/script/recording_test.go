package script

import (
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
)

// aRecording writes what the documentation's commands look at: half an hour of a pod
// from noon on; from the third minute to the fifth a burst is refused every other
// second.
func aRecording(t *testing.T, path string) {
	t.Helper()
	f, err := record.Create(path, record.FileOptions{Header: record.Header{Title: "prod/shop"}})
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	refused := int64(0)
	for n := range 1800 {
		if n >= 180 && n < 300 && n%2 == 0 {
			refused += 12
		}
		at := noon.Add(time.Duration(n) * time.Second)
		known := func(v int64) model.Value[int64] { return model.Known(v) }
		none := known(0)
		p := model.Pod{
			Meta: model.Meta{Name: "server-0", Namespace: "shop", UID: "u"}, Phase: "Running", Ready: true,
			Workload:   model.Workload{Kind: "Deployment", Name: "server"},
			Collection: model.Collection{Via: model.ViaProbe, Stage: model.StageOK, Probe: "backlog-probe-1"},
			Sample:     model.Sample{Seq: uint64(n + 1), Uptime: model.Known(1000 + float64(n)), Sandbox: "s", Arrived: at},
			Sockets:    known(1),
			Listeners: []model.Listener{{Address: "0.0.0.0", Port: 8080, Role: model.RoleApp, Sockets: []model.Socket{{
				Address: "0.0.0.0", Port: 8080, Inode: model.Known[uint64](7), Depth: known(int64(n % 3)), Limit: known(16), Drops: known(refused),
			}}}},
			Counters: model.Counters{
				ListenOverflows: known(refused), ListenDrops: known(refused), PassiveOpens: known(int64(50 * n)), Somaxconn: known(4096),
				ReqQFullDoCookies: none, ReqQFullDrop: none, SyncookiesSent: none, SyncookiesRecv: none,
			},
			Runtime: model.UnknownRuntime("no proxy"), Process: model.UnknownProcess("not read"), Manifest: model.UnknownManifest("not read"),
		}
		if err := f.Add(model.Snapshot{Seq: uint64(n + 1), Time: at, Pods: []model.Pod{p}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
