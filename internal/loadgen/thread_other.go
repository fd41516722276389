//go:build !linux

package loadgen

func prompt() {}
