package mlx

import (
	"cmp"
	"fmt"
	"slices"
)

// meanings check results that are not unique, by what they mean.
var meanings = map[string]func(args vectorArgs, got, want []*Array) error{
	"sorted":       sortedNear,
	"partition":    partitionNear,
	"argpartition": argPartitionNear,
	"anyorder":     anyOrderNear,
	"qr":           isQR,
	"svd":          isSVD,
	"lu":           isLU,
	"eig":          isEig,
	"eigh":         isEigH,
	"deviation":    deviationNear,
}

// loose is the tolerance of products of factors.
const loose = 1e-4

// sortedNear is for the elements along an axis in any order.
func sortedNear(args vectorArgs, got, want []*Array) error {
	axis := args.int("axis")
	return near(got[0].Sort(axis), want[0].Sort(axis), 0)
}

// partitionNear is for the parts before, at and behind kth, each in any order.
func partitionNear(args vectorArgs, got, want []*Array) error {
	return partsNear(args, got[0], want[0])
}

func argPartitionNear(args vectorArgs, got, want []*Array) error {
	a, axis := args.array("a"), args.int("axis")
	if err := near(got[0].Sort(axis), a.ArgSort(axis).Sort(axis), 0); err != nil {
		return fmt.Errorf("not each position once: %w", err)
	}
	return partsNear(args, a.TakeAlongAxis(got[0], axis), a.TakeAlongAxis(want[0], axis))
}

func partsNear(args vectorArgs, got, want *Array) error {
	kth, axis := args.int("kth"), args.int("axis")
	n := got.Dim(axis)
	if kth < 0 {
		kth += n
	}
	for _, part := range [][2]int{{0, kth}, {kth, kth + 1}, {kth + 1, n}} {
		if part[0] == part[1] {
			continue
		}
		g, w := got.SliceAxis(axis, part[0], part[1]), want.SliceAxis(axis, part[0], part[1])
		if err := near(g.Sort(axis), w.Sort(axis), 0); err != nil {
			return fmt.Errorf("part %v: %w", part, err)
		}
	}
	return nil
}

// anyOrderNear is for complex numbers in any order along the last axis.
func anyOrderNear(_ vectorArgs, got, want []*Array) error {
	g, err := rowsInOrder(got[0])
	if err != nil {
		return err
	}
	w, err := rowsInOrder(want[0])
	if err != nil {
		return err
	}
	for i := range w {
		if !nearNumber(real(g[i]), real(w[i]), loose, 1) || !nearNumber(imag(g[i]), imag(w[i]), loose, 1) {
			return fmt.Errorf("%v, expected %v", g, w)
		}
	}
	return nil
}

func rowsInOrder(a *Array) ([]complex128, error) {
	v, err := numbersOf(a)
	n := a.Dim(-1)
	for i := 0; i+n <= len(v) && n > 0; i += n {
		slices.SortFunc(v[i:i+n], func(x, y complex128) int {
			if d := real(x) - real(y); d > 1e-3 || d < -1e-3 {
				return cmp.Compare(real(x), real(y))
			}
			return cmp.Compare(imag(x), imag(y))
		})
	}
	return v, err
}

// eye is the unit matrix in a's dtype, broadcast to the shape of square matrices a.
func eye(a *Array) *Array { return Identity(a.Dim(-1), a.Dtype()).BroadcastTo(a.Shape()...) }

func orthonormal(columns *Array) error {
	gram := columns.MatrixTranspose().MatMul(columns)
	if err := near(gram, eye(gram), loose); err != nil {
		return fmt.Errorf("columns are not orthonormal: %w", err)
	}
	return nil
}

func firstFault(faults ...error) error {
	for _, err := range faults {
		if err != nil {
			return err
		}
	}
	return nil
}

func isQR(args vectorArgs, got, want []*Array) error {
	q, r := got[0], got[1]
	return firstFault(orthonormal(q), near(q.MatMul(r), args.array("a"), loose), near(r, r.TriU(0), 0), near(r.Abs(), want[1].Abs(), loose))
}

func isSVD(args vectorArgs, got, want []*Array) error {
	u, sigma, vt := got[0], got[1], got[2]
	k := sigma.Dim(-1)
	product := u.SliceAxis(-1, 0, k).Mul(sigma.ExpandDims(-2)).MatMul(vt.SliceAxis(-2, 0, k))
	return firstFault(near(sigma, want[1], 0), orthonormal(u), orthonormal(vt.MatrixTranspose()), near(product, args.array("a"), loose))
}

// isLU: the factors are unique with partial pivoting, and their product is the matrix with its rows in order p.
func isLU(args vectorArgs, got, want []*Array) error {
	p := got[0].ExpandDims(-1)
	product := got[1].MatMul(got[2])
	ordered := args.array("a").TakeAlongAxis(p.BroadcastTo(product.Shape()...), -2)
	if err := near(ordered, product, loose); err != nil {
		return fmt.Errorf("L U is not the matrix in order p: %w", err)
	}
	return allNear(got, want, 0)
}

func isEig(args vectorArgs, got, want []*Array) error {
	values, vectors := got[0], got[1]
	left := args.array("a").AsType(Complex64).MatMul(vectors)
	lengths := vectors.Abs().Square().Sum(-2)
	return firstFault(anyOrderNear(args, got[:1], want[:1]), near(left, vectors.Mul(values.ExpandDims(-2)), loose), near(lengths, OnesLike(lengths), loose))
}

func isEigH(args vectorArgs, got, want []*Array) error {
	values, vectors := got[0], got[1]
	// Only the named triangle counts.
	a := args.array("a")
	half, other := a.TriL(0), a.TriL(-1).MatrixTranspose()
	if args.string("triangle") == "U" {
		half, other = a.TriU(0), a.TriU(1).MatrixTranspose()
	}
	left := half.Add(other).MatMul(vectors)
	return firstFault(near(values, want[0], 0), near(left, vectors.Mul(values.ExpandDims(-2)), loose), orthonormal(vectors))
}

// deviationNear is for draws around args["mean"] whose sign a decomposition decides.
func deviationNear(args vectorArgs, got, want []*Array) error {
	mean := args.array("mean")
	return near(got[0].Sub(mean).Abs(), want[0].Sub(mean).Abs(), loose)
}
