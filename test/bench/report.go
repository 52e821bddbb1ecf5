package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// comparison is one scenario at one number of clients.
type comparison struct {
	Scenario string  `json:"scenario"`
	Title    string  `json:"title"`
	Clients  int     `json:"clients"`
	Kairship figures `json:"kairship"`
	Index    figures `json:"index"`
	// The ratios of each round, Kairship to index, and their medians.
	LatencyRatios    []float64 `json:"latencyRatios"`
	ThroughputRatios []float64 `json:"throughputRatios"`
	LatencyRatio     float64   `json:"latencyRatio"`
	ThroughputRatio  float64   `json:"throughputRatio"`
	Targets          []outcome `json:"targets,omitempty"`
}

// outcome is a target and what was reached.
type outcome struct {
	Target string  `json:"target"`
	Ratio  float64 `json:"ratio"`
	Met    bool    `json:"met"`
}

// figures are those of one side over all rounds, latencies in milliseconds.
type figures struct {
	P50        float64 `json:"p50Millis"`
	P95        float64 `json:"p95Millis"`
	P99        float64 `json:"p99Millis"`
	Throughput float64 `json:"opsPerSecond"`
	Ops        int     `json:"ops"`
	// IndexRequests is the mean number of requests to the index of one operation.
	IndexRequests float64 `json:"indexRequestsPerOp"`
	// CPU time that one operation takes in each process.
	CPU cpuFigures `json:"cpuPerOp"`
}

// report is a whole run.
type report struct {
	Started     time.Time     `json:"started"`
	DB          string        `json:"db"`
	Rounds      int           `json:"rounds"`
	SliceMillis int64         `json:"sliceMillis"`
	Comparisons []*comparison `json:"comparisons"`
}

func figuresOf(samples []sample) figures {
	var (
		all     []time.Duration
		elapsed time.Duration
		cpu     cpuTimes
	)
	for _, s := range samples {
		all = append(all, s.latencies...)
		elapsed += s.elapsed
		cpu = cpu.plus(s.cpu)
	}
	return figures{
		P50: millis(percentile(all, 50)), P95: millis(percentile(all, 95)), P99: millis(percentile(all, 99)),
		Throughput: float64(len(all)) / elapsed.Seconds(), Ops: len(all),
		CPU: cpu.each(len(all)),
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// percentile is the value that some percent of the values do not exceed (nearest rank).
func percentile(values []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	rank := (len(sorted)*percent + 99) / 100
	return sorted[max(rank, 1)-1]
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// print writes the tables.
func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "\nLatencies in ms. Both sides in turns, %d rounds of %s each. Index: %s.\n\n", r.Rounds, time.Duration(r.SliceMillis)*time.Millisecond, r.DB)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "scenario\tclients\tside\tp50\tp95\tp99\top/s\tindex requests/op\tCPU ms/op: client\tKairship\tindex\tglobal apiserver\t")
	for _, c := range r.Comparisons {
		for _, s := range []struct {
			name string
			figures
		}{{"Kairship", c.Kairship}, {"REST on the index", c.Index}} {
			fmt.Fprintf(t, "%s\t%d\t%s\t%.1f\t%.1f\t%.1f\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t\n", c.Scenario, c.Clients, s.name,
				s.P50, s.P95, s.P99, s.Throughput, s.IndexRequests, s.CPU.Client, s.CPU.Kairship, s.CPU.Index, s.CPU.Global)
		}
	}
	_ = t.Flush()
	fmt.Fprintln(w, "\nRatios, Kairship to REST on the index: the median of the rounds, and each round.")
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nscenario\tclients\tp50\trounds\top/s\trounds\ttarget")
	for _, c := range r.Comparisons {
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%s\t%.2f\t%s\t%s\n", c.Scenario, c.Clients, c.LatencyRatio, list(c.LatencyRatios), c.ThroughputRatio, list(c.ThroughputRatios), c.rating())
	}
	_ = t.Flush()
	fmt.Fprintln(w)
	seen := map[string]bool{}
	for _, c := range r.Comparisons {
		if !seen[c.Scenario] {
			seen[c.Scenario] = true
			fmt.Fprintf(w, "%s: %s\n", c.Scenario, c.Title)
		}
	}
}

func (c *comparison) rating() string {
	var parts []string
	for _, o := range c.Targets {
		word := "MISS"
		if o.Met {
			word = "PASS"
		}
		parts = append(parts, word+" ("+o.Target+")")
	}
	return strings.Join(parts, ", ")
}

func list(values []float64) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = fmt.Sprintf("%.2f", v)
	}
	return strings.Join(parts, " ")
}

func (r *report) save(path string) error { return saveJSON(path, r) }

func saveJSON(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}
