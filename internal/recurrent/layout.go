package recurrent

// #include "spec.h"
import "C"

import "reflect"

// cLayout is the C struct as the C compiler laid it out (cgo reads the compiler's debug information).
// Test files cannot use cgo, so it stands here.
func cLayout() reflect.Type { return reflect.TypeFor[C.rec_spec]() }
