// The panel about one node: its numbers and its neighbours.

const LISTED = 60; // neighbours in the panel

function nodePanel(graph, node, open) {
  if (graph.numbers) return numberPanel(graph, node, open);
  const known = graph.known[node] ? graph.classes[graph.known[node] - 1] : "unknown";
  const rows = [["predicted", chip(graph, graph.output(node))], ["known class", known]];
  if (graph.roles && graph.role.length) rows.push(["role", graph.roles[graph.role[node]]]);
  rows.push(["certainty", `${percent(graph.certainty(node))} %`], ["moved by neighbours", `${percent(graph.movedBy(node))} %`], ["neighbours", thousands(graph.degree(node))]);
  const wrong = graph.known[node] && graph.known[node] - 1 !== graph.label(node);
  return element("div", { class: "node" }, element("h3", {}, graph.name(node)),
    wrong ? element("p", { class: "warning" }, "The model contradicts the known class.") : null,
    element("dl", {}, ...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    element("h4", {}, "Probabilities"), probabilityBars(graph, node), element("h4", {}, "Neighbours"), neighbourList(graph, node, open));
}

function probabilityBars(graph, node) {
  return element("div", { class: "bars" }, ...graph.probabilities(node).map(([label, share]) => element("div", {},
    element("span", {}, graph.classes[label]), element("span", { class: "share" }, element("i", { style: `width:${100 * share}%;background:${classColour(label)}` })),
    element("span", { class: "figure" }, `${percent(share)} %`))));
}

function neighbourList(graph, node, open) {
  const found = graph.neighbours(node, LISTED), all = graph.degree(node);
  if (!found.length) return note("No edge leads to this node: its features alone decide.");
  return element("div", {}, element("ul", { class: "neighbours" }, ...found.map(([other, edge]) => element("li", {},
    element("button", { type: "button", class: "link", onclick: () => open(other) }, graph.name(other)), chip(graph, graph.output(other)),
    element("span", { class: "figure", title: "suspicion of the edge" }, graph.suspicion(edge).toFixed(2))))),
  all > found.length ? note(`${thousands(found.length)} of ${thousands(all)}, the most suspicious edges first.`) : note("The last number is the suspicion of the edge."));
}
