"""One code at work on row blocks of matrices: encode, what is sent, decode, and what that costs."""

import functools
from typing import Any

import numpy as np

from stabbench.arithmetic.precision import Precision, precision
from stabbench.codes.base import Code
from stabbench.codes.operators import Dense, Operator
from stabbench.decoders.base import Decoder, Plan
from stabbench.problems.base import cut

Array = np.ndarray[Any, np.dtype[Any]]


class Coding:
    """A code with its decoder in a precision; matrices of any number of rows are padded.

    Parameters
    ----------
    code : Code
        A code for matrix-vector products.
    decoder : Decoder
    precision : Precision

    Attributes
    ----------
    blocks : int
        Row blocks that a matrix is cut into.
    workers : int
    owner : int array, shape (rows,)
        The worker of each coded block.

    Examples
    --------
    >>> import stabbench as sb
    >>> from stabbench.arithmetic.precision import precision
    >>> from stabbench.decoders.registry import decoder
    >>> code = sb.code("polynomial[nodes=integers]", n=3, stragglers=1)
    >>> coding = Coding(code, decoder("solve"), precision("float64"))
    >>> shares = coding.encode(np.array([[1.0], [2.0], [3.0]]))
    >>> shares.shape
    (3, 2, 1)
    >>> coding.decode(shares, np.array([0, 1, 1], dtype=np.int8), rows=3).ravel().round(9).tolist()
    [1.0, 2.0, 3.0]
    """

    def __init__(self, code: Code, decoder: Decoder, precision: Precision) -> None:
        self.code = code
        self.decoder = decoder
        self.precision = precision
        self.system = code.system("matvec")
        self.encoder: Operator = self.system.encoders[0]
        self.blocks = self.encoder.unknowns
        self.workers = code.n
        self.owner = self.system.owner
        self._plan = functools.lru_cache(maxsize=4096)(self._make_plan)
        self._factored = functools.lru_cache(maxsize=8)(self._make_factored)

    def length(self, rows: int) -> int:
        """Rows of one block of a matrix."""
        return -(-rows // self.blocks)

    def encode(self, matrix: Array) -> Array:
        """Coded blocks, shape (coded blocks, rows of the longest, columns), as stored."""
        return self.encoder.apply(cut(matrix, self.blocks), self.precision)

    def lengths(self, rows: int) -> list[int]:
        """Rows of each coded block of a matrix that are stored and sent."""
        length = self.length(rows)
        return [round(part * length) for part in self.encoder.overhead(length)]

    def parts(self, coded: Array, rows: int) -> list[Array]:
        """The coded blocks, or the replies of their owners, without the rows that nobody sends."""
        return [block[:size] for block, size in zip(coded, self.lengths(rows), strict=True)]

    def arrived(self, pattern: Array) -> Array:
        """Numbers of the coded blocks whose replies arrive."""
        return np.flatnonzero(pattern[self.owner])

    def decode(self, replies: Array, pattern: Array, rows: int) -> Array:
        """The product from the replies of the survivors.

        Parameters
        ----------
        replies : array, shape (coded blocks, rows of the longest, columns)
        pattern : int8 array, shape (n,)
        rows : int
            Rows of the product, without padding.

        Returns
        -------
        array, shape (rows, columns), in decoding precision; complex for complex codes
        """
        estimate: Array = self._plan(pattern.tobytes()).decode(replies)[0]
        return estimate.reshape(-1, replies.shape[2])[:rows]

    def _make_plan(self, pattern: bytes) -> Plan:
        table = np.frombuffer(pattern, dtype=np.int8)[None]
        return self.decoder.plan(self.code, self.system, table, self.precision, "use")

    def factored(self, rows: int) -> tuple[Array, Array, Array]:
        """The encoding of a matrix as a real matrix A = Q R, where Q has orthonormal columns.

        A takes blocks to the coded blocks of all workers where every row of a block is encoded
        alike (`Dense`), else all rows of the blocks, below each other, to those of the coded
        blocks. Real parts stand above imaginary ones.

        Parameters
        ----------
        rows : int
            Rows of the matrix, without padding.

        Returns
        -------
        A, Q, R : arrays
            A as stored, Q and R in float64.
        """
        return self._factored(self.length(rows) if not isinstance(self.encoder, Dense) else 1)

    def _make_factored(self, length: int) -> tuple[Array, Array, Array]:
        if isinstance(self.encoder, Dense):
            matrix = real_blocks(self.encoder.matrix(self.precision))
        else:
            unknowns = self.blocks * length
            blocks = np.eye(unknowns).reshape(self.blocks, length, unknowns)
            coded = self.encoder.apply(blocks, precision("float64"))
            matrix = np.concatenate(self.parts(coded, unknowns))
        return matrix, *np.linalg.qr(matrix.astype(np.float64))

    def encode_flops(self, rows: int, columns: int) -> float:
        """Additions and multiplications of encoding a matrix; factors 1 cost nothing."""
        return combination_flops(self.encoder) * self.length(rows) * columns

    def decode_flops(self, pattern: Array, rows: int, columns: int) -> float:
        """Additions and multiplications of decoding, by the operation counts of the decoder."""
        received = int(pattern[self.owner].sum())
        return decoding_flops(self.decoder, received, self.blocks, self.length(rows) * columns)


def real_blocks(coded: Array) -> Array:
    """Complex blocks as real ones: real parts, then imaginary ones. Real blocks stay as they are.

    Examples
    --------
    >>> real_blocks(np.array([[1.0 + 2.0j]])).tolist()
    [[1.0], [2.0]]
    """
    return np.concatenate([coded.real, coded.imag]) if coded.dtype.kind == "c" else coded


def combination_flops(encoder: Operator) -> float:
    """Operations per entry of one data block: a product per factor other than 1, then a sum.

    Examples
    --------
    >>> from stabbench.arithmetic.coefficients import Coefficients
    >>> combination_flops(Dense(Coefficients.from_array(np.array([[1.0, 0.0], [1.0, 2.0]]))))
    2.0
    """
    if isinstance(encoder, Dense):
        factors = encoder.coefficients.rounded("float64")
    else:
        factors = shift_table(encoder) >= 0
    held = factors != 0
    products = (held & (factors != 1)).sum()
    return float(products + np.maximum(held.sum(axis=1) - 1, 0).sum())


def shift_table(encoder: Operator) -> Array:
    """The shifts of a shift-and-add encoder, -1 where a worker does not hold a block.

    Raises
    ------
    TypeError
        If the operator has none.
    """
    table = getattr(encoder, "table", None)
    if table is None:
        raise TypeError(f"no operation count for operators of type {type(encoder).__name__}")
    return np.asarray(table)


def decoding_flops(decoder: Decoder, received: int, k: int, sides: int) -> float:
    """Additions and multiplications of decoding `sides` right-hand sides.

    Leading terms of the operation counts of LU, inverse, QR, refinement and Bjorck-Pereyra; k (k -
    1) subtractions per column for a zigzag; a product with the decoding matrix for anything else.

    Examples
    --------
    >>> from stabbench.decoders.registry import decoder
    >>> decoding_flops(decoder("solve"), 4, 4, 100) > decoding_flops(
    ...     decoder("exact-weights"), 4, 4, 100
    ... )
    True
    """
    r = received
    qr = 2 * k**2 * (r - k / 3) + (4 * r * k - k**2) * sides
    lu = 2 * k**3 / 3 + 2 * k**2 * sides
    steps = getattr(decoder, "steps", 0)
    counts = {
        "solve": lu,
        "inverse": 2 * k**3 + 2 * k**2 * sides,
        "lstsq": qr,
        "refined": lu + steps * (4 * k**2 + k) * sides,
        "bjorck-pereyra": (k**2 - k) + 2 * (k**2 - k) * sides,
        "zigzag": (k**2 - k) * sides,
    }
    if r > k and decoder.name in ("solve", "inverse", "refined"):
        return float(qr)
    return float(counts.get(decoder.name, 2 * k * r * sides))
