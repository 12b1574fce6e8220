// Package nn has modules, losses and initialisers in the manner of mlx.nn.
//
// # Modules
//
// A module is a pointer to a struct. Its exported fields are looked at in the order of their declaration:
//
//   - *mlx.Array is a parameter; nil is an absent one (a layer without bias).
//   - A pointer to a struct, or a struct, is a module inside; nil is an absent one.
//   - A slice, an array or an interface holds any of these; elements are named by number (layers.0.weight).
//   - An embedded struct adds its fields to those of the outer one.
//
// Unexported fields are not seen. A map that could hold parameters is an error, since it has no order.
//
// A field's name in files is its Go name in snake case, as mlx.nn would write it: Weight is weight,
// QueryProj is query_proj. A field written in capitals and digits only keeps its name: GRU. The tag
// `mlx:"name"` gives another name, `mlx:"-"` hides the field, and `mlx:"name,frozen"` or
// `mlx:",frozen"` makes its parameters part of files but not of training.
//
//	type CharModel struct {
//		Embed *nn.Embedding
//		GRU   *rnn.GRU      `mlx:"gru"`
//		Out   *nn.Linear
//	}
//
// One *mlx.Array that several fields point to is one parameter, of the first field's name (tied
// weights): its gradients add up, and an update reaches all the fields. So two parameters that
// only start out equal need an array each.
//
// # Training
//
// [ValueAndGrad] differentiates a loss by a module's parameters; package optim updates them.
// A module is used by one goroutine at a time while it trains. Its forward pass only reads the module.
//
// # Errors
//
// Constructors, and all that reads or writes modules and files, return an error. Layers and losses
// give an *mlx.Array, which carries the error of a wrong shape or type.
package nn
