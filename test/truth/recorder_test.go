package truth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// recorder follows what changes in the etcd that all clusters share, and keeps it in a
// timeline. Watches of API servers would lose versions whenever one of them is killed.
type recorder struct {
	timeline  *timeline
	namespace string
	watches   []*recording
	all       sync.WaitGroup
}

// recording is one kind in one cluster.
type recording struct {
	*recorder
	cluster, kind string
	// prefix is what the keys of its objects in etcd begin with.
	prefix string
	// decoder reads both forms that API servers store: protobuf, and JSON of custom resources.
	decoder runtime.Decoder
	client  client.Client
	list    func() client.ObjectList
}

// stored is where an API server keeps a kind below its prefix, and how it is listed.
type stored struct {
	path string
	list func() client.ObjectList
}

// recorded are the kinds that are recorded, by the role of the cluster.
func recorded(role string) map[string]stored {
	kinds := map[string]stored{
		kindDeployment:  {"deployments", func() client.ObjectList { return &appsv1.DeploymentList{} }},
		kindStatefulSet: {"statefulsets", func() client.ObjectList { return &appsv1.StatefulSetList{} }},
		kindDaemonSet:   {"daemonsets", func() client.ObjectList { return &appsv1.DaemonSetList{} }},
	}
	if role == fleet.RoleInstance {
		kinds[kindPolicy] = stored{"policy.karmada.io/propagationpolicies", func() client.ObjectList { return &policyv1alpha1.PropagationPolicyList{} }}
		kinds[kindOverride] = stored{"policy.karmada.io/overridepolicies", func() client.ObjectList { return &policyv1alpha1.OverridePolicyList{} }}
		kinds[kindBinding] = stored{"work.karmada.io/resourcebindings", func() client.ObjectList { return &workv1alpha2.ResourceBindingList{} }}
	} else {
		kinds[kindPod] = stored{"pods", func() client.ObjectList { return &corev1.PodList{} }}
		kinds[kindReplicaSet] = stored{"replicasets", func() client.ObjectList { return &appsv1.ReplicaSetList{} }}
	}
	return kinds
}

// record records what happens in a namespace of all instances and members after the
// clock's first sample, until the context ends. Nothing that is recorded may be there yet.
func record(ctx context.Context, t *testing.T, f *fleet.Fleet, c *clock, namespace string) *recorder {
	t.Helper()
	r := &recorder{timeline: newTimeline(), namespace: namespace}
	decoder := serializer.NewCodecFactory(fleet.Scheme(t)).UniversalDeserializer()
	for _, cluster := range f.Clusters {
		if cluster.Role == fleet.RoleGlobal {
			continue
		}
		for kind, of := range recorded(cluster.Role) {
			w := &recording{
				recorder: r, cluster: cluster.Name, kind: kind, prefix: fmt.Sprintf("/%s/%s/%s/", cluster.Name, of.path, namespace),
				decoder: decoder, client: f.Client(t, cluster.Name), list: of.list,
			}
			r.watches = append(r.watches, w)
			r.all.Go(func() {
				if err := w.follow(ctx, c.etcd, c.samples[0].revision+1); ctx.Err() == nil {
					t.Errorf("recording %s in %s: %v", w.kind, w.cluster, err)
				}
			})
		}
	}
	return r
}

// event is one change in etcd.
type event struct {
	Type string `json:"type"` // DELETE, or empty for a version of an object.
	KV   struct {
		Key         []byte `json:"key"`
		Value       []byte `json:"value"`
		ModRevision int64  `json:"mod_revision,string"`
	} `json:"kv"`
}

// follow records everything from a revision on, until the context ends.
func (w *recording) follow(ctx context.Context, etcd string, from int64) error {
	end := w.prefix[:len(w.prefix)-1] + "0" // The byte after a slash: everything with the prefix.
	request, err := json.Marshal(map[string]any{"create_request": map[string]any{
		"key": []byte(w.prefix), "range_end": []byte(end), "start_revision": from,
	}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, etcd+"/v3/watch", bytes.NewReader(request))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	for messages := json.NewDecoder(resp.Body); ; {
		var message struct {
			Result struct {
				Canceled     bool    `json:"canceled"`
				CancelReason string  `json:"cancel_reason"`
				Events       []event `json:"events"`
			} `json:"result"`
			Error *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := messages.Decode(&message); err != nil {
			return err
		}
		if message.Error != nil || message.Result.Canceled {
			return fmt.Errorf("etcd ended the watch: %+v", message)
		}
		for _, e := range message.Result.Events {
			if err := w.add(e); err != nil {
				return fmt.Errorf("revision %d of %s: %w", e.KV.ModRevision, e.KV.Key, err)
			}
		}
	}
}

func (w *recording) add(e event) error {
	key := objectKey{w.cluster, w.kind, strings.TrimPrefix(string(e.KV.Key), w.prefix)}
	v := version{Revision: e.KV.ModRevision}
	if e.Type != "DELETE" {
		o, _, err := w.decoder.Decode(e.KV.Value, nil, nil)
		if err != nil {
			return err
		}
		v.Fact = factOf(o.(client.Object))
	}
	w.timeline.add(key, v)
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
	t.Logf("recorded %d objects", len(r.timeline.versions))
	r.timeline.seal()
}
