// Package fieldmanager reads who manages the fields of objects in member clusters. The index does not
// have managed fields, which would double its size, so they are read from the member, as the caller.
package fieldmanager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/drift"
	"github.com/kairship-io/kairship/pkg/fleet/memberproxy"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/quota"
)

const (
	// readTimeout is how long a member may take for an object.
	readTimeout = 5 * time.Second
	// mostBytes limits an object that is read: an API server stores none that is larger.
	mostBytes = 3 << 20
)

// Service reads the managers of fields.
type Service struct {
	Clients instanceproxy.Clients
}

// Of returns the manager of a field that differs; nil where it is not known or nothing manages it.
func (s *Service) Of(ctx context.Context, f *drift.Field, in *drift.Object) *drift.Manager {
	managers, err := s.of(ctx, in)
	if err != nil {
		return nil // Unknown says why.
	}
	return f.ManagerOf(managers)
}

// Unknown returns why the managers of an object's fields are not known; nil when they are.
func (s *Service) Unknown(ctx context.Context, in *drift.Object) *string {
	_, err := s.of(ctx, in)
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*apierror.Error](err); ok {
		return object.Optional(known.Message)
	}
	return object.Optional("the object could not be read in the member cluster before the request's deadline")
}

func (s *Service) of(ctx context.Context, in *drift.Object) ([]metav1.ManagedFieldsEntry, error) {
	return in.Managers(func() ([]metav1.ManagedFieldsEntry, error) {
		client, err := s.Clients.Get(ctx, in.Instance)
		if err != nil {
			return nil, err
		}
		return read(ctx, client, in)
	})
}

func read(ctx context.Context, client instanceproxy.Client, in *drift.Object) ([]metav1.ManagedFieldsEntry, error) {
	done, err := quota.Acquire(ctx, quota.ToInstance)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	body, err := memberproxy.Open(ctx, client, &memberproxy.Request{
		Member: in.Member, Path: []string{"apis", in.Group, in.Version, "namespaces", in.Namespace, in.Resource, in.Name},
	})
	if refused, is := errors.AsType[*memberproxy.RefusalError](err); is {
		return nil, refused.Explain(fmt.Sprintf("get %s in namespace %q", in.Resource, in.Namespace))
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	raw, err := io.ReadAll(io.LimitReader(body, mostBytes))
	if err != nil {
		return nil, memberproxy.Unanswered(ctx, in.Instance, in.Member, err)
	}
	return decode(raw, in)
}

// decode reads the managed fields of an object. Those of another object of the same name say nothing.
func decode(raw []byte, in *drift.Object) ([]metav1.ManagedFieldsEntry, error) {
	var o struct {
		Metadata struct {
			UID           types.UID                   `json:"uid"`
			ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, apierror.Wrap(err, apierror.CodeInstanceUnavailable, "what member cluster %q answers can't be read", in.Member)
	}
	if string(o.Metadata.UID) != in.UID {
		return nil, apierror.New(apierror.CodeConflict, "the object was made anew in member cluster %q in the meantime", in.Member)
	}
	return o.Metadata.ManagedFields, nil
}
