"""Decoders by name."""

from stabbench.decoders.base import Decoder
from stabbench.grammar import Spec, bind, parse
from stabbench.plugins import Registry

DECODERS: Registry[Decoder] = Registry(
    noun="decoder",
    base=Decoder,  # type: ignore[type-abstract]
    modules=(
        "stabbench.decoders.dense",
        "stabbench.decoders.vandermonde",
        "stabbench.decoders.weights",
        "stabbench.decoders.peeling",
        "stabbench.decoders.fourier",
        "stabbench.decoders.barycentric",
        "stabbench.decoders.zigzag",
    ),
    group="stabbench.decoders",
    aliases={"lu": "solve", "qr": "lstsq"},
)


def decoder(text: str | Spec) -> Decoder:
    """Build the decoder that a grammar string names.

    Raises
    ------
    InputError
        Unknown name or parameter, or a value that is not allowed.

    Examples
    --------
    >>> decoder("bjorck-pereyra[order=leja]").spec
    'bjorck-pereyra'
    """
    spec = parse(text) if isinstance(text, str) else text
    built: Decoder = bind(DECODERS.find(spec), spec)
    return built
