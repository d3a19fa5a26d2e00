package oracle

// Judge judges one run. It never fails: a history that cannot be judged is Unknown, with the reason.
func Judge(in Input) *Verdict { panic("oracle: Judge") }
