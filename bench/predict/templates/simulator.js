// The simulator: predicts pages/s from measured costs. Reads #simulator-data; writes text and SVG, never markup.
// The formula is that of frame/statistics.py; a test compares the two.
(() => {
  "use strict";
  const source = document.getElementById("simulator-data");
  const section = document.getElementById("simulator");
  if (!source || !section) return;
  const data = JSON.parse(source.textContent);
  const $ = (id) => document.getElementById(`sim-${id}`);
  const SVG = "http://www.w3.org/2000/svg";
  const SLIDERS = ["latency", "work", "number"];
  const [MS, S] = [1e6, 1e9];
  const HALVINGS = 60;
  const LETTER = 7.2; // mean width of a letter of the curves' names, in pixels
  const MOST = 10000; // the largest number in flight that is drawn
  const USUAL = { latency: 10 * MS, number: 100 };
  const MOST_SHOWN = 8; // curves at the start
  const FAR = 0.25; // error of the predictions from which on the reader is warned
  const FINE = [1, 1.5, 2, 3, 4, 5, 6, 8], COARSE = [1, 2, 3, 5]; // stops of a slider between two powers of ten

  // --- the formula --------------------------------------------------------------------------------------------------

  const MEAN = 1, LEAST = 2, GREATEST = 3; // places of the figures of a cost behind its number in flight

  /** CPU time per page (ns) of a model: between measured numbers a straight line in logarithms, outside constant. */
  function cpuNs(model, n, figure = MEAN) {
    const { costs } = model;
    const at = costs.findIndex(([number]) => number > n);
    if (at === 0) return costs[0][figure];
    if (at < 0) return costs[costs.length - 1][figure];
    const [low, high] = [costs[at - 1], costs[at]];
    const share = Math.log(n / low[0]) / Math.log(high[0] / low[0]);
    return low[figure] * Math.exp(share * Math.log(high[figure] / low[figure]));
  }

  function perS(model, n, load, figure = MEAN) {
    const cost = cpuNs(model, n, figure) + load.work;
    return Math.min(n / (load.latency + cost), 1 / cost) * S;
  }

  /** Whether the model's blocks jumped between states at the next measured number in flight: then it has a range only. */
  const isUnstable = (model, n) => model.stable !== null && n > model.stable;

  const isFull = (model, n, load) => n >= data.clearly * needed(model, n, load);

  /** The knee for the CPU time per page at this number in flight, taken as constant. */
  function needed(model, n, load) {
    const cost = cpuNs(model, n) + load.work;
    return (load.latency + cost) / cost;
  }

  /** The least number in flight that fills the core. */
  function knee(model, load) {
    let low = 1;
    for (const [high] of model.costs) {
      if (high >= needed(model, high, load)) return between(model, low, high, load);
      low = high;
    }
    return needed(model, low, load);
  }

  function between(model, low, high, load) {
    for (let n = 0; n < HALVINGS; n += 1) {
      const middle = Math.sqrt(low * high);
      if (middle >= needed(model, middle, load)) high = middle;
      else low = middle;
    }
    return high;
  }

  function tied(models, load, n) {
    const rates = models.filter((model) => !isUnstable(model, n)).map((model) => perS(model, n, load));
    return Math.max(...rates) <= data.margin * Math.min(...rates);
  }

  function tiesUpTo(models, load) {
    for (let n = 1; n <= MOST; n += 1) if (!tied(models, load, n)) return n - 1;
    return MOST;
  }

  // --- words --------------------------------------------------------------------------------------------------------

  const rounded = (value) => Number(value.toPrecision(3));
  const count = (n) => n.toLocaleString("en-US");

  /** A number in flight, rounded up, with three digits. */
  function whole(n) {
    const least = Math.ceil(n - 1e-6), step = 10 ** Math.max(0, String(least).length - 3);
    return count(Math.ceil(least / step) * step);
  }

  function number(value) {
    const digits = Math.max(0, 2 - Math.floor(Math.log10(rounded(value))));
    return rounded(value).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }

  const rate = (value) => `${number(value)}\u00a0pages/s`;

  function inUnit(ns) {
    const units = [[1e3, "µs"], [1e6, "ms"], [1e9, "s"]];
    const [factor, name] = units.find(([f]) => rounded(ns / f) < 1000) || units[2];
    return [ns / factor, name];
  }

  function duration(ns) {
    const [value, name] = inUnit(ns);
    return `${number(value)}\u00a0${name}`;
  }

  /** A duration without trailing zeros: 50 ms. */
  function tick(ns) {
    const [value, name] = inUnit(ns);
    return `${count(rounded(value))}\u00a0${name}`;
  }

  function ofLoad(load) {
    const latency = load.latency ? `${tick(load.latency)} of` : "no added";
    const work = load.work ? `${tick(load.work)} of` : "no";
    return `${latency} latency and ${work} CPU work per page`;
  }

  function sentences(models, load, n) {
    if (!models.length) return ["Choose at least one model."];
    const jumping = models.filter((model) => isUnstable(model, n));
    const stable = models.filter((model) => !isUnstable(model, n));
    const told = jumping.map((model) =>
      `With ${count(n)} in flight, ${model.name} gets ${range(model, n, load)}: it is unstable above ${count(model.stable)} in flight.`);
    if (!stable.length) return told;
    told.unshift(withInFlight(stable, load, n), limits(stable, load));
    return stable.length > 1 ? [ties(stable, load), ...told] : told;
  }

  /** The pages/s of an unstable model, from its dearest to its cheapest block. */
  function range(model, n, load) {
    const [least, greatest] = [perS(model, n, load, GREATEST), perS(model, n, load, LEAST)].map(number);
    return least === greatest ? `${least}\u00a0pages/s` : `${least} to ${greatest}\u00a0pages/s`;
  }

  function ties(models, load) {
    const last = tiesUpTo(models, load);
    if (!last) return `With ${ofLoad(load)}, the predictions differ even with 1 fetch in flight.`;
    const told = `With ${ofLoad(load)}, the predictions for the ${models.length} models shown are equal (within ${Math.round(100 * (data.margin - 1))}\u00a0%)`;
    return last === 1 ? `${told} with 1 in flight, and differ with 2.` : `${told} up to ${count(last)} in flight.`;
  }

  function withInFlight(models, load, n) {
    const rated = models.map((model) => [perS(model, n, load), model.name]).sort((one, other) => other[0] - one[0]);
    const [[fastest, first], [slowest, last]] = [rated[0], rated[rated.length - 1]];
    const start = `With ${count(n)} in flight,`;
    if (rated.length === 1) return `${start} ${first} gets ${rate(fastest)}.`;
    if (!tied(models, load, n)) {
      return `${start} ${first} should be the fastest (${rate(fastest)}) and ${last} the slowest (${rate(slowest)}).`;
    }
    return `${start} they are equal: ${number(slowest) === number(fastest) ? "" : `${number(slowest)} to `}${rate(fastest)}.`;
  }

  function limits(models, load) {
    if (!load.latency) return "By the formula, one fetch in flight fills the core, because there is no latency to wait for.";
    const found = models.map((model) => ({ name: model.name, knee: knee(model, load) }));
    found.forEach((one, at) => { one.rate = perS(models[at], one.knee, load); });
    found.sort((one, other) => other.rate - one.rate);
    const [first, last] = [found[0], found[found.length - 1]];
    let told = `${first.name} reaches its limit of ${rate(first.rate)} at ${whole(first.knee)} in flight`;
    if (found.length > 1) told += `, and ${last.name} reaches ${rate(last.rate)} at ${whole(last.knee)}`;
    return `${told}.`;
  }

  // --- measured against predicted -----------------------------------------------------------------------------------

  /**
   * The measured points that are clearly beyond the knee, beside their predictions; largest error first. With latency
   * or CPU work, or without, where c was measured. Below the knee N / L is right whatever c is, so it checks nothing.
   */
  function errors(isLoaded) {
    return data.points
      .filter(([name, latency, work, n, , unstable]) => Boolean(latency || work) === isLoaded && !unstable &&
        isFull(named(name), n, { latency, work }))
      .map(([name, latency, work, n, measured]) => {
        const predicted = perS(named(name), n, { latency, work });
        return { name, load: { latency, work }, n, measured, predicted, off: predicted / measured - 1 };
      })
      .sort((one, other) => Math.abs(other.off) - Math.abs(one.off));
  }

  const percent = (share) => `${number(100 * share)}\u00a0%`;
  const change = (share) => `${share < 0 ? "" : "+"}${(100 * share).toFixed(1)}\u00a0%`;

  function median(values) {
    const sorted = [...values].sort((one, other) => one - other), middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }

  /** Warn of predictions that are far off. */
  function warning() {
    const loaded = errors(true).map((one) => Math.abs(one.off));
    const bare = errors(false).map((one) => Math.abs(one.off));
    const off = Math.max(loaded.length ? median(loaded) : 0, ...bare);
    return off > FAR ? `The predictions differ from this run's measurements by ${percent(off)}. Do not rely on them.` : "";
  }

  function checked() {
    const loaded = errors(true), bare = errors(false);
    const told = loaded.length ? [
      `Error of the predicted pages/s at the ${count(loaded.length)} measured points that are clearly beyond the knee, with latency or CPU work: ` +
        `median ${percent(median(loaded.map((one) => Math.abs(one.off))))}, largest ${change(loaded[0].off)} ` +
        `(${loaded[0].name}, ${ofLoad(loaded[0].load)}, ${count(loaded[0].n)} in flight).`,
    ] : ["This run measured nothing beyond the knee with latency or CPU work, so no prediction with these is checked here."];
    if (bare.length) {
      told.push(`Largest error without latency and CPU work, where c was measured: ${change(bare[0].off)} ` +
        `(${bare[0].name}, ${count(bare[0].n)} in flight). The formula leaves out the time of server and network.`);
    }
    if (data.left_out.length) {
      told.push(`Not simulated, because c is unknown, or for one fetch in flight or several cores only: ${data.left_out.join(", ")}.`);
    }
    return told;
  }

  function errorRow(one) {
    const { latency, work } = one.load;
    const cells = [latency ? tick(latency) : "none", work ? tick(work) : "none", count(one.n), number(one.predicted),
      number(one.measured), change(one.off)];
    return element("tr", {}, element("th", { scope: "row" }, one.name), ...cells.map((text) => element("td", {}, text)));
  }

  // --- the page -----------------------------------------------------------------------------------------------------

  const named = (name) => data.models.find((model) => model.name === name);
  const values = (place) => data.points.map((point) => point[place]);
  const loads = [...new Set(data.points.map(([, latency, work]) => `${latency} ${work}`))]
    .map((text) => text.split(" ").map(Number)).sort((one, other) => one[0] - other[0] || one[1] - other[1]);

  /** The values of a slider: steps in each power of ten, and more values. */
  function stops(steps, least, most, more) {
    const found = new Set(more);
    for (let decade = least; decade <= most; decade *= 10) {
      for (const step of steps) if (step * decade <= most && Number.isInteger(step * decade)) found.add(step * decade);
    }
    return [...found].sort((one, other) => one - other);
  }

  /** The latency with the most measured points. */
  function startLatency() {
    const numbers = new Map();
    for (const [, latency, work] of data.points) if (latency && !work) numbers.set(latency, (numbers.get(latency) || 0) + 1);
    const best = [...numbers].sort((one, other) => other[1] - one[1] || one[0] - other[0])[0];
    return best ? best[0] : USUAL.latency;
  }

  const sliders = {
    latency: { stops: stops(FINE, 1e5, S, [0, startLatency(), ...values(1)]), start: startLatency() },
    work: { stops: stops(COARSE, 1e4, 10 * MS, [0, ...values(2)]), start: 0 },
    number: { stops: stops(FINE, 1, MOST, values(3)), start: USUAL.number },
  };

  const state = { shown: new Set(data.models.slice(0, MOST_SHOWN)), linear: false };

  const stop = (name) => sliders[name].stops[Number($(name).value)];
  const load = () => ({ latency: stop("latency"), work: stop("work") });
  const shown = () => data.models.filter((model) => state.shown.has(model));

  function element(name, attributes, ...inside) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  }

  function drawn(name, attributes, ...inside) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  }

  function write(where, text) {
    if (where.textContent !== text) where.textContent = text;
  }

  /** Show everything for the present setting. */
  function show() {
    const now = load(), n = stop("number"), models = shown();
    const told = {
      latency: now.latency ? tick(now.latency) : "none", work: now.work ? tick(now.work) : "none", number: count(n),
    };
    for (const name of SLIDERS) {
      write($(`${name}-told`), told[name]);
      $(name).setAttribute("aria-valuetext", told[name]);
    }
    $("load").value = String(loads.findIndex(([latency, work]) => latency === now.latency && work === now.work));
    const lines = sentences(models, now, n);
    $("told").replaceChildren(...lines.map((line) => element("p", {}, line)));
    work(models, now, n);
    rows(now, n);
    plot(models, now, n, lines);
  }

  /** Write the formula with the numbers of the fastest model. */
  function work(models, now, n) {
    const best = models.reduce((one, other) => (one && perS(one, n, now) >= perS(other, n, now) ? one : other), null);
    if (!best) return write($("worked"), "");
    const [cost, add] = [cpuNs(best, n), now.work ? ` + ${tick(now.work)}` : ""];
    const ceiling = S / (cost + now.work), line = (n * S) / (now.latency + cost + now.work);
    const wait = now.latency ? `${tick(now.latency)} + ` : "";
    const whole_ = `min(${count(n)} / (${wait}${duration(cost)}${add}), 1 / (${duration(cost)}${add}))`;
    write($("worked"), `${best.name} with ${count(n)} in flight: ${whole_} = min(${number(line)}, ${number(ceiling)}) = ${rate(Math.min(line, ceiling))}`);
  }

  function rows(now, n) {
    write($("caption"), `With ${ofLoad(now)}, ${count(n)} in flight`);
    data.models.forEach((model, at) => {
      const on = state.shown.has(model);
      const row = $("rows").children[at];
      const limit = n >= needed(model, n, now) ? "CPU-bound" : "latency-bound";
      const [rate_, note] = isUnstable(model, n)
        ? [range(model, n, now), `unstable above ${count(model.stable)}`]
        : [number(perS(model, n, now)), limit];
      const texts = [duration(cpuNs(model, n)), whole(knee(model, now)), rate_, note];
      row.classList.toggle("sim-off", !on);
      row.querySelectorAll("span, small").forEach((cell, place) => write(cell, texts[place]));
    });
  }

  // --- the plot -----------------------------------------------------------------------------------------------------

  const MARKS = {
    o: "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z", s: "M-4-4h8v8h-8z", D: "M0-5.5l5.5 5.5-5.5 5.5-5.5-5.5z",
    "^": "M0-5.5l5.5 10h-11z", v: "M0 5.5l5.5-10h-11z", "<": "M-5.5 0l10-5.5v11z", ">": "M5.5 0l-10-5.5v11z",
    P: "M-1.7-5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z",
    X: "M-5-2.6l2.4-2.4 2.6 2.6 2.6-2.6 2.4 2.4-2.6 2.6 2.6 2.6-2.4 2.4-2.6-2.6-2.6 2.6-2.4-2.4 2.6-2.6z",
    "*": "M0-6l1.6 4.1 4.4.2-3.4 2.8 1.1 4.3-3.7-2.4-3.7 2.4 1.1-4.3-3.4-2.8 4.4-.2z",
    p: "M0-5.5l5.2 3.8-2 6.2h-6.4l-2-6.2z", d: "M0-6l3.6 6-3.6 6-3.6-6z", h: "M0-5.5l4.8 2.7v5.6l-4.8 2.7-4.8-2.7v-5.6z",
  };
  const DECADE = 10;

  function swatch(model) {
    const line = drawn("line", { x1: 0, x2: 42, y1: 8, y2: 8, "stroke-dasharray": model.dashes });
    const mark = drawn("path", { class: "sim-mark", d: MARKS[model.marker], transform: "translate(21 8)" });
    return drawn("svg", { class: `sim-swatch sim-c${model.colour}`, viewBox: "0 0 42 16", "aria-hidden": "true" }, line, mark);
  }

  /** Numbers in flight at which curves are computed: evenly in logarithms. */
  function places(least, most) {
    const steps = 240;
    return Array.from({ length: steps + 1 }, (_, at) => least * (most / least) ** (at / steps));
  }

  /** Round values from low to high: powers of ten, or even steps on a linear axis. */
  function ticks(low, high) {
    if (state.linear) {
      const rough = high / 6, power = 10 ** Math.floor(Math.log10(rough));
      const step = power * [1, 2, 5, 10].find((times) => times * power >= rough);
      return Array.from({ length: Math.floor(high / step + 1e-9) + 1 }, (_, at) => at * step);
    }
    const found = [];
    for (let value = 10 ** Math.ceil(Math.log10(low) - 1e-9); value <= high * 1.000001; value *= DECADE) found.push(value);
    return found;
  }

  function plot(models, now, n, lines) {
    const width = Math.max(280, $("plot").clientWidth), isWide = width >= 560;
    const height = Math.round(Math.min(460, Math.max(300, width * 0.62)));
    const room = Math.min(0.4 * width, Math.max(150, LETTER * Math.max(0, ...models.map((model) => model.name.length)) + 21));
    const box = { left: isWide ? 68 : 60, right: width - (isWide ? room : 14), top: 26, bottom: height - 44 };
    const points = data.points
      .map(([name, latency, cpu, inFlight, value]) => ({ name, latency, cpu, inFlight, value }))
      .filter((one) => one.latency === now.latency && one.cpu === now.work && models.some((m) => m.name === one.name));
    const curve = (model) => places(1, MOST).map((x) => [x, perS(model, x, now)]);
    const curves = new Map(models.map((model) => [model, curve(model)]));
    const values = [...[...curves.values()].flat().map(([, y]) => y), ...points.map((one) => one.value)];
    const high = values.length ? Math.max(...values) * (state.linear ? 1.06 : 1.5) : 10;
    const low = state.linear ? 0 : Math.min(high / 10, ...values) * 0.8;
    const x = (value) => box.left + (Math.log(value) / Math.log(MOST)) * (box.right - box.left);
    const share = (value) => (state.linear ? value / high : Math.log(value / low) / Math.log(high / low));
    const y = (value) => box.bottom - share(value) * (box.bottom - box.top);
    const parts = [...axes(box, x, y, ticks(low, high), isWide)];
    parts.push(drawn("line", { class: "sim-now", x1: x(n), x2: x(n), y1: box.top, y2: box.bottom }));
    for (const [model, line] of curves) parts.push(lineOf(model, line, x, y));
    for (const model of models) parts.push(...kneeOf(model, now, x, y));
    for (const one of points) parts.push(pointOf(models.find((model) => model.name === one.name), one, x, y));
    if (isWide) parts.push(...names(models, now, box, room, y));
    const label = `Predicted pages per second over fetches in flight. ${lines.join(" ")}`;
    const whole_ = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts);
    $("plot").replaceChildren(whole_);
    write($("key"), key(points.length));
  }

  function key(measured) {
    const seen = measured ? `Filled marks: measured in this run at this setting (${measured}).` :
      "This run has no measured points at this setting; those of other settings are hidden.";
    return `Lines: predicted. Rings: the knee. Dotted line: fetches in flight of the slider. ${seen}`;
  }

  function axes(box, x, y, values, isWide) {
    const parts = [];
    for (const value of values) {
      parts.push(drawn("line", { class: "sim-grid", x1: box.left, x2: box.right, y1: y(value), y2: y(value) }));
      const at = { class: "sim-tick", x: box.left - 6, y: y(value) + 4, "text-anchor": "end" };
      parts.push(drawn("text", at, count(rounded(value))));
    }
    for (let value = 1; value <= MOST; value *= DECADE) {
      parts.push(drawn("line", { class: "sim-grid", x1: x(value), x2: x(value), y1: box.top, y2: box.bottom }));
      const anchor = value === MOST && !isWide ? "end" : "middle";
      parts.push(drawn("text", { class: "sim-tick", x: x(value), y: box.bottom + 17, "text-anchor": anchor }, count(value)));
    }
    parts.push(drawn("line", { class: "sim-frame", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
    const middle = { x: (box.left + box.right) / 2, y: box.bottom + 37, "text-anchor": "middle" };
    parts.push(drawn("text", middle, "fetches in flight (log scale)"));
    const scale = state.linear ? "linear scale" : "log scale";
    parts.push(drawn("text", { x: 0, y: 14 }, `pages per second (${scale})`));
    return parts;
  }

  function lineOf(model, line, x, y) {
    const d = line.map(([n, rate_], at) => `${at ? "L" : "M"}${x(n).toFixed(1)} ${y(rate_).toFixed(1)}`).join("");
    return drawn("path", { class: `sim-line sim-c${model.colour}`, d, "stroke-dasharray": model.dashes });
  }

  function kneeOf(model, now, x, y) {
    const n = knee(model, now);
    if (n > MOST || !now.latency) return [];
    return [drawn("circle", { class: `sim-knee sim-c${model.colour}`, cx: x(n), cy: y(perS(model, n, now)), r: 5 })];
  }

  function pointOf(model, one, x, y) {
    const title = drawn("title", {}, `${one.name}, ${count(one.inFlight)} in flight: measured ${rate(one.value)}`);
    const place = `translate(${x(one.inFlight).toFixed(1)} ${y(one.value).toFixed(1)})`;
    return drawn("path", { class: `sim-mark sim-c${model.colour}`, d: MARKS[model.marker], transform: place }, title);
  }

  /** Names at the right ends of the curves, moved apart. */
  function names(models, now, box, room, y) {
    const PITCH = 16, most = Math.floor((room - 21) / LETTER);
    const found = models.map((model) => ({ model, end: y(perS(model, MOST, now)) })).sort((a, b) => a.end - b.end);
    found.forEach((one, at) => { one.y = Math.max(one.end, at ? found[at - 1].y + PITCH : box.top); });
    const over = found.length ? Math.max(0, found[found.length - 1].y - box.bottom) : 0;
    return found.flatMap((one) => [
      drawn("line", { class: `sim-lead sim-c${one.model.colour}`, x1: box.right, x2: box.right + 12, y1: one.end, y2: one.y - over }),
      drawn("text", { class: `sim-name sim-c${one.model.colour}`, x: box.right + 15, y: one.y - over + 4 }, short(one.model.name, most)),
    ]);
  }

  const short = (name, most) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

  // --- controls -----------------------------------------------------------------------------------------------------

  function build() {
    for (const name of SLIDERS) {
      $(name).max = String(sliders[name].stops.length - 1);
      $(name).value = String(sliders[name].stops.indexOf(sliders[name].start));
      $(name).addEventListener("input", show);
    }
    const options = loads.map(([latency, cpu], at) =>
      element("option", { value: at }, `${latency ? tick(latency) : "no latency"}, ${cpu ? `${tick(cpu)} CPU work` : "no CPU work"}`));
    $("load").append(element("option", { value: -1 }, "choose"), ...options);
    $("load").addEventListener("change", () => {
      const chosen = loads[Number($("load").value)];
      if (chosen) set({ latency: chosen[0], work: chosen[1] });
    });
    for (const kind of ["log", "linear"]) {
      $(kind).addEventListener("change", () => {
        state.linear = $("linear").checked;
        show();
      });
    }
    $("rows").replaceChildren(...data.models.map(rowOf));
  }

  function rowOf(model) {
    const box = element("input", { type: "checkbox" });
    box.checked = state.shown.has(model);
    box.addEventListener("change", () => {
      if (box.checked) state.shown.add(model);
      else state.shown.delete(model);
      show();
    });
    const name = element("label", {}, box, swatch(model), model.name.replace(/[:/_]|\.(?!\d)/g, "$&\u200b"));
    const cells = [1, 2, 3].map(() => element("td", {}, element("span", {})));
    cells[2].append(element("small", {}));
    return element("tr", {}, element("th", { scope: "row" }, name), ...cells);
  }

  /** Move sliders to values that are among their stops. */
  function set(values) {
    for (const [name, value] of Object.entries(values)) {
      const at = sliders[name].stops.indexOf(value);
      if (at >= 0) $(name).value = String(at);
    }
    show();
  }

  build();
  write($("warning"), warning());
  $("warning").hidden = !warning();
  $("checked").replaceChildren(...checked().map((line) => element("li", {}, line)));
  $("errors").replaceChildren(...errors(true).map(errorRow));
  $("all-errors").hidden = !errors(true).length;
  for (const part of section.querySelectorAll(".sim-static")) part.hidden = true;
  $("stage").hidden = false;
  show();
  let width = $("plot").clientWidth;
  new ResizeObserver(() => {
    if ($("plot").clientWidth === width) return;
    width = $("plot").clientWidth;
    show();
  }).observe($("plot"));

  window.inflightSimulator = Object.freeze({
    perS: (name, n, latency, work_) => perS(named(name), n, { latency, work: work_ }),
    knee: (name, latency, work_) => knee(named(name), { latency, work: work_ }),
    sentences: (names_, latency, work_, n) => sentences(names_.map(named), { latency, work: work_ }, n),
    setting: () => ({ ...load(), number: stop("number") }),
    set,
  });
})();
