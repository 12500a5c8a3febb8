// What the model is worth: cards, leaderboard, confusion, reliability, classes, curves.

const percent = (share, digits = 1) => (share === null || share === undefined ? "–" : (100 * share).toFixed(digits));
const thousands = (count) => count.toLocaleString("en-US");
const NOT_SHARES = ["logloss", "r2", "mae", "rmse"];
const isShare = (metric) => !NOT_SHARES.includes(metric);
/** A measure as people read it: shares in percent, errors and the log loss (stored negative) as they are. */
function measured(metric, value) {
  if (value === null || value === undefined) return "–";
  if (isShare(metric)) return percent(value);
  return metric === "r2" ? thousandths(value) : metric === "logloss" ? thousandths(-value) : number(-value);
}
/** A number to three places, without the sign of a zero. */
const thousandths = (value) => (Math.abs(value) < 1e5 ? (Math.round(1000 * value) / 1000 + 0).toFixed(3) : brief(significant(value, 3)));
/** As many digits of a number, and one more for each power of ten that it is beyond `apart`. */
function significant(value, digits, apart = 0) {
  const beyond = apart > 0 && Math.abs(value) > apart ? Math.floor(Math.log10(Math.abs(value)) - Math.log10(apart)) : 0;
  return Number(value.toPrecision(Math.min(digits + beyond, 15)));
}
/** A number as text, by its power of ten where that is shorter. */
function brief(value) {
  const plain = String(value), power = value.toExponential();
  return plain.length > 7 && power.length < plain.length ? power : plain;
}
/** A number with four digits that matter; among numbers `apart` from each other with more. */
const number = (value, apart = 0) => (value === null || value === undefined ? "–" : brief(significant(value, 4, apart)));
const spread = (metric, value) => (isShare(metric) ? percent(value) : metric === "r2" || metric === "logloss" ? thousandths(Math.abs(value)) : number(Math.abs(value)));
/** The ends of an interval, the smaller number first: errors are stored negative, so their better end is it. */
const ends = (metric, value, word) => (isShare(metric) || metric === "r2" ? [value.low, value.high] : [value.high, value.low]).map((end) => measured(metric, end)).join(word);
const between = (metric, value) => `${measured(metric, value.value)} (${ends(metric, value, " to ")})`;
const METRICS = { accuracy: "Accuracy", balanced: "Balanced accuracy", auc: "Area under ROC", f1: "Macro F1", logloss: "Log loss", r2: "R²", mae: "Mean absolute error", rmse: "Root mean squared error" };

function section(id, title, ...children) {
  return element("section", { id }, element("h2", {}, title), ...children);
}

function note(text) { return element("p", { class: "note" }, text); }

function table(titles, rows, classes = "") {
  const head = element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)));
  return element("div", { class: "scroll", tabindex: "0" }, element("table", { class: classes },
    element("thead", {}, head), element("tbody", {}, ...rows)));
}

function row(title, ...cells) {
  return element("tr", {}, element("th", { scope: "row" }, title), ...cells.map((cell) => element("td", {}, cell)));
}

function card(title, value, text) {
  return element("div", { class: "card figure" }, element("span", { class: "title" }, title),
    element("strong", {}, value), element("p", {}, text));
}

/** The few numbers that decide: how good, how much better than nothing, does the graph help. */
function overview({ about, evidence, graph, classes, numbers }) {
  const known = numbers ? numbers.known : about.known.reduce((sum, count) => sum + count, 0);
  const cards = [];
  if (evidence.estimate) {
    cards.push(card(METRICS[evidence.metric] || evidence.metric, measured(evidence.metric, evidence.estimate.value) + (isShare(evidence.metric) ? " %" : ""),
      `95 % between ${ends(evidence.metric, evidence.estimate, " and ")}, on ${thousands(evidence.estimate.nodes)} nodes kept away; ${numbers ? "always the mean" : "majority class"}: ${measured(evidence.metric, evidence.majority)}`));
  }
  if (evidence.graph_gain) {
    const gain = evidence.graph_gain;
    const word = gain.low > 0 ? "helps" : gain.high < 0 ? "does not help" : gain.value > 0 ? "may help" : "is not seen to help";
    const [size, unit] = isShare(evidence.metric) ? [signedPoints, " points"] : [(value) => signed(evidence.metric, value), ""];
    cards.push(card("The graph", word, `${size(gain.value)}${unit} (${size(gain.low)} to ${size(gain.high)}) against the best model without it`));
  }
  if (evidence.calibration_error !== undefined && evidence.calibration_error !== null) {
    cards.push(card("Calibration error", `${percent(evidence.calibration_error)} %`, "mean distance of the stated probability from the share that was right"));
  }
  if (numbers && evidence.coverage !== undefined) {
    cards.push(card("Intervals for 90 %", `${percent(evidence.coverage)} %`, `of the nodes kept away had their number within ±${number(numbers.half)} of the predicted one${byChance(evidence)}`));
  } else if (evidence.coverage !== undefined) {
    cards.push(card("Sets for 90 %", `${percent(evidence.coverage)} %`, `of the nodes kept away had their class in the set that was to hold 90 %${byChance(evidence)}`));
  }
  cards.push(card("Nodes and edges", `${thousands(graph.nodes)} / ${thousands(graph.edges)}`, `${numbers ? "a number to predict" : `${classes.length} classes`}, ${about.made_features ? "a model without features" : `${thousands(about.features)} feature columns`}, ${thousands(known)} nodes of known ${numbers ? "number" : "class"}`));
  return element("div", { class: "cards" }, ...cards);
}

/** Where chance alone lets the share of right sets or intervals lie; older files do not say. */
function byChance({ coverage_range: range }) {
  return range ? ` (by chance ${percent(range[0])} to ${percent(range[1])})` : "";
}

function signed(metric, value) { return `${value >= 0 ? "+" : "-"}${spread(metric, value)}`; }
function signedPoints(value) { return `${value >= 0 ? "+" : ""}${percent(value)}`; }

/** Loud lines where the model, or what it promises, is worth less than it looks. */
function warnings({ evidence, numbers }) {
  const { estimate, majority, coverage, coverage_range: range, metric } = evidence;
  if (!estimate) return [loud("How good this model is, is unknown here: the file holds no measure on nodes kept away, and no labels of such nodes were given.")];
  const lines = [];
  const simplest = `always ${numbers ? "saying the mean" : "naming the most frequent class"} gives ${measured(metric, majority)}`;
  if (estimate.value <= majority) lines.push(loud(`This model has learned nothing of use: ${simplest}, no less than the model.`));
  else if (estimate.low <= majority) lines.push(loud(`${thousands(estimate.nodes)} nodes do not show that this model is of use: ${simplest}, which is inside its interval.`));
  if (range && coverage < range[0]) lines.push(loud(`${numbers ? "Intervals" : "Sets"} for 90 % hold only ${percent(coverage)} %, where chance lets them hold ${percent(range[0])} % or more: the nodes kept away are unlike the others.`));
  return lines;
}

function loud(text) { return element("p", { class: "warning" }, text); }

function trainedOn({ about, classes, evidence, numbers }) {
  const settings = Object.entries(about.settings).filter(([, value]) => value !== null).map(([name, value]) => `${name} ${value}`).join(", ");
  const rows = [["trained on", `${about.trained_on} (${about.fingerprint})`], ["asked about", about.data], ["model", about.model], ["settings", settings],
    ["made with", Object.entries(about.versions).map(([name, version]) => `${name} ${version}`).join(", ")],
    ...about.notes.map((text) => ["note", text])];
  if (numbers) {
    rows.push(["known numbers", `${thousands(numbers.known)}, ${number(numbers.known_low, numbers.spread)} to ${number(numbers.known_high, numbers.spread)}`],
      ["predicted for all nodes", `${number(numbers.low, numbers.spread)} to ${number(numbers.high, numbers.spread)}`]);
  }
  const total = numbers ? 0 : about.known.reduce((sum, count) => sum + count, 0);
  const counts = classes.map((name, k) => row(shortName(name), thousands(about.known[k] || 0), total ? percent((about.known[k] || 0) / total) : "–", thousands(about.predicted[k])));
  return section("data", "What it was trained on",
    evidence.how ? note(`Measured ${evidence.how}.`) : null,
    element("dl", {}, ...rows.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)])),
    numbers ? null : table(["class", "known nodes", "%", "predicted, all nodes"], counts));
}

function leaderboard({ evidence, numbers }) {
  if (!evidence.leaderboard) return null;
  const rows = evidence.leaderboard.map((entry, place) => {
    const line = row(entry.members > 1 ? `${entry.members} x ${entry.family}` : entry.family, String(entry.tried), `${measured(evidence.metric, entry.validation)} ${entry.folds === 1 ? "(one fold)" : `± ${spread(evidence.metric, entry.deviation)}`}`,
      entry.held_out ? between(evidence.metric, entry.held_out) : "–", entry.held_out ? intervalBar(entry.held_out, evidence) : "");
    if (place === 0) line.className = "winner";
    return line;
  });
  rows.push(row(numbers ? "the mean" : "majority class", "", "", measured(evidence.metric, evidence.majority), ""));
  return section("leaderboard", "Leaderboard",
    note(`${METRICS[evidence.metric] || evidence.metric}${isShare(evidence.metric) ? " in percent" : ""}. Families by cross-validation within the known nodes; the last columns are nodes that had no part in any choice, with 95 % intervals.`),
    table(["model", "tried", "cross-validation", "on nodes kept away", ""], rows, "left"));
}

/** The interval as a bar on the scale that all intervals share. */
function intervalBar(value, { leaderboard: entries, metric }) {
  const held = entries.map((entry) => entry.held_out).filter(Boolean);
  const low = Math.min(...held.map((h) => h.low)), high = Math.max(...held.map((h) => h.high));
  const x = (v) => 4 + (112 * (v - low)) / (high - low || 1);
  return svg("svg", { viewBox: "0 0 120 14", class: "interval", role: "img", "aria-label": between(metric, value) },
    svg("line", { x1: x(value.low), x2: x(value.high), y1: 7, y2: 7, class: "range" }),
    svg("circle", { cx: x(value.value), cy: 7, r: 4, class: "dot" }));
}

/** A name as the head of a row or column has room for it. */
function shortName(name) {
  const signs = Array.from(name);
  return signs.length > 24 ? `${signs.slice(0, 23).join("")}…` : name;
}

function confusion({ evidence, classes }) {
  const { confusion: counts } = evidence;
  const rows = counts.map((line, k) => {
    const total = line.reduce((sum, count) => sum + count, 0);
    const cells = line.map((count, j) => {
      const share = total ? count / total : 0;
      const strength = `calc(${share.toFixed(2)} * var(--strongest))`;
      const tone = k === j ? "--within" : "--below";
      return element("td", { class: "cell", title: `${classes[k]} predicted to be ${classes[j]}: ${count} of ${total}`,
        style: count ? `background:color-mix(in srgb, var(${tone}) ${strength}, transparent)` : "" },
      element("span", { class: share > 0.55 ? "strong" : "" }, String(count)));
    });
    return element("tr", {}, element("th", { scope: "row", title: classes[k] }, shortName(classes[k])), ...cells);
  });
  return element("div", {}, element("h3", {}, "Confusion matrix"), note("Rows: the true class. Columns: what the model says."),
    table(["", ...classes.map(shortName)], rows, classes.length > 3 ? "confusion many" : "confusion"));
}

/** Confidence against accuracy; on the diagonal probabilities are true. */
function reliabilityDiagram({ evidence }) {
  const size = 300, pad = 44, span = size - pad - 16;
  const x = (v) => pad + v * span, y = (v) => size - pad - v * span;
  const most = Math.max(...evidence.reliability.map((bin) => bin.nodes));
  const root = svg("svg", { viewBox: `0 0 ${size} ${size}`, class: "reliability", role: "img", "aria-label": "reliability diagram" });
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    root.append(svg("line", { class: "axis", x1: x(tick), x2: x(tick), y1: y(0), y2: y(1) }),
      svg("line", { class: "axis", x1: x(0), x2: x(1), y1: y(tick), y2: y(tick) }),
      svg("text", { x: x(tick), y: y(0) + 16, "text-anchor": "middle" }, String(100 * tick)),
      svg("text", { x: x(0) - 6, y: y(tick) + 4, "text-anchor": "end" }, String(100 * tick)));
  }
  root.append(svg("line", { class: "ideal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }));
  const points = evidence.reliability.map((bin) => `${x(bin.confidence)},${y(bin.accuracy)}`).join(" ");
  root.append(svg("polyline", { class: "measured", points }));
  for (const bin of evidence.reliability) {
    root.append(svg("circle", { class: "dot", cx: x(bin.confidence), cy: y(bin.accuracy), r: 3 + 6 * Math.sqrt(bin.nodes / most) },
      svg("title", {}, `confidence ${percent(bin.confidence)} %, right ${percent(bin.accuracy)} %, ${bin.nodes} nodes`)));
  }
  root.append(svg("text", { x: x(0.5), y: size - 6, "text-anchor": "middle" }, "stated probability, %"),
    svg("text", { x: 12, y: y(0.5), "text-anchor": "middle", transform: `rotate(-90 12 ${y(0.5)})` }, "right, %"));
  return element("div", {}, element("h3", {}, "Reliability diagram"), note("On the dashed line probabilities are true; larger dots are more nodes."), root);
}

function classTable({ evidence }) {
  const rows = evidence.classes.map((part, k) => {
    const predicted = evidence.confusion.some((cells) => cells[k] > 0);
    const precision = part.nodes || predicted ? percent(part.precision) : "–"; // nothing to be right about
    const others = part.nodes ? [percent(part.recall), percent(part.f1)] : ["–", "–"];
    return row(shortName(part.class), precision, ...others, thousands(part.nodes));
  });
  const measures = Object.entries(evidence.measures || {}).filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.replace("_", " ")} ${name === "log_loss" ? value.toFixed(3) : percent(value)}`).join(", ");
  return element("div", {}, element("h3", {}, "Each class"), note(`On the nodes kept away, in percent. All together: ${measures}.`),
    table(["class", "precision", "recall", "F1", "nodes"], rows));
}

function worth(data) {
  if (data.numbers) return numberWorth(data);
  if (!data.evidence.confusion) return null;
  return section("worth", "On nodes kept away", element("div", { class: "pair" },
    element("div", {}, confusion(data), classTable(data)), reliabilityDiagram(data)));
}

const CURVES = { loss: "training loss", val_loss: "validation loss", val: "validation accuracy", test: "test accuracy" };
const NUMBER_CURVES = { ...CURVES, val: "validation R²", test: "test R²" };

function learningCurves({ evidence, about, numbers }) {
  const titles = numbers ? NUMBER_CURVES : CURVES;
  const kinds = Object.keys(CURVES).filter((kind) => (evidence.curves || []).some((run) => run[kind]));
  if (!kinds.length) {
    return section("curves", "Learning curves", note(evidence.leaderboard
      ? `${about.model} has no epochs: its weights are computed in one go.` : "The model file holds no curves."));
  }
  const place = element("div", {});
  const buttons = kinds.map((kind) => element("button", { type: "button", "aria-pressed": "false", onclick: () => show(kind) }, titles[kind]));
  const show = (kind) => {
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(kinds[k] === kind)));
    const factor = numbers || kind.endsWith("loss") ? 1 : 100;
    const lines = evidence.curves.filter((run) => run[kind]).map((run, k) => ({ title: `${evidence.curve_title} ${k + 1}`,
      colour: COLOURS[k % COLOURS.length], points: run[kind].map((value, step) => [step * run.stride, factor * value]) }));
    place.replaceChildren(lineChart({ lines, xTitle: "epoch", yTitle: kind.endsWith("loss") ? "loss" : numbers ? "R²" : "accuracy, %", digits: factor === 1 ? 3 : 1,
      caption: `${titles[kind]} of each ${evidence.curve_title}` }));
  };
  show(kinds[0]);
  return section("curves", "Learning curves", element("div", { class: "tabs" }, ...buttons), place);
}
