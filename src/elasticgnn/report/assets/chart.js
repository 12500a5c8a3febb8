// A line chart: lines = [{title, colour, dashed, points: [[x, y, low, high], ...]}].

/** The drawing's own units: about one per pixel, so that text is readable on a phone. */
function chartSize() {
  const narrow = window.innerWidth < 640;
  return { width: narrow ? 380 : 820, height: narrow ? 300 : 380, left: 56, right: 14, top: 12, bottom: 46 };
}

/** A figure with a legend that hides lines, and a cursor that reads the values. */
function lineChart({ lines, xTitle, yTitle, caption, digits = 1 }) {
  const hidden = new Set();
  const picture = element("div", { class: "picture" });
  const reading = element("div", { class: "reading", "aria-live": "polite" }, "");
  const draw = () => picture.replaceChildren(
    drawLines(lines.filter((line) => !hidden.has(line.title)), { xTitle, yTitle, digits, reading, caption }));
  const legend = element("div", { class: "legend" }, ...legendButtons(lines, hidden, draw));
  draw();
  return element("figure", {}, legend, picture, reading, element("figcaption", {}, caption));
}

function legendButtons(lines, hidden, draw) {
  const titles = [...new Set(lines.map((line) => line.title))];
  return titles.map((title) => {
    const colour = lines.find((line) => line.title === title).colour;
    const button = element("button", { type: "button", "aria-pressed": "true" },
      element("i", { style: `background:${colour}` }), title);
    button.addEventListener("click", () => {
      const hide = !hidden.has(title);
      if (hide) hidden.add(title); else hidden.delete(title);
      button.setAttribute("aria-pressed", String(!hide));
      draw();
    });
    return button;
  });
}

function drawLines(lines, { xTitle, yTitle, digits, reading, caption }) {
  const size = chartSize();
  const root = svg("svg", { viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "aria-label": caption });
  const points = lines.flatMap((line) => line.points);
  if (!points.length) return root;
  const scale = makeScale(points, size);
  root.append(...axes(scale, xTitle, yTitle));
  for (const line of lines) root.append(...drawLine(line, scale));
  addCursor(root, lines, scale, digits, reading);
  return root;
}

/** Maps data to the picture; the y axis has some air and includes intervals. */
function makeScale(points, size) {
  const xs = points.map((point) => point[0]);
  const ys = points.flatMap((point) => point.slice(1).filter((value) => value !== null && value !== undefined));
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const air = (Math.max(...ys) - Math.min(...ys)) * 0.05 || 1;
  const [y0, y1] = [Math.min(...ys) - air, Math.max(...ys) + air];
  const { width, height, left, right, top, bottom } = size;
  return {
    size, x0, x1, y0, y1,
    x: (value) => left + ((value - x0) / (x1 - x0 || 1)) * (width - left - right),
    y: (value) => height - bottom - ((value - y0) / (y1 - y0)) * (height - top - bottom),
  };
}

function axes(scale, xTitle, yTitle) {
  const { width, height, left, right, top, bottom } = scale.size;
  const parts = [svg("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - right}` })];
  for (const value of ticks(scale.y0, scale.y1)) {
    const y = scale.y(value);
    parts.push(svg("path", { class: "axis", d: `M${left} ${y}H${width - right}`, opacity: 0.6 }));
    parts.push(svg("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, String(value)));
  }
  for (const value of ticks(scale.x0, scale.x1, 6)) {
    parts.push(svg("text", { x: scale.x(value), y: height - bottom + 18, "text-anchor": "middle" }, String(value)));
  }
  parts.push(svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, xTitle));
  const middle = (top + height - bottom) / 2;
  parts.push(svg("text", { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, yTitle));
  return parts;
}

function drawLine(line, scale) {
  const at = (point, index) => `${scale.x(point[0]).toFixed(1)} ${scale.y(point[index]).toFixed(1)}`;
  const parts = [];
  if (line.points.length && line.points.every((point) => point.length === 4 && point[2] !== null)) {
    const there = line.points.map((point) => at(point, 3));
    const back = [...line.points].reverse().map((point) => at(point, 2));
    parts.push(svg("path", { d: `M${[...there, ...back].join("L")}Z`, fill: line.colour, opacity: 0.13 }));
  }
  parts.push(svg("path", {
    class: "line", d: `M${line.points.map((point) => at(point, 1)).join("L")}`, fill: "none",
    stroke: line.colour, "stroke-width": line.dashed ? 1.3 : 2, "stroke-dasharray": line.dashed ? "5 4" : null,
    opacity: line.dashed ? 0.75 : 1,
  }));
  if (line.points.length <= 12 && !line.dashed) {
    parts.push(...line.points.map((point) =>
      svg("circle", { cx: scale.x(point[0]), cy: scale.y(point[1]), r: 3.2, fill: line.colour })));
  }
  return parts;
}

/** A dashed line at the x nearest to the pointer, and the values there in words. */
function addCursor(root, lines, scale, digits, reading) {
  const cursor = svg("path", { class: "cursor", d: "" });
  const xs = [...new Set(lines.flatMap((line) => line.points.map((point) => point[0])))];
  root.append(cursor);
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect();
    const pixel = ((event.clientX - box.left) / box.width) * scale.size.width;
    const x = xs.reduce((a, b) => (Math.abs(scale.x(a) - pixel) <= Math.abs(scale.x(b) - pixel) ? a : b));
    cursor.setAttribute("d", `M${scale.x(x)} ${scale.size.top}V${scale.size.height - scale.size.bottom}`);
    reading.textContent = `at ${x}: ` + lines.filter((line) => !line.dashed).map((line) => {
      const point = line.points.find((candidate) => candidate[0] === x);
      return point ? `${line.title} ${shown(point[1], digits)}` : null;
    }).filter(Boolean).join(" · ");
  });
}
