// Colours of nodes and edges, and the label of the node under the pointer.

const CLASS_COLOURS = ["#3b7dd8", "#e08a1e", "#2f9e58", "#d64550", "#9a5fd0", "#17a2b8", "#b5651d", "#c04c9d", "#8c8c2a", "#7d7d7d"];
const CERTAINTY = ["#d64550", "#e9a23b", "#c9c46a", "#59b08a", "#2b7fb8"];
const VALUE = ["#30356b", "#3b7dd8", "#59b08a", "#c9c46a", "#e08a1e"];
const MOVED = ["#8fa3b5", "#b9a6cf", "#c97fb8", "#d8527c", "#b5172f"];

function classColour(label) {
  if (label < CLASS_COLOURS.length) return CLASS_COLOURS[label];
  return hexOf((label * 137.5) % 360, 0.55, 0.52);
}

function hexOf(hue, saturation, lightness) {
  const part = (n) => {
    const k = (n + hue / 30) % 12;
    const value = lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(255 * value).toString(16).padStart(2, "0");
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}

/** The colour at `share` in 0..1 of a scale of colours. */
function scaleColour(scale, share) {
  const place = Math.max(0, Math.min(1, share)) * (scale.length - 1);
  const low = Math.min(Math.floor(place), scale.length - 2);
  return mixed(scale[low], scale[low + 1], place - low);
}

function mixed(one, other, share) {
  const parts = [1, 3, 5].map((k) => {
    const [a, b] = [one, other].map((colour) => parseInt(colour.slice(k, k + 2), 16));
    return Math.round(a + (b - a) * share).toString(16).padStart(2, "0");
  });
  return `#${parts.join("")}`;
}

/** Certainty runs from that of a guess to 1. */
function nodeColour(graph, node, by) {
  if (by === "class") return classColour(graph.label(node));
  if (by === "value") return scaleColour(VALUE, graph.height(graph.value[node]));
  if (by === "moved") return scaleColour(MOVED, graph.movedBy(node));
  const guess = 1 / graph.classes.length;
  return scaleColour(CERTAINTY, (graph.certainty(node) - guess) / (1 - guess));
}

function isDark() { return document.documentElement.dataset.theme === "dark"; }

/** Quiet where nothing is suspicious, red at the upper end. */
function edgeColour(suspicion) {
  const quiet = isDark() ? "#3a424b" : "#d5dae0";
  return suspicion < 0.75 ? quiet : mixed(quiet, "#e0303f", (suspicion - 0.75) * 4);
}

function drawHover(context, data, settings) {
  const size = settings.labelSize;
  context.font = `600 ${size}px ${settings.labelFont}`;
  const width = data.label ? context.measureText(data.label).width + 12 : 0;
  context.fillStyle = isDark() ? "#262c33" : "#ffffff";
  context.strokeStyle = isDark() ? "#8b96a2" : "#4a525b";
  context.lineWidth = 1.5;
  context.beginPath();
  context.roundRect(data.x - data.size - 4, data.y - size / 2 - 6, width + 2 * data.size + 8, size + 12, 6);
  context.fill();
  context.stroke();
  context.fillStyle = isDark() ? "#e6e8ea" : "#1d2126";
  if (data.label) context.fillText(data.label, data.x + data.size + 6, data.y + size / 3);
}

function legendOf(graph, by) {
  if (by === "class") return element("div", { class: "key" }, ...graph.classes.slice(0, 24).map((_, k) => chip(graph, k)));
  const scale = { moved: MOVED, value: VALUE, certainty: CERTAINTY }[by];
  const ends = { moved: () => ["not moved", "moved by neighbours"], certainty: () => ["a guess", "certain"],
    value: () => [graph.numbers.low, graph.numbers.high].map((end) => number(end, graph.numbers.spread)) }[by]();
  return element("div", { class: "key" }, ends[0], element("i", { class: "ramp", style: `background:linear-gradient(90deg, ${scale.join(", ")})` }), ends[1]);
}
