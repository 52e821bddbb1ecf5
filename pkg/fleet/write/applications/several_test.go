package applications

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write/policies"
	"github.com/kairship-io/kairship/pkg/fleet/write/resources"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

// What was written before an instance failed is undone, the last first.
func TestUndoSeveral(t *testing.T) {
	var order []string
	written := func(name string) InstanceResult {
		id := name
		return InstanceResult{InstanceName: name, Outcome: PhaseDeployed, Operation: &id, undo: func(context.Context) []resources.Result {
			order = append(order, name)
			return []resources.Result{{Name: name, Rollback: &resources.Undone{Outcome: resources.UndoDeleted}}}
		}}
	}
	all := []InstanceResult{written("a"), {InstanceName: "b", Outcome: PhaseDeployed}, written("c")}
	undo(t.Context(), all)
	if diff := cmp.Diff([]string{"c", "a"}, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, want := range []Phase{PhaseRolledBack, PhaseDeployed, PhaseRolledBack} {
		if got := all[i]; got.Outcome != want || (want == PhaseRolledBack) != (got.Operation == nil && len(got.Results) == 1) {
			t.Errorf("%s: %+v", got.InstanceName, got)
		}
	}
}

// The instances of an input are named, once each, and those that the caller does not see are missing.
func TestInstancesOfSeveral(t *testing.T) {
	i, w := writetest.New(t)
	s := &Service{Writer: w, Resources: &resources.Service{Writer: w}, Policies: policies.NewWrites(w)}
	for _, tt := range []struct {
		reason string
		names  []string
		code   apierror.Code
		wrong  string
	}{
		{"none", nil, apierror.CodeInvalid, "input.instances"},
		{"too many", slices.Repeat([]string{writetest.Name}, mostInstances+1), apierror.CodeInvalid, "input.instances"},
		{"twice", []string{writetest.Name, writetest.Name}, apierror.CodeInvalid, "input.instances[1]"},
		{"hidden", []string{writetest.Name, "beta"}, apierror.CodeNotFound, "input.instances[1]"},
		{"nothing to deploy", []string{writetest.Name}, apierror.CodeInvalid, "input.manifests"},
	} {
		_, err := s.DeploySeveral(writetest.As(t.Context()), SeveralInput{Instances: tt.names})
		if !apierror.Is(err, tt.code) || !strings.HasPrefix(err.Error(), tt.wrong+": ") {
			t.Errorf("%s: got %v, want %s at %s", tt.reason, err, tt.code, tt.wrong)
		}
	}
	if sent := i.Written(); len(sent) > 0 {
		t.Errorf("something was written: %v", sent)
	}
}
