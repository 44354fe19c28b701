"""The tables of what a case costs: numbers that are held and sent, operations, times."""

from collections.abc import Iterator, Sequence

from stabbench.report.entries import entries
from stabbench.report.table import Column, Table, table
from stabbench.report.tables import DATA, IDENTITY, identity
from stabbench.sweeps.case import Record

COST_NOTE = (
    "storage and sent are the most of one worker: real numbers that it holds over those of the "
    "coded operands, and sends over those of the answer; bytes in the stored format; received is "
    "the mean over survivor sets; operations are real ones, of encoding all shares, of the worker "
    "that has most to do, of decoding one survivor set, without planning"
)
TIMES_NOTE = (
    "medians of processor time over 3 to 5 repeats after a first call that is discarded; encode "
    "and compute are for all workers together; one set is the one of the worst error, alone; in a "
    "batch is the share of one survivor set; decode includes no planning"
)
OPERATIONS = ("encode", "worker", "decode_mean")
TIMES = ("encode", "compute", "plan_single", "decode_single", "plan_batch", "decode_batch")


def cost(records: Sequence[Record]) -> Iterator[Table]:
    """Storage, traffic and operations."""
    counted = [e for e in entries(records) if e.value("storage") is not None]
    if not counted:
        return
    columns = (
        *IDENTITY,
        Column("patterns", "patterns", "integer", 6),
        Column("storage", "storage", "share", 0),
        Column("sent", "sent", "share", 0),
        Column("bytes_stored", "bytes stored", "integer", 3),
        Column("bytes_sent", "bytes sent", "integer", 2),
        Column("bytes_received", "bytes received", "integer", 3),
        Column("encode", "operations: encode", "number", 4),
        Column("worker", "worker", "number", 4),
        Column("decode_mean", "decode", "number", 1),
        Column("digits_worst", "digits worst", "digits", 1),
        DATA,
    )
    rows = [
        identity(e)
        | {"patterns": e.record.measures.get("patterns"), "digits_worst": e.digits()}
        | {key: e.value(key) for key in ("storage", "sent")}
        | {key: e.most(key) for key in ("bytes_stored", "bytes_sent")}
        | {"bytes_received": whole(e.value("bytes_received", "mean"))}
        | {key: e.value("operations", key) for key in OPERATIONS}
        for e in counted
    ]
    yield table("cost", "Storage, traffic and operations", columns, rows, (COST_NOTE,))


def times(records: Sequence[Record]) -> Iterator[Table]:
    """Times of encoding, computing, planning and decoding."""
    timed = [e for e in entries(records) if e.seconds("decode_single") is not None]
    if not timed:
        return
    columns = (
        *IDENTITY,
        Column("encode", "encode", "seconds", 3),
        Column("compute", "compute", "seconds", 4),
        Column("plan_single", "plan one set", "seconds", 2),
        Column("decode_single", "decode one set", "seconds", 0),
        Column("low", "least", "seconds", 4),
        Column("high", "greatest", "seconds", 4),
        Column("repeats", "repeats", "integer", 5),
        Column("plan_batch", "plan in a batch", "seconds", 2),
        Column("decode_batch", "decode in a batch", "seconds", 0),
        Column("batch", "sets in a batch", "integer", 3),
        Column("digits_worst", "digits worst", "digits", 1),
        DATA,
    )
    rows = [
        identity(e)
        | {stage: e.seconds(stage) for stage in TIMES}
        | {field: e.seconds("decode_single", field) for field in ("low", "high")}
        | {"repeats": whole(e.seconds("decode_single", "repeats"))}
        | {"batch": whole(e.value("seconds", "batch")), "digits_worst": e.digits()}
        for e in timed
    ]
    yield table("times", "Times", columns, rows, (TIMES_NOTE,))


def whole(value: float | None) -> int | None:
    """The nearest integer.

    Examples
    --------
    >>> whole(2.6), whole(None)
    (3, None)
    """
    return None if value is None else round(value)
