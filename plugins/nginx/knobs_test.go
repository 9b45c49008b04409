package nginx

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

var none = model.Value[int64]{}

// processOf is a master and what its children call themselves.
func processOf(titles ...string) model.Process {
	p := model.UnknownProcess("read once")
	p.Container, p.PID, p.Name = "web", 1, "nginx"
	p.Threads = []model.Thread{{TID: 1, PID: 1, Name: "nginx"}}
	for i, title := range titles {
		p.Children = append(p.Children, model.Child{PID: 7 + i, Parent: 1, Name: "nginx", Title: title})
		p.Threads = append(p.Threads, model.Thread{TID: 7 + i, PID: 7 + i, Name: "nginx"})
	}
	return p
}

func TestWorkersInForce(t *testing.T) {
	omitted := processOf("nginx: worker")
	omitted.OmittedChildren = 3
	other := processOf("nginx: worker")
	other.Container = "log"
	notRead := model.UnknownProcess("the probe shares no processes")
	for name, c := range map[string]struct {
		process model.Process
		want    model.Value[int64]
	}{
		"two workers": {processOf("nginx: worker", "nginx: worker"), model.Known[int64](2)},
		"cache manager and loader are none": {
			processOf("nginx: worker", "nginx: cache manager", "nginx: cache loader", "nginx: worker is shutting down"), model.Known[int64](1),
		},
		"without titles":      {processOf("", ""), model.Unknown[int64]("nginx's child processes do not say what they are for")},
		"without children":    {processOf(), model.Unknown[int64]("nginx runs without child processes (master_process off), or the kernel does not tell of them (CONFIG_PROC_CHILDREN)")},
		"no worker":           {processOf("nginx: cache manager"), model.Unknown[int64]("no worker of nginx descends from the target")},
		"not all read":        {omitted, model.Unknown[int64]("3 threads and processes of nginx were not read")},
		"not read":            {notRead, model.Unknown[int64]("the probe shares no processes")},
		"another container's": {other, model.Unknown[int64]("the threads that were read are those of container log; -c web names this one for a new probe")},
	} {
		k := New().Knobs(podOf(corev1.Container{Name: "web", Image: "nginx"}), none, model.Pod{Process: c.process})[0]
		if k.Name != "workers" || k.InForce != c.want {
			t.Errorf("%s: %v (%s), want %v", name, k.InForce, k.InForce.Reason(), c.want)
		}
		if (k.SeenBy == "threads") != c.want.IsKnown() {
			t.Errorf("%s: seen by %q", name, k.SeenBy)
		}
	}
}

func TestWorkersAsked(t *testing.T) {
	const inFile = "worker_processes stands in nginx's configuration, in an image or a ConfigMap, which is not read"
	cpus := model.Known[int64](8)
	limited := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}}
	for name, c := range map[string]struct {
		container corev1.Container
		cpus      model.Value[int64]
		want      model.Value[int64]
		note      string
	}{
		"in the image": {corev1.Container{}, cpus, model.Unknown[int64](inFile), ""},
		"a number":     {corev1.Container{Args: []string{"nginx", "-g", "daemon off; worker_processes 2;"}}, cpus, model.Known[int64](2), ""},
		"in a shell's line": {
			corev1.Container{Command: []string{"sh", "-c", "exec nginx -g 'worker_processes 3; daemon off;'"}}, cpus, model.Known[int64](3), "",
		},
		"auto is the node's CPUs": {
			corev1.Container{Args: []string{"nginx", "-g", "worker_processes auto;"}, Resources: limited},
			cpus, model.Known[int64](8),
			"the node's CPUs, whatever the container's limit is (500m)",
		},
		"auto on an unknown node": {
			corev1.Container{Args: []string{"nginx", "-g", "worker_processes auto;"}},
			model.Unknown[int64]("forbidden"),
			model.Unknown[int64]("worker_processes is auto, which is the node's CPUs, and those are unknown: forbidden"), "the node's CPUs, whatever the container's limit is",
		},
		"another directive":   {corev1.Container{Args: []string{"nginx", "-g", "xworker_processes 2; worker_processes_x 3;"}}, cpus, model.Unknown[int64](inFile), ""},
		"without its end":     {corev1.Container{Args: []string{"nginx", "-g", "worker_processes 2"}}, cpus, model.Unknown[int64](inFile), ""},
		"no number":           {corev1.Container{Args: []string{"nginx", "-g", "worker_processes \x1b[1m;"}}, cpus, model.Unknown[int64](`worker_processes is "\x1b[1m", which is no number`), ""},
		"none":                {corev1.Container{Args: []string{"nginx", "-g", "worker_processes 0;"}}, cpus, model.Unknown[int64](`worker_processes is "0", which is no number`), ""},
		"Bitnami's variable":  {corev1.Container{Image: "bitnami/nginx:1", Env: []corev1.EnvVar{{Name: "NGINX_WORKER_PROCESSES", Value: "4"}}}, cpus, model.Known[int64](4), ""},
		"which is no other's": {corev1.Container{Env: []corev1.EnvVar{{Name: "NGINX_WORKER_PROCESSES", Value: "4"}}}, cpus, model.Unknown[int64](inFile), ""},
		"the entrypoint tunes it": {
			corev1.Container{Env: []corev1.EnvVar{{Name: "NGINX_ENTRYPOINT_WORKER_PROCESSES_AUTOTUNE", Value: "1"}}},
			cpus,
			model.Unknown[int64]("NGINX_ENTRYPOINT_WORKER_PROCESSES_AUTOTUNE is set: the image's entrypoint sets worker_processes by the container's CPU limit"), "",
		},
	} {
		c.container.Name = "web"
		if c.container.Image == "" {
			c.container.Image = "nginx"
		}
		k := New().Knobs(podOf(c.container), c.cpus, model.Pod{Process: processOf("nginx: worker")})[0]
		if k.Asked != c.want {
			t.Errorf("%s: asked %v (%s), want %v (%s)", name, k.Asked, k.Asked.Reason(), c.want, c.want.Reason())
		}
		if c.note != "" && (len(k.Chain) != 1 || k.Chain[0].Note != c.note) {
			t.Errorf("%s: chain %+v", name, k.Chain)
		}
	}
}

// liveOn has the given sockets on port 8080, and one on 9113 that another program
// holds.
func liveOn(owner string, limits ...int64) model.Pod {
	l := model.Listener{Port: 8080}
	for _, limit := range limits {
		s := model.Socket{Port: 8080, Limit: model.Known(limit)}
		if owner != "" {
			s.Owners = []model.Owner{{Name: owner}}
		}
		l.Sockets = append(l.Sockets, s)
	}
	p := model.Pod{Listeners: []model.Listener{l, {Port: 9113, Sockets: []model.Socket{{Port: 9113, Limit: model.Known[int64](4096), Owners: []model.Owner{{Name: "exporter"}}}}}}}
	p.Counters.Somaxconn = model.Known[int64](4096)
	return p
}

// What nginx asks for stands in a file: its default is said, and never taken for
// what was asked.
func TestBacklogAndSockets(t *testing.T) {
	web := corev1.Container{Name: "web", Image: "nginx", Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}
	exporter := corev1.Container{Name: "exporter", Image: "exporter"}
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		live model.Pod
	}{
		"its sockets name it":      {podOf(web, exporter), liveOn("nginx", 64, 64)},
		"its container declares":   {podOf(web, exporter), liveOn("", 64, 64)},
		"its container is the one": {podOf(web), liveOn("", 64, 64)},
	} {
		knobs := New().Knobs(c.pod, none, c.live)
		if len(knobs) != 3 || knobs[1].Name != "backlog" || knobs[2].Name != "sockets" {
			t.Fatalf("%s: %+v", name, knobs)
		}
		b, s := knobs[1], knobs[2]
		if b.InForce != model.Known[int64](64) || b.SeenBy != "ss" || b.Asked.IsKnown() || b.Asked.Reason() == "" || b.Differs() {
			t.Errorf("%s: backlog %+v", name, b)
		}
		if b.Chain[0].Value != "511" || b.Chain[1].Value != "4096" || b.Chain[1].Note != "" {
			t.Errorf("%s: chain %+v", name, b.Chain)
		}
		if s.InForce != model.Known[int64](2) || s.Asked.IsKnown() || s.Asked.Reason() == "" {
			t.Errorf("%s: sockets %+v", name, s)
		}
	}
}

func TestBacklogCappedAndOfIngress(t *testing.T) {
	b := New().Knobs(podOf(corev1.Container{Name: "web", Image: "nginx"}), none, liveOn("nginx", 4096))[1]
	if note := b.Chain[1].Note; !strings.Contains(note, "may cap") {
		t.Errorf("chain %+v", b.Chain)
	}
	b = New().Knobs(podOf(corev1.Container{Name: "controller", Image: "registry.k8s.io/ingress-nginx/controller:v1"}), none, liveOn("nginx", 4096))[1]
	if b.Chain[0].Value != "net.core.somaxconn" || b.Remedy.Name != "net.core.somaxconn" {
		t.Errorf("%+v", b)
	}
}

// Owners say that another program holds the port, and it is not nginx's.
func TestPortsOfOthersAreLeftOut(t *testing.T) {
	knobs := New().Knobs(podOf(corev1.Container{Name: "web", Image: "nginx"}), none, liveOn("badserver", 64))
	if len(knobs) != 1 {
		t.Errorf("%+v", knobs)
	}
	bare := model.Pod{Listeners: []model.Listener{{Port: 8080}}}
	if knobs := New().Knobs(podOf(corev1.Container{Name: "web", Image: "nginx"}), none, bare); len(knobs) != 1 {
		t.Errorf("%+v", knobs)
	}
	if knobs := New().Knobs(podOf(corev1.Container{Image: "redis"}), none, model.Pod{}); knobs != nil {
		t.Errorf("%+v", knobs)
	}
}

func TestReadPages(t *testing.T) {
	r, version, err := New().ReadPages([][]byte{[]byte("Active connections: 1 \nserver accepts handled requests\n 361 31 31 \n")})
	if err != nil || r.Accepts != model.Known[int64](361) || r.Handled != model.Known[int64](31) || version.IsKnown() {
		t.Errorf("%+v %v %v", r, version, err)
	}
	for _, bodies := range [][][]byte{nil, {nil}, {[]byte("<html>")}} {
		if _, _, err := New().ReadPages(bodies); err == nil {
			t.Errorf("%q is read", bodies)
		}
	}
}

// Whatever stands in a spec: no panic, and text that is fit for a terminal.
func FuzzSpec(f *testing.F) {
	f.Add("nginx", "-g", "worker_processes 2;", "8081/x")
	f.Add("registry.k8s.io/ingress-nginx/controller:v1@sha256:0", "--status-port", "\x1b[31m", "")
	f.Add("a:b@c/", "", "worker_processes", "/")
	f.Fuzz(func(t *testing.T, image, arg0, arg1, annotation string) {
		for _, c := range []corev1.Container{
			{Name: "web", Image: image, Args: []string{arg0, arg1}},
			{Name: "web", Image: image, Command: []string{arg0}, Args: []string{arg1}},
		} {
			pod := podOf(c)
			pod.Annotations = map[string]string{AnnotationStatus: annotation}
			e := New().Admin(pod)
			if strings.ContainsFunc(e.Why, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("why %q", e.Why)
			}
			if (e.Port != 0) != (len(New().Pages(pod)) == 1) {
				t.Errorf("%+v and pages %q", e, New().Pages(pod))
			}
			for _, k := range New().Knobs(pod, model.Known[int64](4), liveOn("", 511)) {
				if !k.Asked.IsKnown() && k.Asked.Reason() == "" || strings.ContainsRune(k.Asked.Reason(), '\x1b') {
					t.Errorf("%+v", k)
				}
			}
		}
	})
}
