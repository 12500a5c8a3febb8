// The graph on a canvas: whole, or the neighbourhood of a node.

const NEARBY = 400; // nodes of a neighbourhood at most

class Viewer {
  constructor(graph, whole) {
    Object.assign(this, { graph, whole, by: graph.numbers ? "value" : "class", hops: 2, selected: null, view: whole ? "whole" : "nearby", worst: false });
    this.canvas = element("div", { class: "canvas", role: "img", "aria-label": "The graph" });
    this.panel = element("div", { class: "panel", "aria-live": "polite" }, note("Click a node, or search for its id."));
    this.legend = element("div", {});
    this.status = note("");
    this.renderer = null;
    this.keepScrolling();
  }

  section() {
    const choice = (title, values, current, pick) => {
      const buttons = values.map(([value, text]) => element("button", { type: "button", "aria-pressed": String(value === current), onclick: () => {
        buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(values[k][0] === value)));
        pick(value);
      } }, text));
      return element("div", { class: "choice", role: "group", "aria-label": title }, element("span", {}, title), ...buttons);
    };
    this.views = this.whole ? choice("view", [["whole", "whole graph"], ["nearby", "neighbourhood"]], this.view, (view) => this.look(view)) : null;
    const tools = element("div", { class: "tools" }, this.searchBox(), this.views,
      choice("steps", [[1, "1"], [2, "2"], [3, "3"]], this.hops, (hops) => { this.hops = hops; this.look("nearby"); }),
      choice("colour", this.graph.numbers ? [["value", "number"], ["moved", "moved"]] : [["class", "class"], ["certainty", "certainty"], ["moved", "moved"]], this.by, (by) => { this.by = by; this.paint(); }),
      choice("edges", [[false, "all"], [true, "suspicious"]], this.worst, (worst) => { this.worst = worst; this.paint(); }));
    const zoom = element("div", { class: "zoom" }, ...[["+", "Zoom in", 0.6], ["−", "Zoom out", 1.7], ["⌂", "Show all", 0]].map(([sign, title, factor]) =>
      element("button", { type: "button", "aria-label": title, title, onclick: () => this.zoom(factor) }, sign)));
    return section("graph", "The graph", tools, element("div", { class: "stage" },
      element("div", { class: "frame" }, this.canvas, zoom), this.panel), this.legend, this.status);
  }

  searchBox() {
    const list = element("div", { class: "found", hidden: "" });
    const close = () => { list.hidden = true; };
    const input = element("input", { type: "search", placeholder: "Search a node by id", "aria-label": "Search a node",
      oninput: () => {
        const found = this.graph.search(input.value);
        list.hidden = !input.value.trim();
        list.replaceChildren(...(found.length ? found.map((node) => element("button", { type: "button", class: "link", onclick: () => { close(); input.value = this.graph.name(node); this.open(node); } }, this.graph.name(node)))
          : [note("no such node")]));
      },
      onkeydown: (event) => {
        const [first] = this.graph.search(input.value);
        if (event.key === "Enter" && first !== undefined) { close(); this.open(first); }
        if (event.key === "Escape") close();
      } });
    document.addEventListener("click", (event) => { if (!list.contains(event.target) && event.target !== input) close(); });
    return element("div", { class: "search" }, input, list);
  }

  /** The wheel scrolls the page until the graph was clicked, so that scrolling never gets stuck on it. */
  keepScrolling() {
    let active = false;
    this.canvas.addEventListener("pointerdown", () => { active = true; });
    this.canvas.addEventListener("pointerleave", () => { active = false; });
    this.canvas.addEventListener("wheel", (event) => { if (!active && !event.ctrlKey) event.stopPropagation(); }, { capture: true });
  }

  /** Shows a node's numbers, and its neighbourhood where that is the view. */
  open(node, scroll = true) {
    this.selected = node;
    this.panel.replaceChildren(nodePanel(this.graph, node, (other) => this.open(other, false)));
    this.panel.scrollTop = 0;
    if (this.view === "nearby" || !this.whole) this.look("nearby"); else this.focus(node);
    if (scroll) document.getElementById("graph").scrollIntoView({ block: "start" });
  }

  look(view) {
    this.view = view;
    if (this.views) this.views.querySelectorAll("button").forEach((button, k) => button.setAttribute("aria-pressed", String((k === 0) === (view === "whole"))));
    if (view === "nearby" && this.selected === null) this.selected = this.graph.edges ? this.worstNode() : 0;
    this.draw(view === "whole" ? this.wholeGraph() : this.nearbyGraph());
  }

  worstNode() {
    let best = 0;
    for (let e = 1; e < this.graph.edges; e += 1) if (this.graph.score[e] > this.graph.score[best]) best = e;
    return this.graph.tail[best];
  }

  wholeGraph() {
    const { graph } = this, drawn = new GraphViewer.Graph({ type: "undirected" });
    const size = Math.max(1.5, Math.min(6, 120 / Math.sqrt(graph.nodes)));
    for (let i = 0; i < graph.nodes; i += 1) {
      drawn.addNode(String(i), { x: graph.place[2 * i] / FULL, y: graph.place[2 * i + 1] / FULL, size: size * (1 + Math.log1p(graph.degree(i)) / 4), label: graph.name(i) });
    }
    for (let e = 0; e < graph.edges; e += 1) drawn.addEdgeWithKey(String(e), String(graph.tail[e]), String(graph.head[e]));
    this.status.textContent = `All ${thousands(graph.nodes)} nodes and ${thousands(graph.edges)} edges. Drag to move, click, then scroll to zoom.`;
    return drawn;
  }

  /** The selected node in the middle, its neighbourhood around it, arranged by force. */
  nearbyGraph() {
    const { graph } = this, near = graph.nearby(this.selected, this.hops, NEARBY);
    const drawn = new GraphViewer.Graph({ type: "undirected" });
    near.forEach(([node, far], k) => drawn.addNode(String(node), { x: far * Math.cos(2.4 * k), y: far * Math.sin(2.4 * k), size: far === 0 ? 11 : far === 1 ? 7 : 5, label: graph.name(node), far }));
    for (const [node] of near) {
      for (const [other, edge] of graph.neighbours(node)) {
        if (node < other && drawn.hasNode(String(other))) drawn.addEdgeWithKey(String(edge), String(node), String(other));
      }
    }
    if (drawn.order > 2) GraphViewer.forceAtlas2.assign(drawn, { iterations: 150, settings: { ...GraphViewer.forceAtlas2.inferSettings(drawn), adjustSizes: false } });
    const cut = drawn.order >= NEARBY ? ` (the first ${NEARBY} nodes)` : "";
    this.status.textContent = `${thousands(drawn.order)} of ${thousands(graph.nodes)} nodes: within ${this.hops} steps of ${graph.name(this.selected)}${cut}. Click a node to go on from there.`;
    return drawn;
  }

  draw(drawn) {
    this.drawn = drawn;
    this.colour();
    if (this.renderer) { this.renderer.setGraph(drawn); this.zoom(0); this.settings(); return; }
    try {
      this.renderer = new GraphViewer.Sigma(drawn, this.canvas, { zIndex: true, hideEdgesOnMove: this.graph.edges > 20000, allowInvalidContainer: true,
        labelFont: "system-ui, sans-serif", labelSize: 12, labelDensity: 0.35, labelGridCellSize: 90, defaultDrawNodeHover: drawHover, minCameraRatio: 0.005, maxCameraRatio: 4,
        nodeReducer: (node, data) => (Number(node) === this.selected ? { ...data, size: data.size * 1.6, highlighted: true, forceLabel: true, zIndex: 2 } : data) });
      this.renderer.on("clickNode", ({ node }) => this.open(Number(node), false));
      this.settings();
    } catch (error) {
      this.canvas.replaceChildren(note("This browser draws no WebGL, which the picture needs; the panel and the search work without."));
    }
  }

  settings() {
    this.renderer.setSetting("labelColor", { color: isDark() ? "#c9d1d9" : "#333a42" });
    this.renderer.setSetting("labelRenderedSizeThreshold", this.view === "whole" ? 7 : 0);
    this.renderer.refresh();
  }

  colour() {
    const { graph, drawn } = this;
    drawn.updateEachNodeAttributes((node, data) => { data.color = nodeColour(graph, Number(node), this.by); return data; }, { attributes: ["color"] });
    drawn.updateEachEdgeAttributes((edge, data) => {
      const suspicion = graph.suspicion(Number(edge));
      data.color = edgeColour(suspicion);
      data.size = suspicion > 0.9 ? 1.6 : this.view === "whole" ? 0.5 : 1;
      data.zIndex = suspicion > 0.9 ? 1 : 0;
      data.hidden = this.worst && suspicion < 0.85;
      return data;
    }, { attributes: ["color", "size", "zIndex", "hidden"] });
    this.legend.replaceChildren(legendOf(graph, this.by), element("div", { class: "key" }, "edges: quiet",
      element("i", { class: "ramp", style: `background:linear-gradient(90deg, ${edgeColour(0)}, ${edgeColour(0.85)}, ${edgeColour(1)})` }), "suspicious"));
  }

  paint() {
    this.colour();
    if (this.renderer) this.settings();
  }

  zoom(factor) {
    if (!this.renderer) return;
    const camera = this.renderer.getCamera();
    if (factor === 0) camera.setState({ x: 0.5, y: 0.5, ratio: 1, angle: 0 });
    else camera.setState({ ratio: Math.max(0.005, Math.min(4, camera.ratio * factor)) });
  }

  focus(node) {
    if (!this.renderer) return;
    const { x, y } = this.renderer.getNodeDisplayData(String(node));
    this.renderer.getCamera().animate({ x, y, ratio: Math.min(0.35, this.renderer.getCamera().ratio) }, { duration: 300 });
    this.renderer.refresh();
  }

  /** Where a node is drawn, in pixels of the canvas. */
  screenPosition(node) {
    const { x, y } = this.renderer.getNodeDisplayData(String(node));
    return this.renderer.framedGraphToViewport({ x, y });
  }
}
