package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// rememberedFor bounds how long a caller whose token and permissions were
// checked is served without a new check.
const rememberedFor = 20 * time.Second

// followsWithin bounds how long Kairship may take to hear of changes in the
// global cluster when that is back. It asks every second.
const followsWithin = 10 * time.Second

// TestGlobalGone kills the API server of the global cluster, on which everything
// depends: identities, permissions, the inventory and the way to the index.
// Known callers get what is known, no client reads that their token is wrong,
// and all comes back without help.
func TestGlobalGone(t *testing.T) {
	s := begin(t)
	known, unknown := *s.api, *s.api
	_, known.Token = s.newAccount(t, "global")
	unknown.Token = "a-token-that-was-never-seen"

	s.passesThrough(t) // From now on the credentials of alpha are followed; watchLogs looks whether that goes on.
	// Then the new user is known, for as long as that is remembered. Their role takes a moment.
	poll.Until(t, noticeWithin, "the new user is known", func(ctx context.Context) error {
		r, err := known.Do(ctx, gql.Request{Query: partsQuery})
		if err == nil && (r.Status != http.StatusOK || len(r.Errors) > 0) {
			err = fmt.Errorf("HTTP %d with %v", r.Status, r.Errors)
		}
		return err
	})
	s.Kill(t, "global-apiserver")
	killed := time.Now() // Until now it may have answered.

	var served, stale int
	poll.Until(t, rememberedFor, "the new user is no longer known", func(context.Context) error {
		r := known.Must(t, gql.Request{Query: partsQuery})
		if r.Status != http.StatusOK {
			return nil
		}
		if slices.ContainsFunc(r.Errors, func(e gql.Error) bool { return e.Extensions.Code == "TIMEOUT" }) {
			return nil // They were known when it began, and no longer when it ended.
		}
		served++
		data, err := withoutIndex(r, "INDEX_UNAVAILABLE")
		if err != nil {
			t.Fatalf("%s after the kill: %v", time.Since(killed), err)
		}
		// Instances and clusters are watched in the global cluster. They are as they
		// were when that was last heard of.
		instances, clusters := data.Instances.Freshness, *data.Clusters.Freshness
		if stale == 0 && !instances.Stale && !clusters.Stale {
			return errors.New("still served, as fresh")
		}
		stale++
		for what, f := range map[string]freshness{"instances": instances, "clusters": clusters} {
			if err := f.since(killed); err != nil && stale > 1 {
				t.Fatalf("freshness of the %s %s after the kill: %v", what, time.Since(killed), err)
			}
		}
		return errors.New("still served, as stale")
	})
	if stale < 2 {
		t.Errorf("the new user was known when the global cluster went away, and was told only %d times that what is shown may be old", stale)
	}
	t.Logf("served %d times, until %s after the kill, %d times as stale", served, time.Since(killed).Round(100*time.Millisecond), stale)

	for who, c := range map[string]*gql.Client{"the new user": &known, "an unknown user": &unknown} {
		r := c.Must(t, gql.Request{Query: partsQuery})
		if r.Status != http.StatusServiceUnavailable || r.HasData || len(r.Errors) != 1 || r.Errors[0].Extensions.Code != "TIMEOUT" {
			t.Errorf("%s gets HTTP %d with %v, want 503 with TIMEOUT: it is unknown whether the token is right", who, r.Status, r.Errors)
		}
	}
	status, report, err := s.readiness(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status != http.StatusServiceUnavailable || report.Status != "failing" || report.of("global-cluster") != "failing" {
		t.Errorf("/readyz says %+v with HTTP %d", report, status)
	}
	if err := alive(t.Context(), s.KairshipURL); err != nil {
		t.Errorf("Kairship would be restarted for the fault of another part: %v", err)
	}
	// An outage of some length: the leader has to give that up.
	poll.Until(t, noticeWithin, "no controller manager leads", func(ctx context.Context) error {
		if leading, err := s.leading(ctx, t); err == nil {
			return fmt.Errorf("%s leads", leading)
		}
		return nil
	})
	t.Logf("no replica leads %s after the kill", time.Since(killed).Round(100*time.Millisecond))

	s.Start(t, "global-apiserver")
	healed := time.Now()
	poll.Until(t, recoverWithin, "answers are complete", func(ctx context.Context) error {
		r, err := s.api.Do(ctx, gql.Request{Query: partsQuery})
		if err == nil && (r.Status != http.StatusOK || len(r.Errors) > 0) {
			err = fmt.Errorf("HTTP %d with %v", r.Status, r.Errors)
		}
		return err
	})
	t.Logf("complete %s after it was healed", time.Since(healed).Round(100*time.Millisecond))
	if r := unknown.Must(t, gql.Request{Query: partsQuery}); r.Status != http.StatusUnauthorized {
		t.Errorf("a stranger gets HTTP %d now, want 401", r.Status)
	}

	s.passesThrough(t)
	s.hearsOfInstances(t)
	t.Logf("hears of changes %s after it was healed", time.Since(healed).Round(100*time.Millisecond))
	// A controller manager that has to give up leading ends; the supervisor of the
	// processes starts it again.
	s.Heal(t)
	poll.Until(t, collectorWithin, "everything is as before", s.asBefore)
	t.Logf("as before %s after it was healed", time.Since(healed).Round(100*time.Millisecond))
	s.works(t)
}

// passesThrough asks alpha something through Kairship.
func (s *scene) passesThrough(t *testing.T) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.KairshipURL+"/instances/alpha/proxy/api/v1/namespaces/default", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token(t, "admin"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("alpha through Kairship: HTTP %d", resp.StatusCode)
	}
}

// alive reports whether the process reports that it is alive.
func alive(ctx context.Context, server string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/healthz", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/healthz says HTTP %d", resp.StatusCode)
	}
	return nil
}

// hearsOfInstances waits until a change of an Instance is shown by the API: its
// watch on the global cluster works.
func (s *scene) hearsOfInstances(t *testing.T) {
	t.Helper()
	global := s.Client(t, "global")
	label := func(value any) {
		t.Helper()
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{"faults": value}}})
		if err != nil {
			t.Fatal(err)
		}
		beta := &kairshipv1alpha1.Instance{}
		beta.Name = "beta"
		if err := global.Patch(t.Context(), beta, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			t.Fatal(err)
		}
	}
	value := fmt.Sprint(time.Now().UnixNano())
	label(value)
	defer label(nil)
	poll.Until(t, followsWithin, "a change of an Instance is shown", func(ctx context.Context) error {
		data, _, err := gql.Query[struct {
			Instances struct {
				Nodes     []struct{ Name string }
				Freshness freshness
			}
		}](ctx, s.api,
			`query Labelled($selector: String!) {
				instances(filter: {labelSelector: $selector}) { nodes { name } freshness { stale } }
			}`,
			map[string]any{"selector": "faults=" + value})
		if err != nil {
			return err
		}
		if len(data.Instances.Nodes) != 1 {
			return errors.New("it is not")
		}
		if data.Instances.Freshness.Stale {
			return errors.New("it is, and said to be stale")
		}
		return nil
	})
}
