"""What an error budget holds: the norms of the stages of one error."""

import dataclasses

STAGES = ("encode", "compute", "decode")
EVERY_STAGE = (*STAGES, "approximation")


@dataclasses.dataclass(frozen=True)
class Budget:
    """Norms of the stage errors, relative to the norm of the exact result.

    Attributes
    ----------
    encode : float
        Exact decoding of exact products of the rounded shares, against the exact result.
    compute : float
        What the rounding of the workers' products adds.
    decode : float
        What the rounding of the decoder adds.
    total : float
        The relative error of all entries; the vectors behind the norms of the stages add up to its
        vector exactly.
    standard_error : float
        0 where every entry entered the stages by itself. Where there are too many for that, they
        entered in sums of random sign, and this bounds the relative standard error of a stage's
        norm; see `stages.Sketch`.
    """

    encode: float
    compute: float
    decode: float
    total: float
    standard_error: float = 0.0

    @property
    def dominant(self) -> str:
        """The stage with the largest error."""
        return max(STAGES, key=lambda stage: float(getattr(self, stage)))


@dataclasses.dataclass(frozen=True)
class StageBudget(Budget):
    """A budget with a fourth stage.

    Attributes
    ----------
    approximation : float
        Exact decoding of exact replies to exact shares, against the exact result: the error of
        approximate codes, of weights or coefficients that are rounded, and of rounded powers
        whose products no longer align.
    """

    approximation: float = 0.0

    @property
    def dominant(self) -> str:
        """The stage with the largest error."""
        return max(EVERY_STAGE, key=lambda stage: float(getattr(self, stage)))
