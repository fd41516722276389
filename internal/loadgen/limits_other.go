//go:build !linux && !darwin

package loadgen

// raiseDescriptors is 0: this system has no such limit.
func raiseDescriptors(int) int { return 0 }

func openDescriptors() int { return 0 }
