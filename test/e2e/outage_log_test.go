package e2e

import (
	"context"
	"math/rand/v2"
	"net/http"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// frameLog is what a followed log delivered.
type frameLog struct {
	mu   sync.Mutex
	seqs []uint64
}

func (l *frameLog) take(f parse.Frame, _ time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seqs = append(l.seqs, f.Seq)
}

func (l *frameLog) all() []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seqs)
}

// last is the number of the newest frame, 0 before the first.
func (l *frameLog) last() uint64 {
	if seqs := l.all(); len(seqs) > 0 {
		return seqs[len(seqs)-1]
	}
	return 0
}

// whole says of a log that no frame is there twice, and that from one on none is
// missing.
func (l *frameLog) whole(t *testing.T, from uint64) {
	t.Helper()
	seqs := l.all()
	for i := 1; i < len(seqs); i++ {
		before, now := seqs[i-1], seqs[i]
		if now <= before || before >= from && now != before+1 {
			t.Errorf("frame %d follows frame %d", now, before)
		}
	}
}

// followLog follows a pod's probe as the program does, through an apiProxy, until
// the test ends.
func (e *env) followLog(server, pod string) *frameLog {
	e.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server, QPS: -1})
	if err != nil {
		e.Fatalf("making a client: %v", err)
	}
	l := &frameLog{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		prober := &collect.Prober{Client: client}
		if err := prober.Follow(ctx, e.ns, pod, "backlog-probe-1", 2*time.Second, l.take); ctx.Err() == nil {
			e.Errorf("following the log: %v", err)
		}
	}()
	e.Cleanup(func() { cancel(); <-done })
	return l
}

// Forty log streams of a real API server, each cut at another byte: while they
// catch up, within marks and lines, and in the middle of the present.
func TestLogCutAnywhere(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	e := newEnv(t, nil)
	e.create(serverPod("a", []string{"-listen", "127.0.0.1:8080/16"}))
	e.running("a")
	e.backlog("get", "a", "--window", "0")
	time.Sleep(5 * time.Second) // a log that is longer than what is asked for

	const followers, cuts = 8, 5
	type run struct {
		log     *frameLog
		streams *atomic.Int32
	}
	var runs []*run
	for range followers {
		places := make([]int64, cuts)
		for i := range places {
			places[i] = random.Int64N(2500) // some five frames
		}
		r := &run{streams: &atomic.Int32{}}
		g := newAPIProxy(t)
		g.cuts(func(req *http.Request) int64 {
			if path.Base(req.URL.Path) != "log" {
				return -1
			}
			if n := int(r.streams.Add(1)); n <= cuts {
				return places[n-1]
			}
			return -1
		})
		r.log = e.followLog(g.url(), "a")
		runs = append(runs, r)
	}
	var target uint64
	for _, r := range runs {
		e.eventually("the last stream of a follower", func() error {
			if n := r.streams.Load(); n <= cuts {
				return errorf("%d streams so far", n)
			}
			return nil
		})
		target = max(target, r.log.last()+2)
	}
	for _, r := range runs {
		e.eventually("frames after all cuts", func() error {
			if last := r.log.last(); last < target {
				return errorf("frame %d so far, waiting for %d", last, target)
			}
			return nil
		})
		r.log.whole(t, 1)
	}
	t.Logf("frames up to %d for %d followers, each over %d streams", target, followers, cuts+1)
}
