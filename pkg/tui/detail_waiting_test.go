package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// stuckPod has a queue that nothing leaves, and threads of every kind.
func stuckPod() model.Pod {
	p := pod("stuck-6bf978ccb4-m2m2q", 30)
	p.Listeners[3].Sockets[0] = socket(14, 129, 128, 7)
	var conns []model.Connection
	for i := range 129 {
		conns = append(conns, model.Connection{
			Peer: fmt.Sprintf("10.1.0.%d:4%03d", 1+i*i%11, i), ID: fmt.Sprint(i), State: "established", Waited: model.Known(372.5 - float64(i)),
		})
	}
	first := model.WaitingAt(nil, model.Known(998.0), conns, 0)
	now := model.WaitingAt(&first, model.Known(1028.0), conns, 0)
	now.Callers[0].Pod = model.Known("shop/web-b8k2n\x1b[31m")
	p.Listeners[3].Waiting = &now
	few := model.WaitingAt(&first, model.Known(1030.0), conns[:3], 400)
	p.Listeners[1].Sockets[0], p.Listeners[1].Waiting = socket(12, 3, 16, 0), &few

	hidden := model.Unknown[string]("wchan reads 0: the thread runs, or the probe has another user or group than the target")
	thread := func(tid int, name, state string, cpu, wait model.Value[float64], wchan model.Value[string]) model.Thread {
		return model.Thread{TID: tid, Name: name, State: state, CPU: cpu, Wait: wait, Wchan: wchan}
	}
	fresh := model.Unknown[float64]("not among the threads of the reading before")
	p.Process = model.Process{
		Container: "app", PID: 1, Name: "server", Uptime: model.Known(1026.0), Seconds: model.Known(5.0), OmittedThreads: 3,
		CPU: model.Known(0.97), Wait: model.Unknown[float64]("3 of its threads were not read"), CPUsAllowed: known(4),
		OpenFDs: model.Unknown[int64]("only the target's own user and group may count its descriptors, and the probe has others"), MaxFDs: known(1024),
		Threads: []model.Thread{
			thread(1, "server", "S", model.Known(0.0), model.Known(0.0), model.Known("futex_wait_queue")),
			thread(7, "acceptor", "S", model.Known(0.01), model.Known(0.0), model.Known("inet_csk_accept")),
			thread(8, "worker\n\x1b[2J", "R", model.Known(0.96), model.Known(0.04), hidden),
			thread(9, "worker", "S", model.Known(0.0), model.Known(0.0), hidden),
			thread(10, "new", "D", fresh, fresh, model.Known("folio_wait_bit_common")),
		},
	}
	return p
}

func detailOf(t *testing.T, width, height int, p model.Pod, tab string) *app {
	t.Helper()
	a := screen(t, width, height)
	s := model.Snapshot{Seq: 30, Time: noon.Add(30 * time.Second), Pods: []model.Pod{model.NoWindow(p, "only one sample so far")}}
	deliver(a, s)
	press(a, "enter", tab)
	return a
}

func TestViewDetailOfAStuckQueue(t *testing.T) {
	for _, s := range []struct {
		tab           string
		width, height int
	}{{"2", 120, 50}, {"2", 80, 40}, {"3", 120, 40}} {
		name := fmt.Sprintf("detail-stuck-%s-%dx%d.txt", s.tab, s.width, s.height)
		t.Run(name, func(t *testing.T) { goldenView(t, name, detailOf(t, s.width, s.height, stuckPod(), s.tab)) })
	}
}

func TestViewDetailSaysWhyThreadsAreUnknown(t *testing.T) {
	p := stuckPod()
	p.Process = model.UnknownProcess("the threads of no container are read")
	view := detailOf(t, 120, 90, p, "3").View()
	if !strings.Contains(view, "Threads") || !strings.Contains(view, "the threads of no container are read") {
		t.Errorf("no reason:\n%s", view)
	}
	p.Process = model.Process{}
	if view = detailOf(t, 120, 90, p, "3").View(); strings.Contains(view, "Threads") {
		t.Errorf("a block about nothing:\n%s", view)
	}
}

// A process of a thousand threads fills no page.
func TestViewDetailOfManyThreads(t *testing.T) {
	p := stuckPod()
	for i := range 100 {
		p.Process.Threads = append(p.Process.Threads, model.Thread{TID: 100 + i, Name: "t", State: "S", CPU: model.Known(0.001), Wait: model.Known(0.0), Wchan: model.Known("ep_poll")})
	}
	view := detailOf(t, 120, 120, p, "3").View()
	if n := strings.Count(view, "ep_poll"); n > maxThreadRows || !strings.Contains(view, fmt.Sprintf("and %d more that did less", 105-maxThreadRows)) {
		t.Errorf("%d rows of threads:\n%s", n, view)
	}
	if strings.Index(view, "worker") > strings.Index(view, "acceptor") {
		t.Error("the busiest is not the first")
	}
}
