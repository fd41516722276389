//go:build !linux

package loadgen

func goFirst() bool { return false }

func goSoon() {}
