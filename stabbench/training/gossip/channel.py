"""What the methods share: the state of all workers, mixing with neighbours, sending and keeping.

The order in which a method uses them is in `methods`.
"""

import dataclasses
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from stabbench.arithmetic.streams import stream
from stabbench.errors import InputError
from stabbench.grammar import near
from stabbench.training.gossip import kernels
from stabbench.training.gossip.compressors import Compressor, Message, RandomK, Wire
from stabbench.training.gossip.formats import Formats
from stabbench.training.gossip.graphs import Mixing

Array = NDArray[Any]
Form = Literal["difference", "sum", "sum-complement"]
Accumulation = Literal["naive", "rounding-aware", "two-term", "kahan"]
Sender = Literal["rounded", "unrounded"]


@dataclasses.dataclass(frozen=True)
class Setting:
    """How workers exchange and keep numbers.

    Parameters
    ----------
    mixing : Mixing
    compressor : Compressor
    formats : Formats
    rate : float
        Learning rate gamma.
    consensus : float
        Consensus step eta.
    form : str
        How x is mixed: ``difference`` (sum of w_ij (r_ij - x_i), flows cancel bit for bit), ``sum``
        (sum of w_ij r_ij, w_ii rounded) or ``sum-complement`` (w_ii = 1 - sum of the others).
    accumulation : str
        What the memory keeps of z after c went: ``naive`` z - c; ``rounding-aware`` z - (x_new -
        x); ``two-term`` the same as a pair of numbers kept by TwoSum; ``kahan`` z - c, while x and
        all replicas are Kahan sums whose compensation counts as part of x.
    sender : str
        Whether the sender adds its message ``rounded`` to the wire, as all others do, or
        ``unrounded``, a fault that lets replicas part.
    """

    mixing: Mixing
    compressor: Compressor
    formats: Formats
    rate: float
    consensus: float = 1.0
    form: str = "difference"
    accumulation: str = "rounding-aware"
    sender: str = "rounded"

    def __post_init__(self) -> None:
        """Check words and numbers."""
        for key, choices in (
            ("form", get_args(Form)),
            ("accumulation", get_args(Accumulation)),
            ("sender", get_args(Sender)),
        ):
            value = getattr(self, key)
            if value not in choices:
                words = "mixing" if key == "form" else key
                raise InputError(f"{words}={value!r}; {near(value, choices)}")
        for key in ("rate", "consensus"):
            if not 0 < getattr(self, key) < float("inf"):
                raise InputError(f"{key}={getattr(self, key):g}; allowed are positive numbers")


@dataclasses.dataclass
class State:
    """The numbers of all workers, a row each.

    Attributes
    ----------
    x : float array, shape (n, d)
        Models.
    public : float array, shape (n, d)
        What every neighbour holds a replica of; `x` itself in most methods.
    replicas : float array, shape (slots, d)
        Slot s is a worker's copy of worker sender[s].
    e, e_low : float array, shape (n, d), optional
        The memory and its second term.
    carry, replica_carry : float array, optional
        Compensations of Kahan's sums.
    increment, descent : float array, shape (n, d)
        q - gamma g and gamma g as the last step formed them.
    z : float array, shape (n, d)
        What the last step compressed.
    message : Message, optional
        What the last step sent.
    """

    x: Array
    public: Array
    replicas: Array
    increment: Array
    descent: Array
    z: Array
    e: Array | None = None
    e_low: Array | None = None
    carry: Array | None = None
    replica_carry: Array | None = None
    message: Message | None = None

    @property
    def held(self) -> list[Array]:
        """The arrays that exact arithmetic would sum to x_0 + all increments."""
        parts = (self.x, self.carry, self.e, self.e_low)
        return [part for part in parts if part is not None]

    def private(self) -> Array:
        """The sum of what is held, in the float type of the arrays."""
        total = self.held[0]
        for part in self.held[1:]:
            total = total + part
        return total


class Channel:
    """A setting at work on n workers with d parameters each.

    Parameters
    ----------
    setting : Setting
    d : int
    seed : int
        Picks the random masks.

    Raises
    ------
    InputError
        If vectors of d entries cannot be compressed so.
    """

    def __init__(self, setting: Setting, d: int, seed: int) -> None:
        setting.compressor.check(d)
        formats, mixing = setting.formats, setting.mixing
        self.setting, self.d, self.n = setting, d, mixing.n
        self.work = formats.work
        self.model, self.memory = formats.code(formats.model), formats.code(formats.memory)
        self.wire = Wire(formats.code(formats.wire), formats.wire_bits)
        self.rng = stream("gossip masks", seed)
        self.start, self.sender = mixing.start, mixing.sender
        self.set_rate(setting.rate)
        self.eta = self.work.type(setting.consensus)
        self.weight = mixing.rounded(self.work)
        self.flow_weight = self.weight * self.eta
        self.own = mixing.diagonal(self.work, complement=setting.form == "sum-complement")

    def set_rate(self, rate: float) -> None:
        """Take another learning rate, rounded to the arithmetic."""
        self.rate = self.work.type(rate)

    def state(self, start: Array, *, memory: bool, separate: bool = False) -> State:
        """The state before the first step: every model and replica at a common point.

        Parameters
        ----------
        start : float array, shape (d,)
        memory : bool
            Whether the method has one.
        separate : bool
            Whether what neighbours copy is another array than the models.
        """
        x = np.tile(start.astype(self.work), (self.n, 1))
        kernels.store(x, self.model)
        kahan = self.setting.accumulation == "kahan"
        two = self.setting.accumulation == "two-term"
        replicas = x[self.sender]
        return State(
            x=x,
            public=x.copy() if separate else x,
            replicas=replicas,
            increment=np.zeros_like(x),
            descent=np.zeros_like(x),
            z=np.zeros_like(x),
            e=np.zeros_like(x) if memory else None,
            e_low=np.zeros_like(x) if memory and two else None,
            carry=np.zeros_like(x) if kahan else None,
            replica_carry=np.zeros_like(replicas) if kahan else None,
        )

    def mix(self, x: Array, replicas: Array, out: Array) -> Array:
        """Return q = eta (W - I) x as every worker sees it, in the form of the setting."""
        if self.setting.form == "difference":
            kernels.mix_difference(x, replicas, self.start, self.flow_weight, out)
        else:
            kernels.mix_sum(x, replicas, self.start, self.weight, self.own, self.eta, out)
        return out

    def descend(self, state: State, gradient: Array) -> None:
        """Form gamma g, and turn the q in `state.increment` into q - gamma g."""
        np.multiply(gradient, self.rate, out=state.descent)
        np.subtract(state.increment, state.descent, out=state.increment)

    def compress(self, z: Array, mask: NDArray[np.int64] | None = None) -> Message:
        """The messages of all workers, at a mask drawn before if there is one."""
        compressor = self.setting.compressor
        if mask is not None:
            assert isinstance(compressor, RandomK)
            return compressor.take(z, mask, self.wire)
        return compressor.compress(z, self.wire, self.rng)

    def post(self, state: State, z: Array, message: Message) -> tuple[Array, bool]:
        """Add the messages to what is public and to every replica of it.

        Returns
        -------
        moved : float array
            What each entry sent changed in the public numbers; the message where Kahan's sum keeps
            the rest.
        bounded : bool
        """
        state.message = message
        own = message
        if self.setting.sender == "unrounded":
            value = np.empty_like(message.value)
            kernels.gather(z, message.start, message.index, kernels.CARRIED, value)
            own = dataclasses.replace(message, value=value)
        parts = (message.start, message.index)
        if state.carry is not None:
            bounded = kernels.add_kahan(state.public, state.carry, *parts, own.value, self.model)
            kernels.add_replicas_kahan(
                state.replicas, state.replica_carry, self.sender, *parts, message.value, self.model
            )
            return own.value, bounded
        moved = np.empty_like(message.value)
        bounded = kernels.add(state.public, *parts, own.value, self.model, moved)
        kernels.add_replicas(state.replicas, self.sender, *parts, message.value, self.model)
        return moved, bounded

    def broadcast(self, state: State) -> None:
        """Give every neighbour a fresh copy of what is public."""
        np.take(state.public, self.sender, axis=0, out=state.replicas)

    def remember(self, state: State, mask: NDArray[np.int64] | None = None) -> bool:
        """One step with memory: z = e + increment, c = C(z), x += c, e = z - what went.

        Returns
        -------
        bool
            Whether all numbers stay bounded.
        """
        assert state.e is not None
        accumulation = self.setting.accumulation
        if accumulation == "two-term":
            return self._remember_two(state, mask)
        np.add(state.e, state.increment, out=state.z)
        message = self.compress(state.z, mask)
        moved, bounded = self.post(state, state.z, message)
        gone = moved if accumulation == "rounding-aware" else message.value
        kept = kernels.keep(state.z, message.start, message.index, gone, self.memory, state.e)
        return bool(bounded & kept)

    def _remember_two(self, state: State, mask: NDArray[np.int64] | None) -> bool:
        assert state.e is not None
        assert state.e_low is not None
        np.copyto(state.z, state.e)
        low = state.e_low.copy()
        kernels.add_exactly(state.z, low, state.increment)
        message = self.compress(state.z, mask)
        moved, bounded = self.post(state, state.z, message)
        kept = kernels.keep_two(
            state.z, low, message.start, message.index, moved, self.memory, state.e, state.e_low
        )
        return bool(bounded & kept)
