package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// endMark is the sampler's last line when its time is over.
const endMark = "==backlog-probe/1 end reason=ttl=="

const (
	// startPoll is the least time between two looks at the log of a probe that has
	// not started: often its first frame is there before a watch says "running".
	// Probes that start together share startRate looks a second, half of what the
	// client is allowed: fifty that looked as often as one would wait for each other.
	startPoll = 60 * time.Millisecond
	startRate = 25
	maxPoll   = 2 * time.Second
	// minRedial and maxRedial bound the pause before a broken stream is asked for
	// again.
	minRedial = 200 * time.Millisecond
	maxRedial = 5 * time.Second
	// silence is how long a stream may say nothing before it counts as broken. A
	// probe speaks once a second, and a connection that a firewall forgot never
	// ends by itself.
	silence = 5 * time.Second
	// overlap is read again after a broken stream; what was delivered already is
	// dropped by its number. It covers small differences between the clocks' pace.
	overlap = 3 * time.Second
)

// errSilent is a stream that was given up because it said nothing.
var errSilent = errors.New("the API server sends no more of the probe's log")

// Follow reads a probe's log and hands every frame to sink, once and in order,
// with the time at which it arrived. It asks at once and until the probe has
// started, and goes on where it stopped when the stream breaks. since bounds how
// much of the past is read first; 0 is all of it.
//
// It returns nil when the probe said that its time is over, a *ProbeError when
// the probe could not start, broke, or had ended before, a *GoneError when the pod is gone, a
// *ForbiddenError when the log may not be read, and the context's error.
func (p *Prober) Follow(ctx context.Context, namespace, pod, container string, since time.Duration,
	sink func(parse.Frame, time.Time),
) error {
	p.starting.Add(1)
	f := follower{
		prober: p, namespace: namespace, pod: pod, container: container, since: since, sink: sink,
		started: sync.OnceFunc(func() { p.starting.Add(-1) }),
	}
	defer f.started()
	wait := minRedial
	looked := p.now() // at the pod, whoever asked for the probe
	for {
		delivered := f.frames
		err := f.stream(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case f.stray == endMark:
			return nil
		}
		if typed := asForbidden(err, "get", "pods/log", namespace); typed != nil {
			return typed
		}
		if f.frames > delivered {
			wait = minRedial
		}
		// While it starts, the pod is looked at once a second; the log says only
		// "is waiting to start", whatever it waits for.
		starting := apierrors.IsBadRequest(err) && f.frames == 0
		poll := p.pollEvery()
		if !unreachable(err) && (!starting || p.now().Sub(looked) >= max(time.Second, 5*poll)) {
			looked = p.now()
			if err := f.check(ctx); err != nil {
				return err
			}
		}
		if starting {
			err = pause(ctx, poll)
		} else {
			if p.Retrying != nil {
				p.Retrying(namespace, pod, err)
			}
			least := wait
			if seconds, asked := apierrors.SuggestsClientDelay(err); asked {
				least = max(wait, min(time.Duration(seconds)*time.Second, maxRedial))
			}
			err = pause(ctx, least)
			wait = min(2*wait, maxRedial)
		}
		if err != nil {
			return err
		}
	}
}

// pollEvery is the time between two looks at the log of each probe that starts.
func (p *Prober) pollEvery() time.Duration {
	together := time.Duration(p.starting.Load())
	return min(max(startPoll, together*time.Second/startRate), maxPoll)
}

// unreachable says that the API server answered nothing, or nothing to anybody
// just now: it is not asked for the pod as well.
func unreachable(err error) bool {
	var request *url.Error
	return errors.As(err, &request) || apierrors.IsTooManyRequests(err) || apierrors.IsUnauthorized(err)
}

// follower is the state of one Follow.
type follower struct {
	prober                    *Prober
	namespace, pod, container string
	since                     time.Duration
	sink                      func(parse.Frame, time.Time)
	started                   func() // says once that it does not wait for a first frame any more

	frames  int       // delivered
	seq     uint64    // of the last frame delivered
	arrived time.Time // when it did
	uptime  float64   // of the last frame delivered; 0 when unknown
	// boot is a time of our clock at or before which the pod's clock showed 0: the
	// first frame of a stream is no older than what was asked for. Zero: not known.
	boot  time.Time
	stray string // the last line outside of a frame
}

// stream reads one log stream until it ends or says nothing for too long.
func (f *follower) stream(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	quiet := f.prober.silence()
	watchdog := time.AfterFunc(quiet, func() { cancel(errSilent) })
	defer watchdog.Stop()

	asked, since := f.prober.now(), f.reach()
	err := f.read(ctx, asked, since, &watched{timer: watchdog, quiet: quiet})
	if errors.Is(context.Cause(ctx), errSilent) && parent.Err() == nil {
		return errSilent
	}
	return err
}

// read hands over what a stream brings that was asked for at the given time.
func (f *follower) read(ctx context.Context, asked time.Time, since time.Duration, body *watched) error {
	request := f.prober.Client.CoreV1().Pods(f.namespace).GetLogs(f.pod, f.options(since))
	// By itself the library tries again ten times when the API server is busy, and
	// nobody learns why nothing comes.
	opened, err := request.MaxRetries(0).Stream(ctx)
	if err != nil {
		return err
	}
	defer opened.Close()
	body.r = opened
	frames := parse.NewFrameReader(body)
	for first := true; ; first = false {
		frame, err := frames.Next()
		if frames.Stray != "" {
			f.stray = frames.Stray
		}
		if err != nil {
			return err
		}
		uptime, known := frame.Uptime.Get()
		if first && known && since > 0 {
			f.boot = asked.Add(-since).Add(-seconds(uptime))
		}
		if f.frames > 0 && frame.Seq <= f.seq {
			continue // delivered before the stream broke
		}
		f.started()
		f.frames, f.seq, f.arrived, f.uptime = f.frames+1, frame.Seq, f.prober.now(), uptime
		f.sink(frame, f.arrived)
	}
}

// reach is how far back a stream must begin; 0 is all of the log. After a broken
// stream that is the last frame delivered: not since it arrived, as it may have
// been old by then, in a stream that broke while it caught up with an outage,
// but since it was printed, as nearly as is known and rather too far back.
func (f *follower) reach() time.Duration {
	switch {
	case f.frames == 0 || f.since <= 0:
		return wholeSeconds(f.since)
	case f.boot.IsZero() || f.uptime == 0:
		return wholeSeconds(f.since + f.prober.now().Sub(f.arrived))
	}
	return wholeSeconds(f.prober.now().Sub(f.boot.Add(seconds(f.uptime)))) + overlap
}

// wholeSeconds rounds up, as the API server takes no fractions.
func wholeSeconds(d time.Duration) time.Duration {
	return max(0, d+time.Second-1).Truncate(time.Second)
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// options asks relative to the node's clock, which need not agree with ours.
func (f *follower) options(since time.Duration) *corev1.PodLogOptions {
	o := &corev1.PodLogOptions{Container: f.container, Follow: true}
	if since > 0 {
		o.SinceSeconds = new(int64(since / time.Second))
	}
	return o
}

// check looks at the pod after a stream has ended: nil means go on.
func (f *follower) check(ctx context.Context) error {
	name := f.namespace + "/" + f.pod
	asking, cancel := context.WithTimeout(ctx, f.prober.silence())
	defer cancel()
	pod, err := f.prober.Client.CoreV1().Pods(f.namespace).Get(asking, f.pod, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &GoneError{Pod: name, Why: "was deleted"}
	}
	if typed := asForbidden(err, "get", "pods", f.namespace); typed != nil {
		return typed
	}
	if err != nil {
		return ctx.Err() // an API server that does not answer now may do so later
	}
	if !hasProbe(pod, f.container) {
		return &GoneError{Pod: name, Why: "has no container " + f.container + ": it was replaced by another of the same name"}
	}
	switch stage, message := ProbeState(pod, f.container); stage {
	case model.StageGone:
		return &GoneError{Pod: name, Why: finished(pod)}
	case model.StageFailed, model.StageEnded:
		// What a container prints instead of frames says why it failed.
		if f.stray != "" && f.frames == 0 {
			message = fmt.Sprintf("%s; it printed %q", message, f.stray)
		}
		return &ProbeError{Stage: stage, Message: message}
	}
	return nil
}

// watched puts a watchdog off whenever something is read.
type watched struct {
	r     io.Reader
	timer *time.Timer
	quiet time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.timer.Reset(w.quiet)
	return n, err
}

func (p *Prober) silence() time.Duration {
	if p.Silence > 0 {
		return p.Silence
	}
	return silence
}

func (p *Prober) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}
