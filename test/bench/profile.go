package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// profileSeconds is how long one profile takes.
const profileSeconds = 8

// profiler fetches CPU profiles of Kairship while it answers one scenario.
type profiler struct {
	dir, address string
}

// take loads Kairship alone with the scenario and saves a profile of it.
func (p *profiler) take(ctx context.Context, s *scenario, clients int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*profileSeconds*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		path := filepath.Join(p.dir, fmt.Sprintf("%s-%d.cpu.pprof", s.name, clients))
		done <- p.fetch(ctx, path)
	}()
	const longer = 2
	l := load{clients: clients, duration: (profileSeconds + longer) * time.Second, maxOps: 1 << 30, among: s.among, run: s.graphql.run}
	_, err := l.do(ctx)
	if fetched := <-done; fetched != nil {
		return fetched
	}
	return err
}

func (p *profiler) fetch(ctx context.Context, path string) error {
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", p.address, profileSeconds)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("fetching a profile (is the apiserver started with --pprof-address %s?): %w", p.address, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("fetching a profile from %s: %s", url, resp.Status)
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, resp.Body); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}
