package collect

import (
	"context"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// reviewTimeout bounds a question to the API server that is only a courtesy.
const reviewTimeout = 3 * time.Second

// MayProbe asks whether the user may add a probe to the pod: nil, or a
// *ForbiddenError. An API server that does not say is taken for a yes: the probe
// itself will tell.
func MayProbe(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: pod.Namespace, Verb: "patch", Resource: "pods", Subresource: "ephemeralcontainers", Name: pod.Name,
		}},
	}, metav1.CreateOptions{})
	if err != nil || review.Status.Allowed {
		return nil //nolint:nilerr // see above
	}
	return &ForbiddenError{Verb: "patch", Resource: "pods/ephemeralcontainers", Namespace: pod.Namespace, Message: review.Status.Reason}
}

// WhoAmI is how the API server knows the user, for whoever finds the probe;
// fallback where it does not say.
func WhoAmI(ctx context.Context, client kubernetes.Interface, fallback string) string {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || review.Status.UserInfo.Username == "" {
		return fallback
	}
	return review.Status.UserInfo.Username
}
