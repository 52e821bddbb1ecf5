package write

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
)

// PermitSecrets refuses requests that would reveal values of Secrets which the caller may not read,
// in a namespace of the instance; in any of them where it is empty.
func (s *Site) PermitSecrets(ctx context.Context, namespace string) error {
	if s.grant.Can(authz.VerbReadSecrets, namespace) {
		return nil
	}
	audit.From(ctx).Refuse(s.Instance)
	if namespace == "" {
		return apierror.In(apierror.New(apierror.CodeForbidden, "your roles do not let you read the values of all Secrets of instance %q", s.Instance), s.Instance)
	}
	return apierror.In(apierror.New(apierror.CodeForbidden, "your roles do not let you read the values of Secrets in namespace %q of instance %q",
		namespace, s.Instance), s.Instance)
}

// FromMember reads an object from a member cluster of the instance, through
// Karmada's proxy and as the caller: the instance decides whether they may reach
// the member (clusters/proxy), and the member what they may read there. cluster is
// the argument of the input that names the member.
func (s *Site) FromMember(ctx context.Context, member, argument string, k Kind, namespace, name string, paths Paths) (*unstructured.Unstructured, error) {
	if err := CheckName(member, argument); err != nil {
		return nil, err
	}
	at := append([]string{"apis", "cluster.karmada.io", "v1alpha1", "clusters", member, "proxy"}, path(k, namespace, name)...)
	raw, err := answer(s.client.REST().Get().AbsPath(at...).Do(ctx))
	if err == nil {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(raw); err != nil {
			return nil, apierror.In(apierror.Wrap(err, apierror.CodeInstanceUnavailable, "member cluster %q did not answer as expected", member), s.Instance)
		}
		// A member may be run by others, and what it says is written here as the caller.
		if u.GroupVersionKind() != k.GVK() || u.GetNamespace() != namespace || u.GetName() != name {
			about := subject{kind: k, namespace: namespace, name: name}
			return nil, apierror.In(apierror.New(apierror.CodeInstanceUnavailable,
				"member cluster %q answered with another object than %s, which was asked for; it is not used", member, about), s.Instance)
		}
		return u, nil
	}
	return nil, s.memberError(ctx, member, argument, k, namespace, name, paths, err)
}

// memberError words an error of a request through Karmada's proxy.
func (s *Site) memberError(ctx context.Context, member, argument string, k Kind, namespace, name string, paths Paths, err error) error {
	var status apierrors.APIStatus
	if _, ours := errors.AsType[*apierror.Error](err); ours || !errors.As(err, &status) {
		return s.translate(ctx, call{verb: http.MethodGet, kind: k, namespace: namespace, name: name, options: Options{Paths: paths}}, err)
	}
	e := fromMember(s.Instance, member, argument, k, namespace, name, paths, status.Status())
	e.Cause = err
	return apierror.In(e, s.Instance)
}

// ListFromMember reads the objects of a kind in a namespace of a member cluster, as FromMember does. More than
// one page of them is an error.
func (s *Site) ListFromMember(ctx context.Context, member, argument string, k Kind, namespace string, paths Paths) ([]unstructured.Unstructured, error) {
	at := append([]string{"apis", "cluster.karmada.io", "v1alpha1", "clusters", member, "proxy"}, path(k, namespace, "")...)
	raw, err := answer(s.client.REST().Get().AbsPath(at...).Param("limit", strconv.Itoa(PageSize)).Do(ctx))
	if err != nil {
		return nil, s.memberError(ctx, member, argument, k, namespace, "", paths, err)
	}
	var list unstructured.UnstructuredList
	if err := list.UnmarshalJSON(raw); err != nil {
		return nil, apierror.In(apierror.Wrap(err, apierror.CodeInstanceUnavailable, "member cluster %q did not answer as expected", member), s.Instance)
	}
	if list.GetContinue() != "" {
		return nil, apierror.In(apierror.Invalid(argument, "namespace %q of member cluster %q has more than %d %s", namespace, member, PageSize, k.Resource), s.Instance)
	}
	found := list.Items[:0]
	for i := range list.Items {
		// A member may be run by others, and what it says is written here as the caller.
		if u := &list.Items[i]; u.GetNamespace() == namespace && u.GetName() != "" {
			u.SetGroupVersionKind(k.GVK())
			found = append(found, *u)
		}
	}
	return found, nil
}

// fromMember reports whether the member refused, and not Karmada's proxy.
func fromMember(instance, member, argument string, k Kind, namespace, name string, paths Paths, status metav1.Status) *apierror.Error {
	proxy := status.Details != nil && status.Details.Group == "cluster.karmada.io"
	switch status.Reason {
	case metav1.StatusReasonNotFound:
		e := apierror.NotFound("Cluster", member)
		e.Argument = argument
		if !proxy {
			e = subject{instance: instance, verb: http.MethodGet, kind: k, namespace: namespace, name: name, paths: paths}.notFound(&status)
			e.Message += " in member cluster " + quote(member)
		}
		return e
	case metav1.StatusReasonForbidden, metav1.StatusReasonUnauthorized:
		if proxy {
			return apierror.New(apierror.CodeForbidden, "the roles that you have inside instance %q do not let you reach its member cluster %q (clusters/proxy)", instance, member)
		}
		return apierror.New(apierror.CodeForbidden, "the roles that you have inside member cluster %q do not let you get %s", member, k.GroupResource())
	default:
		return apierror.New(apierror.CodeInstanceUnavailable, "member cluster %q does not answer through instance %q", member, instance)
	}
}
