package resolvers

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/uncollected"
)

// What is away now costs its own part; what is wrong is an error.
func TestPartialAnswers(t *testing.T) {
	away := map[apierror.Code]bool{apierror.CodeIndexUnavailable: true, apierror.CodeInstanceUnavailable: true, apierror.CodeTimeout: true}
	errs := map[string]error{"an error of ours": errors.New("a bug")}
	for _, code := range apierror.Codes() {
		errs[string(code)] = apierror.New(code, "%s is why", code)
		errs["wrapped "+string(code)] = fmt.Errorf("reading: %w", apierror.New(code, "%s is why", code))
	}
	for name, err := range errs {
		partial := away[apierror.CodeOf(err)]
		ctx := graphql.WithResponseContext(t.Context(), graphql.DefaultErrorPresenter, graphql.DefaultRecover)
		list, got := orEmpty(ctx, (*page.Connection[int])(nil), err)
		other, gotToo := orElse(ctx, "wrong", err, "unknown")
		reported := graphql.GetErrors(ctx)
		if partial {
			if got != nil || gotToo != nil || other != "unknown" || len(reported) != 2 {
				t.Errorf("%s: %v, %v, %q; told %v", name, got, gotToo, other, reported)
			}
			want := page.Unread[int](err.Error())
			want.FacetsErr = err
			if diff := cmp.Diff(want, list, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s: the list (-want +got):\n%s", name, diff)
			}
			continue
		}
		if !errors.Is(got, err) || !errors.Is(gotToo, err) || list != nil || len(reported) != 0 {
			t.Errorf("%s: %v, %v, list %v; told %v", name, got, gotToo, list, reported)
		}
	}
	ctx := graphql.WithResponseContext(t.Context(), graphql.DefaultErrorPresenter, graphql.DefaultRecover)
	whole := &page.Connection[int]{Nodes: []int{1}}
	list, err := orEmpty(ctx, whole, nil)
	v, err2 := orElse(ctx, "right", nil, "unknown")
	if list != whole || err != nil || v != "right" || err2 != nil || len(graphql.GetErrors(ctx)) != 0 {
		t.Errorf("what goes well: %v, %v, %v, %v", list, err, v, err2)
	}
}

// What an instance has no answer to is an error about it alone, and its own part where
// there are others beside it.
func TestOneOfSeveralInstances(t *testing.T) {
	refused := apierror.Wrap(uncollected.ErrUnanswered, apierror.CodeForbidden, "the roles do not let you")
	for _, tt := range []struct {
		err    error
		inside bool
		empty  bool
	}{
		{refused, true, true}, {refused, false, false},
		{apierror.New(apierror.CodeForbidden, "of another kind"), true, false},
		{apierror.New(apierror.CodeInstanceUnavailable, "away"), false, true},
	} {
		ctx := graphql.WithResponseContext(t.Context(), graphql.DefaultErrorPresenter, graphql.DefaultRecover)
		if tt.inside {
			index := 0
			ctx = graphql.WithPathContext(ctx, &graphql.PathContext{Index: &index})
		}
		list, err := orUnanswered(ctx, (*page.Connection[int])(nil), tt.err)
		if reported := len(graphql.GetErrors(ctx)); (list != nil) != tt.empty || (err == nil) != tt.empty || (reported == 1) != tt.empty {
			t.Errorf("%+v: %v, %v; told %d", tt, list, err, reported)
		}
	}
}

// The index is away: every list of an instance is empty and says so, and the rest of
// the answer is there.
func TestAnswersWithoutTheIndex(t *testing.T) {
	schema := loadSchema(t)
	for _, field := range schema.Types["Instance"].Fields {
		if _, list := schema.Types[field.Type.Name()], field.Type.NonNull; !list || schema.Types[field.Type.Name()].Fields.ForName("pageInfo") == nil || field.Name == "roleBindings" {
			continue // The roles on an instance are not in the index.
		}
		r := &reader{err: apierror.New(apierror.CodeIndexUnavailable, "The index does not answer")}
		args := argumentsOf(schema, field)[0]
		resp := run(t, fleetOf(t, r), nil, `{ instances { nodes { name list: `+field.Name+args+` { nodes { __typename } totalCount freshness { observedAt stale message } } } } }`, "")
		type list struct {
			Nodes      []any          `json:"nodes"`
			TotalCount *int           `json:"totalCount"`
			Freshness  map[string]any `json:"freshness"`
		}
		var got struct {
			Instances struct {
				Nodes []struct {
					Name string `json:"name"`
					List list   `json:"list"`
				} `json:"nodes"`
			} `json:"instances"`
		}
		if err := json.Unmarshal(resp.Data, &got); err != nil {
			t.Fatalf("%s: %v: %s", field.Name, err, resp.Data)
		}
		if len(got.Instances.Nodes) != 2 || len(resp.Errors) != 2 {
			t.Errorf("%s: %s with errors %v", field.Name, resp.Data, resp.Errors)
			continue
		}
		for i, name := range []string{"alpha", "beta"} {
			want := list{Nodes: []any{}, Freshness: map[string]any{"observedAt": nil, "stale": true, "message": "The index does not answer"}}
			if diff := cmp.Diff(want, got.Instances.Nodes[i].List); diff != "" || got.Instances.Nodes[i].Name != name {
				t.Errorf("%s of %s (-want +got):\n%s", field.Name, got.Instances.Nodes[i].Name, diff)
			}
			var e *apierror.Error
			if !errors.As(resp.Errors[i], &e) || e.Code != apierror.CodeIndexUnavailable || (e.Instance != "alpha" && e.Instance != "beta") || len(resp.Errors[i].Path) != 4 {
				t.Errorf("%s: error %v at %v", field.Name, resp.Errors[i], resp.Errors[i].Path)
			}
		}
	}
}
