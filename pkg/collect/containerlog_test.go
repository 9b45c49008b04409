package collect

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestContainerLog(t *testing.T) {
	client := fake.NewClientset()
	var asked *corev1.PodLogOptions
	client.PrependReactor("get", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "log" {
			return false, nil, nil
		}
		asked, _ = action.(clienttesting.GenericAction).GetValue().(*corev1.PodLogOptions)
		if asked.Previous {
			return true, nil, errors.New("previous terminated container not found")
		}
		return true, &runtime.Unknown{Raw: []byte("2026-03-01T12:00:00Z listening\n")}, nil
	})
	var b strings.Builder
	if err := ContainerLog(context.Background(), client, "shop", "server", "linkerd-proxy", false, &b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "listening") || asked.Container != "linkerd-proxy" || asked.LimitBytes == nil || asked.TailLines == nil || !asked.Timestamps {
		t.Errorf("%q, asked for %+v", b.String(), asked)
	}
	err := ContainerLog(context.Background(), client, "shop", "server", "linkerd-proxy", true, &b)
	if err == nil || !strings.Contains(err.Error(), "reading the log of container linkerd-proxy") {
		t.Errorf("%v", err)
	}
}
