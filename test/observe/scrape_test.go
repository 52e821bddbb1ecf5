package observe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// metricsOf is where a program says in its log that it serves its metrics.
func metricsOf(t testing.TB, p *fleet.Process) string {
	t.Helper()
	var address string
	err := poll.Try(t.Context(), 10*time.Second, func(context.Context) error {
		log, err := os.Open(p.Log)
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }()
		for lines := bufio.NewScanner(log); lines.Scan(); {
			var line struct {
				Message string `json:"msg"`
				Address string `json:"address"`
			}
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "serving metrics" {
				address = line.Address
				return nil
			}
		}
		return fmt.Errorf("%s does not say where its metrics are", p.Log)
	})
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// scrape reads /metrics in the text format.
func scrape(t testing.TB, address string) map[string]*dto.MetricFamily {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("HTTP %d, %v", response.StatusCode, err)
	}
	return parse(t, raw)
}

// parse reads the text format.
func parse(t testing.TB, text []byte) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	all, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// labelsOf are the names of the labels of a metric, in order.
func labelsOf(m *dto.MetricFamily) []string {
	var names []string
	for _, s := range m.GetMetric() {
		for _, l := range s.GetLabel() {
			names = append(names, l.GetName())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// series is how many series there are of Kairship's own metrics.
func series(all map[string]*dto.MetricFamily) map[string]int {
	counts := map[string]int{}
	for name, m := range all {
		if strings.HasPrefix(name, "kairship_") {
			counts[name] = len(m.GetMetric())
		}
	}
	return counts
}
