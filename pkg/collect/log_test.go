package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// frameText is a frame as the sampler prints it.
func frameText(seq int) string {
	return fmt.Sprintf("==backlog-frame/1 begin seq=%d uptime=%d.00==\n==backlog-section ss==\n==backlog-frame/1 end seq=%d==\n", seq, 1000+seq, seq)
}

// say writes log text and sends it off at once.
func say(w http.ResponseWriter, texts ...string) {
	for _, text := range texts {
		_, _ = io.WriteString(w, text)
	}
	w.(http.Flusher).Flush()
}

// follow runs Follow on the server and gives the numbers of the frames.
func follow(t *testing.T, s *apiServer, p *Prober, since time.Duration, each func(seq int)) ([]int, error) {
	t.Helper()
	p.Client = s.client
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var seqs []int
	err := p.Follow(ctx, "shop", "a", "backlog-probe-1", since, func(f parse.Frame, _ time.Time) {
		seqs = append(seqs, int(f.Seq))
		if each != nil {
			each(int(f.Seq))
		}
	})
	return seqs, err
}

func startingServer(t *testing.T) *apiServer {
	s := newAPIServer(t)
	s.change(func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{}, nil) })
	return s
}

func TestFollowUntilTheProbeEnds(t *testing.T) {
	s := startingServer(t)
	s.log = func(_ int, w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("container") != "backlog-probe-1" || q.Get("follow") != "true" || q.Has("sinceSeconds") {
			t.Errorf("asked for %s", r.URL.RawQuery)
		}
		say(w, frameText(1), frameText(2), endMark+"\n")
	}
	seqs, err := follow(t, s, &Prober{}, 0, nil)
	if err != nil || !slices.Equal(seqs, []int{1, 2}) {
		t.Errorf("frames %v, %v", seqs, err)
	}
	if s.gets > 0 {
		t.Error("the pod was asked for without need")
	}
}

func TestFollowAsksUntilTheProbeHasStarted(t *testing.T) {
	s := startingServer(t)
	s.log = func(n int, w http.ResponseWriter, _ *http.Request) {
		if n < 4 {
			refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, `container "backlog-probe-1" in pod "a" is waiting to start: ContainerCreating`)
			return
		}
		say(w, frameText(1), endMark+"\n")
	}
	seqs, err := follow(t, s, &Prober{}, 0, nil)
	if err != nil || !slices.Equal(seqs, []int{1}) || s.logs != 4 {
		t.Errorf("frames %v after %d requests, %v", seqs, s.logs, err)
	}
}

// Every frame once and in order, over streams that break within a frame,
// between two, before the first byte, or that repeat what was delivered.
func TestFollowGoesOnWhereItStopped(t *testing.T) {
	s := startingServer(t)
	var since []string
	s.log = func(n int, w http.ResponseWriter, r *http.Request) {
		since = append(since, r.URL.Query().Get("sinceSeconds"))
		switch n {
		case 1:
			say(w, frameText(7), frameText(8), frameText(9)[:40])
			panic(http.ErrAbortHandler)
		case 2:
			refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "dial tcp 10.0.0.1:10250: connection refused")
		case 3:
			say(w, frameText(8)[20:], frameText(9), frameText(10))
		case 4:
			say(w, frameText(10), frameText(11), endMark+"\n")
		}
	}
	at := time.Unix(5000, 0)
	clock := func() time.Time { at = at.Add(time.Second); return at }
	var why []string
	p := &Prober{Now: clock, Retrying: func(namespace, pod string, err error) {
		why = append(why, fmt.Sprintf("%s/%s: %v", namespace, pod, err))
	}}
	seqs, err := follow(t, s, p, 90*time.Second+1, nil)
	if err != nil || !slices.Equal(seqs, []int{7, 8, 9, 10, 11}) {
		t.Errorf("frames %v, %v", seqs, err)
	}
	if want := []string{"shop/a: reading a frame: unexpected EOF", "shop/a: dial tcp 10.0.0.1:10250: connection refused", "shop/a: EOF"}; !slices.Equal(why, want) {
		t.Errorf("retried because of %q, want %q", why, want)
	}
	// First what the caller wants of the past; then what may have been missed,
	// since the first frame may have been as old as was asked for.
	if since[0] != "91" {
		t.Errorf("asked for the last %s s at first", since[0])
	}
	for _, text := range since[1:] {
		if n, err := strconv.Atoi(text); err != nil || n < 91 || n > 110 {
			t.Errorf("asked for the last %q s after the stream broke", text)
		}
	}
}

// Wherever a stream is cut, within a mark, a line or between two frames, what
// follows has no gap and nothing twice.
func TestFollowAfterACutAtAnyByte(t *testing.T) {
	text := frameText(9) + frameText(10) + frameText(11)
	s := newAPIServer(t)
	name := func(cut int) string { return "backlog-probe-" + strconv.Itoa(cut+1) }
	s.change(func(p *corev1.Pod) {
		for cut := range len(text) + 1 {
			addProbe(p, name(cut), ProbeSpec{}, stateRunning())
		}
	})
	var mu sync.Mutex
	asked := map[string]int{}
	s.log = func(_ int, w http.ResponseWriter, r *http.Request) {
		container := r.URL.Query().Get("container")
		mu.Lock()
		asked[container]++
		n := asked[container]
		mu.Unlock()
		if n > 1 {
			say(w, text, frameText(12), endMark+"\n")
			return
		}
		cut, _ := strconv.Atoi(strings.TrimPrefix(container, "backlog-probe-"))
		say(w, text[:cut-1])
		panic(http.ErrAbortHandler)
	}
	var all sync.WaitGroup
	limit := make(chan struct{}, 50) // files that may be open
	for cut := range len(text) + 1 {
		limit <- struct{}{}
		all.Go(func() {
			defer func() { <-limit }()
			var seqs []uint64
			err := (&Prober{Client: s.client}).Follow(t.Context(), "shop", "a", name(cut), time.Minute, func(f parse.Frame, _ time.Time) {
				seqs = append(seqs, f.Seq)
			})
			if err != nil || !slices.Equal(seqs, []uint64{9, 10, 11, 12}) {
				t.Errorf("cut after %q: frames %v, %v", text[:cut], seqs, err)
			}
		})
	}
	all.Wait()
}

// A stream that breaks while it catches up with a long outage has delivered old
// frames just now: the next one begins where it stopped, not at the present.
func TestFollowAfterABreakInTheMiddleOfCatchingUp(t *testing.T) {
	s := startingServer(t)
	start := time.Unix(5000, 0)
	var elapsed atomic.Int64 // seconds; the probe prints frame n after n of them
	elapsed.Store(100)
	printed := func(r *http.Request) (frames []int) {
		since, err := strconv.Atoi(r.URL.Query().Get("sinceSeconds"))
		if err != nil {
			t.Errorf("asked for %s", r.URL.RawQuery)
		}
		now := int(elapsed.Load())
		for n := max(1, now-since); n <= now; n++ {
			frames = append(frames, n)
		}
		return frames
	}
	s.log = func(n int, w http.ResponseWriter, r *http.Request) {
		frames := printed(r)
		for i, seq := range frames {
			if n > 1 && n < 9 && i == len(frames)/2 {
				panic(http.ErrAbortHandler)
			}
			say(w, frameText(seq))
		}
		switch {
		case n == 1:
			elapsed.Add(120) // the outage
			panic(http.ErrAbortHandler)
		case n < 9:
			panic(http.ErrAbortHandler)
		}
		say(w, endMark+"\n")
	}
	p := &Prober{Now: func() time.Time { return start.Add(time.Duration(elapsed.Load()) * time.Second) }}
	seqs, err := follow(t, s, p, 12*time.Second, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range seqs[1:] {
		if seqs[i+1] != seqs[i]+1 {
			t.Fatalf("frame %d follows %d in %v", seqs[i+1], seqs[i], seqs)
		}
	}
	if seqs[len(seqs)-1] != 220 {
		t.Errorf("the last frame is %d", seqs[len(seqs)-1])
	}
}

// What a busy API server says is told and heeded, not swallowed by the library.
func TestFollowTellsOfABusyServer(t *testing.T) {
	s := startingServer(t)
	s.log = func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
			return
		}
		say(w, frameText(1), endMark+"\n")
	}
	var why []string
	begun := time.Now()
	_, err := follow(t, s, &Prober{Retrying: func(_, _ string, err error) { why = append(why, err.Error()) }}, 0, nil)
	if err != nil || len(why) != 1 || !strings.Contains(why[0], "too many requests") {
		t.Errorf("retried because of %q, %v", why, err)
	}
	if took := time.Since(begun); took < time.Second {
		t.Errorf("asked again after %s", took)
	}
	if s.gets > 0 {
		t.Error("a busy server was asked for the pod as well")
	}
}

// A connection that says nothing is broken, even if nobody closed it: from the
// beginning, or after a while.
func TestFollowGivesUpASilentStream(t *testing.T) {
	s := startingServer(t)
	s.log = func(n int, w http.ResponseWriter, r *http.Request) {
		if n > 1 {
			say(w, frameText(n))
		}
		if n <= 2 {
			<-r.Context().Done()
			return
		}
		say(w, endMark+"\n")
	}
	var why []error
	p := &Prober{Silence: 50 * time.Millisecond, Retrying: func(_, _ string, err error) { why = append(why, err) }}
	seqs, err := follow(t, s, p, 0, nil)
	if err != nil || !slices.Equal(seqs, []int{2, 3}) {
		t.Errorf("frames %v, %v", seqs, err)
	}
	if !slices.Equal(why, []error{errSilent, errSilent}) {
		t.Errorf("retried because of %v", why)
	}
}

// A pod that is asked about over a dead connection does not hold up the log.
func TestFollowGivesUpASilentLook(t *testing.T) {
	s := startingServer(t)
	s.get = func(n int, r *http.Request) {
		if n == 1 {
			<-r.Context().Done()
		}
	}
	s.log = func(n int, w http.ResponseWriter, _ *http.Request) {
		say(w, frameText(n))
		if n > 1 {
			say(w, endMark+"\n")
		}
	}
	seqs, err := follow(t, s, &Prober{Silence: 50 * time.Millisecond}, 0, nil)
	if err != nil || !slices.Equal(seqs, []int{1, 2}) {
		t.Errorf("frames %v, %v", seqs, err)
	}
}

func TestFollowEndings(t *testing.T) {
	running := func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{}, stateRunning()) }
	broken := func(_ int, w http.ResponseWriter, _ *http.Request) { say(w, frameText(1)) }
	waits := func(_ int, w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, `container "backlog-probe-1" in pod "a" is waiting to start`)
	}
	tests := map[string]struct {
		pod  func(*corev1.Pod)
		gone bool
		log  func(int, http.ResponseWriter, *http.Request)
		want error
	}{
		"the target restarted": {
			pod: func(p *corev1.Pod) {
				addProbe(p, "backlog-probe-1", ProbeSpec{}, &corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137}})
			},
			log:  broken,
			want: &ProbeError{Stage: model.StageEnded, Message: "killed (exit code 137), as when its target container restarts"},
		},
		"the image cannot be pulled": {
			pod:  func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{}, statePulling()) },
			log:  waits,
			want: &ProbeError{Stage: model.StageFailed, Message: "ImagePullBackOff: no such image"},
		},
		"it prints no frames": {
			pod: func(p *corev1.Pod) {
				addProbe(p, "backlog-probe-1", ProbeSpec{}, &corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error"}})
			},
			log: func(_ int, w http.ResponseWriter, _ *http.Request) {
				say(w, "sh: syntax error\x1b[2J\n")
			},
			want: &ProbeError{Stage: model.StageFailed, Message: `exit code 2; it printed "sh: syntax error\x1b[2J"`},
		},
		"the pod was deleted": {
			pod: running, gone: true,
			log: func(_ int, w http.ResponseWriter, _ *http.Request) {
				refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, `pods "a" not found`)
			},
			want: &GoneError{Pod: "shop/a", Why: "was deleted"},
		},
		"the pod was replaced": {
			pod:  func(*corev1.Pod) {},
			log:  broken,
			want: &GoneError{Pod: "shop/a", Why: "has no container backlog-probe-1: it was replaced by another of the same name"},
		},
		"the pod has finished": {
			pod:  func(p *corev1.Pod) { running(p); p.Status.Phase = corev1.PodFailed },
			log:  broken,
			want: &GoneError{Pod: "shop/a", Why: "has finished (Failed)"},
		},
		"no right to read the log": {
			pod: running,
			log: func(_ int, w http.ResponseWriter, _ *http.Request) {
				refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, `pods "a" is forbidden: User "jo" cannot get resource "pods/log" in API group ""`)
			},
			want: &ForbiddenError{
				Verb: "get", Resource: "pods/log", Namespace: "shop",
				Message: `pods "a" is forbidden: User "jo" cannot get resource "pods/log" in API group ""`,
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newAPIServer(t)
			s.change(tt.pod)
			if tt.gone {
				s.pod = nil
			}
			s.log = tt.log
			_, err := follow(t, s, &Prober{}, 0, nil)
			if fmt.Sprintf("%T %v", err, err) != fmt.Sprintf("%T %v", tt.want, tt.want) {
				t.Errorf("%T %v\nwant %T %v", err, err, tt.want, tt.want)
			}
		})
	}
}

func TestFollowStopsWithItsContext(t *testing.T) {
	s := startingServer(t)
	s.log = func(_ int, w http.ResponseWriter, r *http.Request) {
		say(w, frameText(1))
		<-r.Context().Done()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := (&Prober{Client: s.client}).Follow(ctx, "shop", "a", "backlog-probe-1", 0, func(parse.Frame, time.Time) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

// Probes that start together share the looks at their logs; one that has started
// takes no part any more.
func TestProbesThatStartTogether(t *testing.T) {
	var p Prober
	for together, want := range map[int32]time.Duration{1: startPoll, 2: 80 * time.Millisecond, 25: time.Second, 500: maxPoll} {
		p.starting.Store(together)
		if got := p.pollEvery(); got != want {
			t.Errorf("%d together: every %s, want %s", together, got, want)
		}
	}
	p.starting.Store(0)
	s := startingServer(t)
	s.log = func(_ int, w http.ResponseWriter, _ *http.Request) { say(w, frameText(1), endMark+"\n") }
	_, err := follow(t, s, &p, 0, func(int) {
		if n := p.starting.Load(); n != 0 {
			t.Errorf("%d wait for a first frame after it has come", n)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
