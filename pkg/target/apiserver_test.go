package target

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// apiServer is as much of an API server as a Query needs: discovery, get of any
// object, list and watch of pods with selectors, over real HTTP. Unlike the fake
// clientset it knows field selectors, can refuse, and can go away.
type apiServer struct {
	*httptest.Server

	mu       sync.Mutex
	version  int
	objects  map[string]*unstructured.Unstructured // "deployments/shop/server"
	events   []podEvent
	wake     chan struct{} // closed when there is something new for watches
	drop     int           // counts the times all watches were cut
	refused  map[string]int
	requests []string
}

// podEvent is a change of one pod; before or after is nil when it was made or
// deleted.
type podEvent struct {
	version       int
	before, after *unstructured.Unstructured
}

// served are what the server knows, by API group and version.
var served = map[string][]metav1.APIResource{
	"v1": {
		{Name: "pods", Kind: "Pod", ShortNames: []string{"po"}, Namespaced: true},
		{Name: "services", Kind: "Service", ShortNames: []string{"svc"}, Namespaced: true},
		{Name: "configmaps", Kind: "ConfigMap", ShortNames: []string{"cm"}, Namespaced: true},
		{Name: "replicationcontrollers", Kind: "ReplicationController", ShortNames: []string{"rc"}, Namespaced: true},
		{Name: "nodes", Kind: "Node", ShortNames: []string{"no"}},
		{Name: "namespaces", Kind: "Namespace", ShortNames: []string{"ns"}},
	},
	"apps/v1": {
		{Name: "deployments", Kind: "Deployment", ShortNames: []string{"deploy"}, Namespaced: true},
		{Name: "replicasets", Kind: "ReplicaSet", ShortNames: []string{"rs"}, Namespaced: true},
		{Name: "statefulsets", Kind: "StatefulSet", ShortNames: []string{"sts"}, Namespaced: true},
		{Name: "daemonsets", Kind: "DaemonSet", ShortNames: []string{"ds"}, Namespaced: true},
	},
	"batch/v1": {
		{Name: "jobs", Kind: "Job", Namespaced: true},
		{Name: "cronjobs", Kind: "CronJob", ShortNames: []string{"cj"}, Namespaced: true},
	},
	"argoproj.io/v1alpha1": {
		{Name: "rollouts", Kind: "Rollout", ShortNames: []string{"ro"}, Namespaced: true},
	},
	"example.com/v1": {
		{Name: "fleets", Kind: "Fleet", Namespaced: true},
		{Name: "widgets", Kind: "Widget", Namespaced: true},
	},
}

// newAPIServer starts a server with these objects, YAML documents.
func newAPIServer(t *testing.T, documents ...string) *apiServer {
	t.Helper()
	s := &apiServer{
		version: 100,
		objects: map[string]*unstructured.Unstructured{},
		wake:    make(chan struct{}),
		refused: map[string]int{},
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	for _, document := range documents {
		for one := range strings.SplitSeq(document, "\n---\n") {
			s.put(t, one)
		}
	}
	return s
}

// getter is what kubectl's flags give, pointed at the server.
func (s *apiServer) getter(t *testing.T) genericclioptions.RESTClientGetter {
	t.Helper()
	return flagsFor(t, s.URL)
}

func flagsFor(t *testing.T, url string) genericclioptions.RESTClientGetter {
	t.Helper()
	return flagsIn(t, t.TempDir(), url)
}

// flagsIn keeps what was discovered in dir, as one run of the program leaves it
// to the next.
func flagsIn(t *testing.T, dir, url string) genericclioptions.RESTClientGetter {
	t.Helper()
	empty := filepath.Join(dir, "config")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(dir, "cache")
	flags := genericclioptions.NewConfigFlags(true)
	flags.APIServer, flags.CacheDir, flags.KubeConfig = &url, &cache, &empty
	return flags
}

func (s *apiServer) client(t *testing.T) kubernetes.Interface {
	t.Helper()
	config, err := s.getter(t).ToRESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// put makes or changes an object.
func (s *apiServer) put(t *testing.T, document string) {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
		t.Fatalf("test object: %v\n%s", err, document)
	}
	if object.GetNamespace() == "" {
		object.SetNamespace("shop")
	}
	if object.GetUID() == "" {
		object.SetUID(apitypes.UID(object.GetKind() + "-" + object.GetName()))
	}
	resource := ""
	for _, r := range slices.Concat(served["v1"], served["apps/v1"], served["batch/v1"], served["argoproj.io/v1alpha1"], served["example.com/v1"]) {
		if r.Kind == object.GetKind() {
			resource = r.Name
			if !r.Namespaced {
				object.SetNamespace("")
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := resource + "/" + object.GetNamespace() + "/" + object.GetName()
	s.change(key, object)
}

func (s *apiServer) deletePod(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change("pods/"+namespace+"/"+name, nil)
}

func (s *apiServer) change(key string, after *unstructured.Unstructured) {
	s.version++
	before := s.objects[key]
	if after == nil {
		delete(s.objects, key)
	} else {
		after.SetResourceVersion(strconv.Itoa(s.version))
		s.objects[key] = after
	}
	if strings.HasPrefix(key, "pods/") {
		s.events = append(s.events, podEvent{s.version, before, after})
	}
	s.rouse()
}

func (s *apiServer) rouse() {
	close(s.wake)
	s.wake = make(chan struct{})
}

// refuse answers this verb on this resource with an HTTP code, 0 to allow it
// again; a resource followed by " everywhere" is refused in all namespaces at
// once alone. cut ends all watches and forgets all events, so that a new watch must
// begin with a list.
func (s *apiServer) refuse(verb, resource string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[verb+" "+resource] = code
}

func (s *apiServer) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop++
	s.events = nil
	s.rouse()
}

// asked are the requests so far, as "verb resource query".
func (s *apiServer) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *apiServer) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/api":
		reply(rw, 200, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
		return
	case r.URL.Path == "/apis":
		s.mu.Lock()
		s.requests = append(s.requests, "discovery")
		s.mu.Unlock()
		reply(rw, 200, groups())
		return
	case path[0] == "api":
		path = path[1:]
	default:
		path = append([]string{path[1] + "/" + path[2]}, path[3:]...)
	}
	version, path := path[0], path[1:]
	if len(path) == 0 {
		reply(rw, 200, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: version, APIResources: withVerbs(served[version])})
		return
	}
	namespace := ""
	if path[0] == "namespaces" && len(path) > 2 {
		namespace, path = path[1], path[2:]
	}
	resource, name, subresource := path[0], "", ""
	if len(path) > 1 {
		name = path[1]
	}
	if len(path) > 2 {
		subresource = "/" + path[2]
	}
	verb := "get"
	if name == "" {
		verb = "list"
		if r.URL.Query().Get("watch") == "true" {
			verb = "watch"
		}
	}
	s.mu.Lock()
	s.requests = append(s.requests, verb+" "+resource+subresource+" "+r.URL.RawQuery)
	code := s.refused[verb+" "+resource+subresource]
	if namespace == "" && code == 0 {
		code = s.refused[verb+" "+resource+subresource+" everywhere"]
	}
	object := s.objects[resource+subresource+"/"+namespace+"/"+name]
	s.mu.Unlock()
	switch {
	case code != 0:
		refusal(rw, code, verb, resource, namespace, name)
	case verb == "get" && object == nil:
		refusal(rw, 404, verb, resource, namespace, name)
	case verb == "get":
		reply(rw, 200, object.Object)
	case verb == "list":
		s.list(rw, r, version, resource, namespace)
	default:
		s.watch(rw, r, namespace)
	}
}

func (s *apiServer) list(rw http.ResponseWriter, r *http.Request, version, resource, namespace string) {
	match, err := matcher(r, namespace)
	if err != nil {
		reply(rw, 400, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: "BadRequest", Code: 400, Message: err.Error()})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []any{}
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if object := s.objects[key]; strings.HasPrefix(key, resource+"/") && match(object) {
			items = append(items, object.Object)
		}
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	begin, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	next := ""
	if end := begin + limit; limit > 0 && end < len(items) {
		items, next = items[:end], strconv.Itoa(end)
	}
	items = items[begin:]
	reply(rw, 200, map[string]any{
		"kind": map[string]string{"pods": "PodList", "jobs": "JobList", "services": "ServiceList", "nodes": "NodeList"}[resource], "apiVersion": version, "items": items,
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version), "continue": next},
	})
}

func (s *apiServer) watch(rw http.ResponseWriter, r *http.Request, namespace string) {
	match, err := matcher(r, namespace)
	if err != nil {
		panic(err) // the list before it was the same
	}
	at, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(200)
	flush := rw.(http.Flusher)
	flush.Flush()
	s.mu.Lock()
	drop := s.drop
	s.mu.Unlock()
	for {
		s.mu.Lock()
		wake, cut, events := s.wake, s.drop != drop, slices.Clone(s.events)
		expired := len(s.events) == 0 && at < s.version
		s.mu.Unlock()
		if cut {
			return
		}
		if expired {
			writeEvent(rw, "ERROR", map[string]any{"kind": "Status", "apiVersion": "v1", "code": 410, "reason": "Expired", "message": "too old resource version"})
			return
		}
		for _, e := range events {
			if e.version <= at {
				continue
			}
			at = e.version
			was, is := e.before != nil && match(e.before), e.after != nil && match(e.after)
			switch {
			case is && !was:
				writeEvent(rw, "ADDED", e.after.Object)
			case is:
				writeEvent(rw, "MODIFIED", e.after.Object)
			case was && e.after != nil: // no longer matched
				writeEvent(rw, "DELETED", e.after.Object)
			case was:
				writeEvent(rw, "DELETED", e.before.Object)
			}
		}
		flush.Flush()
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		}
	}
}

// matcher is the request's selectors as the real API server reads them.
func matcher(r *http.Request, namespace string) (func(*unstructured.Unstructured) bool, error) {
	byLabel, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	text := r.URL.Query().Get("fieldSelector")
	byField, err := fields.ParseSelector(text)
	if err != nil {
		return nil, err
	}
	for _, f := range byField.Requirements() {
		if !slices.Contains([]string{"metadata.name", "spec.nodeName", "status.phase", "status.podIP"}, f.Field) {
			return nil, fmt.Errorf("Unable to find \"/v1, Resource=pods\" that match label selector %q, field selector %q: field label not supported: %s", byLabel, text, f.Field)
		}
	}
	return func(u *unstructured.Unstructured) bool {
		var pod corev1.Pod
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &pod)
		return (namespace == "" || u.GetNamespace() == namespace) && byLabel.Matches(labels.Set(u.GetLabels())) &&
			byField.Matches(fields.Set{
				"metadata.name": u.GetName(), "spec.nodeName": pod.Spec.NodeName, "status.phase": string(pod.Status.Phase), "status.podIP": pod.Status.PodIP,
			})
	}, nil
}

func groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList"}}
	for version := range served {
		if group, v, ok := strings.Cut(version, "/"); ok {
			gv := metav1.GroupVersionForDiscovery{GroupVersion: version, Version: v}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{gv}, PreferredVersion: gv})
		}
	}
	return list
}

func withVerbs(resources []metav1.APIResource) []metav1.APIResource {
	resources = slices.Clone(resources)
	for i := range resources {
		resources[i].Verbs = metav1.Verbs{"get", "list", "watch"}
	}
	return resources
}

// refusal answers in the words of the real API server.
func refusal(rw http.ResponseWriter, code int, verb, resource, namespace, name string) {
	group := ""
	for version, resources := range served {
		for _, r := range resources {
			if g, _, ok := strings.Cut(version, "/"); ok && r.Name == resource {
				group = g
			}
		}
	}
	qualified := strings.TrimSuffix(resource+"."+group, ".")
	status := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code)}
	switch code {
	case 401:
		status.Reason, status.Message = metav1.StatusReasonUnauthorized, "Unauthorized"
	case 403:
		what := qualified
		if name != "" {
			what += fmt.Sprintf(" %q", name)
		}
		status.Reason = metav1.StatusReasonForbidden
		where := fmt.Sprintf("in the namespace %q", namespace)
		if namespace == "" {
			where = "at the cluster scope"
		}
		status.Message = fmt.Sprintf("%s is forbidden: User \"dev\" cannot %s resource %q in API group %q %s", what, verb, resource, group, where)
	case 404:
		status.Reason, status.Message = metav1.StatusReasonNotFound, fmt.Sprintf("%s %q not found", qualified, name)
	default:
		status.Reason, status.Message = metav1.StatusReasonInternalError, "Internal error occurred: etcd is away"
	}
	reply(rw, code, status)
}

func reply(rw http.ResponseWriter, code int, v any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(code)
	_ = json.NewEncoder(rw).Encode(v)
}

func writeEvent(rw http.ResponseWriter, kind string, object any) {
	_ = json.NewEncoder(rw).Encode(map[string]any{"type": kind, "object": object})
}
