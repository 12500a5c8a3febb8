// Nodes and edges, unpacked from the page's one packed text.

const FULL = 65535;
const KINDS = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, float32: Float32Array };

/** The bytes behind base64 text of gzip. */
async function unzipped(text) {
  const letters = atob(text.trim());
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

class GraphData {
  constructor(buffer, { nodes, edges, top, roles }, classes, numbers = null) {
    const length = new DataView(buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    let place = 4 + length;
    for (const [name, kind, size] of head.arrays) {
      this[name] = new KINDS[kind](buffer, place, size);
      place += Math.ceil(this[name].byteLength / 4) * 4;
    }
    Object.assign(this, { nodes, edges, count: top, roles, classes, numbers, ids: head.ids });
    if (numbers) this.unpackNumbers(numbers);
  }

  /** Numbers out of deviations from the mean, which 32 bits can hold. */
  unpackNumbers({ mean, spread }) {
    for (const name of ["known", "value"]) this[name] = Float64Array.from(this[name], (x) => mean + spread * x);
    this.moved = Float64Array.from(this.moved, (x) => spread * x);
  }

  name(node) { return this.ids ? this.ids[node] : String(node); }
  label(node) { return this.top[node * this.count]; }
  certainty(node) { return this.chance[node * this.count] / FULL; }
  movedBy(node) { return this.numbers ? this.moved[node] / (this.numbers.moved || 1) : this.moved[node] / FULL; }
  /** The predicted class or number of a node. */
  output(node) { return this.numbers ? this.value[node] : this.label(node); }
  /** What its edges are compared by: the known class or number, else the predicted one. */
  compared(node) {
    if (this.numbers) return Number.isNaN(this.known[node]) ? this.value[node] : this.known[node];
    return this.known[node] ? this.known[node] - 1 : this.label(node);
  }
  /** Where a number lies among all that are predicted, in 0..1. */
  height(value) { return (value - this.numbers.low) / (this.numbers.high - this.numbers.low || 1); }
  suspicion(edge) { return this.score[edge] / FULL; }
  degree(node) { return this.around.start[node + 1] - this.around.start[node]; }

  /** [[class, probability], ...], best first. */
  probabilities(node) {
    return Array.from({ length: this.count }, (_, k) =>
      [this.top[node * this.count + k], this.chance[node * this.count + k] / FULL]);
  }

  /** Neighbours of all nodes, one after the other; made at the first use. */
  get around() {
    if (this.lists) return this.lists;
    const start = new Uint32Array(this.nodes + 1);
    for (let e = 0; e < this.edges; e += 1) { start[this.tail[e] + 1] += 1; start[this.head[e] + 1] += 1; }
    for (let i = 0; i < this.nodes; i += 1) start[i + 1] += start[i];
    const next = start.slice(), other = new Uint32Array(2 * this.edges), edge = new Uint32Array(2 * this.edges);
    for (let e = 0; e < this.edges; e += 1) {
      const [i, j] = [this.tail[e], this.head[e]];
      other[next[i]] = j; edge[next[i]++] = e;
      other[next[j]] = i; edge[next[j]++] = e;
    }
    this.lists = { start, other, edge };
    return this.lists;
  }

  /** [[neighbour, edge], ...] of a node, the most suspicious edge first, at most `most`. */
  neighbours(node, most = Infinity) {
    const { start, other, edge } = this.around;
    const found = [];
    for (let p = start[node]; p < start[node + 1]; p += 1) found.push([other[p], edge[p]]);
    found.sort((a, b) => this.score[b[1]] - this.score[a[1]] || a[0] - b[0]);
    return found.slice(0, most);
  }

  /** Nodes within `hops` steps, at most `most`, nearest first: [[node, distance], ...]. */
  nearby(node, hops, most) {
    const distance = new Map([[node, 0]]);
    for (const [from, far] of distance) {
      if (far === hops) break;
      for (const [other] of this.neighbours(from)) {
        if (distance.size >= most) return [...distance];
        if (!distance.has(other)) distance.set(other, far + 1);
      }
    }
    return [...distance];
  }

  /** Numbers of the nodes whose id is, begins with, or contains `text`; the best first. */
  search(text, most = 8) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const ranks = [[], [], []];
    for (let i = 0; i < this.nodes && ranks[0].length + ranks[1].length < 4 * most; i += 1) {
      const place = this.name(i).toLowerCase().indexOf(wanted);
      if (place < 0) continue;
      const rank = place > 0 ? 2 : this.name(i).length === wanted.length ? 0 : 1;
      if (rank < 2 || ranks[2].length < most) ranks[rank].push(i);
    }
    return ranks.flat().slice(0, most);
  }
}
