// Package interpreter interprets resources as Karmada does, with the interpreters that come with
// Karmada: those of third parties' kinds, then those of Kubernetes' own kinds.
//
// What an instance configures itself comes before these in Karmada, and is not run here:
// a ResourceInterpreterCustomization is a program of an instance's administrators, which
// could exhaust the memory of a process that serves all instances, and a webhook is a
// server elsewhere. Customizes reports where a customization decides instead.
package interpreter
