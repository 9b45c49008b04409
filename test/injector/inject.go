package injector

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	annotationInject  = "linkerd.io/inject"
	annotationVersion = "linkerd.io/proxy-version"
	labelControlPlane = "linkerd.io/control-plane-ns"

	configPrefix  = "config.linkerd.io/"
	configRatio   = configPrefix + "proxy-cpu-ratio-limit"
	configEnv     = configPrefix + "proxy-additional-env"
	configLimit   = configPrefix + "proxy-cpu-limit"
	configRequest = configPrefix + "proxy-cpu-request"
)

// inject works out the patch for one pod; an empty patch leaves it as it is.
func inject(pod *corev1.Pod, namespace map[string]string, o Options) ([]operation, warnings, error) {
	var w warnings
	wish, own := pod.Annotations[annotationInject]
	if !own {
		wish = namespace[annotationInject]
	}
	if wish != "enabled" {
		return nil, nil, nil
	}
	if pod.Spec.HostNetwork {
		w.add("not injected: the pod is on the host's network")
		return nil, w, nil
	}
	proxy, path := find(pod)
	if proxy == nil {
		w.add("not injected: the pod has no container linkerd-proxy to inject into")
		return nil, w, nil
	}
	annotations, err := inherit(pod.Annotations, namespace)
	if err != nil {
		return nil, nil, err
	}

	env, resources := configure(proxy, annotations, o, &w)
	annotations[annotationVersion] = o.Version
	labels := map[string]string{}
	maps.Copy(labels, pod.Labels)
	labels[labelControlPlane] = o.ControlPlane
	return []operation{
		add("/metadata/annotations", annotations),
		add("/metadata/labels", labels),
		add(path+"/env", env),
		add(path+"/resources", resources),
	}, w, nil
}

// find gives the proxy and its place in the pod.
func find(pod *corev1.Pod) (*corev1.Container, string) {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == "linkerd-proxy" {
			return c, "/spec/containers/" + strconv.Itoa(i)
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == "linkerd-proxy" {
			return c, "/spec/initContainers/" + strconv.Itoa(i)
		}
	}
	return nil, ""
}

// inherit adds to the pod's annotations what it takes from its namespace.
func inherit(pod, namespace map[string]string) (map[string]string, error) {
	annotations := map[string]string{}
	for name, value := range namespace {
		if !strings.HasPrefix(name, configPrefix) || name == configRatio {
			continue
		}
		if _, own := pod[name]; own {
			continue
		}
		if name == configEnv {
			return nil, errors.New("injecting the proxy: invalid JSON patch, as " + configEnv + " stands on the namespace alone")
		}
		annotations[name] = value
	}
	maps.Copy(annotations, pod)
	return annotations, nil
}

// configure works out the proxy's environment and resources.
func configure(proxy *corev1.Container, annotations map[string]string, o Options, w *warnings) ([]corev1.EnvVar, corev1.ResourceRequirements) {
	// What the test itself wrote stays, but not what decides on the workers.
	var env []corev1.EnvVar
	for _, e := range proxy.Env {
		if !strings.HasPrefix(e.Name, "LINKERD2_PROXY_CORES") {
			env = append(env, e)
		}
	}
	// A listen address of the test's own beats the one made here.
	for _, a := range listenAddresses(readPorts(annotations, w), o.IPv6) {
		if !contains(proxy.Env, a.Name) {
			env = append(env, a)
		}
	}
	cpu := readCPU(annotations, w)
	env = append(env, workers(cpu, o)...)
	env = append(env, merge(o.AdditionalEnv, readAdditional(annotations, w))...)
	return env, cpu.resources(proxy.Resources)
}

// readAdditional reads the list of further variables.
func readAdditional(annotations map[string]string, w *warnings) []corev1.EnvVar {
	text, ok := annotations[configEnv]
	if !ok {
		return nil
	}
	var list []corev1.EnvVar
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		w.notTaken(configEnv, text, "it is no JSON list of variables")
		return nil
	}
	return list
}

// merge puts the annotation's variables behind Helm's, of which it replaces
// those of the same name.
func merge(helm, annotation []corev1.EnvVar) []corev1.EnvVar {
	var merged []corev1.EnvVar
	for _, e := range helm {
		if !contains(annotation, e.Name) {
			merged = append(merged, e)
		}
	}
	return append(merged, annotation...)
}

func contains(env []corev1.EnvVar, name string) bool {
	for _, e := range env {
		if e.Name == name {
			return true
		}
	}
	return false
}

// warnings are what whoever creates the pod is told.
type warnings []string

func (w *warnings) add(words string) { *w = append(*w, words) }

// notTaken tells of an annotation that has no effect.
func (w *warnings) notTaken(annotation, value, why string) {
	w.add(fmt.Sprintf("annotation %s=%q is not taken: %s", annotation, value, why))
}
