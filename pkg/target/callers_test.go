package target

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// clock is a time that the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func callersOf(t *testing.T, s *apiServer, change ...func(*CallersOptions)) (*Callers, *clock) {
	t.Helper()
	at := &clock{now: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)}
	o := CallersOptions{Client: s.client(t), Namespaces: []string{"shop"}, Now: at.Now, PerSecond: 1000}
	for _, f := range change {
		f(&o)
	}
	c := NewCallers(o)
	t.Cleanup(c.Close)
	return c, at
}

// settles asks until the lookup is over, and gives the answer.
func settles(t *testing.T, c *Callers, peer string) model.Value[string] {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if v := c.Name(peer); v.Reason() != reasonLookedUp {
			return v
		}
	}
	t.Fatalf("%s is looked up for ever", peer)
	return model.Value[string]{}
}

func said(v model.Value[string]) string {
	if name, ok := v.Get(); ok {
		return name
	}
	return "? " + v.Reason()
}

func podLists(s *apiServer) []string {
	return slices.DeleteFunc(s.asked(), func(r string) bool { return !strings.HasPrefix(r, "list pods") })
}

func TestCallersNames(t *testing.T) {
	s := anAddressedCluster(t)
	s.put(t, "{kind: Node, apiVersion: v1, metadata: {name: node3}, spec: {podCIDR: 10.42.3.0/24, podCIDRs: [10.42.3.0/24]}, status: {addresses: [{type: InternalIP, address: 192.0.2.103}]}}")
	s.put(t, at("kube-system", "agent-3", "192.0.2.103", "hostNetwork: true"))
	c, _ := callersOf(t, s)
	for peer, want := range map[string]string{
		"10.42.0.5":                "shop/server-1",
		"10.42.0.5:41000":          "shop/server-1",
		"[::ffff:10.42.0.6]:41000": "shop/server-2",
		"::ffff:10.42.0.6":         "shop/server-2",
		"10.42.0.7:1":              "front/web-1", // not the one that finished
		"10.42.0.9":                "? no pod has this as its first address",
		"10.42.3.1":                "node node3", // its bridge
		"192.0.2.102":              "node node2",
		"192.0.2.101":              "? one of 2 pods on node node1's address, or the node itself",
		"127.0.0.1:80":             "this pod itself (loopback)",
		"[::1]:80":                 "this pod itself (loopback)",
		"198.51.100.1":             "? no pod has this as its first address",
		"someone":                  `? "someone" is not an address`,
		"":                         `? "" is not an address`,
	} {
		if got := said(settles(t, c, peer)); got != want {
			t.Errorf("%s: %s, want %s", peer, got, want)
		}
	}
	// The nodes are read once for all of them, and everything from the API server's
	// cache.
	nodes := 0
	for _, r := range s.asked() {
		if strings.HasPrefix(r, "list nodes") {
			nodes++
		}
		if !strings.Contains(r, "resourceVersion=0") {
			t.Errorf("%q reads the store", r)
		}
	}
	if nodes != 1 {
		t.Errorf("the nodes were asked for %d times", nodes)
	}
}

// The first call never waits, whatever the API server does, and Close ends a
// question that has no answer.
func TestCallersNeverBlock(t *testing.T) {
	s := anAddressedCluster(t)
	c, _ := callersOf(t, s)
	s.mu.Lock() // the server answers nobody
	v := c.Name("10.42.0.5")
	s.mu.Unlock()
	if v.Reason() != reasonLookedUp {
		t.Errorf("%+v", v)
	}
	if got := said(settles(t, c, "10.42.0.5")); got != "shop/server-1" {
		t.Error(got)
	}
	s.mu.Lock()
	c.Name("10.42.0.6")
	c.Close()
	s.mu.Unlock()
	if v := c.Name("10.42.0.5"); v != model.Known("shop/server-1") {
		t.Errorf("after Close: %+v", v)
	}
}

func TestCallersKeepAnswers(t *testing.T) {
	s := anAddressedCluster(t)
	c, at := callersOf(t, s)
	settles(t, c, "10.42.0.5")
	at.pass(callersKept - time.Second)
	for range 100 {
		c.Name("10.42.0.5:" + "1")
	}
	if n := len(podLists(s)); n != 1 {
		t.Errorf("asked %d times within a minute", n)
	}
	// Another pod has the address now: the old name stands until that is known.
	s.deletePod("shop", "server-1")
	s.put(t, strings.Replace(atAgain, "NAME", "server-9", 1))
	at.pass(time.Second)
	if v := c.Name("10.42.0.5"); v != model.Known("shop/server-1") {
		t.Errorf("while it is looked up again: %+v", v)
	}
	for end := time.Now().Add(10 * time.Second); c.Name("10.42.0.5") != model.Known("shop/server-9"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the new pod is not found: %+v", c.Name("10.42.0.5"))
		}
	}
	// An answer that nobody has asked for in a long time is not given again.
	at.pass(time.Hour)
	if v := c.Name("10.42.0.5"); v.Reason() != reasonLookedUp {
		t.Errorf("after an hour: %+v", v)
	}
	// What was not found is tried again sooner.
	settles(t, c, "10.42.0.77")
	before := len(podLists(s))
	at.pass(missKept)
	c.Name("10.42.0.77")
	for end := time.Now().Add(10 * time.Second); len(podLists(s)) == before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("an unknown address is not looked up again")
		}
	}
}

var atAgain = at("shop", "NAME", "10.42.0.5")

func TestCallersInOneNamespace(t *testing.T) {
	s := anAddressedCluster(t)
	s.refuse("list", "pods everywhere", 403)
	s.refuse("list", "nodes", 403)
	c, _ := callersOf(t, s)
	const narrow = "not allowed to list pods in all namespaces"
	for _, tt := range [][2]string{
		{"10.42.0.5", "shop/server-1"},
		{"10.42.0.8", "? no pod in shop has this address; " + narrow},
	} {
		if got := said(settles(t, c, tt[0])); got != tt[1] {
			t.Errorf("%s: %s, want %s", tt[0], got, tt[1])
		}
	}
	// The refusal is remembered: three lists for two addresses.
	if got := podLists(s); len(got) != 3 {
		t.Errorf("asked %d times: %q", len(got), got)
	}
	s.refuse("list", "pods", 403)
	if got := said(settles(t, c, "10.42.0.6")); got != "? "+narrow {
		t.Error(got)
	}
}

// An API server in trouble is told as the reason, and asked again later.
func TestCallersWhenTheServerFails(t *testing.T) {
	s := anAddressedCluster(t)
	s.refuse("list", "pods", 500)
	c, at := callersOf(t, s)
	if got := said(settles(t, c, "10.42.0.5")); got != "? Internal error occurred: etcd is away" {
		t.Error(got)
	}
	s.refuse("list", "pods", 0)
	at.pass(missKept)
	for end := time.Now().Add(10 * time.Second); c.Name("10.42.0.5") != model.Known("shop/server-1"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%+v", c.Name("10.42.0.5"))
		}
	}
}

func TestCallersAreBounded(t *testing.T) {
	s := anAddressedCluster(t)
	c, at := callersOf(t, s, func(o *CallersOptions) { o.Entries = 3 })
	for i := range 3 {
		settles(t, c, fmt.Sprintf("10.42.0.%d", 5+i))
		at.pass(time.Second)
	}
	c.Name("10.42.0.5") // asked for again: another is the oldest
	settles(t, c, "10.42.0.8")
	c.mu.Lock()
	var have []string
	for ip := range c.known {
		have = append(have, ip.String())
	}
	c.mu.Unlock()
	slices.Sort(have)
	if got := strings.Join(have, " "); got != "10.42.0.5 10.42.0.7 10.42.0.8" {
		t.Errorf("remembers %s", got)
	}
	// Nothing is dropped that waits for its answer.
	s.mu.Lock()
	for i := range 3 {
		c.Name(fmt.Sprintf("10.42.1.%d", i))
	}
	v := c.Name("10.42.1.9")
	s.mu.Unlock()
	if v.Reason() != reasonTooMany {
		t.Errorf("%+v", v)
	}
}

// Many new callers at once do not become many questions at once.
func TestCallersAskSlowly(t *testing.T) {
	s := anAddressedCluster(t)
	c, _ := callersOf(t, s, func(o *CallersOptions) { o.PerSecond = 0.001 })
	for i := range 3 * callersAtOnce {
		c.Name(fmt.Sprintf("10.42.7.%d", i+1))
	}
	// The last of the first lot is answered; the one behind it waits its turn.
	settles(t, c, fmt.Sprintf("10.42.7.%d", callersAtOnce))
	if n := len(podLists(s)); n != callersAtOnce {
		t.Errorf("asked %d times, want %d", n, callersAtOnce)
	}
}
