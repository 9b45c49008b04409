package target

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Why a caller has no name yet, or never will while so many call.
const (
	reasonLookedUp = "being looked up"
	reasonTooMany  = "too many callers to look them all up"
)

const (
	// callersKept is how long an answer holds: addresses are given to other pods,
	// but hardly ever within a minute. missKept is the same for no answer.
	callersKept = time.Minute
	missKept    = 10 * time.Second
	// maxCallers bounds the addresses that are remembered.
	maxCallers = 1000
	// callersPerSecond bounds what the API server is asked: naming callers is the
	// least urgent thing that the program wants of it. The first few go at once.
	callersPerSecond = 10
	callersAtOnce    = 20
	// lookupLimit is for one question.
	lookupLimit = 5 * time.Second
)

// CallersOptions say where callers are looked for.
type CallersOptions struct {
	Client kubernetes.Interface
	// Namespaces are asked one by one where listing pods in all is refused.
	Namespaces []string
	// Now is time.Now when nil; PerSecond is 10 and Entries 1000 when 0.
	Now       func() time.Time
	PerSecond float32
	Entries   int
}

// Callers gives the addresses of peers the names of their pods. It asks the
// API server behind the caller's back, one address at a time and each once a
// minute at most, and never makes anybody wait.
type Callers struct {
	client     kubernetes.Interface
	namespaces []string
	now        func() time.Time
	entries    int
	limit      flowcontrol.RateLimiter

	cancel context.CancelFunc
	done   chan struct{}
	wake   chan struct{}

	mu    sync.Mutex
	known map[netip.Addr]*caller
	queue []netip.Addr

	// The rest belongs to the goroutine that asks.
	narrow map[string]time.Time // resources refused in all namespaces, until when
	nodes  []corev1.Node
	read   time.Time // when nodes were
}

// caller is an address that was asked for.
type caller struct {
	name   model.Value[string]
	until  time.Time // from when on it is looked up again
	asked  time.Time // by whoever wants the name
	queued bool
}

// NewCallers starts the goroutine that asks; Close ends it.
func NewCallers(o CallersOptions) *Callers {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.PerSecond <= 0 {
		o.PerSecond = callersPerSecond
	}
	if o.Entries <= 0 {
		o.Entries = maxCallers
	}
	namespaces := slices.DeleteFunc(slices.Clone(o.Namespaces), func(n string) bool { return n == "" })
	ctx, cancel := context.WithCancel(context.Background())
	c := &Callers{
		client: o.Client, namespaces: namespaces, now: o.Now, entries: o.Entries,
		limit:  flowcontrol.NewTokenBucketRateLimiter(o.PerSecond, callersAtOnce),
		cancel: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1),
		known:  map[netip.Addr]*caller{},
		narrow: map[string]time.Time{},
	}
	go func() {
		defer close(c.done)
		c.run(ctx)
	}()
	return c
}

// Close ends the asking and waits for its end. Name may still be called.
func (c *Callers) Close() {
	c.cancel()
	<-c.done
	c.limit.Stop()
}

// Name is "namespace/name" of the pod with the peer's address (a port behind it
// is left out), "node X" for a node, or "this pod itself (loopback)". It answers
// at once; what is not known yet is looked up and there at a later call.
func (c *Callers) Name(peer string) model.Value[string] {
	ip, ok := peerIP(peer)
	switch {
	case !ok:
		return model.Unknown[string](fmt.Sprintf("%q is not an address", shorten(peer)))
	case ip.IsLoopback():
		return model.Known("this pod itself (loopback)")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	e := c.known[ip]
	if e == nil {
		if len(c.known) >= c.entries && !c.forgetOne() {
			return model.Unknown[string](reasonTooMany)
		}
		e = &caller{name: model.Unknown[string](reasonLookedUp)}
		c.known[ip] = e
	}
	e.asked = now
	if !e.queued && !now.Before(e.until) {
		// While it is looked up again, the old answer stands; one that nobody has
		// asked for since may be another pod's by now.
		if now.Sub(e.until) > callersKept {
			e.name = model.Unknown[string](reasonLookedUp)
		}
		e.queued = true
		c.queue = append(c.queue, ip)
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	return e.name
}

// forgetOne drops the address that nobody has asked for the longest, and is
// false when all wait to be looked up. mu is held.
func (c *Callers) forgetOne() bool {
	var oldest netip.Addr
	for ip, e := range c.known {
		if !e.queued && (!oldest.IsValid() || e.asked.Before(c.known[oldest].asked)) {
			oldest = ip
		}
	}
	delete(c.known, oldest)
	return oldest.IsValid()
}

// peerIP reads an address as ss prints it, with or without a port.
func peerIP(peer string) (netip.Addr, bool) {
	host, _ := splitPort(peer)
	ip, err := netip.ParseAddr(host)
	return ip.Unmap().WithZone(""), err == nil
}

func shorten(text string) string {
	const most = 50
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

func (c *Callers) run(ctx context.Context) {
	for {
		ip, ok := c.next()
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-c.wake:
			}
			continue
		}
		if err := c.limit.Wait(ctx); err != nil {
			return
		}
		name := c.lookUp(ctx, ip)
		if ctx.Err() != nil {
			return
		}
		c.mu.Lock()
		if e := c.known[ip]; e != nil {
			keep := callersKept
			if !name.IsKnown() {
				keep = missKept
			}
			e.name, e.queued, e.until = name, false, c.now().Add(keep)
		}
		c.mu.Unlock()
	}
}

func (c *Callers) next() (netip.Addr, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		c.queue = nil
		return netip.Addr{}, false
	}
	ip := c.queue[0]
	c.queue = c.queue[1:]
	return ip, true
}

// lookUp asks the API server whose address this is.
func (c *Callers) lookUp(ctx context.Context, ip netip.Addr) model.Value[string] {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	pods, why := c.podsWith(ctx, ip)
	running := slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool { return finished(&p) })
	own := ownIP(running)
	switch {
	case len(own) == 1:
		return model.Known(own[0].Namespace + "/" + own[0].Name)
	case len(own) > 1:
		return model.Unknown[string](fmt.Sprintf("%d pods have this address", len(own)))
	case len(running) == 1:
		return model.Unknown[string](fmt.Sprintf("node %s, or pod %s/%s on its address", running[0].Spec.NodeName, running[0].Namespace, running[0].Name))
	case len(running) > 1:
		return model.Unknown[string](fmt.Sprintf("one of %d pods on node %s's address, or the node itself", len(running), running[0].Spec.NodeName))
	}
	if node := c.nodeWith(ctx, ip); node != "" {
		return model.Known("node " + node)
	}
	if why != "" {
		return model.Unknown[string](why)
	}
	return model.Unknown[string]("no pod has this as its first address")
}

// podsWith lists the pods whose first address this is, and says why it could
// not, or not everywhere.
func (c *Callers) podsWith(ctx context.Context, ip netip.Addr) (found []corev1.Pod, why string) {
	options := metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("status.podIP", ip.String()).String(),
		// From the API server's cache: it would otherwise read every pod of the
		// cluster from its store to find one.
		ResourceVersion: "0",
	}
	if c.now().After(c.narrow["pods"]) {
		list, err := c.client.CoreV1().Pods("").List(ctx, options)
		if err == nil {
			return list.Items, ""
		}
		if !apierrors.IsForbidden(err) {
			return nil, Explain(err).Error()
		}
		c.narrow["pods"] = c.now().Add(callersKept)
	}
	const narrow = "not allowed to list pods in all namespaces"
	var looked []string
	for _, namespace := range c.namespaces {
		list, err := c.client.CoreV1().Pods(namespace).List(ctx, options)
		switch {
		case apierrors.IsForbidden(err):
			continue
		case err != nil:
			return found, Explain(err).Error()
		}
		found = append(found, list.Items...)
		looked = append(looked, namespace)
	}
	if len(looked) == 0 {
		return nil, narrow
	}
	return found, fmt.Sprintf("no pod in %s has this address; %s", listed(looked), narrow)
}

// nodeWith is the node whose address this is, or whose first pod address: of a
// bridge that a node's pods hang on, and from which the kubelet calls them.
func (c *Callers) nodeWith(ctx context.Context, ip netip.Addr) string {
	if now := c.now(); now.Sub(c.read) > callersKept && now.After(c.narrow["nodes"]) {
		list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		switch {
		case err == nil:
			c.nodes, c.read = list.Items, now
		case apierrors.IsForbidden(err):
			c.narrow["nodes"] = now.Add(callersKept)
		}
	}
	for i := range c.nodes {
		node := &c.nodes[i]
		if nodeHas(node, ip) || slices.ContainsFunc(node.Spec.PodCIDRs, func(cidr string) bool { return isFirst(cidr, ip) }) {
			return node.Name
		}
	}
	return ""
}

func isFirst(cidr string, ip netip.Addr) bool {
	prefix, err := netip.ParsePrefix(cidr)
	return err == nil && prefix.Masked().Addr().Next() == ip
}
