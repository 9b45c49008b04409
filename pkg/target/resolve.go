package target

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/klog/v2"
)

// maxNameWatches is the number of pods up to which each pod asked for by name
// gets a watch of its own: that moves the fewest bytes, and is allowed to a user
// whose Role names the pods. More than that share one watch of the namespace.
const maxNameWatches = 10

// Resolve asks the API server which pods a query means. Without Args it asks
// nothing; otherwise it gets each object named, and looks for the owner of each
// IP. What does not exist is an error when nothing else is left, and one of the
// Problems of the Watch otherwise.
//
// Pod, Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, CronJob,
// ReplicationController and Service are known; of any other kind outside the
// core group, .spec.selector or else the selector of its scale subresource is
// taken.
func Resolve(ctx context.Context, getter genericclioptions.RESTClientGetter, q Query) (*Selection, error) {
	q, err := q.normalized()
	if err != nil {
		return nil, err
	}
	s := &Selection{allowEmpty: q.AllowEmpty}
	if len(q.Args) == 0 {
		s.parts = []part{listingPart(q)}
		return s, nil
	}
	addresses, names, err := withoutAddresses(q.Args)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		q.Args = names
		if err := s.nameParts(ctx, getter, q); err != nil {
			return nil, err
		}
	}
	if len(addresses) > 0 {
		l, err := newLookup(getter, q.Namespace)
		if err != nil {
			return nil, err
		}
		if err := s.addressParts(ctx, l, addresses); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, err
		}
	}
	if len(s.parts) == 0 {
		return nil, join(s.problems)
	}
	return s, nil
}

// nameParts finds what the names mean.
func (s *Selection) nameParts(ctx context.Context, getter genericclioptions.RESTClientGetter, q Query) error {
	infos, err := named(ctx, getter, q)
	if err != nil {
		return Explain(err)
	}
	var pods []string
	for _, info := range infos {
		object, err := get(ctx, info, "")
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.problems = append(s.problems, Explain(err))
			continue
		}
		if info.Mapping.GroupVersionKind.GroupKind() == (schema.GroupKind{Kind: "Pod"}) {
			if !slices.Contains(pods, object.GetName()) {
				pods = append(pods, object.GetName())
			}
			continue
		}
		p, err := selects(ctx, info, object)
		if err != nil {
			s.problems = append(s.problems, Explain(err))
			continue
		}
		s.parts = append(s.parts, p)
	}
	s.parts = append(podParts(q.Namespace, pods), s.parts...)
	return nil
}

// named finds the kinds of the arguments, and fetches nothing yet.
func named(ctx context.Context, getter genericclioptions.RESTClientGetter, q Query) ([]*resource.Info, error) {
	// client-go's cached discovery writes a log line for every try of an API
	// server that it cannot reach. Asked here first, with a logger that discards,
	// it answers the kind lookups below from its cache.
	kinds, err := getter.ToDiscoveryClient()
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's configuration: %w", err)
	}
	quiet := klog.NewContext(ctx, silent())
	if _, err := discovery.ToDiscoveryInterfaceWithContext(kinds).ServerGroupsWithContext(quiet); err != nil {
		return nil, err
	}
	b := resource.NewBuilder(getter).Unstructured().NamespaceParam(q.Namespace).DefaultNamespace().RequireObject(false)
	if typeFirst(getter, q.Args) {
		b = b.ResourceTypeOrNameArgs(false, slices.Clone(q.Args)...)
	} else {
		b = b.ResourceNames("pods", q.Args...)
	}
	return b.Do().Infos()
}

// typeFirst tells "deploy server" (a type, then names) from "server-a server-b"
// (bare pod names). A word with a dash is not looked up: nearly every pod's name
// has one and no built-in type does, and a miss would ask the API server for all
// its types again.
func typeFirst(getter genericclioptions.RESTClientGetter, args []string) bool {
	if len(args) < 2 || strings.ContainsAny(args[0], "-/") || slices.ContainsFunc(args, hasSlash) {
		return false
	}
	if isPodType(args[0]) || strings.Contains(args[0], ",") {
		return true
	}
	mapper, err := getter.ToRESTMapper()
	if err != nil {
		return false
	}
	gvr, gr := schema.ParseResourceArg(strings.ToLower(args[0]))
	if gvr != nil {
		if _, err := mapper.KindFor(*gvr); err == nil {
			return true
		}
	}
	_, err = mapper.KindFor(gr.WithVersion(""))
	return err == nil
}

func hasSlash(s string) bool { return strings.Contains(s, "/") }

// get fetches the object, or a subresource of it. The builder's own fetch takes
// no context and would ignore an interrupt.
func get(ctx context.Context, info *resource.Info, subresource string) (*unstructured.Unstructured, error) {
	request := info.Client.Get().
		NamespaceIfScoped(info.Namespace, info.Namespaced()).
		Resource(info.Mapping.Resource.Resource).
		Name(info.Name)
	if subresource != "" {
		request = request.SubResource(subresource)
	}
	object, err := request.Do(ctx).Get()
	if err != nil {
		return nil, err
	}
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("reading %s: the server answered with a %T", words(info), object)
	}
	return u, nil
}

// words is "deployment/server".
func words(info *resource.Info) string {
	return strings.ToLower(info.Mapping.GroupVersionKind.Kind) + "/" + info.Name
}

func podParts(namespace string, names []string) []part {
	if len(names) > maxNameWatches {
		p := part{
			namespace: namespace, named: true, query: fmt.Sprintf("pods %s", strings.Join(names, ", ")),
			accept: func(pod *corev1.Pod) bool { return slices.Contains(names, pod.Name) },
		}
		p.noPods = p.query + " not found"
		return []part{p}
	}
	var parts []part
	for _, name := range names {
		parts = append(parts, part{
			namespace: namespace, named: true, query: "pod/" + name,
			fieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(),
			noPods:        fmt.Sprintf("pods %q not found", name),
		})
	}
	return parts
}
