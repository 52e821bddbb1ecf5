package eventnotes_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/controllers/internal/eventnotes"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apitest.Run(m))
}

// TestTruncate has a real API server take what is said.
func TestTruncate(t *testing.T) {
	mgr, err := ctrl.NewManager(apitest.Config(t), ctrl.Options{
		Scheme: scheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	kube, err := client.New(apitest.Config(t), client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	recorder := eventnotes.Truncate(mgr).GetEventRecorder("notes")
	for _, c := range []struct{ name, says, want string }{
		{"short", "100 % of it", "100 % of it"},
		{"just-fits", strings.Repeat("x", 1024), strings.Repeat("x", 1024)},
		{"too-long", strings.Repeat("x", 1025), strings.Repeat("x", 1021) + "…"},
		{"letters-of-many-bytes", strings.Repeat("é", 1000), strings.Repeat("é", 510) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			about := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.name, UID: types.UID(c.name)}}
			recorder.Eventf(about, nil, corev1.EventTypeNormal, "Said", "Say", "%s", c.says)
			var got string
			poll.Until(t, 20*time.Second, "the event is stored", func(ctx context.Context) error {
				var all eventsv1.EventList
				if err := kube.List(ctx, &all); err != nil {
					return err
				}
				for i := range all.Items {
					if all.Items[i].Regarding.Name == c.name {
						got = all.Items[i].Note
					}
				}
				if got == "" {
					return fmt.Errorf("%d events, and none of %s", len(all.Items), c.name)
				}
				return nil
			})
			if got != c.want || !utf8.ValidString(got) {
				t.Errorf("it says %q, want %q", got, c.want)
			}
		})
	}
}
