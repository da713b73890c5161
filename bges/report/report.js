"use strict";
(() => {
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const one = (what) => document.querySelector(what);
  const tip = one("#tip");
  document.documentElement.classList.add("js");

  const say = (event, text) => {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect(), room = 14;
    let x = event.clientX + room, y = event.clientY + room;
    if (x + box.width > innerWidth - 4) x = Math.max(4, event.clientX - room - box.width);
    if (y + box.height > innerHeight - 4) y = Math.max(4, event.clientY - room - box.height);
    tip.style.left = x + "px";
    tip.style.top = y + "px";
  };
  const short = (value) => value === null || value === undefined ? "–" : String(Number(value.toPrecision(4)));
  const inside = (plot, frame, event) => {
    const box = plot.querySelector("svg").getBoundingClientRect(), unit = frame.width / box.width;
    return [(event.clientX - box.left) * unit, (event.clientY - box.top) * unit];
  };

  // Which methods, and which run of each, are shown.
  const hidden = new Set();
  const show = () => {
    const place = one("#place") ? one("#place").value : "0";
    all("[data-method]").forEach((part) => part.classList.toggle("off", hidden.has(part.dataset.method)));
    all("figure.run").forEach((figure) => { figure.hidden = figure.dataset.place !== place; });
    all(".plot.points").forEach((plot) => plot.dispatchEvent(new Event("draw")));
  };
  all("input.method").forEach((box) => box.addEventListener("change", () => {
    if (box.checked) hidden.delete(box.value); else hidden.add(box.value);
    show();
  }));
  if (one("#place")) one("#place").addEventListener("change", show);

  // Curves: mean or interquartile mean, seeds, and the values under the pointer.
  const curves = one("#curves");
  const chosen = () => one("input[name=centre]:checked")?.value ?? "mean";
  all("input[name=centre]").forEach((radio) => radio.addEventListener("change", () =>
    curves.classList.toggle("by-iqm", chosen() === "iqm")));
  if (one("#seeds")) one("#seeds").addEventListener("change", (event) =>
    curves.classList.toggle("no-seeds", !event.target.checked));
  const nearest = (values, value) => {
    let low = 0, high = values.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (values[middle] < value) low = middle; else high = middle;
    }
    return value - values[low] < values[high] - value ? low : high;
  };
  const tell = (line, at) => {
    const iqm = chosen() === "iqm" && line.iqm;
    const centre = iqm ? line.iqm[at] : line.mean[at];
    const around = iqm ? ` (${short(line.low[at])} to ${short(line.high[at])})`
      : line.spread ? ` ± ${short(line.spread[at])}` : "";
    return `${line.name}: ${short(centre)}${around}`;
  };
  all(".plot.lines").forEach((plot) => {
    const { frame, axis, lines } = JSON.parse(plot.querySelector("script").textContent);
    const over = plot.querySelector(".over");
    const leave = () => { over.replaceChildren(); tip.hidden = true; };
    plot.addEventListener("pointerleave", leave);
    plot.addEventListener("pointermove", (event) => {
      const [x] = inside(plot, frame, event);
      const shown = lines.filter((line) => !hidden.has(String(line.method)));
      if (x < frame.left || x > frame.right || !shown.length) { leave(); return; }
      const value = frame.x0 + (x - frame.left) / (frame.right - frame.left) * (frame.x1 - frame.x0);
      const cross = document.createElementNS("http://www.w3.org/2000/svg", "line");
      for (const [name, at] of [["x1", x], ["x2", x], ["y1", frame.top], ["y2", frame.bottom]]) cross.setAttribute(name, at);
      cross.setAttribute("class", "cross");
      over.replaceChildren(cross);
      say(event, [`${axis} ${short(value)}`, ...shown.map((line) => tell(line, nearest(line.x, value)))].join("\n"));
    });
  });

  // Behaviour maps: a canvas in place of the picture, up to the slider's iteration.
  const until = one("#until"), colour = one("#colour"), UNKNOWN = 65535;
  const scale = one("#scale") ? JSON.parse(one("#scale").textContent).colours : [];
  const unpack = (text) => {
    const raw = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Uint16Array(raw.buffer);
  };
  all(".plot.points").forEach((plot) => {
    const packed = JSON.parse(plot.querySelector("script").textContent), frame = packed.frame;
    const x = unpack(packed.x), y = unpack(packed.y), columns = {};
    for (const name of ["iteration", "return", "novelty"])
      if (packed[name]) columns[name] = { ...packed[name], values: unpack(packed[name].values) };
    const real = (column, i) => column.values[i] === UNKNOWN ? null
      : column.low + column.values[i] / (UNKNOWN - 1) * (column.high - column.low);
    const canvas = document.createElement("canvas");
    const share = (part, whole) => 100 * part / whole + "%";
    Object.assign(canvas.style, {
      left: share(frame.left, frame.width), width: share(frame.right - frame.left, frame.width),
      top: share(frame.top, frame.height), height: share(frame.bottom - frame.top, frame.height),
    });
    plot.prepend(canvas);
    plot.querySelector("image.static")?.remove();
    const bar = plot.nextElementSibling;
    const draw = () => {
      const box = canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
      if (!box.width) return;
      canvas.width = box.width * ratio;
      canvas.height = box.height * ratio;
      const pen = canvas.getContext("2d"), by = columns[colour.value];
      const stop = Number(until.value), whole = stop >= Number(until.max), recent = stop - Math.max(1, until.max / 25);
      let count = 0;
      for (let i = 0; i < x.length; i++) {
        const when = real(columns.iteration, i);
        if (when > stop + 0.5 || x[i] === UNKNOWN || y[i] === UNKNOWN) continue;
        const fresh = whole || when >= recent, size = (fresh && !whole ? 2.6 : 1.7) * ratio;
        const level = by && by.values[i] !== UNKNOWN ? by.values[i] / (UNKNOWN - 1) : 0;
        pen.globalAlpha = whole ? 0.55 : fresh ? 0.95 : 0.18;
        pen.fillStyle = scale[Math.min(scale.length - 1, Math.floor(level * scale.length))];
        pen.beginPath();
        pen.arc(x[i] / UNKNOWN * canvas.width, (1 - y[i] / UNKNOWN) * canvas.height, size, 0, 7);
        pen.fill();
        count++;
      }
      plot.dataset.drawn = count;
      const [low, , high] = bar.children;
      low.textContent = by ? `${colour.value} ${short(by.low)}` : `no ${colour.value}`;
      high.textContent = by ? short(by.high) : "";
    };
    plot.addEventListener("draw", draw);
    new ResizeObserver(draw).observe(plot);
    plot.addEventListener("pointerleave", () => { tip.hidden = true; });
    plot.addEventListener("pointermove", (event) => {
      const [px, py] = inside(plot, frame, event);
      const u = (px - frame.left) / (frame.right - frame.left), v = 1 - (py - frame.top) / (frame.bottom - frame.top);
      let best = -1, least = 0.015 ** 2;
      for (let i = 0; i < x.length; i++) {
        if (x[i] === UNKNOWN || y[i] === UNKNOWN || real(columns.iteration, i) > Number(until.value) + 0.5) continue;
        const far = (x[i] / UNKNOWN - u) ** 2 + (y[i] / UNKNOWN - v) ** 2;
        if (far < least) { least = far; best = i; }
      }
      say(event, best < 0 ? "" : Object.entries(columns).map(([name, column]) => `${name} ${short(real(column, best))}`).join("\n"));
    });
  });
  if (until) {
    const redraw = () => {
      one("#until-value").textContent = until.value;
      all(".plot.points").forEach((plot) => plot.dispatchEvent(new Event("draw")));
    };
    until.addEventListener("input", redraw);
    colour.addEventListener("change", redraw);
    let timer = 0;
    const stop = () => { clearInterval(timer); timer = 0; one("#play").textContent = "play"; };
    one("#play").addEventListener("click", () => {
      if (timer) { stop(); return; }
      if (until.value === until.max) until.value = 0;
      one("#play").textContent = "stop";
      timer = setInterval(() => {
        until.value = Number(until.value) + Math.max(1, until.max / 120);
        redraw();
        if (Number(until.value) >= Number(until.max)) stop();
      }, 60);
    });
  }

  // Policies side by side: the checkpoint that the slider is at.
  all("input.frames").forEach((slider) => slider.addEventListener("input", () =>
    all("[data-frame]", slider.closest("figure")).forEach((part) =>
      part.toggleAttribute("hidden", part.dataset.frame !== slider.value))));

  // A page from `bges watch` reloads when there is a newer one, with its controls as they were.
  if (document.body.dataset.live) {
    const kept = () => all("input, select, details").filter((part) => part.id !== "until");
    const state = (part) => part.tagName === "DETAILS" ? part.open : /checkbox|radio/.test(part.type) ? part.checked : part.value;
    try {
      JSON.parse(sessionStorage.getItem("controls") || "[]").forEach((value, i) => {
        const part = kept()[i];
        if (!part || state(part) === value) return;
        if (part.tagName === "DETAILS") part.open = value;
        else if (/checkbox|radio/.test(part.type)) part.checked = value;
        else part.value = value;
        part.dispatchEvent(new Event("change"));
      });
    } catch { /* an older page kept something else */ }
    let stamp = null;
    setInterval(async () => {
      try {
        const answer = await (await fetch("stamp", { cache: "no-store" })).text();
        if (stamp !== null && answer !== stamp) {
          sessionStorage.setItem("controls", JSON.stringify(kept().map(state)));
          location.reload();
        }
        stamp = answer;
      } catch { document.title = "(ended) " + document.title.replace("(ended) ", ""); }
    }, 3000);
  }
  show();
})();
