package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// refused is an API server that cannot be reached.
func refused() error {
	return &url.Error{Op: "Get", URL: "https://api:6443/api/v1/namespaces/shop/pods/a/log?follow=true", Err: fmt.Errorf("dial tcp: %w", syscall.ECONNREFUSED)}
}

// A row without new frames says why none come, in few words, until they do.
func TestStaleRowsSayWhy(t *testing.T) {
	now := time.Unix(1000, 0)
	c := NewCluster(ClusterOptions{Window: time.Second, Now: func() time.Time { return now }})
	a, b := newFollower(c.opt, pod("a")), newFollower(c.opt, pod("b"))
	c.followers = map[string]*follower{"a": a, "b": b}
	for _, f := range c.followers {
		f.takeFrame("backlog-probe-1")(frameAt(1, 100, 0, 0), now)
	}
	now = now.Add(StaleAfter + time.Second)
	for want, err := range map[string]error{
		"connecting to https://api:6443: connection refused": refused(),
		"log in as for kubectl":                              apierrors.NewUnauthorized("Unauthorized"),
		"too many requests":                                  apierrors.NewTooManyRequests("too many requests", 1),
		"the API server ended the probe's log":               io.EOF,
	} {
		c.Retrying("shop", "a", err)
		if m := a.snapshot().Collection.Message; !strings.HasPrefix(m, "no new frame since 00:16:40Z: ") || !strings.Contains(m, want) {
			t.Errorf("%v: the row says %q", err, m)
		}
	}
	if m := b.snapshot().Collection.Message; m != "no new frame since 00:16:40Z" {
		t.Errorf("the other pod says %q", m)
	}
	b.pod = pod("b", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} })
	c.Retrying("shop", "b", io.EOF)
	if m := b.snapshot().Collection.Message; !strings.HasSuffix(m, ": the pod is being deleted") {
		t.Errorf("a pod that is being deleted says %q", m)
	}
	a.takeFrame("backlog-probe-1")(frameAt(2, 101, 0, 0), now)
	now = now.Add(StaleAfter + time.Second)
	if m := a.snapshot().Collection.Message; strings.Contains(m, "API server") {
		t.Errorf("after another frame the row still says %q", m)
	}
}

// So does a row that waits for its first frame.
func TestWaitingRowsSayWhy(t *testing.T) {
	c := NewCluster(ClusterOptions{Window: time.Second, Now: time.Now})
	f := newFollower(c.opt, pod("a"))
	c.followers = map[string]*follower{"a": f}
	c.Retrying("shop", "a", refused())
	if m := f.snapshot().Collection.Message; !strings.Contains(m, "connection refused") {
		t.Errorf("the row says %q", m)
	}
}

// A probe that could not be asked for since the API server was away is asked for
// again by itself; one that was refused is not.
func TestProbesAreAskedForAgainAfterAnOutage(t *testing.T) {
	for name, tt := range map[string]struct {
		err   error
		again bool
	}{
		"unreachable": {fmt.Errorf("adding a probe: %w", refused()), true},
		"busy":        {apierrors.NewTooManyRequests("later", 1), true},
		"logged out":  {apierrors.NewUnauthorized("Unauthorized"), true},
		"refused":     {&collect.RefusedError{Message: "no"}, false},
		"a webhook":   {apierrors.NewInternalError(errors.New("failed calling webhook")), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				prober := &fakeProber{
					ensure: func(collect.ProbeSpec) (collect.Probe, error) {
						if tries++; tries < 3 {
							return collect.Probe{}, tt.err
						}
						return collect.Probe{Name: "backlog-probe-1"}, nil
					},
					follow: frames(1, constant(0), constant(0)),
				}
				c := newTestCluster(t, &fakePods{pods: []*corev1.Pod{pod("a")}}, prober, nil)
				if _, err := c.Next(context.Background()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if p := until(t, c, atStage(model.StageFailed)); !strings.Contains(p.Collection.Message, tt.err.Error()) {
					t.Errorf("the row says %q", p.Collection.Message)
				}
				time.Sleep(10 * askAgainAfter)
				synctest.Wait()
				if got := len(prober.asked()); tt.again != (got == 3) {
					t.Errorf("asked %d times", got)
				}
			})
		})
	}
}
