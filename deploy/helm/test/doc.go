// Package test tests the chart: what it renders from a matrix of values, that a real
// API server accepts it, and that it fits the programs that it starts.
package test
