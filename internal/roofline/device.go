package roofline

// Is says whether a tool's name of a device is one of the target's, letter for letter: an
// "NVIDIA H100 PCIe" is no "NVIDIA H100 80GB HBM3", however alike they read.
func (t *Target) Is(device string) bool {
	if device == "" {
		return false
	}
	for _, name := range t.Also {
		if name == device {
			return true
		}
	}
	return t.Device == device
}
