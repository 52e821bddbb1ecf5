package truth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/poll"
)

// recorder watches the clusters and keeps what it sees in a timeline.
type recorder struct {
	timeline  *timeline
	namespace string
	watches   []*recording
	all       sync.WaitGroup
}

// recording is the watch on one kind in one cluster.
type recording struct {
	*recorder
	cluster, kind string
	client        client.WithWatch
	list          func() client.ObjectList
	// revision is that of the last event or list; everything until there is recorded.
	revision int64
	// relists are how often the watch could not go on where it ended.
	relists int
}

// recorded are the kinds that are recorded, by the role of the cluster.
func recorded(role string) map[string]func() client.ObjectList {
	kinds := map[string]func() client.ObjectList{
		kindDeployment:  func() client.ObjectList { return &appsv1.DeploymentList{} },
		kindStatefulSet: func() client.ObjectList { return &appsv1.StatefulSetList{} },
		kindDaemonSet:   func() client.ObjectList { return &appsv1.DaemonSetList{} },
	}
	if role == fleet.RoleInstance {
		kinds[kindPolicy] = func() client.ObjectList { return &policyv1alpha1.PropagationPolicyList{} }
		kinds[kindOverride] = func() client.ObjectList { return &policyv1alpha1.OverridePolicyList{} }
		kinds[kindBinding] = func() client.ObjectList { return &workv1alpha2.ResourceBindingList{} }
	} else {
		kinds[kindPod] = func() client.ObjectList { return &corev1.PodList{} }
		kinds[kindReplicaSet] = func() client.ObjectList { return &appsv1.ReplicaSetList{} }
	}
	return kinds
}

// record begins to record a namespace of all instances and members, until the context ends.
func record(ctx context.Context, t *testing.T, f *fleet.Fleet, namespace string) *recorder {
	t.Helper()
	r := &recorder{timeline: newTimeline(), namespace: namespace}
	for _, cluster := range f.Clusters {
		if cluster.Role == fleet.RoleGlobal {
			continue
		}
		c, err := client.NewWithWatch(f.Config(t, cluster.Name), client.Options{Scheme: fleet.Scheme(t)})
		if err != nil {
			t.Fatalf("the client of %s: %v", cluster.Name, err)
		}
		for kind, list := range recorded(cluster.Role) {
			w := &recording{recorder: r, cluster: cluster.Name, kind: kind, client: c, list: list}
			if err := w.read(ctx); err != nil {
				t.Fatalf("listing %s in %s: %v", kind, cluster.Name, err)
			}
			r.watches = append(r.watches, w)
			r.all.Go(func() { w.run(ctx) })
		}
	}
	return r
}

// run watches until the context ends. While the API server is away it tries again.
func (w *recording) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := w.follow(ctx)
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			if err = w.read(ctx); err == nil {
				w.relists++
			}
		}
		if err != nil {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// follow watches from the revision that is recorded until the watch ends.
func (w *recording) follow(ctx context.Context) error {
	events, err := w.client.Watch(ctx, w.list(), client.InNamespace(w.namespace), &client.ListOptions{Raw: &metav1.ListOptions{
		ResourceVersion: fmt.Sprint(w.revision), AllowWatchBookmarks: true,
	}})
	if err != nil {
		return err
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		if e.Type == watch.Error {
			return apierrors.FromObject(e.Object)
		}
		o, ok := e.Object.(client.Object)
		if !ok {
			return fmt.Errorf("%T is no object", e.Object)
		}
		v := version{Revision: revisionOf(o)}
		switch e.Type {
		case watch.Added, watch.Modified:
			v.Fact = factOf(o)
		case watch.Deleted, watch.Bookmark, watch.Error:
		}
		if e.Type != watch.Bookmark {
			w.timeline.add(objectKey{w.cluster, w.kind, o.GetName()}, v)
		}
		w.revision = v.Revision
	}
	return errors.New("the watch ended")
}

// read lists what there is. Of what changed since the last revision that is recorded, versions may be missing.
func (w *recording) read(ctx context.Context) error {
	list := w.list()
	if err := w.client.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	revision := revisionOf(&metav1.ObjectMeta{ResourceVersion: list.GetResourceVersion()})
	missing := w.timeline.last(w.cluster, w.kind)
	for _, item := range items {
		o := item.(client.Object)
		delete(missing, o.GetName())
		w.timeline.add(objectKey{w.cluster, w.kind, o.GetName()}, version{Revision: revisionOf(o), Fact: factOf(o), LostAfter: w.revision})
	}
	for name := range missing {
		w.timeline.add(objectKey{w.cluster, w.kind, name}, version{Revision: revision, LostAfter: w.revision})
	}
	w.revision = revision
	return nil
}

// complete waits until what there is now is recorded, and stops recording. It shows
// that the recorder is not behind, and that it knows what a client reads.
func (r *recorder) complete(t *testing.T, stop func()) {
	t.Helper()
	for _, w := range r.watches {
		poll.Until(t, time.Minute, fmt.Sprintf("%s in %s is recorded", w.kind, w.cluster), func(ctx context.Context) error {
			list := w.list()
			if err := w.client.List(ctx, list, client.InNamespace(r.namespace)); err != nil {
				return err
			}
			items, err := meta.ExtractList(list)
			if err != nil {
				return err
			}
			known := r.timeline.last(w.cluster, w.kind)
			for _, item := range items {
				o := item.(client.Object)
				if known[o.GetName()] < revisionOf(o) {
					return fmt.Errorf("%s is at %s, and recorded at %d", o.GetName(), o.GetResourceVersion(), known[o.GetName()])
				}
				delete(known, o.GetName())
			}
			if len(known) > 0 {
				return fmt.Errorf("these are recorded and not there: %v", known)
			}
			return nil
		})
	}
	stop()
	r.all.Wait()
	relists := 0
	for _, w := range r.watches {
		relists += w.relists
	}
	t.Logf("recorded %d objects; %d times versions may have been lost, because an API server was away", len(r.timeline.versions), relists)
	r.timeline.seal()
}
