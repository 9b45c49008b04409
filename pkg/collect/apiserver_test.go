package collect

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// apiServer answers a real client for pod shop/a, over real connections.
type apiServer struct {
	config *rest.Config
	client kubernetes.Interface

	mu  sync.Mutex
	pod *corev1.Pod // nil: 404
	// log answers the nth request for the log, from 1.
	log  func(n int, w http.ResponseWriter, r *http.Request)
	logs int
	gets int
	// get is called before the nth answer for the pod, from 1; nil for nothing.
	get   func(n int, r *http.Request)
	extra http.Handler // other subresources
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{pod: podWith(nil, nil)}
	srv := httptest.NewServer(s)
	s.config = &rest.Config{Host: srv.URL, QPS: -1}
	httpClient := &http.Client{Transport: &http.Transport{}}
	client, err := kubernetes.NewForConfigAndClient(s.config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	s.client = client
	t.Cleanup(func() {
		httpClient.CloseIdleConnections()
		srv.CloseClientConnections()
		srv.Close()
	})
	return s
}

// change alters the pod as the API server has it.
func (s *apiServer) change(f func(*corev1.Pod)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.pod)
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const pod = "/api/v1/namespaces/shop/pods/a"
	s.mu.Lock()
	switch r.URL.Path {
	case pod:
		s.gets++
		n := s.gets
		s.mu.Unlock()
		if s.get != nil {
			s.get(n, r)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.pod == nil {
			refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, `pods "a" not found`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		p := s.pod.DeepCopy()
		p.APIVersion, p.Kind = "v1", "Pod"
		_ = json.NewEncoder(w).Encode(p)
	case pod + "/log":
		s.logs++
		n, log := s.logs, s.log
		s.mu.Unlock()
		log(n, w, r)
	default:
		s.mu.Unlock()
		s.extra.ServeHTTP(w, r)
	}
}

// refuse answers as an API server does.
func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
}
