package target

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"
)

// jobNameLabel is on every pod of a Job, beside batch.kubernetes.io/job-name
// since 1.27; the older one is used since it is on older clusters too.
const jobNameLabel = "job-name"

// selects works out which pods an object means.
func selects(ctx context.Context, info *resource.Info, object *unstructured.Unstructured) (part, error) {
	p := part{namespace: info.Namespace, query: words(info)}
	var selector labels.Selector
	var why string
	var err error
	switch kind := info.Mapping.GroupVersionKind; kind.Group + "/" + kind.Kind {
	case "apps/Deployment", "apps/ReplicaSet", "apps/StatefulSet", "/ReplicationController":
		selector, err = specSelector(object)
		why = replicasWanted(object)
	case "apps/DaemonSet":
		selector, err = specSelector(object)
		wanted, _, _ := unstructured.NestedInt64(object.Object, "status", "desiredNumberScheduled")
		why = fmt.Sprintf("%d nodes want one", wanted)
	case "batch/Job":
		// The selector is the controller-uid that the Job stamped on its pods: a
		// later Job of the same name is not meant.
		selector, err = specSelector(object)
		if suspended, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend"); suspended {
			why = "it is suspended"
		}
	case "batch/CronJob":
		p.labelSelector = jobNameLabel
		p.noPods = p.query + " has no pods (no job of it runs)"
		p.accept, err = ownedByCronJob(ctx, info, object)
		return p, err
	case "/Service":
		selector, err = specSelector(object)
		if err == nil && selector == nil {
			return p, fmt.Errorf("%s has no selector, so no pods can be told from it (its endpoints are set by hand)", p.query)
		}
	case "/Node":
		return p, fmt.Errorf("%s does not select pods (for the pods on it: --all-namespaces --field-selector spec.nodeName=%s)", p.query, info.Name)
	default:
		if kind.Group == "" {
			break
		}
		if selector, err = specSelector(object); err == nil && selector == nil {
			selector, err = scaleSelector(ctx, info)
		}
	}
	if err != nil {
		return p, err
	}
	if selector == nil {
		return p, fmt.Errorf("%s does not select pods", p.query)
	}
	p.labelSelector = selector.String()
	if why == "" {
		why = "no pod has " + p.labelSelector
	}
	p.noPods = fmt.Sprintf("%s has no pods (%s)", p.query, why)
	return p, nil
}

// replicasWanted words .spec.replicas, which is 1 when left out.
func replicasWanted(object *unstructured.Unstructured) string {
	wanted, ok, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
	switch {
	case !ok, wanted == 1:
		return "1 replica wanted"
	case wanted == 0:
		return "0 replicas"
	}
	return fmt.Sprintf("%d replicas wanted", wanted)
}

// specSelector reads .spec.selector in any of the three forms in use: a label
// selector (workloads), a plain map (Service, ReplicationController), and text.
// It is nil when there is none, or an empty one: that would select every pod of
// the namespace, which nobody means by naming one object.
func specSelector(object *unstructured.Unstructured) (labels.Selector, error) {
	field, ok, err := unstructured.NestedFieldNoCopy(object.Object, "spec", "selector")
	if !ok || err != nil {
		return nil, nil //nolint:nilerr // a .spec that is no object has no selector
	}
	var selector labels.Selector
	switch value := field.(type) {
	case string:
		selector, err = labels.Parse(value)
	case map[string]any:
		_, hasLabels := value["matchLabels"]
		_, hasExpressions := value["matchExpressions"]
		if hasLabels || hasExpressions {
			var ls metav1.LabelSelector
			if err = runtime.DefaultUnstructuredConverter.FromUnstructured(value, &ls); err == nil {
				selector, err = metav1.LabelSelectorAsSelector(&ls)
			}
			break
		}
		set := labels.Set{}
		for key, v := range value {
			text, ok := v.(string)
			if !ok {
				return nil, nil
			}
			set[key] = text
		}
		selector, err = set.AsValidatedSelector()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the selector of %s/%s: %w", strings.ToLower(object.GetKind()), object.GetName(), err)
	}
	if selector == nil || selector.Empty() {
		return nil, nil
	}
	return selector, nil
}

// scaleSelector reads the selector that a kind publishes for autoscalers
// (autoscaling/v1 Scale, .status.selector); nil when it has no scale subresource.
func scaleSelector(ctx context.Context, info *resource.Info) (labels.Selector, error) {
	scale, err := get(ctx, info, "scale")
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, _, _ := unstructured.NestedString(scale.Object, "status", "selector")
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading the selector of %s's scale: %w", words(info), err)
	}
	if selector.Empty() {
		return nil, nil
	}
	return selector, nil
}

// ownedByCronJob accepts the pods of a CronJob's Jobs: of those that exist now
// (one made by hand from the CronJob included), and of those to come, which the
// controller names after the minute of their schedule. Pods do not name the
// CronJob themselves.
func ownedByCronJob(ctx context.Context, info *resource.Info, cron *unstructured.Unstructured) (func(*corev1.Pod) bool, error) {
	object, err := info.Client.Get().Namespace(info.Namespace).Resource("jobs").Do(ctx).Get()
	if err != nil {
		return nil, err
	}
	jobs, ok := object.(*unstructured.UnstructuredList)
	if !ok {
		return nil, fmt.Errorf("listing the jobs of %s: the server answered with a %T", words(info), object)
	}
	owned := make(map[string]bool, len(jobs.Items))
	for i := range jobs.Items {
		controller := metav1.GetControllerOf(&jobs.Items[i])
		owned[jobs.Items[i].GetName()] = controller != nil && controller.UID == cron.GetUID()
	}
	scheduled := regexp.MustCompile(`^` + regexp.QuoteMeta(cron.GetName()) + `-\d+$`)
	return func(pod *corev1.Pod) bool {
		job := pod.Labels[jobNameLabel]
		mine, existed := owned[job]
		return mine || !existed && scheduled.MatchString(job)
	}, nil
}
