package projector

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// historyWorld is a world with the instance alpha and its members m1 and m2.
func historyWorld(t *testing.T, index *projectiontest.Database) *world {
	t.Helper()
	w := newWorld(t, index)
	w.HistoryRetention = time.Hour
	w.Instances = instancesOf("uid-alpha")
	customMembers(t, w)
	w.do(t, w.observeInstances)
	return w
}

func instancesOf(uid types.UID) func(context.Context) ([]Instance, error) {
	return func(context.Context) ([]Instance, error) {
		return []Instance{{Instance: &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "alpha", UID: uid}}}}, nil
	}
}

func (w *world) do(t *testing.T, do func(context.Context) error) {
	t.Helper()
	if err := do(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// told is the history of an object, the oldest entry first, each in a line.
func (w *world) told(t *testing.T, key projection.ObjectKey, uid string) []string {
	t.Helper()
	found, err := w.DB.History(t.Context(), []projection.HistoryQuery{{ObjectKey: key, InstanceUID: uid}}, &projection.HistoryRange{Limit: 100, WithCount: true})
	if err != nil {
		t.Fatal(err)
	}
	if since := time.Since(found.Since); since < 0 || since > time.Minute || *found.Pages[0].Count != int64(len(found.Pages[0].Entries)) {
		t.Fatalf("it begins %s ago, and has %d entries", since, *found.Pages[0].Count)
	}
	var lines []string
	for _, e := range found.Pages[0].Entries {
		field := ""
		if e.Change != projection.Created {
			field = e.Field
		}
		line := strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s>%s", e.Cluster, e.Change, field, e.Before, e.After)), " ")
		lines = append([]string{line}, lines...)
	}
	return lines
}

// TestHistoryOfAWorkload follows a workload from its creation to its end.
func TestHistoryOfAWorkload(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := historyWorld(t, index)
		later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		binding := func(version, status string) projectiontest.Object {
			return customBinding(version, "argoproj.io/v1alpha1", "Rollout", "web", status)
		}
		template := func(version, uid, created, image string) projectiontest.Object {
			return projectiontest.Object{
				Cluster: "k-alpha", Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts", Namespace: "shop", Name: "web", UID: uid, ResourceVersion: version,
				Text: fmt.Sprintf(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","metadata":{"namespace":"shop","name":"web","uid":%q,"resourceVersion":%q,"creationTimestamp":%q,
				"labels":{"propagationpolicy.karmada.io/permanent-id":"p1"},"annotations":{"propagationpolicy.karmada.io/namespace":"shop","propagationpolicy.karmada.io/name":"web"}},
				"spec":{"replicas":4,"template":{"spec":{"containers":[{"name":"web","image":%q}]}}}}`, uid, version, created, image),
			}
		}
		key := projection.WorkloadKey{Instance: "alpha", Namespace: "shop", Name: "web", Kind: "Rollout.argoproj.io"}
		read := 0
		for _, step := range []struct {
			reason string
			do     func()
			want   string
		}{
			{"it is created", func() {
				index.Save(t, template("7", "t", later, "web:1"))
				index.Save(t, binding("1", fine))
			}, "CREATED >|POLICY >shop/web|m1 PLACEMENT >SCHEDULED|m1 REPLICAS >3|m1 HEALTH >HEALTHY|m2 PLACEMENT >SCHEDULED|m2 REPLICAS >1|m2 HEALTH >HEALTHY|HEALTH >HEALTHY"},
			{"nothing changes that the history follows", func() { index.Save(t, binding("2", fine)) }, ""},
			{"a cluster becomes unhealthy", func() { index.Save(t, binding("3", halfway)) }, "m2 HEALTH HEALTHY>DEGRADED|HEALTH HEALTHY>DEGRADED"},
			{"a new image", func() { index.Save(t, template("8", "t", later, "web:2")) }, "IMAGES web:1>web:2"},
			{"another object of the same name", func() { index.Save(t, template("9", "u", later, "web:2")) }, "CREATED >"},
			{"it is deleted", func() { index.Delete(t, binding("3", halfway)) }, "DISAPPEARED DEGRADED>"},
			{"the index gets it again", func() { index.Save(t, binding("4", halfway)) }, "POLICY >shop/web|m1 PLACEMENT >SCHEDULED|m1 REPLICAS >3|m1 HEALTH >HEALTHY|m2 PLACEMENT >SCHEDULED|m2 REPLICAS >1|m2 HEALTH >DEGRADED|HEALTH >DEGRADED"},
		} {
			step.do()
			w.drain(t)
			all := w.told(t, key, "uid-alpha")
			if got := strings.Join(all[min(read, len(all)):], "|"); got != step.want {
				t.Errorf("%s: got %q, want %q", step.reason, got, step.want)
			}
			read = len(all)
		}
		if other := w.told(t, key, "uid-of-another"); len(other) > 0 {
			t.Errorf("another instance of the name has %v", other)
		}
	})
}

// TestHistoryOfWhatWasThere: a workload that was there before the history has no beginning in it, and its
// next change is recorded.
func TestHistoryOfWhatWasThere(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		index.Save(t, customBinding("1", "argoproj.io/v1alpha1", "Rollout", "web", fine))
		policy := projectiontest.Object{
			Cluster: "k-alpha", Group: "policy.karmada.io", Version: "v1alpha1", Resource: "propagationpolicies", Namespace: "shop", Name: "web", UID: "p", ResourceVersion: "1",
			Text: `{"metadata":{"namespace":"shop","name":"web","uid":"p","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"priority":1}}`,
		}
		index.Save(t, policy)
		w := historyWorld(t, index)
		index.Save(t, customBinding("2", "argoproj.io/v1alpha1", "Rollout", "web", halfway))
		policy.ResourceVersion, policy.Text = "2", strings.Replace(policy.Text, `"priority":1`, `"priority":2`, 1)
		index.Save(t, policy)
		w.drain(t)
		want := "m2 HEALTH HEALTHY>DEGRADED|HEALTH HEALTHY>DEGRADED"
		if got := strings.Join(w.told(t, projection.WorkloadKey{Instance: "alpha", Namespace: "shop", Name: "web", Kind: "Rollout.argoproj.io"}, "uid-alpha"), "|"); !strings.HasSuffix(got, want) || strings.Contains(got, "CREATED") {
			t.Errorf("the workload: got %q, want %q", got, want)
		}
		key := projection.ObjectKey{Instance: "alpha", Namespace: "shop", Name: "web", Kind: "PropagationPolicy"}
		if got := strings.Join(w.told(t, key, "uid-alpha"), "|"); got != "SPEC priority 1>2" {
			t.Errorf("the policy: got %q", got)
		}
		index.Delete(t, policy)
		w.drain(t)
		if got := w.told(t, key, "uid-alpha"); len(got) != 2 || got[1] != "DISAPPEARED >" {
			t.Errorf("the policy that was deleted: got %q", got)
		}
	})
}

// TestHistoryOfMembersAndInstances: readiness, versions and taints are followed, and what is too old is removed.
func TestHistoryOfMembersAndInstances(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := historyWorld(t, index)
		index.Save(t, projectiontest.Object{
			Cluster: "k-alpha", Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters", Name: "m1", UID: "m1", ResourceVersion: "2",
			Text: `{"metadata":{"name":"m1","uid":"m1"},"spec":{"taints":[{"key":"a","effect":"NoExecute"}]},"status":{"kubernetesVersion":"v1.36.1","conditions":[{"type":"Ready","status":"False","reason":"Gone"}]}}`,
		})
		w.drain(t)
		member := projection.ObjectKey{Instance: "alpha", Kind: projection.KindMember, Name: "m1"}
		want := "READINESS True>False Gone|TAINTS >a:NoExecute|VERSION >v1.36.1"
		if got := strings.Join(w.told(t, member, "uid-alpha"), "|"); got != want {
			t.Errorf("the member: got %q, want %q", got, want)
		}
		fingerprint := "sha256:first"
		w.Instances = func(context.Context) ([]Instance, error) {
			o := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "alpha", UID: "uid-alpha"}}
			o.Status.State, o.Status.KarmadaVersion = "Running", "v1.18.2"
			o.Status.ControlPlane = &v1alpha1.InstanceControlPlane{CredentialsFingerprint: fingerprint}
			return []Instance{{Instance: o}}, nil
		}
		w.do(t, w.observeInstances)
		instance := projection.ObjectKey{Instance: "alpha", Kind: projection.KindInstance, Name: "alpha"}
		if got := strings.Join(w.told(t, instance, "uid-alpha"), "|"); got != "STATE >Running|VERSION >v1.18.2" {
			t.Errorf("the instance: got %q", got)
		}
		fingerprint = "sha256:second"
		w.do(t, w.observeInstances)
		got := w.told(t, instance, "uid-alpha")
		if !slices.ContainsFunc(got, func(text string) bool { return strings.HasPrefix(text, "CREDENTIALS ") }) || len(got) != 3 || strings.Contains(strings.Join(got, ""), "sha256") {
			t.Errorf("after a rotation: got %q", got)
		}
		for _, tt := range []struct {
			reason string
			kept   map[string]time.Duration
			want   int
		}{
			{"all are young", nil, 3},
			{"the instance keeps them longer", map[string]time.Duration{"uid-alpha": 3 * time.Hour}, 3},
			{"they are too old", nil, 0},
		} {
			if _, err := w.DB.PruneHistory(t.Context(), time.Hour, tt.kept, 10); err != nil {
				t.Fatal(err)
			}
			if got := w.told(t, member, "uid-alpha"); len(got) != tt.want {
				t.Errorf("%s: got %q", tt.reason, got)
			}
			index.Exec(t, "UPDATE kairship.history SET at = at - 3600")
		}
	})
}

// TestWritesOfUsers: a program that only reads adds who wrote what, and nothing else.
func TestWritesOfUsers(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := historyWorld(t, index)
		recorder, err := projection.OpenRecorder(func() (string, error) { return index.DSN, nil })
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = recorder.Close() }()
		key := projection.ObjectKey{Instance: "alpha", Kind: "DEPLOYMENT", Namespace: "shop", Name: "web"}
		if err := recorder.RecordWrite(t.Context(), "uid-alpha", &projection.Entry{ObjectKey: key, Change: projection.Written, After: "PATCH", User: "alice"}, nil); err != nil {
			t.Fatal(err)
		}
		found, err := w.DB.History(t.Context(), []projection.HistoryQuery{{ObjectKey: key, InstanceUID: "uid-alpha"}}, &projection.HistoryRange{Limit: 1})
		if err != nil || len(found.Pages[0].Entries) != 1 || found.Pages[0].Entries[0].User != "alice" || found.Pages[0].Entries[0].After != "PATCH" {
			t.Errorf("got %+v, %v", found, err)
		}
		if err := recorder.Install(t.Context()); index.Postgres && err == nil {
			t.Error("it may change the tables in other ways")
		}
	})
}
