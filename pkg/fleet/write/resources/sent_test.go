package resources

import (
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/instanceproxy/fake"
)

// The first write may have been made as any other, unless it was never sent or was
// turned away: only then the call fails as a whole.
func TestFirstWrite(t *testing.T) {
	open := apierror.New(apierror.CodeInstanceUnavailable, "the circuit breaker is open")
	for _, tt := range []struct {
		reason string
		terms  WriteOptions
		// answer is what the instance makes of the first write.
		answer func(i *writetest.Instance, path string) error
		// unsent is why it does not reach the instance.
		unsent error
		want   string
		code   apierror.Code
	}{
		{
			"it is made, and the answer is lost", WriteOptions{}, func(i *writetest.Instance, path string) error {
				i.Put(path, configMap("a", "new"))
				panic(http.ErrAbortHandler)
			}, nil, "a FAILED, b SKIPPED", "",
		},
		{
			"the answer is lost, and what was written is to be undone", WriteOptions{Rollback: true}, func(*writetest.Instance, string) error {
				panic(http.ErrAbortHandler)
			}, nil, "a FAILED UNKNOWN, b SKIPPED", "",
		},
		{
			"the instance failed at it", WriteOptions{Rollback: true, Create: true}, func(*writetest.Instance, string) error {
				return apierrors.NewInternalError(errors.New("etcd"))
			}, nil, "a FAILED UNKNOWN, b SKIPPED", "",
		},
		{
			"the instance has too much to do", WriteOptions{Rollback: true}, func(*writetest.Instance, string) error {
				return apierrors.NewTooManyRequests("later", 0)
			}, nil, "", apierror.CodeRateLimited,
		},
		{"it is not sent", WriteOptions{Rollback: true}, nil, open, "", apierror.CodeInstanceUnavailable},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			i, s := newInstance(t)
			first := func(r *http.Request) bool {
				return (r.Method == http.MethodPatch || r.Method == http.MethodPost) && r.URL.Query().Get("dryRun") == ""
			}
			i.Before = func(r *http.Request, path string) error {
				if tt.answer != nil && first(r) {
					return tt.answer(i, path)
				}
				return nil
			}
			s.Writer.Clients = keepsBack(t, s.Writer.Clients, func(r *http.Request) error {
				if first(r) {
					return tt.unsent
				}
				return nil
			})
			site, err := s.Writer.To(writetest.As(t.Context()), writetest.Name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Write(writetest.As(t.Context()), site, manifest("a", "b"), nil, tt.terms)
			if tt.code != "" {
				if got != nil || !apierror.Is(err, tt.code) {
					t.Errorf("got %v, %v, want the call to fail as a whole", got, err)
				}
				return
			}
			if err != nil || resultsOf(got) != tt.want || got.Done || !got.Written || got.Results[0].Error == nil {
				t.Errorf("got %+v, %v, want %s", got, err, tt.want)
			}
		})
	}
}

// A write that was kept back is known not to have been made.
func TestKeptBack(t *testing.T) {
	_, s := newInstance(t)
	s.Writer.Clients = keepsBack(t, s.Writer.Clients, func(r *http.Request) error {
		if writing(r, r.URL.Path, http.MethodPatch, "b") {
			return apierror.New(apierror.CodeInstanceUnavailable, "the circuit breaker is open")
		}
		return nil
	})
	got := s.mustWrite(t, writetest.As(t.Context()), manifest("a", "b"), WriteOptions{Rollback: true})
	if resultsOf(got) != "a CREATED DELETED, b FAILED" {
		t.Errorf("got %s", resultsOf(got))
	}
}

// keepsBack are clients that do not send what because returns an error for.
func keepsBack(t *testing.T, clients instanceproxy.Clients, because func(*http.Request) error) instanceproxy.Clients {
	t.Helper()
	inner, err := clients.Get(t.Context(), writetest.Name)
	if err != nil {
		t.Fatal(err)
	}
	client, err := instanceproxy.Over(writetest.Name, transport(func(r *http.Request) (*http.Response, error) {
		if err := because(r); err != nil {
			return nil, err
		}
		return inner.Transport().RoundTrip(r)
	}))
	if err != nil {
		t.Fatal(err)
	}
	return fake.Clients{writetest.Name: client}
}

type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
