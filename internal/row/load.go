package row

// OwnTimes is the request rate of a trace whose requests come when its own did.
const OwnTimes = "trace"

// OpenLoop says whether requests came at times of their own and not as streams fell free.
func (w *Workload) OpenLoop() bool { return w.Load.RequestRate != nil || w.Load.Concurrency == nil }

// Ranked says whether the load is the one that rankings and fronts are of: streams kept
// full with fresh random prompts of one length that share nothing.
func (w *Workload) Ranked() bool {
	p := &w.Prompts
	return w.Protocol == Sustained && !w.OpenLoop() && w.Sessions == nil &&
		p.Kind == PromptsRandom && p.State == Cold && p.SharedPrefix == 0
}

// Family names all of a load but its height and its lengths. Rows of two families are of
// different questions, and share no ladder, no front and no rank.
func (w *Workload) Family() string {
	p := &w.Prompts
	name := w.Kind + " " + w.Protocol + " " + w.Endpoint
	if w.OpenLoop() {
		name += " open"
		if b := w.Load.Burstiness; b != nil {
			name += " burstiness=" + *b
		}
		if c := w.Load.Concurrency; c != nil {
			name += " at-most=" + itoa(*c)
		}
	}
	name += " " + p.Kind
	if p.SHA256 != nil {
		name += " " + *p.SHA256
	}
	name += " " + p.State
	if p.SharedPrefix > 0 {
		name += " shared=" + itoa(p.SharedPrefix)
	}
	if w.Sessions != nil {
		name += " sessions"
	}
	return name
}
