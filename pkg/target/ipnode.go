package target

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

// nodeWith is the node with an address, where nodes may be read, or else the
// one of pods that have it since they are on the host's network.
func (l *lookup) nodeWith(ctx context.Context, ip netip.Addr, pods []corev1.Pod) (string, error) {
	for i := range pods {
		if pods[i].Spec.HostNetwork && pods[i].Spec.NodeName != "" {
			return pods[i].Spec.NodeName, nil
		}
	}
	name := ""
	err := each(ctx, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return l.client.CoreV1().Nodes().List(ctx, o)
	}, func(node *corev1.Node) bool {
		if nodeHas(node, ip) {
			name = node.Name
		}
		return name == ""
	})
	if apierrors.IsForbidden(err) {
		l.blind["nodes"] = Explain(err).Error()
		return "", nil
	}
	return name, Explain(err)
}

func nodeHas(node *corev1.Node, ip netip.Addr) bool {
	return slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return isIP(a.Address, ip) })
}

// maxMeant bounds the things that an error lists.
const maxMeant = 5

// onNode says that an address is a node's, and what may be meant by it. None is
// taken: the pods on the host's network share the address, and their queues are
// the node's.
func (l *lookup) onNode(ctx context.Context, a address, node string, pods []corev1.Pod, services []corev1.Service) (error, error) {
	onIt, err := l.podsOn(ctx, node)
	if err != nil {
		return nil, err
	}
	if len(onIt) == 0 { // not to be read, but these have the address
		onIt = pods
	}
	var meant []string
	if a.port == 0 {
		meant = sharingIP(services, a.ip)
	}
	for i := range services {
		for _, p := range services[i].Spec.Ports {
			if p.NodePort == 0 || a.port != 0 && p.NodePort != int32(a.port) {
				continue
			}
			meant = append(meant, fmt.Sprintf("svc/%s -n %s (NodePort %d)", services[i].Name, services[i].Namespace, p.NodePort))
		}
	}
	var host []string
	for i := range onIt {
		pod := &onIt[i]
		if finished(pod) {
			continue
		}
		if pod.Spec.HostNetwork {
			host = append(host, pod.Namespace+"/"+pod.Name)
			continue
		}
		for _, p := range hostPorts(pod) {
			if a.port == 0 || p == int32(a.port) {
				meant = append(meant, fmt.Sprintf("pod/%s -n %s (hostPort %d)", pod.Name, pod.Namespace, p))
			}
		}
	}
	text := fmt.Sprintf("%s is node %s, not one pod", a.ip, node)
	if len(meant) > 0 {
		text += "; it may mean " + listed(meant)
	} else if a.port != 0 {
		text += fmt.Sprintf("; no NodePort or hostPort %d is known", a.port)
	}
	switch len(host) {
	case 0:
	case 1:
		text += fmt.Sprintf("; pod %s is on the host's network, whose queues are the node's", host[0])
	default:
		text += fmt.Sprintf("; %d pods share its address on the host's network, whose queues are the node's: %s", len(host), listed(host))
	}
	return fmt.Errorf("%s", text), nil
}

// podsOn lists the pods of a node; none where that is not allowed.
func (l *lookup) podsOn(ctx context.Context, node string) ([]corev1.Pod, error) {
	var found []corev1.Pod
	err := l.everywhere("pods", func(namespace string) error {
		list, err := l.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
		})
		if err == nil {
			found = list.Items
		}
		return err
	})
	return found, err
}

// hostPorts are the ports of the node that lead into the pod.
func hostPorts(pod *corev1.Pod) []int32 {
	var ports []int32
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			for _, p := range list[i].Ports {
				if p.HostPort != 0 {
					ports = append(ports, p.HostPort)
				}
			}
		}
	}
	return ports
}

func listed(words []string) string {
	slices.Sort(words)
	words = slices.Compact(words)
	if extra := len(words) - maxMeant; extra > 0 {
		words = append(words[:maxMeant:maxMeant], fmt.Sprintf("and %d more", extra))
	}
	return strings.Join(words, ", ")
}
