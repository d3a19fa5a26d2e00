package producer

// Unseen says of rules that no search of this world finds when they are off, why.
var Unseen = map[string]string{
	"client.void-comes-home":         "the least bounds in which it could matter, a new identity while batches of the old one are in flight twice, were not exhausted: 600,000 states without a violation",
	"producers.epoch-begins-at-zero": "the client begins every identity at zero",
	"producers.rebuild-after-cut":    "the world's snapshots are taken at the end of the log only, and a cut of batches that nobody acked is sent again",
	"producers.snapshot-below-end":   "a power cut takes the last record alone, and with it what the snapshot had of it",
}
