package mlx

import "sync"

// Keys hands out random keys: each call of Next splits the chain, so that no key is used twice. The same seed
// gives the same keys in the same order. It may be used from several goroutines.
type Keys struct {
	mu    sync.Mutex
	chain *Array
}

// NewKeys starts a chain of keys.
func NewKeys(seed uint64) *Keys { return &Keys{chain: Key(seed)} }

// KeysFrom continues the chain whose State was kept, for example in a checkpoint.
func KeysFrom(state *Array) *Keys { return &Keys{chain: Keep(state)} }

// Next is a fresh key.
func (k *Keys) Next() *Array {
	k.mu.Lock()
	defer k.mu.Unlock()
	parts := SplitKey(k.chain, 2)
	// The chain must not grow a graph as long as the program runs.
	if err := Eval(parts...); err != nil {
		return ErrorArray("keys", err)
	}
	k.chain.Free()
	k.chain = parts[0]
	return parts[1]
}

// State is the chain as it is now: [KeysFrom] gives the same keys from here on.
func (k *Keys) State() *Array {
	k.mu.Lock()
	defer k.mu.Unlock()
	return Keep(k.chain)
}
