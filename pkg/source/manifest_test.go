package source

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// No row waits for the manifest, and it is there once it was read.
func TestManifestIsReadBeside(t *testing.T) {
	answer := make(chan struct{})
	c := NewCluster(ClusterOptions{
		Pods: &fakePods{pods: []*corev1.Pod{pod("a")}}, Adapters: []plugins.Adapter{fakeProxy{}},
		Prober: &fakeProber{follow: frames(2, constant(0), constant(0))},
		Manifest: func(ctx context.Context, _ *corev1.Pod) model.Manifest {
			select {
			case <-answer:
			case <-ctx.Done():
			}
			return model.Manifest{Strategy: "OnDelete"}
		},
		Window: time.Second, Interval: time.Millisecond, Now: time.Now,
	})
	t.Cleanup(c.Close)
	p := until(t, c, atStage(model.StageOK))
	if p.Manifest.Template.Reason() != reasonNoManifest || p.Manifest.Namespace.IsKnown() {
		t.Errorf("manifest before it was read: %+v", p.Manifest)
	}
	close(answer)
	until(t, c, func(p model.Pod) bool { return p.Manifest.Strategy == "OnDelete" })
}

func TestManifestThatIsNotRead(t *testing.T) {
	c := newTestCluster(t, &fakePods{pods: []*corev1.Pod{pod("a")}}, &fakeProber{follow: frames(2, constant(0), constant(0))}, nil)
	if p := until(t, c, atStage(model.StageOK)); p.Manifest.Template.IsKnown() || p.Manifest.Template.Reason() == "" {
		t.Errorf("manifest %+v", p.Manifest)
	}
}
