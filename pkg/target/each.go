package target

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

// errEnough ends a list before its end.
var errEnough = errors.New("enough")

// each goes through a long list page by page, until take has enough.
func each[T any](ctx context.Context, list func(context.Context, metav1.ListOptions) (runtime.Object, error), take func(*T) (more bool)) error {
	err := pager.New(list).EachListItemWithAlloc(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		if item, ok := any(object).(*T); ok && !take(item) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
