package usage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/memberproxy"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/quota"
)

const (
	// readTimeout is how long a member may take for a list.
	readTimeout = 5 * time.Second
	// mostNamespaces is how many namespaces of a member are read one by one, where it does not let the
	// caller read all.
	mostNamespaces = 10
	// mostBytes is how long the list of a member may be: some ten thousand pods.
	mostBytes = 32 << 20
)

// metricsAPI is the path of the metrics API.
var metricsAPI = []string{"apis", "metrics.k8s.io", "v1beta1"}

// path is the path of a list in the member.
func (t target) path() []string {
	path := slices.Clip(metricsAPI)
	if t.namespace != "" {
		path = append(path, "namespaces", t.namespace)
	}
	if t.resource != "" {
		path = append(path, t.resource)
	}
	return path
}

// list reads a list, once in an operation.
func (s *Service) list(ctx context.Context, o *operation, of target) (measurements, error) {
	return o.once(ctx, of, func() (measurements, error) {
		client, err := s.Clients.Get(ctx, of.instance)
		if err != nil {
			return nil, err
		}
		read, err := s.read(ctx, client, of)
		if refused, is := errors.AsType[*memberproxy.RefusalError](err); is && of.resource != "" {
			return nil, s.explain(ctx, o, of, refused)
		}
		return read, err
	})
}

// read asks a member for a list.
func (s *Service) read(ctx context.Context, client instanceproxy.Client, of target) (measurements, error) {
	done, err := quota.Acquire(ctx, quota.ToInstance)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, s.timeout())
	defer cancel()
	body, err := memberproxy.Open(ctx, client, &memberproxy.Request{Member: of.member, Path: of.path(), Query: url.Values{}})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	raw, err := io.ReadAll(io.LimitReader(body, mostBytes+1))
	if err != nil {
		return nil, memberproxy.Unanswered(ctx, of.instance, of.member, err)
	}
	if len(raw) > mostBytes {
		return nil, apierror.New(apierror.CodeInvalid, "member cluster %q has measured too many %s for one answer: ask for those of one namespace", of.member, of.resource)
	}
	all, err := decode(raw)
	if err != nil {
		return nil, apierror.Wrap(err, apierror.CodeInstanceUnavailable, "what the metrics API of member cluster %q answers can't be read", of.member)
	}
	return all, nil
}

// explain is the error of a refused list for the caller.
func (s *Service) explain(ctx context.Context, o *operation, of target, refused *memberproxy.RefusalError) error {
	switch {
	case refused.ByInstance:
	case refused.Code == http.StatusNotFound, refused.Forbidden() && !s.served(ctx, o, of):
		return apierror.New(apierror.CodeInstanceUnavailable, "member cluster %q has no metrics API (metrics.k8s.io): install a metrics-server in it", of.member)
	case refused.Code == http.StatusServiceUnavailable:
		return apierror.Wrap(refused, apierror.CodeInstanceUnavailable, "the metrics API of member cluster %q does not answer through instance %q", of.member, of.instance)
	}
	return refused.Explain(fmt.Sprintf("read what its %s use (%[1]s.metrics.k8s.io)", of.resource))
}

// served reports whether a member serves the metrics API at all: those who may not read it are refused
// also where there is none.
func (s *Service) served(ctx context.Context, o *operation, of target) bool {
	_, err := s.list(ctx, o, target{instance: of.instance, member: of.member})
	refused, is := errors.AsType[*memberproxy.RefusalError](err)
	return !is || refused.ByInstance || refused.Code != http.StatusNotFound
}

// item is a PodMetrics or a NodeMetrics.
type item struct {
	Metadata struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"metadata"`
	Timestamp  metav1.Time         `json:"timestamp"`
	Window     metav1.Duration     `json:"window"`
	Usage      corev1.ResourceList `json:"usage"`
	Containers []struct {
		Usage corev1.ResourceList `json:"usage"`
	} `json:"containers"`
}

// decode reads the measurements of a list.
func decode(raw []byte) (measurements, error) {
	var list struct {
		Items []item `json:"items"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	all := make(measurements, len(list.Items))
	for i := range list.Items {
		one := &list.Items[i]
		m := &measurement{used: corev1.ResourceList{}, at: one.Timestamp.Time, window: one.Window.Duration}
		addTo(m.used, one.Usage)
		for _, c := range one.Containers {
			addTo(m.used, c.Usage)
		}
		all[types.NamespacedName{Namespace: one.Metadata.Namespace, Name: one.Metadata.Name}] = m
	}
	return all, nil
}
