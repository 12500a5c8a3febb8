// The most suspicious edges: sorted, filtered, exported.

const PAGE_ROWS = 25;
const EDGE_HELP = {
  score: "weighted mean rank of the measures, 1 is the most suspicious",
  difference: "what the edge still bridges after propagation",
  proposed: "difference of its ends before any message passing",
  disagreement: "probability that its ends are of different classes",
  saturation: "share of its bound that the edge's dual reaches (elastic models)",
  "source class": "the known class, else the predicted one",
  "target class": "the known class, else the predicted one",
};
const NUMBER_EDGE_HELP = {
  score: "rank of the difference, 1 is the largest",
  difference: "between the numbers of its ends: known ones, else predicted ones",
  proposed: "between what the model says of its ends without any edge",
  "source number": "the known number, else the predicted one",
  "target number": "the known number, else the predicted one",
};

function edgesSection(data, graph, open) {
  const { rows, measures, notes } = data.edges;
  const state = { by: "score", down: true, text: "", crossing: false, shown: PAGE_ROWS };
  const kind = data.numbers ? "number" : "class";
  const titles = ["source", "target", ...measures, `source ${kind}`, `target ${kind}`];
  const value = (line, title) => {
    const place = measures.indexOf(title);
    if (place >= 0) return line[2 + place];
    const node = title.startsWith("source") ? line[0] : line[1];
    if (title.endsWith("number")) return significant(graph.compared(node), 7, graph.numbers.spread); // stored with no more digits
    return title.endsWith("class") ? graph.classes[graph.compared(node)] : graph.name(node);
  };
  const chosen = () => rows.filter((line) => {
    if (state.crossing && graph.compared(line[0]) === graph.compared(line[1])) return false;
    return !state.text || ["source", "target", `source ${kind}`, `target ${kind}`].some((title) => String(value(line, title)).toLowerCase().includes(state.text));
  }).sort((a, b) => {
    const [x, y] = [value(a, state.by), value(b, state.by)];
    const order = typeof x === "number" ? x - y : x.localeCompare(y, "en", { numeric: true });
    return state.down ? -order : order;
  });
  const body = element("tbody", {}), count = element("p", { class: "note", "aria-live": "polite" });
  const more = element("button", { type: "button", onclick: () => { state.shown += 4 * PAGE_ROWS; draw(); } }, "Show more");
  const help = data.numbers ? NUMBER_EDGE_HELP : EDGE_HELP;
  const figure = (size, title) => (data.numbers && title !== "score" ? number(size) : size.toFixed(3));
  const headers = titles.map((title) => element("th", { scope: "col", class: measures.includes(title) ? "figure" : null, title: help[title] || null, "aria-sort": "none" },
    element("button", { type: "button", class: "sort", onclick: () => sortBy(title) }, title)));
  const sortBy = (title) => { state.down = state.by === title ? !state.down : measures.includes(title); state.by = title; draw(); };
  const nodeButton = (node) => element("button", { type: "button", class: "link", onclick: () => open(node) }, graph.name(node));
  const draw = () => {
    const found = chosen();
    body.replaceChildren(...found.slice(0, state.shown).map((line) => element("tr", {},
      element("td", {}, nodeButton(line[0])), element("td", {}, nodeButton(line[1])),
      ...measures.map((title, k) => element("td", { class: "figure" }, figure(line[2 + k], title))),
      ...line.slice(0, 2).map((node) => element("td", {}, chip(graph, graph.compared(node)))))));
    headers.forEach((head, k) => head.setAttribute("aria-sort", titles[k] !== state.by ? "none" : state.down ? "descending" : "ascending"));
    more.hidden = found.length <= state.shown;
    count.textContent = `${thousands(Math.min(found.length, state.shown))} of ${thousands(found.length)} shown; the table holds the ${thousands(rows.length)} most suspicious of ${thousands(graph.edges)} edges (all: elasticgnn inspect -o).`;
  };
  const filter = element("input", { type: "search", placeholder: `Filter by id or ${kind}`, "aria-label": "Filter edges",
    oninput: (event) => { state.text = event.target.value.trim().toLowerCase(); state.shown = PAGE_ROWS; draw(); } });
  const crossing = element("button", { type: "button", "aria-pressed": "false", onclick: () => {
    state.crossing = !state.crossing; crossing.setAttribute("aria-pressed", String(state.crossing)); draw(); } }, "Different classes only");
  const save = element("button", { type: "button", onclick: () => download("suspicious_edges.csv",
    [titles.map((title) => title.replace(" ", "_")), ...chosen().map((line) => titles.map((title) => value(line, title)))]) }, "Export CSV");
  draw();
  return section("edges", "Suspicious edges", ...notes.map(note), element("div", { class: "tabs" }, filter, data.numbers ? null : crossing, save),
    element("div", { class: "scroll", tabindex: "0" }, element("table", { class: "edges" }, element("thead", {}, element("tr", {}, ...headers)), body)), more, count);
}

/** A class or a number beside its colour. */
function chip(graph, output) {
  const colour = graph.numbers ? scaleColour(VALUE, graph.height(output)) : classColour(output);
  const [name, text] = graph.numbers ? [null, number(output, graph.numbers.spread)] : [graph.classes[output], shortName(graph.classes[output])];
  return element("span", { class: "chip", title: name }, element("i", { style: `background:${colour}` }), text);
}

/** Hands rows of values to the user as a CSV file. */
function download(name, rows) {
  const quoted = (cell) => (/[",\n\r]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));
  const text = rows.map((line) => line.map(quoted).join(",")).join("\n");
  const link = element("a", { href: URL.createObjectURL(new Blob([`${text}\n`], { type: "text/csv" })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
