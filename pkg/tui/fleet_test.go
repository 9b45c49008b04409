package tui

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// fleet is the n-th second of an incident in a namespace: workloads of every kind,
// already judged.
func fleet(n int) model.Snapshot {
	s := model.Snapshot{Seq: uint64(n), Time: noon.Add(time.Duration(n) * time.Second)}
	add := func(kind, workload, name, node string, cpus int64, change func(p *model.Pod)) {
		full := func(p *model.Pod) {
			p.Workload, p.Node = model.Workload{Kind: kind, Name: workload}, "gke-prod-pool-"+node
			p.Collection.Until = noon.Add(time.Hour)
			p.Process.CPUsAllowed, p.Process.Wait = known(cpus), model.Known(0.01)
			p.Verdicts = []model.Verdict{{Class: model.ClassHealthy, Severity: model.SeverityInfo, Sentence: "The queue is drained and nothing is refused."}}
			change(p)
		}
		p := pod(name, n)
		full(&p)
		s.Pods = append(s.Pods, window(p, n, full))
	}
	accepts := func(p *model.Pod, perSecond int64) {
		p.Counters.PassiveOpens = known(perSecond * int64(p.Sample.Seq))
	}
	busy := func(p *model.Pod, ratio float64) { p.Runtime.Window.Busy = model.Known(ratio) }
	verdict := func(p *model.Pod, c model.Class, s model.Severity, held float64, sentence string) {
		p.Verdicts = []model.Verdict{{
			Class: c, Severity: s, Sentence: sentence, Role: model.RoleInbound, Port: 4143, Listener: "0.0.0.0:4143",
			Held: model.Known(held),
		}}
	}

	add("Deployment", "server", "server-6bf978ccb4-m2m2q", "7-21", 16, func(p *model.Pod) {
		p.Listeners[0].Sockets[0] = socket(11, 129, 128, 0)
		overflowing(p, int(p.Sample.Seq), 0, 14)
		accepts(p, 0)
		busy(p, 0.02)
		verdict(p, model.ClassAcceptStalled, model.SeverityCritical, 372, "Nothing leaves the inbound queue: the same 129 connections wait in 30 of 30 samples; the worker sleeps in ep_poll.")
		v := &p.Verdicts[0]
		v.Longer = true
		v.Evidence = []model.Evidence{
			{Name: "oldest", Text: "waits ≥ 6m12s", Source: "ss"},
			{Name: "siblings", Text: "39 of 39 others healthy; they accept 188 to 231 per second", Source: "the other pods of the workload"},
		}
		v.Now = []model.Action{{Kind: model.ActIsolate, Text: "Keep the evidence, then isolate the pod: the ReplicaSet makes another one.", Command: "kubectl --context prod-eu1 -n shop label pod server-6bf978ccb4-m2m2q app-"}}
		v.Fix = []model.Action{{Kind: model.ActFixAccept, Text: "Find what ended the accept loop; delete the pod afterwards."}}
		v.Not = []model.Action{{Kind: model.ActRaiseBacklog, Text: "A larger backlog would only hold more dead connections."}}
		v.Unknown = []string{"what happened before the first frame"}
	})
	for i := range 39 {
		add("Deployment", "server", fmt.Sprintf("server-6bf978ccb4-%05d", i), fmt.Sprintf("7-%d", 20+i), 16, func(p *model.Pod) {
			accepts(p, int64(190+i))
			busy(p, 0.39)
			p.Manifest.Manager = model.Manager{Tool: "Argo CD", Name: "shop"}
		})
	}
	for i, name := range []string{"x7wqp", "b8k2n", "q44zd", "zz81s"} {
		add("DaemonSet", "web", "web-"+name, fmt.Sprintf("3-%d", 40+i), 4, func(p *model.Pod) {
			depth := []int64{128, 96, 31, 20}[i]
			p.Listeners[0].Sockets[0] = socket(11, depth, 128, 0)
			if i < 2 {
				overflowing(p, int(p.Sample.Seq), 0, int64(6-3*i))
			}
			accepts(p, int64(31+i))
			busy(p, 0.97)
			p.Process.Wait = model.Known(0.71 - 0.05*float64(i))
			severity := model.SeverityCritical
			if i >= 2 {
				severity = model.SeverityWarning
			}
			verdict(p, model.ClassCPUStarved, severity, 240, "The workers behind 0.0.0.0:4143 want more CPU than they get.")
		})
	}
	add("DaemonSet", "web", "web-m6h8r", "7-29", 16, func(p *model.Pod) {
		p.Verdicts = nil
		runtime := p.Runtime
		unread(p, "the probe cannot start")
		p.Runtime, p.Sample.Arrived = runtime, time.Time{}
		p.Collection.Stage, p.Collection.Via, p.Collection.Message = model.StageFailed, model.ViaMetrics, "ErrImagePull: not found"
	})
	for i := range 3 {
		add("DaemonSet", "web", fmt.Sprintf("web-ok%03d", i), fmt.Sprintf("7-%d", 30+i), 16, func(p *model.Pod) {
			accepts(p, int64(63+i))
		})
	}
	for i, name := range []string{"hq2lw", "zk8fm"} {
		add("Deployment", "checkout", "checkout-79c4d5f6b8-"+name, fmt.Sprintf("7-%d", 21+i), 16, func(p *model.Pod) {
			overflowing(p, int(p.Sample.Seq)/10*10, 0, int64(14-5*i))
			verdict(p, model.ClassBurst, model.SeverityWarning, 38, "Bursts exceed the 128-deep queue and drain within a second; the workers have headroom.")
			p.Manifest = model.Manifest{Manager: model.Manager{Tool: "Helm", Name: "checkout"}, Outdated: model.Known(false)}
		})
	}
	add("Deployment", "checkout", "checkout-79c4d5f6b8-w9xbd", "7-25", 16, func(p *model.Pod) {
		p.Listeners[0].Sockets[0] = socket(11, 17, 128, 0)
		accepts(p, 0)
		verdict(p, model.ClassStarting, model.SeverityInfo, 9, "The pod is not ready yet and its queue fills.")
		p.Manifest.Outdated = model.Known(false)
	})
	add("Deployment", "checkout", "checkout-58d7f9c6d4-p5jgr", "7-21", 16, func(p *model.Pod) {
		p.Counters.ListenOverflows = known(655)
		p.Collection.Stage, p.Collection.Message = model.StageGone, "deleted"
		p.Sample.Arrived = noon.Add(-10 * time.Second)
	})
	for i := range 8 {
		add("Deployment", "checkout", fmt.Sprintf("checkout-58d7f9c6d4-%05d", i), fmt.Sprintf("7-%d", 30+i), 16, func(p *model.Pod) {
			p.Manifest.Outdated = model.Known(true)
		})
	}
	for i := range 9 {
		add("Deployment", "search", fmt.Sprintf("search-5c9f77b6d8-%05d", i), fmt.Sprintf("7-%d", 30+i), 16, func(p *model.Pod) {
			p.Knobs[0] = model.Knob{Name: "workers", Asked: known(4), InForce: known(1), Why: "the ratio is set on the namespace, and is not inherited"}
			verdict(p, model.ClassConfigDrift, model.SeverityWarning, 0, "Workers: asked 4, in force 1.")
			p.Verdicts[0].Held = model.Unknown[float64]("since the process began")
		})
	}
	for i := range 12 {
		add("Deployment", "cart", fmt.Sprintf("cart-7d4b5c6f8-%05d", i), fmt.Sprintf("7-%d", 30+i), 16, func(*model.Pod) {})
	}
	for i := range 3 {
		add("StatefulSet", "redis", fmt.Sprintf("redis-%d", i), fmt.Sprintf("7-%d", 30+i), 16, func(p *model.Pod) {
			p.Proxy, p.Runtime, p.Knobs = model.Proxy{}, model.Runtime{}, nil
			p.Listeners = []model.Listener{{Address: "*", Port: 6379, Role: model.RoleApp, Sockets: []model.Socket{socket(21, 0, 511, 0), socket(22, 1, 511, 0)}}}
		})
	}
	return s
}

// watchFleet lets the screen see the incident from second 1 to n.
func watchFleet(a *app, n int) {
	for i := 1; i <= n; i++ {
		deliver(a, fleet(i))
	}
}

func TestViewFleet(t *testing.T) {
	for _, s := range []struct{ width, height int }{{40, 12}, {80, 24}, {120, 40}, {200, 50}, {250, 70}} {
		t.Run(fmt.Sprintf("%dx%d", s.width, s.height), func(t *testing.T) {
			a := screen(t, s.width, s.height)
			watchFleet(a, 31)
			goldenView(t, fmt.Sprintf("fleet-%dx%d.txt", s.width, s.height), a)
		})
	}
}
