// Package kube sends requests to apiservers while they start: every call here is repeated
// until it succeeds, fails for good, or its context ends.
package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// fieldManager owns the fields that the fleet sets.
const fieldManager = "kairship-local"

// poll is how often a condition is looked at. Short: the waits are what a start consists of.
const poll = 75 * time.Millisecond

// Client is an administrator's client of one cluster.
type Client struct {
	Cluster string
	Config  *rest.Config
	dynamic dynamic.Interface
	http    *http.Client
}

// New makes a client from a kubeconfig. It does not connect.
func New(cluster, kubeconfig string) (*Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of %s: %w", cluster, err)
	}
	// A fleet is set up by hundreds of small requests; client-go would spread them over minutes.
	config.QPS, config.Burst = 500, 1000
	config.UserAgent = fieldManager
	config.Timeout = 10 * time.Second
	// The apiservers answer with warnings about the objects; they are for people at a prompt.
	config.WarningHandler = rest.NoWarnings{}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", cluster, err)
	}
	client, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", cluster, err)
	}
	return &Client{Cluster: cluster, Config: config, dynamic: client, http: httpClient}, nil
}

// HTTP is a client with the administrator's certificate.
func (c *Client) HTTP() *http.Client { return c.http }

// Resource gives access to the objects of a kind. The resource's name is guessed from the kind,
// which is right for every kind that the fleet handles and needs no discovery.
func (c *Client) Resource(gvk schema.GroupVersionKind, namespace string) dynamic.ResourceInterface {
	gvr, _ := meta.UnsafeGuessKindToResource(gvk)
	if namespace == "" {
		return c.dynamic.Resource(gvr)
	}
	return c.dynamic.Resource(gvr).Namespace(namespace)
}

// Apply makes the objects so, in their order, by server-side apply.
func (c *Client) Apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		err := c.retry(ctx, "applying "+describe(object), func() error {
			_, err := c.Resource(object.GroupVersionKind(), object.GetNamespace()).
				Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Create creates an object with its status, for kinds that take it (nodes), and leaves one that
// exists alone.
func (c *Client) Create(ctx context.Context, object *unstructured.Unstructured) error {
	return c.retry(ctx, "creating "+describe(object), func() error {
		_, err := c.Resource(object.GroupVersionKind(), object.GetNamespace()).
			Create(ctx, object, metav1.CreateOptions{FieldManager: fieldManager})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// tokenLife is long: a fleet is thrown away rather than renewed.
const tokenLife = 10 * 365 * 24 * time.Hour

// Token asks for a token of a service account.
func (c *Client) Token(ctx context.Context, namespace, account string) (string, error) {
	request := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"metadata": map[string]any{"name": account},
		"spec":     map[string]any{"expirationSeconds": int64(tokenLife.Seconds())},
	}}
	token := ""
	err := c.retry(ctx, "asking for a token of "+join(namespace, account), func() error {
		answer, err := c.Resource(schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, namespace).
			Create(ctx, request, metav1.CreateOptions{FieldManager: fieldManager}, "token")
		if err != nil {
			return err
		}
		if token, _, _ = unstructured.NestedString(answer.Object, "status", "token"); token == "" {
			return errors.New("there is none in the answer")
		}
		return nil
	})
	return token, err
}

// Get reads an object once.
func (c *Client) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	return c.Resource(gvk, namespace).Get(ctx, name, metav1.GetOptions{})
}

// List reads the objects of a kind once; an empty namespace means all.
func (c *Client) List(ctx context.Context, gvk schema.GroupVersionKind, namespace, selector string) ([]unstructured.Unstructured, error) {
	list, err := c.Resource(gvk, namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Delete deletes an object; one that does not exist is fine.
func (c *Client) Delete(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) error {
	err := c.Resource(gvk, namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// WaitFor reads an object until check is content with it. check returns what is still missing, or
// nothing.
func (c *Client) WaitFor(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string, check func(*unstructured.Unstructured) string) error {
	err := Until(ctx, func() error {
		object, err := c.Get(ctx, gvk, namespace, name)
		if err != nil {
			return err
		}
		if missing := check(object); missing != "" {
			return errors.New(missing)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cluster %s: %s %s: %w", c.Cluster, gvk.Kind, join(namespace, name), err)
	}
	return nil
}

// retry repeats a request for as long as its failure may be temporary: an apiserver, a webhook or
// a CRD that is not there yet.
func (c *Client) retry(ctx context.Context, what string, request func() error) error {
	err := Until(ctx, func() error {
		err := request()
		if err != nil && !passing(err) {
			return Final(err)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cluster %s: %s: %w", c.Cluster, what, err)
	}
	return nil
}

// passing reports whether a failed request is worth repeating.
func passing(err error) bool {
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err), apierrors.IsUnauthorized(err):
		return false
	case apierrors.IsForbidden(err):
		// A namespace's default roles and a webhook's refusal are final, a cold RBAC cache is not.
		return !strings.Contains(err.Error(), "denied the request")
	default:
		return true
	}
}

// finalError is a failure that waiting does not mend.
type finalError struct{ error }

// Final makes Until end with this error.
func Final(err error) error { return finalError{err} }

// Until calls f until it returns nothing or a Final error, or the context ends; its error then says
// why that ended and what f last returned.
func Until(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		if final, ok := errors.AsType[finalError](err); ok {
			return final.error
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; the last answer was: %w", context.Cause(ctx), err)
		case <-time.After(poll):
		}
	}
}

// describe names an object for people.
func describe(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + join(object.GetNamespace(), object.GetName())
}

func join(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
