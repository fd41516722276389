//go:build !linux

package main

import (
	"errors"
	"fmt"
	"os"
)

func supervise([]string) int {
	fmt.Fprintln(os.Stderr, "clients: it runs on Linux")
	return 1
}

func liftFileLimit(int) error { return errors.New("it runs on Linux") }
