package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/instanceproxy/passthrough"
	"github.com/kairship-io/kairship/pkg/projection"
)

// openProjection opens the database of the index whose DSN a file has, for reading; nil
// without a file. It does not connect yet.
func openProjection(file string, connections int) (*projection.DB, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // Lists by state are then refused, with the reason.
	}
	db, err := projection.OpenReader(dsnIn(file), connections)
	if err != nil {
		return nil, fmt.Errorf("--index-database-file: %w", err)
	}
	return db, nil
}

// dsnIn reads the DSN that a file has now.
func dsnIn(file string) func() (string, error) {
	return func() (string, error) {
		text, err := os.ReadFile(file) //nolint:gosec // The operator names it.
		return string(text), err
	}
}

// recordWrites has what users write added to the history; nothing without a file.
func recordWrites(file string, instances *instance.Service) (*write.Recorder, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // There is no history.
	}
	db, err := projection.OpenRecorder(dsnIn(file))
	if err != nil {
		return nil, fmt.Errorf("--index-database-file: %w", err)
	}
	uid := func(ctx context.Context, name string) string {
		i, err := instances.Get(ctx, name)
		if err != nil || i == nil {
			return "" // It was deleted meanwhile.
		}
		return string(i.UID)
	}
	return &write.Recorder{History: db, InstanceUID: uid}, nil
}

// nativeHistory adds what users write by the native APIs of instances to the history and the activity.
type nativeHistory struct {
	recorder *write.Recorder
	clients  instanceproxy.Clients
	logger   *slog.Logger
}

// newNativeHistory returns nil without a recorder. The instances are read from the inventory, because no user is there
// any more when an entry is added.
func newNativeHistory(recorder *write.Recorder, inventory client.Reader, clients instanceproxy.Clients, logger *slog.Logger) passthrough.History {
	if recorder == nil {
		return nil
	}
	uid := func(ctx context.Context, name string) string {
		i := &v1alpha1.Instance{}
		if err := inventory.Get(ctx, client.ObjectKey{Name: name}, i); err != nil {
			return "" // It was deleted meanwhile.
		}
		return string(i.UID)
	}
	return &nativeHistory{&write.Recorder{History: recorder.History, InstanceUID: uid}, clients, logger}
}

// RecordNative implements passthrough.History.
func (h *nativeHistory) RecordNative(ctx context.Context, w *passthrough.Written) {
	message := "through the native API"
	if w.As != "" && w.As != w.User {
		message += " as " + w.As
	}
	at := &consistency.Version{
		Instance: w.Instance, Group: w.Group, Version: w.Version, Resource: w.Resource, Namespace: w.Namespace, Name: w.Name, Kind: h.kindOf(ctx, w),
	}
	if at.Kind == "" && w.Code != "" {
		return // There may be no such kind, and the path may be anything.
	}
	a := &projection.Activity{User: w.User, Verb: projection.ActivityVerb(w.Verb), Outcome: projection.ActivitySucceeded, Code: string(w.Code)}
	if w.As != w.User {
		a.As = w.As
	}
	switch w.Code {
	case "":
	case apierror.CodeForbidden:
		a.Outcome = projection.ActivityRefused
	default:
		a.Outcome = projection.ActivityFailed
	}
	if err := h.recorder.Native(ctx, a, message, at); err != nil {
		h.logger.WarnContext(ctx, "a write is not in the history", "error", err)
	}
}

// kindOf is the kind of what was written; empty where the instance does not say now.
func (h *nativeHistory) kindOf(ctx context.Context, w *passthrough.Written) string {
	ctx, cancel := context.WithTimeout(ctx, kindWithin)
	defer cancel()
	c, err := h.clients.Get(ctx, w.Instance)
	if err != nil {
		return ""
	}
	kind, err := c.RESTMapper(ctx).KindFor(schema.GroupVersionResource{Group: w.Group, Version: w.Version, Resource: w.Resource})
	if err != nil {
		return ""
	}
	return kind.Kind
}

// kindWithin bounds the wait for the kinds of an instance, which are usually known.
const kindWithin = 2 * time.Second
