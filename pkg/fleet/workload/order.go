package workload

import (
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// OrderField is what workloads can be ordered by.
type OrderField string

// The fields.
const (
	OrderFieldName      OrderField = "NAME"
	OrderFieldNamespace OrderField = "NAMESPACE"
	OrderFieldCreatedAt OrderField = "CREATED_AT"
	OrderFieldHealth    OrderField = "HEALTH"
	OrderFieldReady     OrderField = "READY"
)

// Order is the order of a list of workloads.
type Order struct {
	Field     OrderField
	Direction object.Direction
}

// projected reports whether only the projection has the order.
func (o *Order) projected() bool {
	return o != nil && (o.Field == OrderFieldHealth || o.Field == OrderFieldReady)
}

// index is the order as the index knows it; by namespace where none was asked for.
func (o *Order) index() index.Order {
	if o == nil {
		return index.Order{Field: index.OrderByNamespace}
	}
	order := (&object.Order{Field: object.OrderField(o.Field), Direction: o.Direction}).Index(index.Order{})
	if o.Field == OrderFieldHealth {
		order.Field = index.OrderByHealth
	}
	if o.Field == OrderFieldReady {
		order.Field = index.OrderByReady
	}
	return order
}
