package real

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/internal/poll"
)

var instances = schema.GroupVersionResource{Group: "kairship.io", Version: "v1alpha1", Resource: "instances"}

// TestWithoutKairship uninstalls the release: instances and applications go on without it, and are known again when it
// comes back.
func TestWithoutKairship(t *testing.T) {
	w := open(t)
	var history []struct {
		Revision int `json:"revision"`
	}
	if err := json.Unmarshal(w.helm(t, "history", "kairship", "--namespace", system, "--max", "1", "--output", "json"), &history); err != nil || len(history) != 1 {
		t.Fatalf("the history of the release is %+v, error %v", history, err)
	}
	w.helm(t, "uninstall", "kairship", "--namespace", system, "--keep-history", "--wait", "--timeout", "5m")
	back := false
	comeBack := func() {
		if !back {
			back = true
			w.helm(t, "rollback", "kairship", strconv.Itoa(history[0].Revision), "--namespace", system, "--wait", "--timeout", "5m")
		}
	}
	t.Cleanup(comeBack)
	poll.Until(t, time.Minute, "no pod of Kairship is left", func(ctx context.Context) error {
		pods, err := w.pods(ctx, system, "app.kubernetes.io/part-of=kairship")
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("there are %d", len(pods))
		}
		return err
	})
	if _, err := w.objects.Resource(instances).Get(t.Context(), instance, metav1.GetOptions{}); err != nil {
		t.Errorf("the Instance went with the release: %v", err)
	}
	for _, namespace := range []string{"k-" + instance, shop} {
		w.awaitReady(t, time.Minute, namespace)
	}
	comeBack()
	w.awaitReady(t, 2*time.Minute, system)
	// The Service is another one, with another port of the node.
	if out, err := exec.CommandContext(t.Context(), w.Program, "up", "--dir", w.dir, "--network", w.Network).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w = open(t)
	w.awaitRunning(t, instance)
	TestManagedInstance(t)
	TestApplicationRuns(t)
}
