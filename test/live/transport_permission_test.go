package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	// revokedWithin is how long a stream may go on after a user lost what it needs.
	revokedWithin = 5 * time.Second
	// slack is for a machine that is busy with other things.
	slack = 10 * time.Second
)

// ticker writes the time into a ConfigMap of an instance again and again, so that
// every stream that may see it has an event every few dozen milliseconds.
func ticker(t *testing.T, instance string) (namespace string) {
	t.Helper()
	namespace = namespaceIn(t, instance)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "clock"}}
	create(t, instance, cm)
	c := fleet.Open(t).Client(t, instance)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for ctx.Err() == nil {
			merge := fmt.Sprintf(`{"metadata":{"labels":{"at":"%d"}}}`, time.Now().UnixMilli())
			_ = c.Patch(ctx, cm.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(merge)))
			time.Sleep(20 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { cancel(); <-stopped })
	return namespace
}

// account is a user of the global cluster who has no role yet.
func account(t *testing.T) (token, user string, sa *corev1.ServiceAccount) {
	t.Helper()
	sa = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: unique("live")}}
	create(t, "global", sa)
	return fleet.Open(t).NewToken(t, "global", sa), "system:serviceaccount:default:" + sa.Name, sa
}

// ended reads a stream until its end. It tells the last error, and when the last
// event was written that it carried.
func ended(t *testing.T, s *gql.Stream, within time.Duration) (last gql.Error, newest time.Time) {
	t.Helper()
	for deadline := time.Now().Add(within); ; {
		e := s.Next(time.Until(deadline))
		switch {
		case e == nil:
			t.Fatalf("the stream goes on %s after it should have ended", within)
		case e.Lost != nil:
			t.Fatalf("the stream broke: %v", e.Lost)
		case e.Complete:
			return last, newest
		case len(e.Errors) > 0:
			last = e.Errors[0]
		default:
			if at := written(t, e.Data); at.After(newest) {
				newest = at
			}
		}
	}
}

// written is when the change of an event was made.
func written(t *testing.T, data json.RawMessage) time.Time {
	t.Helper()
	var d struct {
		ResourceChanged struct {
			Resource *struct {
				Labels []struct {
					Key   string `json:"key"`
					Value string `json:"value"`
				} `json:"labels"`
			} `json:"resource"`
		} `json:"resourceChanged"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	if d.ResourceChanged.Resource != nil {
		for _, l := range d.ResourceChanged.Resource.Labels {
			var ms int64
			if _, err := fmt.Sscanf(l.Value, "%d", &ms); l.Key == "at" && err == nil {
				return time.UnixMilli(ms)
			}
		}
	}
	return time.Time{}
}

// TestRevocationEndsStreams takes away, in each way there is, what a stream needs,
// while events come all the time. It returns how long each took.
func TestRevocationEndsStreams(t *testing.T) {
	for _, tt := range []struct {
		name   string
		give   func(t *testing.T, user, namespace string) client.Object
		take   func(t *testing.T, given client.Object, sa *corev1.ServiceAccount)
		within time.Duration
		code   string
		reason string
	}{
		{
			name: "a role by its binding", give: viewer,
			take:   func(t *testing.T, given client.Object, _ *corev1.ServiceAccount) { remove(t, "global", given) },
			within: revokedWithin, code: "FORBIDDEN", reason: "ACCESS_REVOKED",
		},
		{
			name: "a role by rules that a user wrote", give: byHand,
			take:   func(t *testing.T, given client.Object, _ *corev1.ServiceAccount) { remove(t, "global", given) },
			within: revokedWithin, code: "FORBIDDEN", reason: "ACCESS_REVOKED",
		},
		{
			name: "all namespaces but one", give: viewer,
			take: func(t *testing.T, given client.Object, _ *corev1.ServiceAccount) {
				patch(t, "global", given, `{"spec":{"namespaces":["elsewhere"]}}`)
			},
			within: revokedWithin, code: "FORBIDDEN", reason: "PERMISSIONS_CHANGED",
		},
		{
			name: "the account", give: viewer,
			take:   func(t *testing.T, _ client.Object, sa *corev1.ServiceAccount) { remove(t, "global", sa) },
			within: revokedWithin, code: "UNAUTHENTICATED", reason: "TOKEN_EXPIRED",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			namespace := ticker(t, "alpha")
			token, user, sa := account(t)
			given := tt.give(t, user, namespace)
			as := gql.New(fleet.Open(t).KairshipURL, token)
			request := gql.Request{Query: fmt.Sprintf(`subscription { resourceChanged(version: "v1", resource: "configmaps",
				filter: {instances: ["alpha"], namespaces: [%q], name: ["clock"]}) { type resource { labels { key value } } } }`, namespace)}
			stream := streaming(t, as, request)

			tt.take(t, given, sa)
			taken := time.Now()
			last, newest := ended(t, stream, tt.within+slack)
			t.Logf("ended after %s; the newest event was of %s after", time.Since(taken).Round(time.Millisecond), newest.Sub(taken).Round(time.Millisecond))
			if last.Extensions.Code != tt.code || last.Extensions.Reason != tt.reason {
				t.Errorf("ended with %s, want %s %s", last, tt.code, tt.reason)
			}
			if newest.After(taken.Add(tt.within)) {
				t.Errorf("the stream carried an event of %s after", newest.Sub(taken))
			}
			// A client that comes back gets no further than before.
			again, refused, err := as.Subscribe(t.Context(), request)
			switch {
			case err != nil:
				t.Fatal(err)
			case refused != nil:
				if tt.reason != "TOKEN_EXPIRED" {
					t.Errorf("subscribing again: HTTP %d", refused.Status)
				}
			default:
				defer again.Close()
				for e := again.Next(silence); e != nil && !e.Complete; e = again.Next(silence) {
					if at := written(t, e.Data); !at.IsZero() {
						t.Fatalf("subscribing again carries %s", e.Data)
					}
				}
			}
		})
	}
}

// streaming subscribes until events of the clock come: a role takes a moment.
func streaming(t *testing.T, as *gql.Client, request gql.Request) *gql.Stream {
	t.Helper()
	var stream *gql.Stream
	poll.Until(t, within, "a stream with events", func(context.Context) error {
		s, refused, err := as.Subscribe(t.Context(), request)
		if err != nil || refused != nil {
			return fmt.Errorf("%w: %v", err, refused)
		}
		for e := s.Next(3 * time.Second); e != nil && e.Lost == nil && !e.Complete; e = s.Next(3 * time.Second) {
			if len(e.Errors) == 0 && !written(t, e.Data).IsZero() {
				stream = s
				return nil
			}
		}
		s.Close()
		return errors.New("no event of the clock")
	})
	t.Cleanup(stream.Close)
	return stream
}

// viewer gives a user the role of a viewer on alpha.
func viewer(t *testing.T, user, _ string) client.Object {
	t.Helper()
	parts := strings.Split(user, ":")
	b := &v1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: parts[len(parts)-1]},
		Spec: v1alpha1.InstanceRoleBindingSpec{
			InstanceRef: v1alpha1.InstanceReference{Name: "alpha"},
			Subject:     v1alpha1.BindingSubject{Kind: v1alpha1.SubjectUser, Name: user},
			Role:        v1alpha1.RoleViewer,
		},
	}
	create(t, "global", b)
	return b
}

// byHand gives a user the same by rules of the global cluster, of whose change
// Kairship is not told.
func byHand(t *testing.T, user, _ string) client.Object {
	t.Helper()
	parts := strings.Split(user, ":")
	name := parts[len(parts)-1]
	create(t, "global", &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"kairship.io"}, Resources: []string{"instances", "instances/resources"}, ResourceNames: []string{"alpha"}, Verbs: []string{"get", "list", "watch"}},
		},
	})
	b := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: user}},
	}
	create(t, "global", b)
	return b
}

// TestTokenExpiryEndsStreams signs a token that ends soon, as the global cluster
// itself would, and follows both kinds of connection to its end.
func TestTokenExpiryEndsStreams(t *testing.T) {
	f := fleet.Open(t)
	namespace := ticker(t, "alpha")
	token, user, _ := account(t)
	viewer(t, user, namespace)
	request := gql.Request{Query: fmt.Sprintf(`subscription { resourceChanged(version: "v1", resource: "configmaps",
		filter: {instances: ["alpha"], namespaces: [%q], name: ["clock"]}) { type resource { labels { key value } } } }`, namespace)}
	begun := time.Now()
	streaming(t, gql.New(f.KairshipURL, token), request).Close()

	// Long enough that both connections are there before its end.
	life := max(6*time.Second, 3*time.Since(begun))
	end := time.Now().Add(life).Truncate(time.Second)
	short := f.Resign(t, "global", token, map[string]any{"exp": end.Unix()})
	events := streaming(t, gql.New(f.KairshipURL, short), request)
	socket := dial(t, f.KairshipURL)
	socket.init(short)
	socket.subscribe("1", request.Query)
	if time.Now().After(end) {
		t.Fatalf("the token ended %s ago, before the streams began", time.Since(end))
	}

	last, newest := ended(t, events, time.Until(end)+slack)
	late := time.Since(end)
	t.Logf("ended %s after the end of the token", late.Round(time.Millisecond))
	if last.Extensions.Code != "UNAUTHENTICATED" || last.Extensions.Reason != "TOKEN_EXPIRED" {
		t.Errorf("ended with %s", last)
	}
	if late < 0 || newest.After(end.Add(revokedWithin)) {
		t.Errorf("ended %s after the end of the token, with an event of %s after", late, newest.Sub(end))
	}
	if code, reason := socket.closed(within); code != 4440 || !strings.Contains(reason, "TOKEN_EXPIRED") {
		t.Errorf("the WebSocket was closed with %d %q", code, reason)
	}
}
