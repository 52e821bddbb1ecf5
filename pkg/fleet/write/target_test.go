package write_test

import (
	"strings"
	"testing"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// An instance takes a version of nothing, or of zero, for none, and writes whatever
// else changed; at other texts that are no version it fails.
func TestPreconditions(t *testing.T) {
	of := func(s string) *string { return &s }
	for _, tt := range []struct {
		version, uid *string
		argument     string
	}{
		{nil, nil, ""},
		{of("7"), of("0a-1"), ""},
		{of("100"), nil, ""},
		{of(""), nil, "input.resourceVersion"},
		{of("0"), nil, "input.resourceVersion"},
		{of("00"), nil, "input.resourceVersion"},
		{of("07"), nil, "input.resourceVersion"},
		{of("abc"), nil, "input.resourceVersion"},
		{of("7a"), nil, "input.resourceVersion"},
		{of(" 7"), nil, "input.resourceVersion"},
		{of("-7"), nil, "input.resourceVersion"},
		{of("+7"), nil, "input.resourceVersion"},
		{of("7.0"), nil, "input.resourceVersion"},
		{of("18446744073709551615"), nil, ""},
		{of("18446744073709551616"), nil, "input.resourceVersion"},
		{nil, of(""), "input.uid"},
		{of("7"), of(""), "input.uid"},
	} {
		err := write.CheckPreconditions(tt.version, tt.uid)
		if tt.argument == "" {
			if err != nil {
				t.Errorf("got %v", err)
			}
			continue
		}
		if !apierror.Is(err, apierror.CodeInvalid) || !strings.HasPrefix(err.Error(), tt.argument+": ") {
			t.Errorf("got %v, want INVALID at %s", err, tt.argument)
		}
	}
}
