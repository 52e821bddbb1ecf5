// Package moving has what a move of a workload between member clusters, and a drain of a member cluster, store in the
// objects of the instance, and which step follows. Its functions are pure: the mutations that begin a move, the
// operations that follow it and the controller that finishes it decide by the same ones.
package moving
