package injector

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxReview is above what an API server accepts as an object (1.5 MiB in etcd).
const maxReview = 4 << 20

// handler answers admission reviews.
type handler struct{ options Options }

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReview))
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err != nil || review.Request == nil {
		http.Error(w, fmt.Sprintf("reading the admission review: no request in it (%v)", err), http.StatusBadRequest)
		return
	}
	answer := admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: h.answer(r, review.Request)}
	answer.Response.UID = review.Request.UID
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil && h.options.Log != nil {
		h.options.Log.Printf("writing the answer to an admission review: %v", err)
	}
}

func (h handler) answer(r *http.Request, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	var pod corev1.Pod
	if err := json.Unmarshal(request.Object.Raw, &pod); err != nil {
		return refuse(fmt.Errorf("reading the pod of the admission review: %w", err))
	}
	var inherited map[string]string
	if h.options.NamespaceAnnotations != nil {
		var err error
		inherited, err = h.options.NamespaceAnnotations(r.Context(), request.Namespace)
		if err != nil {
			return refuse(fmt.Errorf("reading the annotations of namespace %s: %w", request.Namespace, err))
		}
	}
	patch, warnings, err := inject(&pod, inherited, h.options)
	if err != nil {
		return refuse(err)
	}
	response := &admissionv1.AdmissionResponse{Allowed: true, Warnings: warnings}
	if len(patch) == 0 {
		return response
	}
	if response.Patch, err = json.Marshal(patch); err != nil {
		return refuse(fmt.Errorf("writing the patch: %w", err))
	}
	kind := admissionv1.PatchTypeJSONPatch
	response.PatchType = &kind
	return response
}

func refuse(err error) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status: metav1.StatusFailure, Message: err.Error(), Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
	}}
}

// operation is one step of a JSON patch. "add" sets a member of an object,
// whether or not it is there.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func add(path string, value any) operation { return operation{"add", path, value} }
