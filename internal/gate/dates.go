package gate

// Limits on what the times of one run may be apart, in seconds. The server's start is
// read from the host's clock of uptime, which is not set as the wall clock is.
const (
	startSlack  = 5
	zeroSlack   = 60
	longestRun  = 7 * 24 * 3600
	firstEngine = "2023-01-01T00:00:00Z" // no engine that is measured here is older
)

// dates fails a report from the future, or from before its engine was released, and one
// whose own times do not follow one another: the server's start, the run, the rows.
func dates(in *Input) Result {
	at, ok := seconds(in.Report.MeasuredAt)
	if !ok {
		return fail("measured_at is not a time in UTC", Compared{"measured_at", in.Report.MeasuredAt, "such as 2026-11-30T18:20:00Z"})
	}
	now, ok := seconds(in.Now)
	if !ok {
		return missing("the reader's clock", "")
	}
	figures := []Compared{{"measured_at", in.Report.MeasuredAt, "not after " + in.Now}}
	if at > now {
		return fail("measured in the future", figures...)
	}
	if first, _ := seconds(firstEngine); at < first {
		return fail("measured before any engine that is measured here", Compared{"measured_at", in.Report.MeasuredAt, "not before " + firstEngine})
	}
	engine := &in.Report.Receipt.Engine
	name, day := engine.Name+" "+engine.Version, release(engine.Name, engine.Version)
	released := ""
	if day != "" {
		figure := Compared{"measured_at", in.Report.MeasuredAt, "not before " + day + ", when " + name + " was released"}
		if from, _ := seconds(day + "T00:00:00Z"); at < from-releaseSlack {
			return fail("measured before "+name+" was released", figure)
		}
		figures = append(figures, figure)
	} else if engine.Version != "" {
		released = "; when " + name + " was released is not known here"
	}
	if text := engine.StartedAt; text != "" {
		started, ok := seconds(text)
		figure := Compared{"engine.started_at", text, "not after " + in.Report.MeasuredAt}
		if !ok || started > at+startSlack {
			return fail("the server started after the run had begun", figure)
		}
		figures = append(figures, figure)
	}
	if in.Evidence != nil {
		zero, ok := seconds(in.Evidence.Zero)
		figure := Compared{"the row's zero", in.Evidence.Zero, "within seven days from " + in.Report.MeasuredAt}
		if !ok || zero < at-zeroSlack || zero > at+longestRun {
			return fail("the row's zero is not within the run", figure)
		}
		if zero > now {
			return fail("measured in the future", Compared{"the row's zero", in.Evidence.Zero, "not after " + in.Now})
		}
		figures = append(figures, figure)
		var last int64
		for i := range in.Samples {
			last = max(last, ended(&in.Samples[i]))
		}
		for i := range in.Evidence.Capture {
			k := &in.Evidence.Capture[i]
			if started, ok := seconds(k.ServerStartedAt); ok && started > zero+last/1_000_000+startSlack {
				return fail("the server of repeat "+itoa(k.Repeat)+" started after the row had ended", Compared{"server_started_at", k.ServerStartedAt, "not after " + in.Evidence.Zero + " and the row"})
			}
		}
	}
	return pass("not in the future, and the server's start, the run and the row follow one another"+released, figures...)
}

// seconds since 1 March of year 0 of a text such as 2026-11-30T18:20:00.5Z, whole ones.
func seconds(s string) (int64, bool) {
	const form = "0000-00-00T00:00:00"
	if len(s) < len(form)+1 || s[len(s)-1] != 'Z' {
		return 0, false
	}
	for i := range len(form) {
		digit := s[i] >= '0' && s[i] <= '9'
		if (form[i] == '0') != digit || !digit && s[i] != form[i] {
			return 0, false
		}
	}
	for i, c := range s[len(form) : len(s)-1] {
		if i == 0 && c != '.' || i > 0 && (c < '0' || c > '9') {
			return 0, false
		}
	}
	number := func(from, to int) (n int64) {
		for _, c := range s[from:to] {
			n = 10*n + int64(c-'0')
		}
		return n
	}
	year, month, day := number(0, 4), number(5, 7), number(8, 10)
	hour, minute, second := number(11, 13), number(14, 16), number(17, 19)
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 {
		return 0, false
	}
	// Years from March on end with their leap day, so that months have a fixed beginning.
	if month -= 3; month < 0 {
		month, year = month+12, year-1
	}
	days := 365*year + year/4 - year/100 + year/400 + (153*month+2)/5 + day - 1
	return 86400*days + 3600*hour + 60*minute + second, true
}
