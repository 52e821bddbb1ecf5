package passthrough

import (
	"net/http"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// What a request costs, in the unit of the cost of GraphQL operations: a request to an
// instance, and one value for every 16 bytes of its answer.
const (
	requestCost   = 100
	bytesPerValue = 16
)

// enter counts the request for the user who sent it, not for the impersonated one.
func (c *call) enter(r *http.Request) error {
	users := c.handler.Quotas
	enter := users.Enter
	if c.what.lasts(r) {
		enter = users.EnterStream
	}
	entered, limited := enter(c.caller.Name)
	if limited == nil {
		limited = entered.Reserve(requestCost)
		c.entered = entered
	}
	return asError(limited)
}

// asError keeps a nil pointer from becoming an error.
func asError(limited *apierror.Error) error {
	if limited == nil {
		return nil
	}
	return limited
}

// spent is what a request cost by its answer.
func (s *statusRecorder) spent() int { return requestCost + int(s.written/bytesPerValue) }
