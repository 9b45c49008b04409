package render

import (
	"strconv"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// noon is when the synthetic snapshot was gathered.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const evil = "Back-off pulling image \"reg/\x1b[31mred\u202e\": \nnot found\u009b2J"

func known(n int64) model.Value[int64] { return model.Known(n) }

// pod gives a meshed pod that is well: two listeners, one worker, a window of 3 s.
func pod(name string) model.Pod {
	p := model.Pod{
		Meta:  model.Meta{Name: name, Namespace: "shop", UID: "uid-" + name, Created: noon.Add(-time.Hour)},
		Node:  "node-a",
		Phase: "Running", Ready: true,
		Proxy:      model.Proxy{Adapter: "linkerd", Container: "linkerd-proxy", Version: model.Known("2.366.0")},
		Collection: model.Collection{Via: model.ViaProbe, Stage: model.StageOK, Probe: "backlog-probe-1"},
		Sample:     model.Sample{Seq: 7, Uptime: model.Known(1003.0), Arrived: noon.Add(-400 * time.Millisecond), Sandbox: "s1"},
		Sockets:    known(4),
		Listeners: []model.Listener{
			listener(model.RoleInbound, 4143, socket(11, 0, 128, 0)),
			listener(model.RoleOutbound, 4140, socket(12, 0, 128, 0)),
			listener(model.RoleAdmin, 4191, socket(13, 0, 128, 0)),
			listener(model.RoleApp, 8080, socket(14, 0, 511, 0)),
		},
		Counters: model.Counters{
			ListenOverflows: known(0), ListenDrops: known(0), ReqQFullDoCookies: known(0), ReqQFullDrop: known(0),
			SyncookiesSent: known(0), SyncookiesRecv: known(0), PassiveOpens: known(9000), Somaxconn: known(4096),
		},
		Window: model.Window{
			Seconds: model.Known(3.0), Overflows: known(0), Drops: known(0), Accepted: known(348), Unattributed: known(0),
		},
		Runtime: model.Runtime{
			Workers: known(1), BusySeconds: model.Known(312.0), CPUSeconds: model.Known(300.25), Parks: known(88), Polls: known(1200),
			Start: model.Known(1.7e9), Clock: model.Known(1.7e9 + 900),
			Window: model.RuntimeWindow{
				Seconds: model.Known(2.0), Busy: model.Known(0.31), CPU: model.Known(0.29), Parks: known(60), Polls: known(900), Stalled: model.Known(0.0),
			},
		},
		Knobs: []model.Knob{
			{Name: "workers", Asked: known(1), InForce: known(1), SeenBy: "tokio_rt_workers"},
			{Name: "inbound backlog", Asked: known(128), InForce: known(128), SeenBy: "ss"},
		},
	}
	for i := range p.Listeners {
		p.Listeners[i].Window = model.ListenerWindow{Overflows: known(0), Peak: known(2)}
	}
	return p
}

func listener(role model.Role, port uint16, sockets ...model.Socket) model.Listener {
	return model.Listener{Address: "0.0.0.0", Port: port, Role: role, Sockets: sockets}
}

func socket(inode uint64, depth, limit, drops int64) model.Socket {
	return model.Socket{Inode: model.Known(inode), Depth: known(depth), Limit: known(limit), Drops: known(drops)}
}

// with changes a healthy pod.
func with(name string, change func(p *model.Pod)) model.Pod {
	p := pod(name)
	change(&p)
	return p
}

// saturatedVerdict has everything that a verdict can have.
func saturatedVerdict() model.Verdict {
	return model.Verdict{
		Class: model.ClassSaturated, Severity: model.SeverityCritical, Listener: "0.0.0.0:4143", Port: 4143, Role: model.RoleInbound,
		Sentence:   "The workers behind 0.0.0.0:4143 are busy all the time: more arrives than they can serve.",
		Candidates: []model.Class{model.ClassCPUStarved},
		Window:     model.Known(30.0), Since: model.Known(973.0), Held: model.Known(30.0), Longer: true,
		Evidence: []model.Evidence{
			{Name: "refused packets", Text: "+43 on 0.0.0.0:4143", Figure: model.Known(43.0), Unit: "packets", Window: model.Known(30.0), Source: "nstat, ss d"},
			{Name: "workers", Text: "1 in force, busy 1.00 over 29s, never parked", Figure: model.Known(1.0), Unit: "ratio", Window: model.Known(29.0), Source: "tokio_rt"},
		},
		Now: []model.Action{{
			Kind: model.ActScaleOut, Text: "More replicas share the load.", From: known(3), To: known(4),
			Command: "kubectl --context prod-eu1 -n shop scale deployment/server --replicas=4",
			Undo:    "kubectl --context prod-eu1 -n shop scale deployment/server --replicas=3",
		}},
		Fix: []model.Action{{
			Kind: model.ActAddWorkers, Knob: "workers", From: known(1), To: known(2), Text: "More workers, and the CPU for them.",
			Place: "annotations of the pod template, in what Helm checkout makes server from", Values: "config.linkerd.io/proxy-cpu-limit: '2'",
			Notes: []string{"restarts 3 pods one after another"},
		}},
		Not:     []model.Action{{Kind: model.ActRaiseBacklog, Text: "Not the backlog alone: a deeper queue hides bursts."}},
		Unknown: []string{"what the clients would send if they were served"},
	}
}

// everyKind holds one pod of every kind that the output must tell apart.
func everyKind() model.Snapshot {
	const noClock = "hostNetwork: sockets and counters are the node's, nothing is attributed to this pod"
	return model.Snapshot{Seq: 7, Time: noon, Pods: []model.Pod{
		with("a-saturated", func(p *model.Pod) {
			p.Listeners[0].Sockets[0] = socket(11, 129, 128, 9000)
			p.Listeners[0].Window = model.ListenerWindow{Overflows: known(43), Peak: known(129)}
			p.Counters.ListenOverflows, p.Counters.ListenDrops = known(5312), known(5320)
			p.Window.Overflows, p.Window.Drops, p.Window.Accepted = known(43), known(43), known(99)
			p.Runtime.Window.Busy, p.Runtime.Window.Clamped = model.Known(1.0), true
			p.Verdicts = []model.Verdict{saturatedVerdict(), {Class: model.ClassConfigDrift, Severity: model.SeverityWarning, Sentence: "Workers differ."}}
		}),
		with("b-bursts", func(p *model.Pod) {
			p.Verdicts = []model.Verdict{{Class: model.ClassBurst, Severity: model.SeverityWarning, Port: 4140, Role: model.RoleOutbound, Listener: "0.0.0.0:4140"}}
			p.Listeners[1].Sockets[0] = socket(12, 0, 16, 70)
			p.Listeners[1].Window = model.ListenerWindow{Overflows: known(4), Peak: known(9)}
			p.Counters.ListenOverflows, p.Counters.ListenDrops = known(642), known(642)
			p.Window.Overflows, p.Window.Drops = known(4), known(4)
		}),
		with("c-idle", func(p *model.Pod) {
			p.Verdicts = []model.Verdict{{Class: model.ClassHealthy, Severity: model.SeverityInfo, Sentence: "Not the queue."}}
		}),
		with("d-reuseport", func(p *model.Pod) {
			p.Proxy, p.Runtime, p.Knobs = model.Proxy{}, model.Runtime{}, nil
			p.Sockets = known(4)
			p.Listeners = []model.Listener{listener(
				model.RoleApp, 8080,
				socket(21, 0, 511, 0), socket(22, 400, 511, 3), socket(23, 1, 511, 0), socket(24, 0, 511, 0),
			)}
			p.Listeners[0].Window = model.ListenerWindow{Overflows: known(0), Peak: known(400)}
		}),
		with("e-limit-unknown", func(p *model.Pod) {
			const why = "sock_diag refused, read from /proc/net/tcp"
			for i := range p.Listeners {
				s := &p.Listeners[i].Sockets[0]
				s.Limit, s.Drops = model.Unknown[int64](why), model.Unknown[int64](why)
				p.Listeners[i].Window.Overflows = model.Unknown[int64]("the sockets' own drop counts are unknown")
			}
			p.Window.Overflows, p.Window.Unattributed = known(6), known(6)
			p.Counters.ListenOverflows = known(12)
			p.Knobs[1].InForce = model.Unknown[int64](why)
		}),
		with("f-hostnetwork", func(p *model.Pod) {
			p.HostNetwork = true
			p.Proxy, p.Runtime, p.Knobs = model.Proxy{}, model.Runtime{}, nil
			*p = model.NoWindow(*p, noClock)
			p.Counters.ListenOverflows = known(777)
		}),
		with("g-pulling", func(p *model.Pod) {
			unread(p, "no frame yet")
			p.Collection.Stage = model.StagePulling
		}),
		with("h-failed", func(p *model.Pod) {
			unread(p, "the probe cannot start")
			p.Collection.Stage, p.Collection.Message = model.StageFailed, evil
		}),
		with("i-gone", func(p *model.Pod) {
			p.Collection.Stage, p.Collection.Message = model.StageGone, "deleted"
			p.Sockets = model.Unknown[int64]("deleted")
			p.Listeners = nil
			p.Counters.ListenOverflows = known(655)
		}),
		with("j-drift", func(p *model.Pod) {
			p.Knobs[0] = model.Knob{
				Name: "workers", Asked: known(2), InForce: known(1), SeenBy: "tokio_rt_workers",
				Chain:  []model.Origin{{Where: "pod annotation", Name: "config.linkerd.io/proxy-cpu-limit", Value: "2"}},
				Remedy: model.Remedy{Where: "pod template annotation", Name: "config.linkerd.io/proxy-cpu-limit", Form: "a number of CPUs"},
				Why:    "the pod started before the annotation was set",
			}
			p.Knobs[1].Asked = known(1024)
		}),
		with("k-stale", func(p *model.Pod) {
			p.Collection.Stage = model.StageStale
			p.Sample.Arrived = noon.Add(-95 * time.Second)
		}),
		with("l-first-frame", func(p *model.Pod) {
			*p = model.NoWindow(*p, "only one sample so far")
			p.Runtime.Window.Busy = model.Unknown[float64]("no refresh of the metrics observed yet")
		}),
	}}
}

// unread takes everything away that a probe and the metrics would tell.
func unread(p *model.Pod, why string) {
	u := model.Unknown[int64](why)
	p.Listeners, p.Sockets, p.Sample = nil, model.Unknown[int64](why), model.Sample{}
	p.Counters = model.Counters{ListenOverflows: u, ListenDrops: u, PassiveOpens: u, Somaxconn: u}
	p.Window = model.Window{Seconds: model.Unknown[float64](why), Overflows: u, Drops: u, Accepted: u, Unattributed: u}
	p.Runtime = model.Runtime{Workers: u, Window: model.RuntimeWindow{Busy: model.Unknown[float64](why)}}
	for i := range p.Knobs {
		p.Knobs[i].InForce = u
	}
}

// many is a snapshot of n healthy pods.
func many(n int) model.Snapshot {
	s := model.Snapshot{Time: noon}
	for i := range n {
		s.Pods = append(s.Pods, pod("server-"+strconv.Itoa(i)))
	}
	return s
}
