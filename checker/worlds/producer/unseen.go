package producer

// Unseen says of rules that no search of this world finds when they are off, why.
var Unseen = map[string]string{
	"client.void-comes-home":         "not within these bounds: it takes a batch that is late and others of its identity that are answered after it",
	"producers.epoch-begins-at-zero": "the client begins every identity at zero",
	"producers.rebuild-after-cut":    "not within these bounds: with up to two faults, and three elections, what is cut is sent again under the number that was cut",
	"producers.snapshot-below-end":   "not within these bounds: a power cut takes one record, and a batch that is lost is sent again",
}
