package informers

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func TestWhichFailuresPass(t *testing.T) {
	kind := schema.GroupResource{Group: "kairship.io", Resource: "instances"}
	tooLarge := apierrors.NewTimeoutError("Too large resource version", 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	for _, tt := range []struct {
		err  error
		want bool
		why  string
	}{
		{io.ErrUnexpectedEOF, true, "the connection broke"},
		{apierrors.NewServiceUnavailable("starting"), true, "it is starting"},
		{apierrors.NewInternalError(errors.New("etcd")), true, "it cannot read its own store"},
		{apierrors.NewTooManyRequests("later", 1), true, "it has too much to do"},
		{apierrors.NewUnauthorized("who"), true, "a server that starts does not know its service accounts yet"},
		{apierrors.NewForbidden(kind, "", nil), true, "a server that starts does not know its roles yet"},
		{apierrors.NewNotFound(kind, ""), true, "a server that starts does not know its custom resources yet"},
		{apierrors.NewResourceExpired("old"), false, "client-go lists anew"},
		{tooLarge, false, "client-go lists without a version"},
		{apierrors.NewInvalid(schema.GroupKind{}, "", nil), false, "client-go asks in an older way"},
		{apierrors.NewBadRequest("what"), false, "it will be as bad the next time"},
	} {
		if got := passes(tt.err); got != tt.want {
			t.Errorf("%v: %v, want %v: %s", tt.err, got, tt.want, tt.why)
		}
	}
}

// outage is a global cluster that is away, and comes back.
type outage struct {
	until           time.Time
	lists, watching int
	versions        []string
}

func (o *outage) away() error {
	if time.Now().Before(o.until) {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusServiceUnavailable}}
	}
	return nil
}

func (o *outage) ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error) {
	o.lists++
	return &v1alpha1.InstanceList{}, o.away()
}

func (o *outage) WatchWithContext(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	o.watching++
	o.versions = append(o.versions, options.ResourceVersion)
	return watch.NewFake(), o.away()
}

var _ toolscache.ListerWatcherWithContext = (*outage)(nil)

// A watch is taken up within a second, however long the outage was, and until
// then it must not be believed that it follows.
func TestWatchesPersist(t *testing.T) {
	for what, ask := range map[string]func(context.Context, *toolscache.ListWatch) error{
		"list": func(ctx context.Context, lw *toolscache.ListWatch) error {
			_, err := lw.ListWithContext(ctx, metav1.ListOptions{})
			return err
		},
		"watch": func(ctx context.Context, lw *toolscache.ListWatch) error {
			_, err := lw.WatchWithContext(ctx, metav1.ListOptions{ResourceVersion: "7"})
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			const length = 10*time.Minute + 300*time.Millisecond
			begun := time.Now()
			global := &outage{until: begun.Add(length)}
			var lost atomic.Bool
			p := &Persistent{Logger: slog.New(slog.DiscardHandler), Lost: func() { lost.Store(true) }}
			done := make(chan error)
			go func() { done <- ask(t.Context(), p.persistent(global, what)) }()
			time.Sleep(length / 2)
			if p.Following() {
				t.Errorf("%s: it reports that it follows a global cluster that does not answer", what)
			}
			if !lost.Load() {
				t.Errorf("%s: it is not reported that the watch is lost", what)
			}
			if err := <-done; err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if late := time.Since(begun) - length; late > askAgainAfter {
				t.Errorf("%s: it is taken up %s after the outage, want at most %s", what, late, askAgainAfter)
			}
			if asked := global.lists + global.watching; asked > int(length/askAgainAfter)+2 {
				t.Errorf("%s: it asked %d times in %s", what, asked, length)
			}
			for _, version := range global.versions {
				if version != "7" {
					t.Errorf("watches from %q, want from where it was", version)
				}
			}
			if !p.Following() {
				t.Errorf("%s: it follows again, and does not say so", what)
			}
		})
	}
}

// A process that ends does not wait for the global cluster.
func TestWatchesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		global := &outage{until: time.Now().Add(time.Hour)}
		p := &Persistent{Logger: slog.New(slog.DiscardHandler)}
		begun := time.Now()
		if _, err := p.persistent(global, "list").ListWithContext(ctx, metav1.ListOptions{}); err == nil {
			t.Error("a list that failed has no error")
		}
		if took := time.Since(begun); took > 90*time.Second {
			t.Errorf("it ended %s late", took-90*time.Second)
		}
	})
}
