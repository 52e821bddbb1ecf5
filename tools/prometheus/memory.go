package main

import (
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// start is the moment at which every scene begins.
var start = time.Unix(0, 0).UTC()

// memory holds series. It implements storage.Queryable.
type memory struct{ series []*series }

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// add adds a sample to a series; samples of one come in the order of time.
func (m *memory) add(of labels.Labels, at time.Duration, value float64) {
	i := slices.IndexFunc(m.series, func(s *series) bool { return labels.Equal(s.labels, of) })
	if i < 0 {
		i = len(m.series)
		m.series = append(m.series, &series{labels: of})
	}
	m.series[i].samples = append(m.series[i].samples, sample{start.Add(at).UnixMilli(), value})
}

// Querier implements storage.Queryable.
func (m *memory) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		var found []storage.Series
		for _, s := range m.series {
			if !slices.ContainsFunc(matchers, func(by *labels.Matcher) bool { return !by.Matches(s.labels.Get(by.Name)) }) {
				found = append(found, storage.NewListSeries(s.labels, s.samples))
			}
		}
		return &set{series: found, at: -1}
	}}, nil
}

var _ storage.Queryable = (*memory)(nil)

// set implements storage.SeriesSet.
type set struct {
	series []storage.Series
	at     int
}

func (s *set) Next() bool                      { s.at++; return s.at < len(s.series) }
func (s *set) At() storage.Series              { return s.series[s.at] }
func (*set) Err() error                        { return nil }
func (*set) Warnings() annotations.Annotations { return nil }

// sample implements chunks.Sample.
type sample struct {
	t int64
	f float64
}

func (s sample) T() int64                    { return s.t }
func (s sample) F() float64                  { return s.f }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }
