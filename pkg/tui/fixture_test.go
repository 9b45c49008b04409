package tui

import (
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// noon is when the first synthetic snapshot was gathered.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const evil = "Back-off pulling image \"reg/\x1b[31mred\u202e\": \nnot found\u009b2J\x07"

func known(n int64) model.Value[int64] { return model.Known(n) }

func socket(inode uint64, depth, limit, drops int64) model.Socket {
	return model.Socket{Inode: model.Known(inode), Depth: known(depth), Limit: known(limit), Drops: known(drops)}
}

// pod is a healthy pod as it is in the n-th second.
func pod(name string, n int) model.Pod {
	listener := func(address string, role model.Role, port uint16, s model.Socket) model.Listener {
		return model.Listener{Address: address, Port: port, Role: role, Sockets: []model.Socket{s}}
	}
	return model.Pod{
		Meta: model.Meta{Name: name, Namespace: "shop", UID: "uid-" + name, Created: noon.Add(-time.Hour)},
		Node: "node-a", Workload: model.Workload{Kind: "Deployment", Name: strings.Split(name, "-")[0]}, Phase: "Running", Ready: true,
		Proxy:      model.Proxy{Adapter: "linkerd", Container: "linkerd-proxy", Sidecar: true, Version: model.Known("2.366.0")},
		Collection: model.Collection{Via: model.ViaProbe, Stage: model.StageOK, Probe: "backlog-probe-1"},
		Sample: model.Sample{
			Seq: uint64(n), Uptime: model.Known(1000 + float64(n)), Sandbox: "s1",
			Arrived: noon.Add(time.Duration(n)*time.Second - 400*time.Millisecond),
		},
		Sockets: known(4),
		Listeners: []model.Listener{
			listener("0.0.0.0", model.RoleInbound, 4143, socket(11, 0, 128, 0)),
			listener("127.0.0.1", model.RoleOutbound, 4140, socket(12, 0, 128, 0)),
			listener("::", model.RoleAdmin, 4191, socket(13, 0, 128, 0)),
			listener("*", model.RoleApp, 8080, socket(14, 0, 511, 0)),
		},
		Counters: model.Counters{
			ListenOverflows: known(0), ListenDrops: known(0), ReqQFullDoCookies: known(0), ReqQFullDrop: known(0),
			SyncookiesSent: known(0), SyncookiesRecv: known(0), PassiveOpens: known(int64(116 * n)), Somaxconn: known(4096),
		},
		Runtime: model.Runtime{
			Workers: known(1), BusySeconds: model.Known(312 + 0.31*float64(n)), CPUSeconds: model.Known(300.25 + 0.29*float64(n)),
			Parks: known(int64(88 + 6*n)), Polls: known(int64(1200 + 90*n)),
			Steals: known(0), Spills: known(0), LocalQueue: known(2), OpenFDs: known(61), MaxFDs: known(1048576),
			Start: model.Known(1.7e9), Clock: model.Known(1.7e9 + float64(n)), Ready: model.Known(true),
			Window: model.RuntimeWindow{
				Seconds: model.Known(10.0), Busy: model.Known(0.31), CPU: model.Known(0.29), Parks: known(60), Polls: known(900), Stalled: model.Known(0.0),
			},
		},
		Knobs: []model.Knob{
			{Name: "workers", Asked: known(1), InForce: known(1), SeenBy: "tokio_rt_workers"},
			{Name: "inbound backlog", Asked: known(128), InForce: known(128), SeenBy: "ss", Chain: []model.Origin{{Where: "default", Value: "128"}}},
		},
	}
}

// overflowing lets the pod's listener i refuse perSecond packets a second.
func overflowing(p *model.Pod, n, i int, perSecond int64) {
	total := int64(n) * perSecond
	p.Counters.ListenOverflows, p.Counters.ListenDrops = known(5000+total), known(5008+total)
	p.Listeners[i].Sockets[0].Drops = known(total)
}

// unread takes everything away that a probe and the metrics would tell.
func unread(p *model.Pod, why string) {
	u := model.Unknown[int64](why)
	p.Listeners, p.Sockets, p.Sample = nil, model.Unknown[int64](why), model.Sample{}
	p.Counters = model.Counters{ListenOverflows: u, ListenDrops: u, PassiveOpens: u, Somaxconn: u}
	p.Runtime = model.UnknownRuntime(why)
	for i := range p.Knobs {
		p.Knobs[i].InForce = u
	}
}

// everyKind is the snapshot of the n-th second: one pod of every kind.
func everyKind(n int) model.Snapshot {
	s := model.Snapshot{Seq: uint64(n), Time: noon.Add(time.Duration(n) * time.Second), Notes: []string{"13 probes run until 13:00Z"}}
	add := func(name string, change func(p *model.Pod)) {
		p := pod(name, n)
		change(&p)
		s.Pods = append(s.Pods, window(p, n, change))
	}
	add("idle-6fbc7d8f95-q9w2x", func(*model.Pod) {})
	add("server-6bf978ccb4-m2m2q", func(p *model.Pod) {
		p.Listeners[0].Sockets[0] = socket(11, 129, 128, 0)
		t := int(p.Sample.Seq)
		p.Runtime.Window.Busy, p.Runtime.Window.CPU, p.Runtime.Window.Parks = model.Known(0.97), model.Known(0.95), known(0)
		p.Runtime.BusySeconds, p.Runtime.CPUSeconds, p.Runtime.Parks = model.Known(312+0.97*float64(t)), model.Known(300+0.95*float64(t)), known(88)
		overflowing(p, t, 0, 14)
	})
	add("checkout-79c4d5f6b8-hq2lw", func(p *model.Pod) {
		p.Listeners[1].Sockets[0] = socket(12, 0, 16, 0)
		overflowing(p, int(p.Sample.Seq)/30*10, 1, 30) // 300 packets every 30 s
	})
	add("web-x7wqp", func(p *model.Pod) { p.Runtime.Window.Busy, p.Runtime.Window.Clamped = model.Known(1.0), true })
	add("web-b8k2n", func(p *model.Pod) { p.Listeners[0].Sockets[0] = socket(11, 128, 128, 0) })
	add("redis-0", func(p *model.Pod) {
		p.Proxy, p.Runtime, p.Knobs = model.Proxy{}, model.Runtime{}, nil
		p.Listeners = []model.Listener{{Address: "*", Port: 6379, Role: model.RoleApp, Sockets: []model.Socket{
			socket(21, 0, 511, 0), socket(22, 400, 511, 3), socket(23, 1, 511, 0), socket(24, 0, 511, 0),
		}}}
	})
	add("search-5c9f77b6d8-2kq4x", func(p *model.Pod) {
		p.Knobs[0] = model.Knob{
			Name: "workers", Asked: known(4), InForce: known(1), SeenBy: "tokio_rt_workers",
			Why:    "the ratio is set on the namespace, and is not inherited",
			Chain:  []model.Origin{{Where: "namespace annotation", Name: "config.linkerd.io/proxy-cpu-ratio-limit", Value: "0.25", Note: "ignored"}},
			Remedy: model.Remedy{Where: "pod template annotation", Name: "config.linkerd.io/proxy-cpu-ratio-limit", Form: "a ratio in (0,1]"},
		}
	})
	add("oldkernel-7d4b5c6f8-zz9zz", func(p *model.Pod) {
		const why = "sock_diag refused, read from /proc/net/tcp"
		overflowing(p, int(p.Sample.Seq), 0, 2)
		for i := range p.Listeners {
			p.Listeners[i].Sockets[0].Limit, p.Listeners[i].Sockets[0].Drops = model.Unknown[int64](why), model.Unknown[int64](why)
		}
	})
	add("exporter-7xk2p", func(p *model.Pod) {
		p.HostNetwork = true
		p.Proxy, p.Runtime, p.Knobs = model.Proxy{}, model.Runtime{}, nil
	})
	add("fresh-5566778899-bbbbb", func(p *model.Pod) {
		unread(p, "no frame yet")
		p.Collection.Stage = model.StagePulling
	})
	add("noimage-5566778899-aaaaa", func(p *model.Pod) {
		unread(p, "the probe cannot start")
		p.Collection.Stage, p.Collection.Message = model.StageFailed, evil
	})
	add("old-58d7f9c6d4-p5jgr", func(p *model.Pod) {
		p.Collection.Stage, p.Collection.Message = model.StageGone, "deleted"
		p.Listeners = nil
	})
	add("cut-off-deployment-with-a-long-name-7d8f9b6c5d-abcde", func(p *model.Pod) {
		p.Collection.Stage, p.Collection.Message = model.StageStale, "no new frame since 12:00:05Z"
		p.Sample.Seq, p.Sample.Uptime, p.Sample.Arrived = 5, model.Known(1005.0), noon.Add(5*time.Second)
	})
	return s
}

// window fills the pod's window as a Source does: from ten seconds before.
func window(p model.Pod, n int, change func(*model.Pod)) model.Pod {
	if n < 2 {
		return model.NoWindow(p, "only one sample so far")
	}
	before := pod(p.Meta.Name, max(1, n-10))
	change(&before)
	return model.Diff(before, p)
}

// screen is an app that a test drives by hand, with no Source behind it.
func screen(t testing.TB, width, height int) *app {
	t.Helper()
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.Ascii)
	o := Options{Title: "prod-eu1/shop", Interval: time.Second, Now: func() time.Time { return noon }}
	a := newApp(o, &poller{interval: o.Interval, now: o.Now}, r)
	a.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return a
}

// flat is a screen whose list is not grouped by workload.
func flat(t testing.TB, width, height int) *app {
	t.Helper()
	a := screen(t, width, height)
	a.groupingChosen = true
	return a
}

// deliver gives the screen the snapshot that it waits for.
func deliver(a *app, s model.Snapshot) {
	a.Update(snapshotMsg{seq: a.polls, snapshot: s, began: s.Time, at: s.Time})
}

// watch lets the screen see the seconds from 1 to n.
func watch(a *app, n int) {
	for i := 1; i <= n; i++ {
		deliver(a, everyKind(i))
	}
}

// press types keys by name: "down", "enter", or single letters.
func press(a *app, keys ...string) {
	for _, k := range keys {
		a.Update(keyNamed(k))
	}
}

func keyNamed(name string) tea.KeyMsg {
	types := map[string]tea.KeyType{
		"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "enter": tea.KeyEnter, "esc": tea.KeyEsc,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "space": tea.KeySpace,
		"backspace": tea.KeyBackspace, "ctrl+c": tea.KeyCtrlC, "ctrl+v": tea.KeyCtrlV, "ctrl+z": tea.KeyCtrlZ, "ctrl+t": tea.KeyCtrlT, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab,
	}
	if t, ok := types[name]; ok {
		if t == tea.KeySpace {
			return tea.KeyMsg{Type: t, Runes: []rune{' '}}
		}
		return tea.KeyMsg{Type: t}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

// many is a snapshot of so many healthy pods.
func many(count, n int) model.Snapshot {
	s := model.Snapshot{Seq: uint64(n), Time: noon.Add(time.Duration(n) * time.Second)}
	for i := range count {
		s.Pods = append(s.Pods, window(pod("pod-"+strconv.Itoa(1000+i), n), n, func(*model.Pod) {}))
	}
	return s
}
