package writecache

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Create implements client.Writer.
func (c *Client) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	return c.keep(object, "", true, new(client.CreateOptions).ApplyOptions(opts).DryRun, c.Client.Create(ctx, object, opts...))
}

// Update implements client.Writer.
func (c *Client) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	base := object.GetResourceVersion()
	return c.remember(object, base, new(client.UpdateOptions).ApplyOptions(opts).DryRun, c.Client.Update(ctx, object, opts...))
}

// Patch implements client.Writer.
func (c *Client) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	base := baseOf(object, patch)
	return c.remember(object, base, new(client.PatchOptions).ApplyOptions(opts).DryRun, c.Client.Patch(ctx, object, patch, opts...))
}

// Apply implements client.Writer.
func (c *Client) Apply(ctx context.Context, configuration runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return c.applied(configuration, new(client.ApplyOptions).ApplyOptions(opts).DryRun, func() error {
		return c.Client.Apply(ctx, configuration, opts...)
	})
}

// Delete implements client.Writer. From then on an object that this process has made is
// there only if the cache has it, as one that others have made.
func (c *Client) Delete(ctx context.Context, object client.Object, opts ...client.DeleteOption) error {
	err := c.Client.Delete(ctx, object, opts...)
	if k, ours := c.keyOf(object, client.ObjectKeyFromObject(object)); ours && err == nil && len(new(client.DeleteOptions).ApplyOptions(opts).DryRun) == 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		if last := c.lastLocked(k); last.made != "" {
			last.made = ""
			c.written.Add(k, last, retention)
		}
	}
	return err
}

// Status implements client.StatusClient.
func (c *Client) Status() client.SubResourceWriter { return status{c.Client.Status(), c} }

// status remembers what is written of the status.
type status struct {
	client.SubResourceWriter
	client *Client
}

// Update implements client.SubResourceWriter.
func (s status) Update(ctx context.Context, object client.Object, opts ...client.SubResourceUpdateOption) error {
	base := object.GetResourceVersion()
	return s.client.remember(object, base, new(client.SubResourceUpdateOptions).ApplyOptions(opts).DryRun, s.SubResourceWriter.Update(ctx, object, opts...))
}

// Patch implements client.SubResourceWriter.
func (s status) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	base := baseOf(object, patch)
	return s.client.remember(object, base, new(client.SubResourcePatchOptions).ApplyOptions(opts).DryRun, s.SubResourceWriter.Patch(ctx, object, patch, opts...))
}

// Apply implements client.SubResourceWriter.
func (s status) Apply(ctx context.Context, configuration runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	return s.client.applied(configuration, new(client.SubResourceApplyOptions).ApplyOpts(opts).DryRun, func() error {
		return s.SubResourceWriter.Apply(ctx, configuration, opts...)
	})
}

// applied applies a configuration, and remembers what the API server answered, when
// the client says it.
func (c *Client) applied(configuration runtime.ApplyConfiguration, dryRun []string, apply func() error) error {
	content, is := configuration.(runtime.Unstructured)
	if !is {
		return apply()
	}
	base := (&unstructured.Unstructured{Object: content.UnstructuredContent()}).GetResourceVersion()
	if err := apply(); err != nil {
		return err
	}
	return c.remember(&unstructured.Unstructured{Object: content.UnstructuredContent()}, base, dryRun, nil)
}

// baseOf returns the version that a patch requires; empty for none.
func baseOf(object client.Object, patch client.Patch) string {
	data, err := patch.Data(object)
	if err != nil {
		return "" // The sender says so.
	}
	var content struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if json.Unmarshal(data, &content) != nil {
		return "" // Such as a JSON patch, which is a list.
	}
	return content.Metadata.ResourceVersion
}

// Refresh updates the finalizers and the version of an object, for a caller that holds its lock
// (Lock) to write finalizers, so that earlier writes of this process cause no conflict. It does
// nothing when more than the metadata and the status has changed, or when another process has
// written, as the next leader does when this one was frozen: then the API server refuses the write.
func Refresh(ctx context.Context, kube client.Client, object client.Object) {
	c, ok := kube.(*Client)
	now, is := object.DeepCopyObject().(client.Object)
	if !ok || !is {
		return
	}
	k, ours := c.keyOf(object, client.ObjectKeyFromObject(object))
	if !ours || c.Get(ctx, k.NamespacedName, now) != nil || now.GetUID() != object.GetUID() || now.GetGeneration() != object.GetGeneration() {
		return
	}
	read, last := object.GetResourceVersion(), c.last(k)
	if last.version != now.GetResourceVersion() || !Newer(last.version, read) || Newer(last.since, read) {
		return
	}
	object.SetFinalizers(now.GetFinalizers())
	object.SetResourceVersion(now.GetResourceVersion())
}

// Lock locks an object within this process until end is called. It is for one write; the lock is
// not reentrant. With a client of another package it does nothing.
func Lock(kube client.Client, object client.Object) (end func()) {
	c, ok := kube.(*Client)
	if !ok {
		return func() {}
	}
	k, ours := c.keyOf(object, client.ObjectKeyFromObject(object))
	if !ours {
		return func() {}
	}
	id := k.String()
	c.locks.LockKey(id)
	return func() { _ = c.locks.UnlockKey(id) } // The hashed kind has no error.
}
