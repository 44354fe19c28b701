"""Decoders by name."""

from stabbench.codes.base import Code
from stabbench.decoders.base import Decoder
from stabbench.errors import InputError
from stabbench.grammar import Spec, bind, parse
from stabbench.plugins import Registry, note_inputs

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


USUAL = ("solve", "zigzag", "weights", "peeling", "closed-form", "barycentric", "fft")
"""Names of decoders in the order in which the usual one of a code is looked for."""


def usual_decoder(code: Code) -> Decoder:
    """The decoder that users of a code expect if they name none.

    Raises
    ------
    InputError
        If no decoder accepts the code.

    Examples
    --------
    >>> from stabbench.codes.registry import code
    >>> usual_decoder(code("gaussian", 6, 2)).spec, usual_decoder(code("shift-add", 6, 2)).spec
    ('solve', 'zigzag')
    """
    order = reversed(USUAL) if getattr(code, "approximate", False) else USUAL
    for name in order:
        found = decoder(name)
        if not found.accepts(code):
            return found
    raise InputError(f"{code.spec}: no decoder accepts it; name one with a decoder of your own")


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
    note_inputs(built)
    return built
