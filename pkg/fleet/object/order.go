package object

import "github.com/kairship-io/kairship/pkg/index"

// Direction is which way a list runs.
type Direction string

// The directions.
const (
	Ascending  Direction = "ASC"
	Descending Direction = "DESC"
)

// OrderField is what a list can be ordered by. Nouns without namespace have no
// OrderFieldNamespace in the schema.
type OrderField string

// The fields.
const (
	OrderFieldName      OrderField = "NAME"
	OrderFieldNamespace OrderField = "NAMESPACE"
	OrderFieldCreatedAt OrderField = "CREATED_AT"
)

// Order is the order of a list.
type Order struct {
	Field     OrderField
	Direction Direction
}

// Index is the order as the index knows it; byDefault where none was asked for.
func (o *Order) Index(byDefault index.Order) index.Order {
	if o == nil {
		return byDefault
	}
	order := index.Order{Desc: o.Direction == Descending}
	switch o.Field {
	case OrderFieldName:
		order.Field = index.OrderByName
	case OrderFieldNamespace:
		order.Field = index.OrderByNamespace
	case OrderFieldCreatedAt:
		order.Field = index.OrderByCreation
	}
	return order
}
