// What a model of numbers predicts: true against predicted, and the panel of a node.

const MEASURES = { r2: "R²", mae: "mean absolute error", rmse: "root mean squared error", largest_error: "largest error" };

function numberWorth({ evidence, numbers }) {
  if (!evidence.pairs) return null;
  const rows = Object.entries(MEASURES).filter(([name]) => evidence.measures[name] !== undefined)
    .map(([name, title]) => row(title, name === "r2" ? thousandths(evidence.measures[name]) : number(evidence.measures[name])));
  return section("worth", "On nodes kept away", element("div", { class: "pair" },
    scatter(evidence.pairs, numbers.half), element("div", {}, element("h3", {}, "Errors"), table(["measure", "value"], rows))));
}

/** True numbers against predicted ones; between the dashed lines the intervals hold. */
function scatter(pairs, half) {
  const size = 350, pad = 58, span = size - pad - 24;
  const every = pairs.flat(), low = Math.min(...every), high = Math.max(...every), range = high - low || 1;
  // of numbers that are long, and near to each other, the axes show the ends alone
  const step = 10 ** Math.ceil(Math.log10(range)), base = Math.abs(low) > 1000 * range ? Math.floor(low / step) * step : 0;
  const less = base ? ` − ${base}` : "";
  const x = (v) => pad + ((v - low) / range) * span, y = (v) => size - pad - ((v - low) / range) * span;
  const root = svg("svg", { viewBox: `0 0 ${size} ${size}`, class: "reliability scatter", role: "img", "aria-label": "true numbers against predicted ones" });
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const tick = low + share * range, text = brief(significant(tick - base, 3));
    root.append(svg("line", { class: "axis", x1: x(tick), x2: x(tick), y1: y(low), y2: y(high) }),
      svg("line", { class: "axis", x1: x(low), x2: x(high), y1: y(tick), y2: y(tick) }),
      svg("text", { x: x(tick), y: y(low) + 16, "text-anchor": "middle" }, text),
      svg("text", { x: x(low) - 6, y: y(tick) + 4, "text-anchor": "end" }, text));
  }
  const within = (v) => Math.max(low, Math.min(high, v));
  for (const shift of [0, half, -half]) {
    const [from, to] = [within(low - Math.min(0, shift)), within(high - Math.max(0, shift))];
    root.append(svg("line", { class: shift ? "ideal" : "axis", x1: x(from), y1: y(from + shift), x2: x(to), y2: y(to + shift) }));
  }
  for (const [predicted, truth] of pairs) {
    root.append(svg("circle", { class: "dot", cx: x(predicted), cy: y(truth), r: 3, opacity: 0.6 }, svg("title", {}, `predicted ${number(predicted, range)}, true ${number(truth, range)}`)));
  }
  root.append(svg("text", { x: x(low + range / 2), y: size - 20, "text-anchor": "middle" }, `predicted${less}`),
    svg("text", { x: 12, y: y(low + range / 2), "text-anchor": "middle", transform: `rotate(-90 12 ${y(low + range / 2)})` }, `true${less}`));
  return element("div", {}, element("h3", {}, "True and predicted"), note(`${thousands(pairs.length)} nodes; between the dashed lines the intervals for 90 % hold the number.`), root);
}

function numberPanel(graph, node, open) {
  const { half, spread } = graph.numbers, predicted = graph.value[node], known = graph.known[node];
  const written = (value) => number(value, spread);
  const rows = [["predicted", written(predicted)], ["interval for 90 %", `${written(predicted - half)} to ${written(predicted + half)}`],
    ["known number", Number.isNaN(known) ? "unknown" : written(known)]];
  if (graph.roles && graph.role.length) rows.push(["role", graph.roles[graph.role[node]]]);
  rows.push(["moved by neighbours", number(graph.moved[node])], ["neighbours", thousands(graph.degree(node))]);
  const far = !Number.isNaN(known) && Math.abs(known - predicted) > half;
  return element("div", { class: "node" }, element("h3", {}, graph.name(node)),
    far ? element("p", { class: "warning" }, "The known number is outside its interval.") : null,
    element("dl", {}, ...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    element("h4", {}, "Neighbours"), neighbourList(graph, node, open));
}
