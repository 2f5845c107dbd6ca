"""The race as a moving picture: an SVG for README.md, drawn from a recorded race and moved by CSS alone.

It lasts ten seconds and then begins again. The fast crawls are shown in slow motion. Then time runs fast until the slow
crawls end; what they fetch in that part is hatched. A viewer that does not animate shows the end, as does one whose
reader asked for less motion.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate, pairwise

from inflight.bench import units
from inflight.bench.race.lanes import Lane, Race
from inflight.bench.show.looks import look
from tools.document.stored import Runs
from tools.document.values import race

PICTURE = "docs/pictures/race.svg"
SECONDS = 10
LONG = 5
"""A crawl is slow if it takes this many times as long as the fastest one."""
START, SLOW_END, FAST_START, FAST_END = 4.0, 60.0, 66.0, 94.0
"""Percent of the ten seconds: the slow motion, and the fast part after it."""
WIDTH, TOP, ROW, BAR, FOOT = 640, 104, 38, 24, 12
LEFT, RIGHT = 172, 528
"""Where the bars begin and end."""
TICKS = 18
"""Maximum number of steps of the clock in each part."""
STYLE = f"""
text{{font:18px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}}
.big{{font-size:20px;font-weight:600}}.grey{{fill:#59636e}}.end{{text-anchor:end}}.time{{font-weight:600}}
.slow,.fast,.clock{{opacity:0}}
.bar,.cover{{transform-box:fill-box}}.bar{{transform-origin:0 50%}}
.cover{{transform-origin:100% 50%;transform:scaleX(0)}}
@media (prefers-reduced-motion:no-preference){{
.still{{opacity:0}}.clock{{opacity:1}}
.bar,.cover,.time,.clock,.slow,.fast{{animation:{SECONDS}s linear infinite}}
"""


@dataclass(frozen=True, slots=True)
class Film:
    """Where each time of the race is in the ten seconds."""

    slow_ns: int
    """The end of the slow motion: that of the last fast crawl."""
    end_ns: int
    """The end of the last crawl."""

    @property
    def has_fast_part(self) -> bool:
        """Whether some crawls take so long that their end is shown in a fast part."""
        return self.end_ns > self.slow_ns

    @property
    def slow_end(self) -> float:
        """The end of the slow motion in percent."""
        return SLOW_END if self.has_fast_part else FAST_END

    @property
    def slower(self) -> float:
        """How many times slower than real the slow motion is."""
        return SECONDS * 1e9 * (self.slow_end - START) / 100 / self.slow_ns

    @property
    def faster(self) -> float:
        """How many times faster than real the fast part is."""
        return (self.end_ns - self.slow_ns) / (SECONDS * 1e9 * (FAST_END - FAST_START) / 100)

    def percent(self, at_ns: float) -> float:
        """Return when a time of the race is shown, in percent of the ten seconds."""
        if at_ns <= self.slow_ns:
            return START + (self.slow_end - START) * at_ns / self.slow_ns
        return FAST_START + (FAST_END - FAST_START) * (at_ns - self.slow_ns) / (self.end_ns - self.slow_ns)


def picture(runs: Runs) -> str:
    """Return the first race of the newest run of ``race`` as an SVG. Raises DocumentError."""
    return drawn(race(runs.newest("race")))


def drawn(race: Race) -> str:
    """Return a race as an SVG."""
    lanes = _finishers(race)
    fast = [lane.end_ns for lane in lanes if lane.end_ns < LONG * lanes[0].end_ns]
    film = Film(max(fast), lanes[-1].end_ns)
    fast_caption = ""
    if film.has_fast_part:
        faster = units.times(film.faster)
        fast_caption = f'<text class="grey fast" x="16" y="86">fast motion, {faster} faster than real</text>\n'
    height = TOP + ROW * len(lanes) + FOOT
    moves = "\n".join(line for number, lane in enumerate(lanes) for line in _moves(number, lane, race.pages, film))
    bars = "\n".join(line for number, lane in enumerate(lanes) for line in _lane(number, lane, race.pages, film))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="t d">
<title id="t">{escape(_title(race))}</title>
<desc id="d">{escape(described(race))}</desc>
<style>{STYLE}{_captions(film)}
{moves}
}}</style>
<defs><pattern id="h" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="4" height="8" fill="#fff" fill-opacity=".7"/></pattern></defs>
<rect width="{WIDTH}" height="{height}" rx="8" fill="#fff"/>
<text class="big" x="16" y="32">{escape(_title(race))}</text>
<text class="grey" x="16" y="58">{escape(_in_flight(race))}</text>
<text class="grey still" x="16" y="86">time until all were fetched:</text>
<text class="grey slow" x="16" y="86">slow motion, {units.times(film.slower)} slower than real</text>
{fast_caption}{_clock(film)}
{bars}
</svg>
"""


def _finishers(race: Race) -> list[Lane]:
    return [lane for lane in race.lanes if lane.rank is not None]


def described(race: Race) -> str:
    """Say how the race ended, in one sentence."""
    return "; ".join(f"{lane.name}: {units.duration(lane.end_ns)}" for lane in _finishers(race)) + "."


def _title(race: Race) -> str:
    latency = race.lanes[0].row.workload.latency
    latency = "without added latency" if latency == "0" else f"with {units.latency(latency)} of latency"
    return f"{units.count(race.pages)} pages from a site {latency}"


def _in_flight(race: Race) -> str:
    most = max(lane.in_flight for lane in race.lanes)
    alone = [lane.name for lane in race.lanes if lane.in_flight == 1 < most]
    text = f"up to {units.count(most)} fetches in flight"
    if alone:
        text += f"; {', '.join(alone)}: 1"
    return text


# Each lane


def _lane(number: int, lane: Lane, pages: int, film: Film) -> Iterator[str]:
    y, colour = TOP + ROW * number, look(lane.row.arm).colour
    place = f'x="{LEFT}" y="{y}" height="{BAR}" rx="3"'
    long = RIGHT - LEFT
    yield f'<text x="16" y="{y + 18}">{escape(lane.name)}</text>'
    yield f'<rect {place} width="{long}" fill="#eaeef2"/>'
    if lane.end_ns > film.slow_ns:
        yield f'<rect {place} width="{long}" fill="{colour}"/><rect {place} width="{long}" fill="url(#h)"/>'
        yield f'<rect class="cover c{number}" {place} width="{long}" fill="#eaeef2"/>'
    solid = long * lane.at(film.slow_ns)[0] / pages
    yield f'<rect class="bar b{number}" {place} width="{_short(solid)}" fill="{colour}"/>'
    yield f'<text class="time t{number}" x="{RIGHT + 10}" y="{y + 18}">{units.duration(lane.end_ns)}</text>'


def _moves(number: int, lane: Lane, pages: int, film: Film) -> Iterator[str]:
    """Return the animations of one lane: its bar, the cover over its hatched part, the time at its end."""
    before = min(lane.end_ns, film.slow_ns)
    most = max(1, lane.at(before)[0])
    steps = [(film.percent(at_ns), min(1.0, done / most)) for at_ns, done in _corners(lane, before)]
    yield _keyframes(f"b{number}", [(START, 0.0), *steps, (100.0, 1.0)], "scaleX")
    if lane.end_ns > film.slow_ns:
        left = 1 - most / pages
        ends = [(film.slow_end, 1.0), (FAST_START, left), (film.percent(lane.end_ns), 0.0), (100.0, 0.0)]
        yield _keyframes(f"c{number}", [(START, 1.0), *ends], "scaleX")
    share = film.percent(lane.end_ns)
    yield f".t{number}{{animation-name:t{number}}}"
    yield f"@keyframes t{number}{{0%,{_short(share)}%{{opacity:0}}{_short(share + 0.1)}%,100%{{opacity:1}}}}"


def _corners(lane: Lane, until_ns: int) -> Iterator[tuple[float, int]]:
    """Return (time, pages done) where the number of pages begins or ends to grow."""
    sums = [0, *accumulate(lane.completions)]
    times = [min(until_ns, place * lane.bin_ns) for place in range(len(sums))]
    for place, (before, after) in enumerate(pairwise(lane.completions), start=1):
        if times[place] < until_ns and before != after:
            yield times[place], sums[place]
    yield until_ns, lane.at(until_ns)[0]


def _keyframes(name: str, steps: Sequence[tuple[float, float]], what: str) -> str:
    frames = {_short(percent): _short(value) for percent, value in [(0.0, steps[0][1]), *steps]}
    moves = "".join(f"{percent}%{{transform:{what}({value})}}" for percent, value in frames.items())
    return f".{name}{{animation-name:{name}}}@keyframes {name}{{{moves}}}"


# Captions and clock


def _captions(film: Film) -> str:
    """Return the animations of the captions and of the clock, which is a strip of texts that moves up."""
    slow = _shown_between("slow", 0.0, film.slow_end)
    fast = _shown_between("fast", FAST_START, 100.0)
    frames = {_short(film.percent(at_ns)): -ROW * place for place, at_ns in enumerate(_ticks(film))}
    steps = [("0", 0), *frames.items(), ("100", min(frames.values()))]
    moves = "".join(f"{percent}%{{transform:translateY({y}px)}}" for percent, y in steps)
    clock = f".clock{{animation-name:clock;animation-timing-function:steps(1)}}@keyframes clock{{{moves}}}"
    return f"{slow}\n{fast}\n{clock}"


def _shown_between(name: str, begin: float, end: float) -> str:
    ends = (0.0, begin - 0.1, end + 0.1, 100.0)
    hidden = [percent for percent in ends if 0 <= percent < begin or end < percent <= 100]
    outside = ",".join(f"{_short(percent)}%" for percent in hidden)
    inside = f"{_short(begin)}%,{_short(end)}%"
    return f".{name}{{animation-name:{name}}}@keyframes {name}{{{inside}{{opacity:1}}{outside}{{opacity:0}}}}"


def _clock(film: Film) -> str:
    ticks = _ticks(film)
    texts = "".join(
        f'<text class="big end" x="120" y="{24 + ROW * place}">{units.duration_tick(at_ns) if at_ns else "0 ms"}</text>'
        for place, at_ns in enumerate(ticks)
    )
    moved = f'transform="translate(0 {-ROW * (len(ticks) - 1)})"'
    return f'<svg x="{WIDTH - 136}" y="62" width="120" height="{ROW - 6}"><g class="clock" {moved}>{texts}</g></svg>'


def _ticks(film: Film) -> list[int]:
    """Return the times that the clock shows: round ones in both parts, and the ends of both."""
    parts = [(0, film.slow_ns), (film.slow_ns, film.end_ns)]
    inner = [time for begin, end in parts if begin < end for time in _round_between(begin, end)]
    return sorted({0, *inner, film.slow_ns, film.end_ns})


def _round_between(begin: int, end: int) -> range:
    """Return the round times between two, at most TICKS of them."""
    scale = 10 ** (len(str(end - begin)) - 3)
    step = next(size * scale for size in (1, 2, 5, 10, 20, 50, 100) if (end - begin) / (size * scale) <= TICKS)
    return range((begin // step + 1) * step, end, step)


def _short(value: float) -> str:
    """Write a number with three decimals at most."""
    return f"{value:.3f}".rstrip("0").rstrip(".")
