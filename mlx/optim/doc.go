// Package optim has optimisers, learning rate schedules and checkpoints for modules of package nn.
//
//	opt, err := optim.NewAdamW(optim.AdamWConfig{LearningRate: 1e-3})
//	step := nn.ValueAndGrad(model, loss)
//	for x, y := range batches {
//		value, grads, err := step(x, y)
//		grads, norm := optim.ClipByGlobalNorm(grads, 1)
//		err = opt.Update(model, grads, value)
//	}
//
// The formulas and the names of saved states are those of mlx.optimizers of MLX 0.32.4, so a state
// saved there goes on here. Two things differ. Numbers that depend on the step alone (rates, bias
// corrections) are computed in float64, as PyTorch does. And a half precision parameter is
// updated in float32, with its state in float32: in half precision an Eps of 1e-8 is zero.
package optim
