package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// The targets that no question has of its own.
const (
	rebuildTarget = 120.0 // seconds, for a million objects
	memoryTarget  = 300.0 // MiB
	tailTarget    = 4.0   // times the median
	growthTarget  = 2.0   // times the median of a small index
)

// scaleReport is a whole run.
type scaleReport struct {
	Started     time.Time      `json:"started"`
	Workloads   int            `json:"workloads"`
	SeedSeconds float64        `json:"seedSeconds"`
	Rebuild     *rebuilt       `json:"rebuild"`
	One         []*scaleFigure `json:"oneClient"`
	Many        []*scaleFigure `json:"manyClients"`
	MemoryMiB   float64        `json:"memoryMiB"`
	Writes      *scaleWrites   `json:"writes"`
	// Wrong are questions that were not answered, or not rightly.
	Wrong []string `json:"wrong,omitempty"`
}

// scaleFigure is one question at one number of clients.
type scaleFigure struct {
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	Clients int     `json:"clients"`
	Target  float64 `json:"targetMillis,omitempty"`
	// Small is the median of a small index; 0 where that is not measured.
	Small float64 `json:"smallP50Millis,omitempty"`
	figures
}

// rating is a word for a figure and its target, which it may reach at most.
func rating(is, target float64) string {
	if is <= target {
		return "pass"
	}
	return "OVER"
}

// print writes the tables as Markdown.
func (r *scaleReport) print(w io.Writer) {
	fmt.Fprintf(w, "\n%d workloads, %d objects in the index, %d instances, PostgreSQL.\n\n", r.Workloads, r.Workloads*objectsEach, scaleInstances)
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| question | p50 ms | target | | p99 ms | p99 : p50 | 4 at most | operations |")
	fmt.Fprintln(t, "| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, f := range r.One {
		target, word := "–", ""
		if f.Target > 0 {
			target, word = fmt.Sprintf("%.0f", f.Target), rating(f.P50, f.Target)
		}
		fmt.Fprintf(t, "| `%s`\t| %.1f\t| %s\t| %s\t| %.1f\t| %.1f\t| %s\t| %d |\n", f.Name, f.P50, target, word, f.P99, f.P99/f.P50, rating(f.P99/f.P50, tailTarget), f.Ops)
	}
	_ = t.Flush()
	fmt.Fprintf(w, "\n| question | p50 ms at %d objects | at %d | times | %.0f at most |\n| --- | --- | --- | --- | --- |\n", fewWorkloads*objectsEach, r.Workloads*objectsEach, growthTarget)
	for _, f := range r.One {
		if f.Small > 0 {
			fmt.Fprintf(w, "| `%s` | %.1f | %.1f | %.2f | %s |\n", f.Name, f.Small, f.P50, f.P50/f.Small, rating(f.P50/f.Small, growthTarget))
		}
	}
	fmt.Fprintf(w, "\n| with many clients | clients | p50 ms | p99 ms | op/s |\n| --- | --- | --- | --- | --- |\n")
	for _, f := range r.Many {
		fmt.Fprintf(w, "| `%s` | %d | %.0f | %.0f | %.0f |\n", f.Name, f.Clients, f.P50, f.P99, f.Throughput)
	}
	limit := rebuildTarget * float64(r.Workloads*objectsEach) / 1e6
	fmt.Fprintf(w, "\n| | measured | target | |\n| --- | --- | --- | --- |\n")
	fmt.Fprintf(w, "| memory of the API server with many clients, at most | %.0f MiB | %.0f MiB | %s |\n", r.MemoryMiB, memoryTarget, rating(r.MemoryMiB, memoryTarget))
	if b := r.Rebuild; b != nil {
		fmt.Fprintf(w, "| full rebuild of the projection | %.1f s | %.1f s | %s |\n", b.Seconds, limit, rating(b.Seconds, limit))
		fmt.Fprintf(w, "| answers meanwhile, one client (`get` and `page` in turns) | %d, p50 %.1f ms, p99 %.1f ms; %d failures | no failure | %s |\n", b.Answered, b.P50, b.P99, b.Failed, rating(float64(b.Failed), 0))
	}
	if c := r.Writes; c != nil {
		fmt.Fprintf(w, "| from the commit of a change to its row, p99 at %d changes a second | %.1f ms (p50 %.1f) | %.0f ms | %s |\n",
			changesPerSecond, c.VisibleP99, c.VisibleP50, visibleTarget, rating(c.VisibleP99, visibleTarget))
		fmt.Fprintf(w, "| writes of the collector with the triggers : without | %.0f : %.0f a second, %.2f × | %.1f × at least | %s |\n",
			c.With, c.Without, median(c.Ratios), writeTarget, rating(-median(c.Ratios), -writeTarget))
	}
	if b := r.Rebuild; b != nil && b.LastError != "" {
		fmt.Fprintf(w, "\nThe last failure during the rebuild: %s\n", b.LastError)
	}
	fmt.Fprintf(w, "\nWriting the objects into the index took %.0f s.\n\n", r.SeedSeconds)
	for _, f := range r.One {
		fmt.Fprintf(w, "%s: %s\n", f.Name, f.Title)
	}
	for _, wrong := range r.Wrong {
		fmt.Fprintf(w, "NOT MEASURED %s\n", wrong)
	}
}
