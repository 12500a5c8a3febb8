// Small tools for elements, numbers and colours.

const COLOURS = ["#7d7d7d", "#b5651d", "#3b7dd8", "#9a5fd0", "#2f9e58", "#e08a1e", "#d64550", "#17a2b8", "#8c8c2a", "#c04c9d"];

/** An HTML element with attributes and children; text is always text, never markup. */
function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** An SVG element with attributes and children. */
function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** Round numbers at even distances that cover low..high, about `count` of them. */
function ticks(low, high, count = 5) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
  const found = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + 1e-9 * step; value += step) {
    found.push(Number(value.toPrecision(10)));
  }
  return found;
}

/** A number with a fixed count of digits, a dash where there is none. */
function shown(value, digits) {
  return value === null || value === undefined ? "–" : value.toFixed(digits);
}

/** "82.1 ± 1.0" of [mean, deviation, ...] or of a published [mean, deviation]. */
function meanAndStd(pair, digits) {
  if (!pair) return "–";
  return pair[1] === null || pair[1] === undefined
    ? shown(pair[0], digits) : `${shown(pair[0], digits)} ± ${shown(pair[1], digits)}`;
}
