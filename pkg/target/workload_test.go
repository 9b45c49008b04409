package target

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func TestWorkload(t *testing.T) {
	yes := true
	// Minute 29412345 since 1970 is 2025-12-03 05:45 UTC.
	created := time.Date(2025, 12, 3, 5, 45, 2, 0, time.UTC)
	for _, tt := range []struct {
		name        string
		kind, owner string
		labels      map[string]string
		created     time.Time
		want        model.Workload
	}{
		{name: "nothing controls it"},
		{
			name: "a Deployment, by the hash in its ReplicaSet's name", kind: "ReplicaSet", owner: "server-6bd9d7d585",
			labels: map[string]string{"pod-template-hash": "6bd9d7d585"}, want: model.Workload{Kind: "Deployment", Name: "server"},
		},
		{
			name: "an Argo Rollout has a label of its own", kind: "ReplicaSet", owner: "server-7f9c",
			labels: map[string]string{"rollouts-pod-template-hash": "7f9c"}, want: model.Workload{Kind: "Rollout", Name: "server"},
		},
		{name: "a ReplicaSet of its own", kind: "ReplicaSet", owner: "server-x", want: model.Workload{Kind: "ReplicaSet", Name: "server-x"}},
		{
			name: "a ReplicaSet whose name only looks like one of a Deployment", kind: "ReplicaSet", owner: "-abc",
			labels: map[string]string{"pod-template-hash": "abc"}, want: model.Workload{Kind: "ReplicaSet", Name: "-abc"},
		},
		{name: "a CronJob, by the minute in its Job's name", kind: "Job", owner: "nightly-29412345", created: created, want: model.Workload{Kind: "CronJob", Name: "nightly"}},
		{name: "retried by its Job a day later", kind: "Job", owner: "nightly-29412345", created: created.Add(24 * time.Hour), want: model.Workload{Kind: "CronJob", Name: "nightly"}},
		{name: "creation time unknown", kind: "Job", owner: "nightly-29412345", want: model.Workload{Kind: "CronJob", Name: "nightly"}},
		{name: "a Job with a date in its name", kind: "Job", owner: "migrate-20251203", created: created, want: model.Workload{Kind: "Job", Name: "migrate-20251203"}},
		{name: "a Job with a number in its name", kind: "Job", owner: "shard-7", created: created, want: model.Workload{Kind: "Job", Name: "shard-7"}},
		{name: "a Job that is a number", kind: "Job", owner: "-29412345", created: created, want: model.Workload{Kind: "Job", Name: "-29412345"}},
		{name: "a StatefulSet", kind: "StatefulSet", owner: "db", want: model.Workload{Kind: "StatefulSet", Name: "db"}},
		{name: "a static pod belongs to its node", kind: "Node", owner: "node-1", want: model.Workload{Kind: "Node", Name: "node-1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: tt.labels, CreationTimestamp: metav1.NewTime(tt.created)}}
			if tt.kind != "" {
				pod.OwnerReferences = []metav1.OwnerReference{
					{Kind: "Backup", Name: "not-the-controller"},
					{Kind: tt.kind, Name: tt.owner, Controller: &yes},
				}
			}
			if got := Workload(pod); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
