// Package readiness answers /readyz.
package readiness

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// Check is one thing that Kairship needs to be ready.
type Check struct {
	// Name says what is checked, for example "global-cluster" or "index".
	Name string
	// Required makes a failure answer 503. Without it the server is degraded and
	// still ready: it can answer a part of what it is asked.
	Required bool
	// RequiredOnce makes a failure answer 503 until the check has passed once: a server
	// that never reached what it needs may be set up wrongly, and should not take the
	// place of one that works.
	RequiredOnce bool
	// Run returns nil when all is well. The message of an *apierror.Error is shown;
	// any other error only logged.
	Run func(context.Context) error
}

const (
	// checkTimeout is below the usual probe timeout of Kubernetes times two; a check that takes longer has failed.
	checkTimeout = 2 * time.Second
	// reportTTL keeps anonymous callers of /readyz from reaching what the checks reach at their own rate.
	reportTTL = time.Second
)

const (
	statusOK       = "ok"
	statusDegraded = "degraded"
	statusFailing  = "failing"
	statusDraining = "draining"
)

type checkResult struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
}

type report struct {
	Status string        `json:"status"`
	Checks []checkResult `json:"checks"`
}

// Handler runs checks, at most once a second, and answers /readyz.
type Handler struct {
	checks []Check
	// draining reports whether the process is about to stop.
	draining func() bool
	logger   *slog.Logger
	now      func() time.Time

	mu     sync.Mutex
	report report
	until  time.Time
	failed map[string]bool
	passed map[string]bool
}

// New returns the handler of checks. While draining returns true, the answer is 503.
func New(checks []Check, draining func() bool, logger *slog.Logger, now func() time.Time) *Handler {
	return &Handler{checks: checks, draining: draining, logger: logger, now: now, failed: map[string]bool{}, passed: map[string]bool{}}
}

var _ http.Handler = (*Handler)(nil)

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	report := h.current(r.Context())
	status := http.StatusOK
	if !report.ready() {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(report) //nolint:errcheck,errchkjson // The prober went away.
}

// Ready reports whether /readyz answers 200.
func (h *Handler) Ready(ctx context.Context) bool {
	report := h.current(ctx)
	return report.ready()
}

func (r report) ready() bool { return r.Status != statusFailing && r.Status != statusDraining }

// current is the report of this second.
func (h *Handler) current(ctx context.Context) report {
	// The lock is held while the checks run: concurrent probes wait for one report.
	h.mu.Lock()
	if h.until.IsZero() || !h.now().Before(h.until) {
		h.report = h.run(context.WithoutCancel(ctx))
		h.until = h.now().Add(reportTTL)
	}
	report := h.report
	h.mu.Unlock()
	if h.draining() {
		report.Status = statusDraining
	}
	return report
}

func (h *Handler) run(ctx context.Context) report {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	errs := make([]error, len(h.checks))
	var wg sync.WaitGroup
	for i, c := range h.checks {
		wg.Go(func() { errs[i] = c.Run(ctx) })
	}
	wg.Wait()

	report := report{Status: statusOK, Checks: []checkResult{}}
	for i, c := range h.checks {
		result := checkResult{Name: c.Name, Status: statusOK}
		if errs[i] == nil {
			h.passed[c.Name] = true
		} else {
			result.Status, result.Message = statusFailing, "failing; the log says why"
			if e, ok := errors.AsType[*apierror.Error](errs[i]); ok {
				result.Message = e.Message
			}
			if c.Required || c.RequiredOnce && !h.passed[c.Name] {
				report.Status = statusFailing
			} else if report.Status == statusOK {
				report.Status = statusDegraded
			}
		}
		h.logChange(ctx, c, errs[i])
		report.Checks = append(report.Checks, result)
	}
	return report
}

// logChange writes a line when a check begins or stops to fail, not at every probe.
func (h *Handler) logChange(ctx context.Context, c Check, err error) {
	switch {
	case err != nil && !h.failed[c.Name]:
		h.logger.WarnContext(ctx, "readiness check fails", "check", c.Name, "required", c.Required, "cause", causeText(err))
	case err == nil && h.failed[c.Name]:
		h.logger.InfoContext(ctx, "readiness check passes again", "check", c.Name)
	}
	h.failed[c.Name] = err != nil
}

// causeText is what the log contains about an error: the text for a person and, behind it, the cause that callers never see.
func causeText(err error) string {
	if e, ok := errors.AsType[*apierror.Error](err); ok && e.Cause != nil {
		return e.Error() + ": " + e.Cause.Error()
	}
	return err.Error()
}
