package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A pod whose process ends at once when told to is gone as soon with a probe as
// without: a probe that ignored SIGTERM would hold it for the grace period, 30 s.
func TestDeletionIsNoLaterWithAProbe(t *testing.T) {
	e := newEnv(t, nil)
	const times = 3
	var all []string
	for i := range times {
		for _, v := range variants {
			name := fmt.Sprintf("%s-%d", v.name, i)
			e.create(serverPod(name, []string{"-listen", "127.0.0.1:8080/16"}, func(p *corev1.Pod) {
				p.Labels = map[string]string{"look": v.name}
				p.Spec.Containers = p.Spec.Containers[:1]
				p.Spec.TerminationGracePeriodSeconds = nil
			}))
			all = append(all, name)
		}
	}
	e.running(all...)
	e.lookAtVariants(all)

	took := map[string][]time.Duration{}
	for _, name := range all {
		begun := time.Now()
		if err := cluster.client.CoreV1().Pods(e.ns).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatalf("deleting %s: %v", name, err)
		}
		e.eventually("pod "+name+" to be gone", func() error {
			_, err := cluster.client.CoreV1().Pods(e.ns).Get(t.Context(), name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errorf("it is there (%v)", err)
		})
		variant, _, _ := strings.Cut(name, "-")
		took[variant] = append(took[variant], time.Since(begun))
	}
	noLater(t, took, 2*time.Second)
}

// A Job whose work has ended completes as soon with a probe as without.
func TestJobCompletesNoLaterWithAProbe(t *testing.T) {
	e := newEnv(t, nil)
	jobs := cluster.client.BatchV1().Jobs(e.ns)
	pods := map[string]string{} // by job
	for i := range 3 {
		for _, v := range variants {
			name := fmt.Sprintf("%s-%d", v.name, i)
			pod := serverPod("x", []string{"-listen", "127.0.0.1:8080/16"})
			pod.Spec.Containers = pod.Spec.Containers[:1]
			pod.Spec.TerminationGracePeriodSeconds = nil
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"look": v.name}}, Spec: pod.Spec,
			}}}
			if _, err := jobs.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
				t.Fatalf("creating job %s: %v", name, err)
			}
			pods[name] = ""
		}
	}
	e.eventually("the jobs' pods", func() error {
		list, err := cluster.client.CoreV1().Pods(e.ns).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != len(pods) {
			return errorf("%d pods, %v", len(list.Items), err)
		}
		for _, p := range list.Items {
			pods[p.Labels["job-name"]] = p.Name
		}
		return nil
	})
	var all []string
	for _, pod := range pods {
		all = append(all, pod)
	}
	e.running(all...)
	e.lookAtVariants(all)

	for _, pod := range pods { // the work ends now
		if out, err := e.tryExec(t.Context(), pod, "server", "sh", "-c", "kill -TERM 1"); err != nil {
			t.Logf("ending %s: %v %s", pod, err, out) // the shell may go before its answer comes
		}
	}
	took := map[string][]time.Duration{}
	for name, pod := range pods {
		var done, finished metav1.Time
		e.eventually("job "+name+" to complete", func() error {
			job, err := jobs.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || job.Status.CompletionTime == nil {
				return errorf("%v, status %+v", err, job.Status)
			}
			done = *job.Status.CompletionTime
			return nil
		})
		for _, s := range e.get(pod).Status.ContainerStatuses {
			if s.State.Terminated == nil || s.State.Terminated.ExitCode != 0 {
				t.Fatalf("container %s of %s: %+v", s.Name, pod, s.State)
			}
			finished = s.State.Terminated.FinishedAt
		}
		variant, _, _ := strings.Cut(name, "-")
		took[variant] = append(took[variant], done.Sub(finished.Time))
	}
	noLater(t, took, 3*time.Second)
}

// lookAtVariants watches the pods labelled look=VARIANT as each variant says,
// and returns when every probe runs and no plain pod has one.
func (e *env) lookAtVariants(pods []string) {
	e.Helper()
	for _, v := range variants {
		if v.args != nil {
			e.start(append([]string{"get", "-w", "-l", "look=" + v.name}, v.args...)...)
		}
	}
	for _, name := range pods {
		e.eventually("the probe of "+name, func() error {
			want := 1
			if e.get(name).Labels["look"] == "plain" {
				want = 0
			}
			probes := e.probes(name)
			for _, p := range probes {
				if p.State.Running == nil {
					return errorf("%+v", p.State)
				}
			}
			if len(probes) != want {
				return errorf("%d probes, want %d", len(probes), want)
			}
			return nil
		})
	}
}

// noLater compares medians with the plain variant's. The bound is on behaviour,
// a grace period of 30 s sat out or not, and no benchmark.
func noLater(t *testing.T, took map[string][]time.Duration, bound time.Duration) {
	t.Helper()
	median := func(d []time.Duration) time.Duration { slices.Sort(d); return d[len(d)/2] }
	plain := median(took["plain"])
	for _, v := range variants {
		t.Logf("%s: %v", v.name, took[v.name])
		if got := median(took[v.name]); got > plain+bound {
			t.Errorf("%s: %s, without a probe %s", v.name, got, plain)
		}
	}
}
