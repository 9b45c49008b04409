package e2e

import (
	"fmt"
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// An address as it stands in a client's error line leads to the pod that has it,
// or to those behind the Service that has it, in whatever namespace they are.
func TestTargetsByIP(t *testing.T) {
	here, there := newEnv(t, nil), newEnv(t, nil)
	here.create(serverPod("near", []string{"-listen", "0.0.0.0:8080/16"}))
	there.create(serverPod("far", []string{"-listen", "0.0.0.0:8080/16"}))
	host := serverPod("host", []string{"-listen", "127.0.0.1:18081/16"})
	host.Spec.HostNetwork = true
	here.create(host)
	service, err := cluster.client.CoreV1().Services(there.ns).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, Selector: map[string]string{"app": "far"},
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	here.running("near", "host")
	there.running("far")
	near, far, node := here.get("near").Status.PodIP, there.get("far").Status.PodIP, here.get("host").Status.HostIP
	nodeName := here.get("host").Spec.NodeName
	clusterIP := service.Spec.ClusterIP
	nodePort := fmt.Sprint(service.Spec.Ports[0].NodePort)
	at := func(ip, port string) string { return net.JoinHostPort(ip, port) }

	for _, tt := range []struct {
		name string
		args []string
		pods string // namespace/name of all that are shown
		note string
	}{
		{"a pod of this namespace", []string{near}, here.ns + "/near", near + " is pod " + here.ns + "/near"},
		{"a port, pasted from a line", []string{"tcp://" + at(near, "8080") + ":"}, here.ns + "/near", at(near, "8080") + " is pod " + here.ns + "/near"},
		{"a pod of another namespace", []string{at(far, "8080")}, there.ns + "/far", at(far, "8080") + " is pod " + there.ns + "/far"},
		{"a service", []string{at(clusterIP, "80")}, there.ns + "/far", "service " + there.ns + "/web: its port 80 is port 8080 of its pods"},
		{"an address and a name", []string{far, "near"}, there.ns + "/far " + here.ns + "/near", far + " is pod " + there.ns + "/far"},
		{"with -A", []string{"-A", far}, there.ns + "/far", far + " is pod " + there.ns + "/far"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &env{T: t, ns: here.ns}
			r := e.backlog(append([]string{"get", "-o", "json", "--window", "0"}, tt.args...)...)
			if r.code != 0 || !strings.Contains(r.stderr, tt.note) {
				t.Errorf("code %d, stderr lacks %q:\n%s", r.code, tt.note, r.stderr)
			}
			pods := e.parse(r.stdout)
			for want := range strings.FieldsSeq(tt.pods) {
				namespace, name, _ := strings.Cut(want, "/")
				p, ok := pods[name]
				if !ok || p.Meta.Namespace != namespace {
					t.Errorf("%s is not shown: %+v", want, pods)
					continue
				}
				if l := e.listener(p, 8080).Worst(); l.Limit.Or(0) != 16 {
					t.Errorf("%s: %+v", want, l)
				}
			}
			if want := len(strings.Fields(tt.pods)); len(pods) != want {
				t.Errorf("%d pods, want %d", len(pods), want)
			}
		})
	}
	// A row of another namespace says which.
	if r := here.backlog("get", far, "--window", "0"); !strings.Contains(r.stdout, "NAMESPACE") || !strings.Contains(r.stdout, there.ns) {
		t.Errorf("the table does not name the namespace:\n%s", r.stdout)
	}

	// What no pod can be told from is an error that says what it is.
	for _, tt := range []struct{ arg, want string }{
		{at("203.0.113.1", "80"), "no pod or service has IP 203.0.113.1; it may be gone: pods that were replaced keep no IP"},
		{node, node + " is node " + nodeName + ", not one pod"},
		{at(node, nodePort), "it may mean svc/web -n " + there.ns + " (NodePort " + nodePort + ")"},
		{"127.0.0.1:4140", "127.0.0.1 is an address of the pod that printed it"},
		{near + ":http", `"http" is not a port`},
	} {
		r := here.backlog("get", tt.arg)
		if r.code != 1 || !strings.Contains(r.stderr, tt.want) || r.stdout != "" {
			t.Errorf("%s: code %d, stderr %q, want %q", tt.arg, r.code, r.stderr, tt.want)
		}
	}
	// A pod on the host's network is named, and never taken for the node.
	if r := here.backlog("get", node); !strings.Contains(r.stderr, here.ns+"/host") {
		t.Errorf("the error does not name the pod on the host's network: %s", r.stderr)
	}

	// With rights in one namespace alone, what is there is found, and what cannot
	// be looked at is said.
	u := here.user(t, "local", leastRights...)
	r := u.backlog("get", at(near, "8080"), "-o", "name", "--window", "0")
	if r.code != 0 || !strings.Contains(r.stdout, "/near") || !strings.Contains(r.stderr, "looking for pods by IP in namespace "+here.ns+" alone") {
		t.Errorf("near, by a user of its namespace: code %d, %q, %s", r.code, r.stdout, r.stderr)
	}
	r = u.backlog("get", at(far, "8080"), "-o", "name")
	if r.code != 1 || !strings.Contains(r.stderr, "no pod or service has IP "+far+" in namespace "+here.ns) || !strings.Contains(r.stderr, `cannot list resource "services"`) {
		t.Errorf("far, by a user of another namespace: code %d, %s", r.code, r.stderr)
	}
}
