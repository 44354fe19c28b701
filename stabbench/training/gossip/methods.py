"""The methods: one step of all workers of D-PSGD, naive, DCD, CHOCO, DeepSqueeze and ECSD.

What they share is in `channel`; the loop over steps is in `simulate`.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from stabbench.errors import InputError
from stabbench.grammar import bind, canonical, near, parse
from stabbench.training.gossip import kernels
from stabbench.training.gossip.channel import Channel, Setting, State
from stabbench.training.gossip.compressors import Everything, RandomK

Array = NDArray[Any]
Gradient = Callable[[Array], Array]


@dataclasses.dataclass(frozen=True)
class Method(ABC):
    """A method of decentralized training."""

    name: ClassVar[str]
    source: ClassVar[str]
    accumulations: ClassVar[tuple[str, ...]] = ("naive",)
    """Allowed accumulations; the first is the default."""
    full_step: ClassVar[bool] = True
    """Whether eta = 1 is the method's own consensus step, whatever the compressor."""
    private_gradient: ClassVar[bool] = False

    def check(self, setting: Setting) -> None:
        """Refuse settings that the method does not have.

        Raises
        ------
        InputError
            An accumulation, compressor or sender that has no meaning here.
        """
        if setting.accumulation not in self.accumulations:
            raise InputError(
                f"method {self.name}: accumulation={setting.accumulation!r}; "
                f"{near(setting.accumulation, self.accumulations)}"
            )
        if setting.sender == "unrounded" and not setting.compressor.masking:
            raise InputError(
                f"method {self.name}: sender='unrounded' with {setting.compressor.name}; "
                "allowed with sparsifiers"
            )

    @abstractmethod
    def state(self, channel: Channel, start: Array) -> State:
        """The state before the first step."""

    @abstractmethod
    def step(self, channel: Channel, state: State, gradient: Gradient) -> bool:
        """Advance all workers by one step; whether all numbers stay bounded."""

    def held(self, state: State) -> list[Array]:
        """The arrays that exact arithmetic would sum to x_0 + all increments if none is lost."""
        return state.held

    def memory(self, state: State) -> Array | None:
        """What was not sent yet, if the method keeps it."""
        return state.e


class DPsgd(Method):
    """x_i <- sum_j W_ij x_j - gamma g_i; models are sent whole."""

    name = "d-psgd"
    source = "X. Lian and others, NeurIPS 2017"

    def check(self, setting: Setting) -> None:
        """Refuse compressors; see `Method.check`."""
        super().check(setting)
        if not isinstance(setting.compressor, Everything):
            raise InputError(
                f"method d-psgd: compressor {setting.compressor.name!r}; allowed is none"
            )
        _refuse_unrounded(self, setting)

    def state(self, channel: Channel, start: Array) -> State:
        """The state before the first step."""
        state = channel.state(start, memory=False, separate=True)
        kernels.store(state.public, channel.wire.code)
        channel.broadcast(state)
        return state

    def step(self, channel: Channel, state: State, gradient: Gradient) -> bool:
        """Mix what is public, descend, publish the new models."""
        channel.mix(state.public, state.replicas, state.increment)
        channel.descend(state, gradient(state.x))
        np.add(state.x, state.increment, out=state.x)
        kernels.store(state.x, channel.model)
        np.copyto(state.public, state.x)
        kernels.store(state.public, channel.wire.code)
        channel.broadcast(state)
        state.message = None
        return _bounded(state.x)


class Naive(Method):
    """x_i <- sum_j W_ij C(x_j) - gamma g_i: the models themselves are compressed."""

    name = "naive"
    source = "the baseline that H. Tang and others, NeurIPS 2018, show to fail"

    def check(self, setting: Setting) -> None:
        """See `Method.check`."""
        super().check(setting)
        _refuse_unrounded(self, setting)

    def state(self, channel: Channel, start: Array) -> State:
        """The state before the first step."""
        return channel.state(start, memory=False, separate=True)

    def step(self, channel: Channel, state: State, gradient: Gradient) -> bool:
        """Send C(x), mix what was sent, descend."""
        np.copyto(state.z, state.x)
        message = state.message = channel.compress(state.z)
        message.dense(state.x.shape, out=state.public)
        channel.broadcast(state)
        channel.mix(state.public, state.replicas, state.increment)
        channel.descend(state, gradient(state.x))
        np.add(state.increment, state.public - state.x, out=state.increment)
        np.add(state.x, state.increment, out=state.x)
        kernels.store(state.x, channel.model)
        return _bounded(state.x)


class Dcd(Method):
    """x_i <- x_i + C(q_i - gamma g_i): the update is compressed, what is left out is lost."""

    name = "dcd"
    source = "DCD-PSGD: H. Tang, S. Gan, C. Zhang, T. Zhang, J. Liu, NeurIPS 2018"
    accumulations = ("naive", "kahan")

    def state(self, channel: Channel, start: Array) -> State:
        """The state before the first step."""
        return channel.state(start, memory=False)

    def step(self, channel: Channel, state: State, gradient: Gradient) -> bool:
        """Mix replicas, descend, send the compressed update."""
        channel.mix(state.x, state.replicas, state.increment)
        channel.descend(state, gradient(state.x))
        np.copyto(state.z, state.increment)
        return channel.post(state, state.z, channel.compress(state.z))[1]


@dataclasses.dataclass(frozen=True)
class Choco(Method):
    """Private x, public copies p: p += C(x - p), x += eta sum_j W_ij (p_j - p_i) - gamma g.

    Parameters
    ----------
    order : str
        ``gossip-first`` mixes the copies of the step before; ``compress-first`` takes the gradient,
        compresses, and mixes the new copies, as the paper does.
    """

    order: Literal["gossip-first", "compress-first"] = dataclasses.field(
        default="gossip-first", metadata={"help": "which copies are mixed"}
    )

    name: ClassVar[str] = "choco"
    source: ClassVar[str] = "CHOCO-SGD: A. Koloskova, S. U. Stich, M. Jaggi, ICML 2019"
    full_step: ClassVar[bool] = False
    private_gradient: ClassVar[bool] = True

    def state(self, channel: Channel, start: Array) -> State:
        """The state before the first step."""
        return channel.state(start, memory=False, separate=True)

    def step(self, channel: Channel, state: State, gradient: Gradient) -> bool:
        """One step in the order of `order`."""
        return self._gossip(channel, state, gradient) & _bounded(state.x)

    def memory(self, state: State) -> Array:
        """The difference of private and public models."""
        return state.x - state.public

    def _gossip(self, channel: Channel, state: State, gradient: Gradient) -> bool:
        if self.order == "gossip-first":
            channel.mix(state.public, state.replicas, state.increment)
            channel.descend(state, gradient(state.x))
            np.add(state.x, state.increment, out=state.x)
            kernels.store(state.x, channel.model)
            np.subtract(state.x, state.public, out=state.z)
            return channel.post(state, state.z, channel.compress(state.z))[1]
        slope = gradient(state.x)
        half = state.x - slope * channel.rate
        np.subtract(half, state.public, out=state.z)
        bounded = channel.post(state, state.z, channel.compress(state.z))[1]
        channel.mix(state.public, state.replicas, state.increment)
        channel.descend(state, slope)
        np.add(state.x, state.increment, out=state.x)
        kernels.store(state.x, channel.model)
        return bounded


class DeepSqueeze(Method):
    """v = x - gamma g + e, c = C(v), e = v - c, x <- x - gamma g + eta sum_j W_ij (c_j - c_i)."""

    name = "deepsqueeze"
    source = "H. Tang, X. Lian and others, arXiv:1907.07346, 2019"
    full_step = False

    def check(self, setting: Setting) -> None:
        """See `Method.check`."""
        super().check(setting)
        _refuse_unrounded(self, setting)

    def state(self, channel: Channel, start: Array) -> State:
        """The state before the first step."""
        return channel.state(start, memory=True, separate=True)

    def held(self, state: State) -> list[Array]:
        """The models alone: the memory delays what is mixed, not the models."""
        return [state.x]

    def step(self, channel: Channel, state: State, gradient: Gradient) -> bool:
        """Compress the model with the memory, mix what was sent."""
        assert state.e is not None
        slope = gradient(state.x)
        np.subtract(state.x, slope * channel.rate, out=state.z)
        np.add(state.z, state.e, out=state.z)
        message = state.message = channel.compress(state.z)
        bounded = kernels.keep(
            state.z, message.start, message.index, message.value, channel.memory, state.e
        )
        message.dense(state.x.shape, out=state.public)
        channel.broadcast(state)
        channel.mix(state.public, state.replicas, state.increment)
        channel.descend(state, slope)
        np.add(state.x, state.increment, out=state.x)
        kernels.store(state.x, channel.model)
        return bool(bounded) & _bounded(state.x)


@dataclasses.dataclass(frozen=True)
class Ecsd(Method):
    """z = e + q - gamma g, c = C(z), x += c, e = z - what x took: the update sent is compensated.

    A reconstruction from the abstract of "Error-Compensated Sparsification for
    Communication-Efficient Decentralized Training in Edge Environment"; the paper's listing is not
    public. It sends the sparsified update, compensates it, takes every ratio, and has the rate of
    the method without sparsification.

    Parameters
    ----------
    variant : str
        ``full``; or ``targeted``: only the gradient part is remembered, the mixing of coordinates
        that are not sent is dropped, which needs one random mask for all workers.
    gradient : str
        Where the gradient is taken: ``public`` at x, ``private`` at x + e, ``lookahead`` at
        x + e + q.
    """

    variant: Literal["full", "targeted"] = dataclasses.field(
        default="full", metadata={"help": "what is remembered"}
    )
    gradient: Literal["public", "private", "lookahead"] = dataclasses.field(
        default="public", metadata={"help": "where the gradient is taken"}
    )

    name: ClassVar[str] = "ecsd"
    source: ClassVar[str] = "reconstructed from IEEE TPDS 33(1), 2022, 10.1109/TPDS.2021.3084104"
    accumulations: ClassVar[tuple[str, ...]] = ("rounding-aware", "naive", "two-term", "kahan")
    full_step: ClassVar[bool] = False

    @property
    def private_gradient(self) -> bool:  # type: ignore[override]
        """Whether the gradient is not taken at the public model."""
        return self.gradient != "public"

    def check(self, setting: Setting) -> None:
        """Refuse a targeted memory without one random mask; see `Method.check`."""
        super().check(setting)
        masks = isinstance(setting.compressor, RandomK) and setting.compressor.shared
        if self.variant == "targeted" and not masks:
            raise InputError(
                f"method ecsd[variant=targeted]: compressor {setting.compressor.name!r}; "
                "allowed is rand-k[shared=true]"
            )

    def state(self, channel: Channel, start: Array) -> State:
        """The state before the first step."""
        return channel.state(start, memory=True)

    def step(self, channel: Channel, state: State, gradient: Gradient) -> bool:
        """Mix replicas, descend, send what the memory and the increment make."""
        mask = None
        channel.mix(state.x, state.replicas, state.increment)
        if self.variant == "targeted":
            compressor = channel.setting.compressor
            assert isinstance(compressor, RandomK)
            mask = compressor.mask(channel.n, channel.d, channel.rng)
            admitted = np.take(state.increment, mask[0], axis=1)
            state.increment[:] = 0
            state.increment[:, mask[0]] = admitted
        point = state.x
        if self.gradient != "public":
            point = state.private()
            if self.gradient == "lookahead":
                point = point + state.increment
        channel.descend(state, gradient(point))
        return channel.remember(state, mask)


def _bounded(x: Array) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(max(x.max(), -x.min()) <= kernels.CEILING)


def _refuse_unrounded(method: Method, setting: Setting) -> None:
    if setting.sender == "unrounded":
        raise InputError(f"method {method.name}: sender='unrounded'; allowed is rounded")


METHODS: dict[str, type[Method]] = {
    method.name: method for method in (DPsgd, Naive, Dcd, Choco, DeepSqueeze, Ecsd)
}


def method(text: str) -> Method:
    """The method that a grammar string names.

    Raises
    ------
    InputError
        Unknown name or parameter.

    Examples
    --------
    >>> method("ecsd[gradient=private]").private_gradient
    True
    """
    spec = parse(text)
    if spec.name not in METHODS:
        raise InputError(f"unknown method {spec.name!r}; {near(spec.name, METHODS)}")
    return bind(METHODS[spec.name], spec)


def method_spec(text: str) -> str:
    """The grammar string of a method with every parameter."""
    built = method(text)
    return canonical(built, built.name, full=True)
