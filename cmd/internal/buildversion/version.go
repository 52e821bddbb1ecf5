// Package buildversion describes which build a program of Kairship is.
package buildversion

import "runtime/debug"

// unknown is said by a build that knows nothing of itself, such as one from an archive without the
// history.
const unknown = "v0.0.0-unknown"

// Of returns the version of the running program: the one set by the linker, which a release has
// (-ldflags "-X main.version=v1.2.3"), else the one that the go command wrote into the binary,
// which is the tag or a pseudo-version of the commit, with "+dirty" when files had changed.
func Of(linked string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return choose(linked, "")
	}
	return choose(linked, info.Main.Version)
}

func choose(linked, built string) string {
	switch {
	case linked != "":
		return linked
	case built != "" && built != "(devel)":
		return built
	default:
		return unknown
	}
}
