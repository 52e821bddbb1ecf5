package workload

import (
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// MemberObject is a workload's object in a member cluster.
type MemberObject struct {
	object.Object
}

func newMemberObject(instance string, o *index.Object, fresh freshness.Freshness) *MemberObject {
	return &MemberObject{Object: object.New(instance, o, fresh)}
}

// Images of its containers, after overrides.
func (m *MemberObject) Images() ([]string, error) {
	o, err := decodeObject(m.Indexed)
	if err != nil {
		return nil, err
	}
	return o.Images(), nil
}
