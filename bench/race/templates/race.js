// The race: plays recorded crawls side by side. Reads #race-data; writes text and pixels, never markup.
(() => {
  "use strict";
  const source = document.getElementById("race-data");
  const section = document.getElementById("race");
  if (!source || !section) return;
  const { races, replay_s: REPLAY_S } = JSON.parse(source.textContent);
  const LENGTHS = [60, 30, 20, 10, 5]; // seconds that a replay may last, the slowest first
  const STEPS = 20; // of a replay for those who want less motion
  const MOST_SQUARES = 400;
  const GAP = 0.18; // of a square's side
  const HEIGHT = 56, LEAST = 3; // of a field and of a square's side, about
  const $ = (id) => document.getElementById(`race-${id}`);
  const [stage, playButton, clock, scrub, speedBox, workloadBox, tableButton, list, live] = [
    "stage", "play", "clock", "time", "speed", "workload", "table", "lanes", "live",
  ].map($);
  const state = { race: null, lanes: [], us: 0, drawn: 0, length: 10, playing: false, last: 0 };
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let colours = {};

  // --- what a lane looks like at a time ---------------------------------------------------------------------------

  /** Return {done, flying, finished, ended, sample} of a lane; what happens in a bin is spread evenly over it. */
  function at(lane, us) {
    const finished = lane.finished && us >= lane.end_us;
    const ended = finished || us >= lane.end_us;
    const place = Math.floor(us / lane.bin_us);
    const last = lane.done.length - 1;
    const sample = latest(lane.samples, Math.min(us, lane.end_us));
    if (ended || place > last) return { done: lane.sums[last + 1], flying: 0, finished, ended, sample };
    const share = (us - place * lane.bin_us) / lane.bin_us;
    const before = lane.flying[Math.max(0, place - 1)];
    const flying = us > 0 ? Math.round(before + (lane.flying[place] - before) * share) : 0;
    return { done: lane.sums[place] + Math.floor(lane.done[place] * share), flying, finished, ended, sample };
  }

  function latest(samples, us) {
    if (!samples || samples.at_ns[0] > us * 1000) return null;
    let [low, high] = [0, samples.at_ns.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (samples.at_ns[middle] <= us * 1000) low = middle;
      else high = middle;
    }
    return low;
  }

  // --- words --------------------------------------------------------------------------------------------------------

  const count = (n) => n.toLocaleString("en-US");
  const seconds = (us) => `${(us / 1e6).toFixed(3)} s`;
  const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
  const size = (bytes) => (bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`);

  const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)}\u00a0%`;

  function figures(lane, now) {
    const s = lane.samples, n = now.sample;
    const isSampled = s && n !== null;
    const busy = isSampled && s.cpu_ns[n] !== null && s.at_ns[n] >= 20e6; // of a shorter time the share is noise
    return [
      `${count(now.done)} of ${count(state.race.pages)} pages`,
      `${count(now.flying)} in flight`,
      isSampled ? plural(s.threads[n], "thread") : "",
      isSampled ? size(s.rss_bytes[n]) : "",
      busy ? `CPU ${percent(s.cpu_ns[n] / s.at_ns[n])}` : "",
    ];
  }

  function verdict(lane, now) {
    if (lane.invalid) return ["invalid", now.finished ? lane.end : ""];
    if (now.finished) return [`${lane.rank}.`, lane.end];
    const left = `${percent(1 - now.done / state.race.pages)} left`;
    if (now.ended) return ["", `not finished: ${left}`];
    if (lane.isSlow && state.us >= state.race.replay_us) {
      return ["", `not finished: ${left}${lane.finished ? `, ends after ${lane.end}` : ""}`];
    }
    return ["", now.done === state.race.pages ? "still ending" : ""]; // its workers, after the last page
  }

  // --- the page -------------------------------------------------------------------------------------------------------

  function element(name, className, text) {
    const made = document.createElement(name);
    made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  /** A name that may break behind a dot, a colon, a slash or an underscore: U+200B is a place to break. */
  function breakable(name) {
    return name.replace(/[:/_]|\.(?!\d)/g, "$&\u200b");
  }

  function build(number) {
    const race = races[number];
    state.race = race;
    state.lanes = race.lanes.map((lane) => {
      const sums = [0];
      for (const done of lane.done) sums.push(sums[sums.length - 1] + done);
      const isSlow = lane.end_us > race.replay_us || !lane.finished;
      const reach = isSlow ? at({ ...lane, sums }, race.replay_us).done : race.pages;
      const row = element("div", `race-lane race-c${lane.colour}${lane.invalid ? " race-invalid" : ""}`);
      const name = element("div", "race-name");
      const about = `${count(lane.cap)} in flight${lane.own ? ", own HTTP stack" : ""}`;
      name.append(element("b", "", breakable(lane.name)), element("small", "", about));
      const canvas = element("canvas", "race-field");
      const told = element("div", "race-figures");
      const spans = [0, 1, 2, 3, 4].map(() => element("span", ""));
      told.append(...spans);
      const verdictBox = element("div", "race-verdict");
      const texts = [element("b", ""), element("span", "")];
      verdictBox.append(...texts);
      row.append(name, canvas, told, verdictBox);
      return { ...lane, sums, isSlow, reach, row, canvas, spans, texts };
    });
    list.replaceChildren(...state.lanes.map((lane) => lane.row));
    const perSquare = Math.ceil(race.pages / MOST_SQUARES);
    state.perSquare = perSquare;
    $("key").textContent =
      `One square is ${perSquare === 1 ? "one page" : `${count(perSquare)} pages`}: ` +
      "filled when done, pale while in flight.";
    $("scale").textContent = `The replay shows ${seconds(race.replay_us)} in ${REPLAY_S} s.`;
    $("notes").replaceChildren(...race.lanes.filter((lane) => lane.invalid).map((lane) => element("li", "", `${lane.name}: ${lane.invalid}`)));
    scrub.max = String(race.replay_us / 1e6);
    setLength(REPLAY_S);
    for (const table of section.querySelectorAll(".race-static")) {
      table.classList.toggle("race-other", table.dataset.race !== String(number));
    }
    live.textContent = "";
    play(false);
    layout();
    seek(0);
  }

  function layout() {
    const ratio = window.devicePixelRatio || 1;
    const squares = Math.ceil(state.race.pages / state.perSquare);
    for (const lane of state.lanes) {
      const width = lane.canvas.clientWidth;
      if (!width) continue;
      const rows = Math.max(1, Math.round(Math.sqrt((squares * HEIGHT) / width)), Math.ceil((squares * LEAST) / width));
      const side = Math.min(22, width / Math.ceil(squares / rows)) * ratio;
      Object.assign(lane, { squares, rows, side });
      lane.canvas.width = Math.round(width * ratio);
      lane.canvas.height = Math.max(1, Math.ceil(rows * lane.side));
      lane.canvas.style.height = `${lane.canvas.height / ratio}px`;
    }
  }

  function readColours() {
    const style = getComputedStyle(section);
    const value = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
    colours = { waiting: value("--pale", "#d9d9d9"), red: value("--race-red", "#b00020") };
    for (let n = 0; n < 8; n += 1) colours[n] = value(`--c${n}`, "#0072b2");
  }

  // --- drawing --------------------------------------------------------------------------------------------------------

  function draw() {
    clock.textContent = seconds(state.us);
    scrub.value = String(state.us / 1e6);
    for (const lane of state.lanes) {
      const now = at(lane, state.us);
      figures(lane, now).forEach((text, n) => write(lane.spans[n], text));
      verdict(lane, now).forEach((text, n) => write(lane.texts[n], text));
      lane.row.classList.toggle("race-done", now.finished && !lane.invalid);
      paint(lane, now);
    }
  }

  function write(where, text) {
    if (where.textContent !== text) where.textContent = text;
  }

  /** Fill the squares column by column, so that a lane grows to the right; first those done, then those in flight. */
  function paint(lane, now) {
    if (!lane.rows) return;
    const pen = lane.canvas.getContext("2d");
    const { side, rows, squares } = lane;
    const inner = side * (1 - GAP);
    const done = now.done / state.perSquare;
    const open = Math.min(squares, (now.done + now.flying) / state.perSquare);
    const colour = lane.invalid ? colours.red : colours[lane.colour];
    pen.clearRect(0, 0, lane.canvas.width, lane.canvas.height);
    for (let n = 0; n < squares; n += 1) {
      const x = Math.floor(n / rows) * side, y = (n % rows) * side;
      pen.globalAlpha = 1;
      pen.fillStyle = colours.waiting;
      if (n + 1 > done) pen.fillRect(x, y, inner, inner);
      pen.fillStyle = colour;
      if (n < open && n + 1 > done) {
        pen.globalAlpha = 0.45;
        pen.fillRect(x, y, inner, inner * Math.min(1, open - n));
      }
      pen.globalAlpha = 1;
      if (n < done) pen.fillRect(x, y, inner, inner * Math.min(1, done - n));
    }
    if (lane.isSlow) hatch(pen, lane, colour);
  }

  /** Hatch the squares that a lane does not reach within the replay. */
  function hatch(pen, lane, colour) {
    const { side, rows, squares } = lane;
    const { width, height } = lane.canvas;
    const first = Math.ceil(lane.reach / state.perSquare);
    pen.save();
    pen.beginPath();
    for (let n = first; n < squares; n += 1) pen.rect(Math.floor(n / rows) * side, (n % rows) * side, side, side);
    pen.clip();
    pen.beginPath();
    const apart = 8 * (window.devicePixelRatio || 1);
    for (let x = -height; x < width; x += apart) {
      pen.moveTo(x, height);
      pen.lineTo(x + height, 0);
    }
    pen.strokeStyle = colour;
    pen.lineWidth = apart / 5;
    pen.stroke();
    pen.restore();
  }

  // --- time -----------------------------------------------------------------------------------------------------------

  function seek(us) {
    state.us = Math.min(Math.max(0, us), state.race.replay_us);
    state.drawn = state.us;
    draw();
  }

  function play(on) {
    if (on && state.us >= state.race.replay_us) seek(0);
    state.playing = on;
    playButton.textContent = on ? "Pause" : "Play";
    if (on) {
      state.last = performance.now();
      requestAnimationFrame(step);
    }
  }

  function step(now) {
    if (!state.playing) return;
    const before = state.us;
    const passed = Math.min(Math.max(0, now - state.last), 250); // a tab that slept does not jump
    state.last = now;
    const us = before + (passed / 1000 / state.length) * state.race.replay_us;
    const isDue = us - state.drawn >= state.race.replay_us / STEPS || us >= state.race.replay_us;
    if (!still.matches || isDue) seek(us);
    else state.us = us;
    tell(before, state.us);
    if (state.us >= state.race.replay_us) play(false);
    else requestAnimationFrame(step);
  }

  /** Say who finished between two times, for those who do not see it. */
  function tell(before, after) {
    const said = state.lanes
      .filter((lane) => lane.finished && lane.end_us > before && lane.end_us <= after)
      .map((lane) => `${lane.name}: ${lane.invalid ? "invalid" : `${lane.rank}.`}, ${lane.end}`);
    if (said.length) live.textContent = said.join("; ");
  }

  function setLength(seconds) {
    state.length = seconds;
    speedBox.value = String(seconds);
  }

  function faster(by) {
    const place = LENGTHS.indexOf(state.length) + by;
    if (place >= 0 && place < LENGTHS.length) setLength(LENGTHS[place]);
  }

  // --- controls -------------------------------------------------------------------------------------------------------

  const KEYS = {
    " ": () => play(!state.playing),
    r: () => {
      seek(0);
      play(true);
    },
    ArrowLeft: () => seek(state.us - state.race.replay_us / 100),
    ArrowRight: () => seek(state.us + state.race.replay_us / 100),
    "+": () => faster(1),
    "=": () => faster(1),
    "-": () => faster(-1),
    Home: () => seek(0),
    End: () => seek(state.race.replay_us),
  };
  const PAGE_KEYS = new Set(["Home", "End"]); // outside of the race these belong to the reader

  /** Tell whether the race fills half of the window, or half of it is there. */
  function inSight() {
    const box = stage.getBoundingClientRect();
    const seen = Math.min(box.bottom, window.innerHeight) - Math.max(box.top, 0);
    return seen >= Math.min(box.height, window.innerHeight) / 2;
  }

  document.addEventListener("keydown", (event) => {
    const action = KEYS[event.key];
    const target = event.target;
    if (!action || event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    const inside = section.contains(target);
    const onPage = target === document.body && inSight() && !PAGE_KEYS.has(event.key);
    if (!inside && !onPage) return;
    if (target.closest("input, select, textarea, [contenteditable]")) return;
    if (event.key === " " && target.closest("button, a, summary")) return;
    event.preventDefault();
    action();
  });

  for (const seconds of LENGTHS) {
    const option = element("option", "", `${seconds} s`);
    option.value = String(seconds);
    speedBox.append(option);
  }
  playButton.addEventListener("click", () => play(!state.playing));
  scrub.addEventListener("input", () => seek(Number(scrub.value) * 1e6));
  speedBox.addEventListener("change", () => setLength(Number(speedBox.value)));
  workloadBox.addEventListener("change", () => build(Number(workloadBox.value)));
  tableButton.addEventListener("click", () => {
    const shown = section.classList.toggle("race-tabled");
    tableButton.setAttribute("aria-pressed", String(shown));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readColours();
    draw();
  });
  new ResizeObserver(() => {
    layout();
    draw();
  }).observe(list);

  section.classList.add("race-scripted");
  stage.hidden = false;
  $("workload").closest("label").hidden = races.length < 2;
  readColours();
  build(0);

  window.inflightRace = Object.freeze({
    time: () => state.us / 1e6,
    duration: () => state.race.replay_us / 1e6,
    length: () => state.length,
    playing: () => state.playing,
    seek: (s) => seek(Number(s) * 1e6),
    lanes: () => state.lanes.map((lane) => {
      const now = at(lane, state.us);
      return { strategy: lane.name, pages: state.race.pages, done: now.done, rank: now.finished ? lane.rank : null };
    }),
  });
})();
