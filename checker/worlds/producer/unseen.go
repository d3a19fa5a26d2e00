package producer

// Unseen says of rules that no search of this world finds when they are off, why.
var Unseen = map[string]string{
	"producers.epoch-begins-at-zero": "client.first-alone keeps a second batch of an identity back until the first was acked",
	"producers.snapshot-below-end":   "brokers here take snapshots of what is in their log only",
}
