"""Counters for Prometheus, in its text format 0.0.4: calls, errors, times, sizes, saves, waits, open streams.

Nothing in it comes from a client or from the memory, except the names of existing tools. For one thread.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, Protocol

_BUCKETS: Final = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
"""Seconds: a small call takes one millisecond, a save some, a large answer some tenths of a second."""


class State(NamedTuple):
    """What a memory reports about itself, by name. `times` holds a count and the total number of seconds."""

    gauges: Mapping[str, int]
    counters: Mapping[str, int]
    times: Mapping[str, tuple[int, float]]


class Measured(Protocol):
    """A memory that reports its state."""

    def state(self) -> State: ...


class Metrics:
    def __init__(self) -> None:
        self._calls: Counter[tuple[str, str, str]] = Counter()
        self._times: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._refused: Counter[int] = Counter()
        self._sent = 0

    def count(self, memory: str, what: str, outcome: str, seconds: float, sent: int) -> None:
        """Count a finished call of a tool, or another method."""
        self._calls[memory, what, outcome] += 1
        self._seconds[what] += seconds  # type: ignore[assignment]
        self._sent += sent
        for bucket in _BUCKETS:
            if seconds <= bucket:
                self._times[what, bucket] += 1

    def refuse(self, status: int) -> None:
        self._refused[status] += 1

    async def text(self, in_flight: int, memories: Mapping[str, Measured]) -> str:
        """All metrics up to now."""
        lines = ["# TYPE memory_calls_total counter"]
        for (memory, what, outcome), count in sorted(self._calls.items()):
            lines.append(f'memory_calls_total{{memory="{memory}",call="{what}",outcome="{outcome}"}} {count}')
        lines.append("# TYPE memory_call_seconds histogram")
        totals: Counter[str] = Counter()
        for (_, what, _), count in self._calls.items():
            totals[what] += count
        for what, count in sorted(totals.items()):
            for bucket in _BUCKETS:
                found = self._times[what, bucket]
                lines.append(f'memory_call_seconds_bucket{{call="{what}",le="{bucket:g}"}} {found}')
            lines.append(f'memory_call_seconds_bucket{{call="{what}",le="+Inf"}} {count}')
            lines.append(f'memory_call_seconds_sum{{call="{what}"}} {self._seconds[what]:.6f}')
            lines.append(f'memory_call_seconds_count{{call="{what}"}} {count}')
        lines.append("# TYPE memory_refused_total counter")
        lines += [f'memory_refused_total{{status="{status}"}} {n}' for status, n in sorted(self._refused.items())]
        lines += ["# TYPE memory_sent_bytes_total counter", f"memory_sent_bytes_total {self._sent}"]
        lines += ["# TYPE memory_requests_in_flight gauge", f"memory_requests_in_flight {in_flight}"]
        lines += _states({name: memory.state() for name, memory in memories.items()})
        resident = _resident_bytes()
        if resident is not None:
            lines += ["# TYPE process_resident_memory_bytes gauge", f"process_resident_memory_bytes {resident}"]
        return "\n".join(lines) + "\n"


def _states(states: Mapping[str, State]) -> Iterator[str]:
    """Each figure of all memories; `states` is not empty, and all tell the same."""
    first = next(iter(states.values()))
    for key in first.gauges:
        yield f"# TYPE memory_{key} gauge"
        yield from (f'memory_{key}{{memory="{name}"}} {state.gauges[key]:d}' for name, state in states.items())
    for key in first.counters:
        yield f"# TYPE memory_{key}_total counter"
        yield from (f'memory_{key}_total{{memory="{name}"}} {state.counters[key]}' for name, state in states.items())
    for key in first.times:
        yield f"# TYPE memory_{key}_seconds summary"
        for name, state in states.items():
            count, seconds = state.times[key]
            yield f'memory_{key}_seconds_sum{{memory="{name}"}} {seconds:.6f}'
            yield f'memory_{key}_seconds_count{{memory="{name}"}} {count}'


def _resident_bytes() -> int | None:
    try:
        with open("/proc/self/statm", "rb") as facts:
            return int(facts.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return None
