package target

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// at is a running pod with these addresses; more fields of its spec may follow.
func at(namespace, name, ips string, spec ...string) string {
	first, _, _ := strings.Cut(ips, " ")
	var all []string
	for ip := range strings.FieldsSeq(ips) {
		all = append(all, fmt.Sprintf("{ip: %q}", ip))
	}
	fields := append([]string{"containers: [{name: app, ports: [{name: web, containerPort: 8080}]}]", "nodeName: node1"}, spec...)
	return fmt.Sprintf("{kind: Pod, apiVersion: v1, metadata: {name: %s, namespace: %s, uid: %s-%s, labels: {app: %s}}, spec: {%s}, status: {phase: Running, podIP: %q, podIPs: [%s]}}",
		name, namespace, namespace, name, strings.Split(name, "-")[0], strings.Join(fields, ", "), first, strings.Join(all, ", "))
}

const addressed = `
{kind: Service, apiVersion: v1, metadata: {name: web, namespace: front}, spec: {clusterIP: 10.43.0.10, clusterIPs: [10.43.0.10, "fd01::10"], selector: {app: web}, ports: [{port: 80, targetPort: web}, {port: 81, targetPort: 9090}, {port: 82, nodePort: 30082}]}}
---
{kind: Service, apiVersion: v1, metadata: {name: byhand, namespace: front}, spec: {clusterIP: 10.43.0.11, ports: [{port: 80}]}}
---
{kind: Service, apiVersion: v1, metadata: {name: headless, namespace: front}, spec: {clusterIP: None, selector: {app: web}}}
---
{kind: Service, apiVersion: v1, metadata: {name: lb1, namespace: front}, spec: {clusterIP: 10.43.0.12, selector: {app: web}, ports: [{port: 443, targetPort: 8443}]}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}
---
{kind: Service, apiVersion: v1, metadata: {name: lb2, namespace: front}, spec: {clusterIP: 10.43.0.13, externalIPs: [192.0.2.1], selector: {app: db}, ports: [{port: 5432}]}}
---
{kind: Node, apiVersion: v1, metadata: {name: node1}, status: {addresses: [{type: Hostname, address: node1}, {type: InternalIP, address: 192.0.2.101}]}}
---
{kind: Node, apiVersion: v1, metadata: {name: node2}, status: {addresses: [{type: InternalIP, address: 192.0.2.102}]}}
---
{kind: Deployment, apiVersion: apps/v1, metadata: {name: server, namespace: shop}, spec: {selector: {matchLabels: {app: server}}}}
`

// anAddressedCluster has pods in several namespaces, with two families.
func anAddressedCluster(t *testing.T) *apiServer {
	t.Helper()
	return newAPIServer(
		t, addressed,
		at("shop", "server-1", "10.42.0.5 fd00::5"), at("shop", "server-2", "10.42.0.6 fd00::6"),
		at("front", "web-1", "10.42.0.7 fd00::7"), at("front", "web-2", "10.42.0.8 fd00::8"),
		strings.Replace(at("shop", "old-1", "10.42.0.7"), "Running", "Succeeded", 1),
		strings.Replace(at("shop", "old-2", "10.42.0.9"), "Running", "Failed", 1),
		at("kube-system", "agent-1", "192.0.2.101", "hostNetwork: true"), at("kube-system", "agent-2", "192.0.2.101", "hostNetwork: true"),
		at("shop", "edge-1", "10.42.0.20", "initContainers: [{name: x, ports: [{containerPort: 80, hostPort: 8088}]}]"),
	)
}

func ports(s *Selection, pods []*corev1.Pod) string {
	var words []string
	for _, pod := range pods {
		words = append(words, fmt.Sprintf("%s/%s%v", pod.Namespace, pod.Name, s.Ports(pod)))
	}
	return strings.Join(words, " ")
}

func TestResolveAddress(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string // pods, and the ports that were asked for in them
		note string
	}{
		{"10.42.0.5", "shop/server-1[]", "10.42.0.5 is pod shop/server-1"},
		{"10.42.0.5:8080", "shop/server-1[8080]", "10.42.0.5:8080 is pod shop/server-1"},
		{"tcp://10.42.0.5:8080:", "shop/server-1[8080]", "10.42.0.5:8080 is pod shop/server-1"},
		{"10.42.0.5:8080 10.42.0.5:80 10.42.0.5:8080", "shop/server-1[80 8080]", "10.42.0.5:8080 is pod shop/server-1\n10.42.0.5:80 is pod shop/server-1"},
		{"[fd00::6]:8080", "shop/server-2[8080]", "[fd00::6]:8080 is pod shop/server-2"},
		{"fd00:0::6", "shop/server-2[]", "fd00::6 is pod shop/server-2"},
		// Another namespace than the query's, and not the finished pod that had it before.
		{"10.42.0.7", "front/web-1[]", "10.42.0.7 is pod front/web-1"},
		{"10.42.0.9", "shop/old-2[]", "10.42.0.9 was pod shop/old-2, which has finished (Failed)"}, // nobody else has it
		{"10.42.0.7 server-2", "front/web-1[] shop/server-2[]", "10.42.0.7 is pod front/web-1"},
		{"10.42.0.7:80 deploy/server", "front/web-1[80] shop/server-1[] shop/server-2[]", "10.42.0.7:80 is pod front/web-1"},
		{"10.42.0.5:8080 deploy server", "shop/server-1[8080] shop/server-2[]", "10.42.0.5:8080 is pod shop/server-1"},
		{"pods 10.42.0.7", "front/web-1[]", "10.42.0.7 is pod front/web-1"},
		// Services.
		{"10.43.0.10", "front/web-1[] front/web-2[]", "10.43.0.10 is the cluster IP of service front/web"},
		{"10.43.0.10:80", "front/web-1[8080] front/web-2[8080]", "10.43.0.10:80 is the cluster IP of service front/web: its port 80 is port web of its pods"},
		{"[fd01::10]:81", "front/web-1[9090] front/web-2[9090]", "[fd01::10]:81 is the cluster IP of service front/web: its port 81 is port 9090 of its pods"},
		{"10.43.0.10:82", "front/web-1[82] front/web-2[82]", "10.43.0.10:82 is the cluster IP of service front/web: its port 82 is port 82 of its pods"},
		{"10.43.0.10:99", "front/web-1[] front/web-2[]", "10.43.0.10:99 is the cluster IP of service front/web, which has no port 99 (it has 80, 81, 82)"},
		{"192.0.2.1:443", "front/web-1[8443] front/web-2[8443]", "192.0.2.1:443 is an outside IP of service front/lb1: its port 443 is port 8443 of its pods"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			s := anAddressedCluster(t)
			selection, err := Resolve(t.Context(), s.getter(t), Query{Namespace: "shop", Args: strings.Fields(tt.args)})
			if err != nil {
				t.Fatal(err)
			}
			w := start(t, s, selection)
			if got := ports(selection, w.Pods()); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := strings.Join(selection.Notes(), "\n"); got != tt.note {
				t.Errorf("notes %q, want %q", got, tt.note)
			}
			if problems := w.Problems(); len(problems) > 0 {
				t.Errorf("problems: %v", problems)
			}
		})
	}
}

func TestResolveAddressRefuses(t *testing.T) {
	const shared = "2 pods share its address on the host's network, whose queues are the node's: kube-system/agent-1, kube-system/agent-2"
	for arg, want := range map[string]string{
		"10.42.0.99":        "no pod or service has IP 10.42.0.99; it may be gone: pods that were replaced keep no IP",
		"[fd00::99]:80":     "no pod or service has IP fd00::99; it may be gone: pods that were replaced keep no IP",
		"10.43.0.11:80":     "10.43.0.11:80 is the cluster IP of service front/byhand, which has no selector, so no pods can be told from it (its endpoints are set by hand)",
		"192.0.2.1":         "192.0.2.1 may mean any service with this IP, so name one: svc/lb1 -n front (ports 443), svc/lb2 -n front (ports 5432)",
		"192.0.2.101":       "192.0.2.101 is node node1, not one pod; it may mean pod/edge-1 -n shop (hostPort 8088), svc/web -n front (NodePort 30082); " + shared,
		"192.0.2.101:8088":  "192.0.2.101 is node node1, not one pod; it may mean pod/edge-1 -n shop (hostPort 8088); " + shared,
		"192.0.2.101:30082": "192.0.2.101 is node node1, not one pod; it may mean svc/web -n front (NodePort 30082); " + shared,
		"192.0.2.102:9":     "192.0.2.102 is node node2, not one pod; no NodePort or hostPort 9 is known",
		"127.0.0.1:4140":    "127.0.0.1 is an address of the pod that printed it, not of one that can be looked for: name that pod",
	} {
		t.Run(arg, func(t *testing.T) {
			s := anAddressedCluster(t)
			_, err := Resolve(t.Context(), s.getter(t), Query{Namespace: "shop", Args: []string{arg}})
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %v", err, want)
			}
		})
	}
}

// What cannot be found beside what is found is a note, as with names.
func TestResolveAddressProblems(t *testing.T) {
	s := anAddressedCluster(t)
	selection, err := Resolve(t.Context(), s.getter(t), Query{Namespace: "shop", Args: []string{"10.42.0.5", "10.42.0.99"}})
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, s, selection)
	if p := w.Problems(); names(w.Pods()) != "server-1" || len(p) != 1 || !strings.HasPrefix(p[0].Error(), "no pod or service has IP 10.42.0.99;") {
		t.Errorf("pods %q, problems %v", names(w.Pods()), p)
	}
}

// A user with rights in one namespace alone finds what is in it, and is told
// what was not looked at.
func TestResolveAddressInOneNamespace(t *testing.T) {
	restricted := func(t *testing.T) *apiServer {
		s := anAddressedCluster(t)
		for _, resource := range []string{"pods everywhere", "services everywhere", "nodes"} {
			s.refuse("list", resource, 403)
		}
		return s
	}
	refused := func(resource string) string {
		return fmt.Sprintf(`%s is forbidden: User "dev" cannot list resource %q in API group "" at the cluster scope`, resource, resource)
	}
	only := "looking for pods by IP in namespace shop alone: " + refused("pods")
	for arg, want := range map[string]string{"10.42.0.5:8080": "shop/server-1[8080]", "fd00::6": "shop/server-2[]"} {
		s := restricted(t)
		selection, err := Resolve(t.Context(), s.getter(t), Query{Namespace: "shop", Args: []string{arg}})
		if err != nil {
			t.Fatal(err)
		}
		w := start(t, s, selection)
		if got := ports(selection, w.Pods()); got != want || selection.Notes()[0] != only || len(selection.Notes()) != 2 {
			t.Errorf("%s: %q, notes %q", arg, got, selection.Notes())
		}
	}
	s := restricted(t)
	selection, err := Resolve(t.Context(), s.getter(t), Query{Namespace: "front", Args: []string{"10.43.0.10:80"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := ports(selection, start(t, s, selection).Pods()); got != "front/web-1[8080] front/web-2[8080]" {
		t.Errorf("the service's pods: %q", got)
	}

	s = restricted(t)
	_, err = Resolve(t.Context(), s.getter(t), Query{Namespace: "shop", Args: []string{"10.42.0.7"}})
	want := "no pod or service has IP 10.42.0.7 in namespace shop, as far as it can be seen (" +
		strings.Join([]string{refused("pods"), refused("services"), refused("nodes")}, "; ") + "); it may be gone: pods that were replaced keep no IP"
	// An old pod had it; it is found since it is in this namespace.
	if err != nil {
		t.Errorf("the finished pod of the namespace: %v", err)
	}
	s.deletePod("shop", "old-1")
	if _, err = Resolve(t.Context(), s.getter(t), Query{Namespace: "shop", Args: []string{"10.42.0.7"}}); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
	// Not even in the namespace: the answer says so, and asks no more than it must.
	s.refuse("list", "pods", 403)
	if _, err = Resolve(t.Context(), s.getter(t), Query{Namespace: "shop", Args: []string{"10.42.0.5"}}); err == nil || !strings.Contains(err.Error(), `in the namespace "shop"`) {
		t.Errorf("without any right: %v", err)
	}
}

// An API server that cannot answer is not one that knows of no pod.
func TestResolveAddressWhenTheServerFails(t *testing.T) {
	for _, resource := range []string{"pods", "services", "nodes"} {
		s := anAddressedCluster(t)
		s.refuse("list", resource, 500)
		_, err := Resolve(t.Context(), s.getter(t), Query{Namespace: "shop", Args: []string{"10.42.0.99"}})
		if err == nil || err.Error() != "Internal error occurred: etcd is away" {
			t.Errorf("%s: %v", resource, err)
		}
	}
}

func TestAddressesAndAllNamespaces(t *testing.T) {
	s := anAddressedCluster(t)
	selection, err := Resolve(t.Context(), s.getter(t), Query{AllNamespaces: true, Args: []string{"10.42.0.7", "10.42.0.5"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := selection.Namespaces(); !slices.Equal(got, []string{"front", "shop"}) {
		t.Errorf("namespaces %q", got)
	}
	if _, err := Resolve(t.Context(), s.getter(t), Query{AllNamespaces: true, Args: []string{"10.42.0.7", "server-1"}}); err == nil || err.Error() != "a resource cannot be retrieved by name across all namespaces" {
		t.Errorf("with a name: %v", err)
	}
}

// One question finds a pod: no kinds, services or nodes are asked for, and no
// list of all pods.
func TestAddressAsksLittle(t *testing.T) {
	s := anAddressedCluster(t)
	if _, err := Resolve(t.Context(), s.getter(t), Query{Namespace: "shop", Args: []string{"10.42.0.5"}}); err != nil {
		t.Fatal(err)
	}
	if got := s.asked(); len(got) != 1 || !strings.Contains(got[0], "fieldSelector=status.podIP%3D10.42.0.5") {
		t.Errorf("asked %q", got)
	}
}

// A second address is looked for page by page, but not among pods that have
// none of its family.
func TestSecondAddressesPageByPage(t *testing.T) {
	for _, tt := range []struct {
		second string
		pages  int
	}{{" fd00::%x", 3}, {"", 1}} {
		var pods []string
		for i := range 2*pageSize + 1 {
			ips := fmt.Sprintf("10.42.%d.%d", i/250, 1+i%250)
			if tt.second != "" {
				ips += fmt.Sprintf(tt.second, i+1)
			}
			pods = append(pods, at("shop", fmt.Sprintf("p-%04d", i), ips))
		}
		s := newAPIServer(t, pods...)
		// The last pod is on the last page.
		address := fmt.Sprintf("fd00::%x", 2*pageSize+1)
		if tt.second == "" {
			address = "10.43.0.1"
		}
		selection, err := Resolve(t.Context(), s.getter(t), Query{Namespace: "shop", Args: []string{address}})
		if tt.second != "" && (err != nil || !slices.Equal(selection.Notes(), []string{address + " is pod shop/p-1000"})) {
			t.Errorf("%s: %v", address, err)
		}
		if tt.second == "" && err == nil {
			t.Errorf("%s was found", address)
		}
		pages := slices.DeleteFunc(s.asked(), func(r string) bool {
			return !strings.HasPrefix(r, "list pods") || strings.Contains(r, "fieldSelector")
		})
		if len(pages) != tt.pages {
			t.Errorf("%s: asked for %d pages, want %d: %q", address, len(pages), tt.pages, pages)
		}
	}
}
