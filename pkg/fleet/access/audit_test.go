package access_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/index"
)

// Every way to read notes which instances it touched and what it was refused.
func TestDecisionsAreNoted(t *testing.T) {
	resolver := authz.NewResolver(&fakeRules{}, nil, standing, nil)
	away := authz.NewResolver(&fakeRules{err: errors.New("connection refused")}, nil, standing, nil)
	watched := watch(t, "alpha", "beta")
	type line struct {
		Decision  string   `json:"decision"`
		Instances []string `json:"instances"`
		Refused   []string `json:"refused"`
	}
	for _, tt := range []struct {
		name   string
		person string
		read   func(ctx context.Context, p access.Permissions)
		want   line
		away   bool
	}{
		{"a list of instances", "alice", func(ctx context.Context, p access.Permissions) {
			_ = access.NewWatched(watched, p).List(ctx, &v1alpha1.InstanceList{})
		}, line{"allowed", []string{"alpha"}, nil}, false},
		{"an instance", "alice", func(ctx context.Context, p access.Permissions) {
			_ = access.NewWatched(watched, p).Get(ctx, client.ObjectKey{Name: "alpha"}, &v1alpha1.Instance{})
		}, line{"allowed", []string{"alpha"}, nil}, false},
		{"a hidden instance", "alice", func(ctx context.Context, p access.Permissions) {
			_ = access.NewWatched(watched, p).Get(ctx, client.ObjectKey{Name: "beta"}, &v1alpha1.Instance{})
		}, line{"denied", []string{}, []string{"beta"}}, false},
		{"a hidden cluster", "alice", func(ctx context.Context, p access.Permissions) {
			_ = access.NewWatched(watched, p).Get(ctx, client.ObjectKey{Name: "m3"}, &v1alpha1.Cluster{})
		}, line{"denied", []string{}, []string{"beta"}}, false},
		{"a list of objects", "both", func(ctx context.Context, p access.Permissions) {
			q := index.ListQuery{Types: []index.Type{configMaps}, Clusters: []string{"k-alpha", "k-beta"}, Limit: 10}
			_, _ = access.NewReader(newRecorder(t), p, joined).List(ctx, q)
		}, line{"allowed", []string{"alpha", "beta"}, nil}, false},
		{"an object of a member", "bob", func(ctx context.Context, p access.Permissions) {
			_, _ = access.NewReader(newRecorder(t), p, joined).Get(ctx, index.Key{Cluster: "m3", Type: index.Pods, Namespace: "shop", Name: "x"}, index.Whole)
		}, line{"allowed", []string{"beta"}, nil}, false},
		{"the guard of a hidden instance", "bob", func(ctx context.Context, p access.Permissions) {
			_, _ = access.New(p).Visible(ctx, access.CheckInstance, "alpha")
		}, line{"denied", []string{}, []string{"alpha"}}, false},
		{"the guard of a list", "nobody", func(ctx context.Context, p access.Permissions) {
			_, _ = access.New(p).Visible(ctx, access.CheckVisible, "")
		}, line{"allowed", []string{}, nil}, false},
		{"what may be done with a hidden instance", "bob", func(ctx context.Context, p access.Permissions) {
			_, _, _ = access.New(p).Instance(ctx, "alpha")
		}, line{"allowed", []string{}, nil}, false},
		{"a list of instances, undecided", "alice", func(ctx context.Context, p access.Permissions) {
			_ = access.NewWatched(watched, p).List(ctx, &v1alpha1.InstanceList{})
		}, line{"undecided", []string{}, nil}, true},
		{"a list of clusters, undecided", "alice", func(ctx context.Context, p access.Permissions) {
			_ = access.NewWatched(watched, p).List(ctx, &v1alpha1.ClusterList{})
		}, line{"undecided", []string{}, nil}, true},
		{"a list of objects, undecided", "alice", func(ctx context.Context, p access.Permissions) {
			q := index.ListQuery{Types: []index.Type{configMaps}, Clusters: []string{"k-alpha"}, Limit: 10}
			_, _ = access.NewReader(newRecorder(t), p, joined).List(ctx, q)
		}, line{"undecided", []string{}, nil}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, record := audit.With(as(t, tt.person))
			permissions := resolver
			if tt.away {
				permissions = away
			}
			tt.read(ctx, permissions)
			var out bytes.Buffer
			log := &audit.Log{Logger: slog.New(slog.NewJSONHandler(&out, nil)), Exists: func(context.Context, string) bool { return true }}
			log.Write(ctx, record, audit.Operation{})
			var got line
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// An unknown caller is refused where only that is required.
func TestChecksOfNobody(t *testing.T) {
	a := access.New(authz.NewResolver(&fakeRules{}, nil, standing, nil))
	for _, check := range []access.Check{access.CheckCaller, access.CheckVisible, access.CheckInstance, "OTHER"} {
		if visible, err := a.Visible(t.Context(), check, "alpha"); visible || (err == nil && check != "OTHER") {
			t.Errorf("%s: %v, %v", check, visible, err)
		}
	}
	if visible, err := a.Visible(as(t, "admin"), "OTHER", "alpha"); visible || err != nil {
		t.Errorf("a check that is not known lets the administrator in: %v, %v", visible, err)
	}
}
