package source

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

func TestLocalIsOnePodWithoutACluster(t *testing.T) {
	l := NewLocal(LocalOptions{
		Name: "laptop", Window: 3 * time.Second, Interval: time.Millisecond, Now: time.Now,
		Run: func(ctx context.Context, sink func(parse.Frame, time.Time)) error {
			sink(frameAt(1, 100, 0, 0), time.Now())
			sink(frameAt(2, 101, 17, 6), time.Now())
			<-ctx.Done()
			return ctx.Err()
		},
	})
	defer l.Close()
	p := until(t, l, func(p model.Pod) bool { return p.Sample.Seq == 2 })
	if p.Meta.Name != "laptop" || p.Collection.Stage != model.StageOK || p.Collection.Via != model.ViaLocal {
		t.Errorf("pod = %+v", p)
	}
	if got := p.Listeners[0]; got.Role != model.RoleApp || got.Window.Overflows != model.Known[int64](6) {
		t.Errorf("listener = %+v", got)
	}
}

func TestLocalThatCannotRunSaysWhy(t *testing.T) {
	l := NewLocal(LocalOptions{
		Interval: time.Millisecond, Now: time.Now,
		Run: func(context.Context, func(parse.Frame, time.Time)) error { return errors.New("sh: not found") },
	})
	defer l.Close()
	if p := until(t, l, atStage(model.StageFailed)); p.Collection.Message != "sh: not found" {
		t.Errorf("collection = %+v", p.Collection)
	}
}
