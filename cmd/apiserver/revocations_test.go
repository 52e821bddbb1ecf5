package main

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOnChange(t *testing.T) {
	version := func(v string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: v}}
	}
	reported := 0
	h := onChange(func() { reported++ })
	for _, tt := range []struct {
		why    string
		happen func()
		want   int
	}{
		{"what was there at the start changed nothing", func() { h.OnAdd(version("1"), true) }, 0},
		{"a new binding gives a role", func() { h.OnAdd(version("1"), false) }, 1},
		{"the informer repeats what it has", func() { h.OnUpdate(version("1"), version("1")) }, 0},
		{"a changed binding, or a changed status of it", func() { h.OnUpdate(version("1"), version("2")) }, 1},
		{"a deleted binding takes a role away", func() { h.OnDelete(version("2")) }, 1},
	} {
		reported = 0
		tt.happen()
		if reported != tt.want {
			t.Errorf("%s: told %d times, want %d", tt.why, reported, tt.want)
		}
	}
}

func TestFlushEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		changed := make(chan struct{}, 1)
		var flushes atomic.Int32
		go flushEach(ctx, changed, time.Second, func() { flushes.Add(1) })
		tell := func() {
			select {
			case changed <- struct{}{}:
			default:
			}
			synctest.Wait()
		}
		tell()
		if flushes.Load() != 1 {
			t.Fatalf("%d flushes right after the first change, want 1", flushes.Load())
		}
		for range 100 {
			tell()
		}
		if flushes.Load() != 1 {
			t.Errorf("%d flushes in one interval, want 1", flushes.Load())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if flushes.Load() != 2 {
			t.Errorf("%d flushes, want 2: what came in the interval is not forgotten", flushes.Load())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if flushes.Load() != 2 {
			t.Errorf("%d flushes, want 2: nothing changed", flushes.Load())
		}
	})
}
