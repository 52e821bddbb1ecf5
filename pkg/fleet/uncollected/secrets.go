package uncollected

import (
	"context"
	"net/http"
	"slices"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/quota"
)

// secretsAtOnce is how many Secrets of a page are read at the same time.
const secretsAtOnce = 8

// conceal takes the values out of Secrets that Kairship has read with its own identity.
func conceal(secrets []*index.Object) (err error) {
	for i := range secrets {
		if secrets[i], err = access.Concealed(secrets[i]); err != nil {
			return err
		}
	}
	return nil
}

// readSecrets puts the whole Secrets in the place of their metadata on a page, one request
// for each: with the values where the caller reads them, by Kairship's permissions and by
// the instance's, and else with the keys. What was deleted since is left out.
func (r *reader) readSecrets(ctx context.Context, l *list, page *index.Page) error {
	grant, _, err := r.access.Instance(ctx, l.client.Instance())
	if err != nil {
		return err
	}
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(secretsAtOnce)
	for i, o := range page.Items {
		group.Go(func() (err error) {
			page.Items[i], err = l.secret(reading, grant.Can(authz.VerbReadSecrets, o.Meta.Namespace), o)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return l.explain(ctx, err)
	}
	page.Items = slices.DeleteFunc(page.Items, func(o *index.Object) bool { return o == nil })
	return nil
}

// secret reads a whole Secret; nil when it does not exist.
func (l *list) secret(ctx context.Context, values bool, o *index.Object) (*index.Object, error) {
	if values {
		whole, err := l.get(ctx, o)
		if !apierror.Is(err, apierror.CodeForbidden) {
			return whole, err
		}
	}
	whole, err := l.get(instanceproxy.AsKairship(ctx), o)
	if err != nil || whole == nil {
		return nil, err
	}
	return access.Concealed(whole)
}

// get reads one object as the user of ctx; nil when it does not exist.
func (l *list) get(ctx context.Context, o *index.Object) (*index.Object, error) {
	done, err := quota.Acquire(ctx, quota.ToInstance)
	if err != nil {
		return nil, err
	}
	defer done()
	found, err := l.client.Dynamic().Resource(l.kind.GroupVersionResource).Namespace(o.Meta.Namespace).Get(ctx, o.Meta.Name, metav1.GetOptions{})
	if err != nil {
		err = write.Translate(l.client.Instance(), err, l.kind, http.MethodGet, o.Meta.Namespace, o.Meta.Name, nil)
		if apierror.Is(err, apierror.CodeNotFound) {
			return nil, nil
		}
		return nil, err
	}
	raw, err := found.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return index.NewListed(o.Cluster, l.kind.Type(), raw, index.Whole, l.at)
}
