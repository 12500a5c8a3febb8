// Builds the page: first what needs no graph, then the graph.

const DATA = JSON.parse(document.getElementById("data").textContent);
let viewer = null;

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  if (viewer) viewer.paint();
}

function watchTheme() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  setTheme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
}

async function start() {
  watchTheme();
  const { about, graph } = DATA;
  document.title = `elasticgnn: ${about.model} on ${about.data}`;
  document.getElementById("title").textContent = `${about.model} on ${about.data}`;
  document.getElementById("lead").textContent = "What this model was trained on, what it is worth on nodes it did not learn from, which edges it distrusts, and the graph as it sees it.";
  const parts = document.getElementById("parts");
  const add = (...sections) => parts.append(...sections.filter((part) => part !== null));
  const graphPlace = element("div", { id: "graph-place" }, note("The graph is being unpacked …"));
  add(...warnings(DATA), overview(DATA), leaderboard(DATA), worth(DATA), graphPlace, learningCurves(DATA), trainedOn(DATA));
  const links = { leaderboard: "Leaderboard", worth: "Worth", graph: "Graph", edges: "Edges", curves: "Curves", data: "Data" };
  const unpacked = new GraphData(await unzipped(document.getElementById("packed").textContent), graph, DATA.classes, DATA.numbers);
  viewer = new Viewer(unpacked, graph.whole);
  graphPlace.replaceChildren(viewer.section(), edgesSection(DATA, unpacked, (node) => viewer.open(node)));
  document.getElementById("nav").append(...Object.entries(links).filter(([id]) => document.getElementById(id))
    .map(([id, title]) => element("a", { href: `#${id}` }, title)));
  if (graph.nodes) viewer.look(viewer.view);
  document.body.dataset.ready = "yes";
}

start();
