package injector

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// cpu is what the annotations say of the proxy's CPUs; nil and 0 where they say
// nothing.
type cpu struct {
	request, limit *resource.Quantity
	ratio          float64
}

func readCPU(annotations map[string]string, w *warnings) cpu {
	found := cpu{request: quantity(annotations, configRequest, w), limit: quantity(annotations, configLimit, w)}
	if text, ok := annotations[configRatio]; ok {
		r, err := strconv.ParseFloat(text, 64)
		if err == nil && r > 0 && r < 1 {
			found.ratio = r
		} else {
			w.notTaken(configRatio, text, "it does not lie between 0 and 1")
		}
	}
	return found
}

func quantity(annotations map[string]string, name string, w *warnings) *resource.Quantity {
	text, ok := annotations[name]
	if !ok {
		return nil
	}
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() <= 0 {
		w.notTaken(name, text, "it is no CPU quantity above 0")
		return nil
	}
	return &q
}

// whole rounds up to CPUs.
func whole(q *resource.Quantity) string { return strconv.FormatInt((q.MilliValue()+999)/1000, 10) }

// workers gives the variables that decide on the number of workers.
func workers(c cpu, o Options) []corev1.EnvVar {
	if o.Cores > 0 {
		n := strconv.Itoa(o.Cores)
		return []corev1.EnvVar{{Name: "LINKERD2_PROXY_CORES", Value: n}, {Name: "LINKERD2_PROXY_CORES_MIN", Value: n}}
	}
	least := "1"
	if c.request != nil {
		least = whole(c.request)
	}
	env := []corev1.EnvVar{{Name: "LINKERD2_PROXY_CORES", Value: least}, {Name: "LINKERD2_PROXY_CORES_MIN", Value: least}}
	if c.limit != nil {
		env = append(env, corev1.EnvVar{Name: "LINKERD2_PROXY_CORES_MAX", Value: whole(c.limit)})
	}
	if c.ratio > 0 {
		text := strconv.FormatFloat(c.ratio, 'f', -1, 64)
		env = append(env, corev1.EnvVar{Name: "LINKERD2_PROXY_CORES_MAX_RATIO", Value: text})
	}
	return env
}

// resources adds the annotations' request and limit to the container's own.
func (c cpu) resources(own corev1.ResourceRequirements) corev1.ResourceRequirements {
	if c.request != nil {
		if own.Requests == nil {
			own.Requests = corev1.ResourceList{}
		}
		own.Requests[corev1.ResourceCPU] = *c.request
	}
	if c.limit != nil {
		if own.Limits == nil {
			own.Limits = corev1.ResourceList{}
		}
		own.Limits[corev1.ResourceCPU] = *c.limit
	}
	return own
}
