package fieldmanager

import (
	"testing"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/drift"
)

func TestDecode(t *testing.T) {
	in := &drift.Object{Member: "m1", UID: "1"}
	managers, err := decode([]byte(`{"metadata":{"uid":"1","managedFields":[{"manager":"a","operation":"Update"}]}}`), in)
	if err != nil || len(managers) != 1 || managers[0].Manager != "a" {
		t.Errorf("%+v, %v", managers, err)
	}
	if _, err := decode([]byte(`{"metadata":{"uid":"2"}}`), in); !apierror.Is(err, apierror.CodeConflict) {
		t.Errorf("another object of the name: %v", err)
	}
	if _, err := decode([]byte(`x`), in); !apierror.Is(err, apierror.CodeInstanceUnavailable) {
		t.Errorf("no object: %v", err)
	}
}
