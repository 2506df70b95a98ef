/* The graph in the form that the page works with. Never changed: what changes the memory makes a new one.

   A node is an entity, or a name that relations mention but no entity has (`missing`): nothing that is in the memory is
   left out. A link is all relations from one node to another; it is what gets drawn. */

const COLOURS = 12; // as many as viewer.css has; types beyond repeat them in another shape
const SHAPES = 4;

class Model {
  /** `before` is the model that this one follows: types keep their colours. */
  constructor(data, before = null) {
    const list = (value) => (Array.isArray(value) ? value.filter((item) => item !== null && typeof item === "object") : []);
    this.nodes = [];
    this.links = [];
    this.relations = [];
    this._byName = new Map();
    this._types = new Map();
    this._relationTypes = new Map();
    for (const entity of list(data.entities)) this._addEntity(entity);
    this.entityCount = this.nodes.length;
    this._missing = { name: "Not in the memory", colour: "--ghost", shape: "ghost", count: 0, missing: true };
    for (const relation of list(data.relations)) this._addRelation(relation);
    this._groupLinks();
    const mostFirst = (a, b) => b.count - a.count || (a.name < b.name ? -1 : 1);
    this.types = [...this._types.values()].sort(mostFirst);
    this.relationTypes = [...this._relationTypes.values()].sort(mostFirst);
    this.relationTypes.forEach((type, index) => (type.index = index));
    this._looks = new Map(before?._looks ?? []);
    for (const type of this.types) {
      if (!this._looks.has(type.name)) this._looks.set(type.name, this._looks.size);
      const look = this._looks.get(type.name);
      type.colour = `--c${look % COLOURS}`;
      type.shape = Math.floor(look / COLOURS) % SHAPES;
    }
    if (this._missing.count > 0) this.types.push(this._missing);
    this.types.forEach((type, index) => (type.index = index));
    this.byDegree = this.nodes.map((node) => node.id).sort((a, b) => this.nodes[b].degree - this.nodes[a].degree || a - b);
  }

  /** The id of the node of this name, or -1. */
  idOf(name) {
    return this._byName.get(name)?.id ?? -1;
  }

  /** The ids at most `steps` relations away from a node, itself first, nearest first, `most` of them. */
  within(id, steps, most) {
    const found = new Map([[id, 0]]);
    for (const [at, distance] of found) {
      if (distance === steps) break;
      for (const other of this.neighbours(at)) {
        if (found.size >= most) return [...found.keys()];
        if (!found.has(other)) found.set(other, distance + 1);
      }
    }
    return [...found.keys()];
  }

  /** The ids along one of the shortest ways between two nodes, in either direction of the relations; null if there is none. */
  path(from, to) {
    const before = new Map([[from, -1]]);
    for (const [at] of before) {
      if (at === to) break;
      for (const other of this.neighbours(at)) if (!before.has(other)) before.set(other, at);
    }
    if (!before.has(to)) return null;
    const way = [];
    for (let at = to; at >= 0; at = before.get(at)) way.unshift(at);
    return way;
  }

  /** The ids of a node's neighbours, the most connected first. */
  neighbours(id) {
    const node = this.nodes[id];
    if (node.neighbours === null) {
      const ids = new Set(node.links.map((link) => (link.from === id ? link.to : link.from)));
      ids.delete(id);
      node.neighbours = [...ids].sort((a, b) => this.nodes[b].degree - this.nodes[a].degree || a - b);
    }
    return node.neighbours;
  }

  /** Up to `size` ids around `root`, nearest first, well-connected ones before others; `wanted` filters. */
  neighbourhood(root, size, wanted) {
    const found = new Set(wanted(root) ? [root] : []);
    const queue = [root];
    for (let head = 0; head < queue.length && found.size < size; head++) {
      // A third of the room for the root itself, little for each further one: a start that shows structure, not one star.
      let room = head === 0 ? Math.ceil(size / 3) : 5;
      for (const id of this.neighbours(queue[head])) {
        if (room === 0 || found.size >= size) break;
        if (found.has(id) || !wanted(id)) continue;
        found.add(id);
        queue.push(id);
        room -= 1;
      }
    }
    return [...found];
  }

  _addEntity(entity) {
    const name = asText(entity.name);
    const observations = (Array.isArray(entity.observations) ? entity.observations : []).map(asText);
    const known = this._byName.get(name);
    if (known !== undefined) {
      for (const observation of observations) known.observations.push(observation);
      return;
    }
    const typeName = asText(entity.entityType);
    let type = this._types.get(typeName);
    if (type === undefined) this._types.set(typeName, (type = { name: typeName, count: 0, missing: false }));
    this._addNode(name, type, observations);
  }

  _addNode(name, type, observations) {
    type.count += 1;
    const node = { id: this.nodes.length, name, type, observations, relations: [], links: [], neighbours: null, degree: 0 };
    this.nodes.push(node);
    this._byName.set(name, node);
    return node;
  }

  _addRelation(relation) {
    const [from, to] = [relation.from, relation.to].map((end) => {
      const name = asText(end);
      return this._byName.get(name) ?? this._addNode(name, this._missing, []);
    });
    const name = asText(relation.relationType);
    let kind = this._relationTypes.get(name);
    if (kind === undefined) this._relationTypes.set(name, (kind = { name, count: 0, index: 0 }));
    kind.count += 1;
    const made = { from: from.id, to: to.id, type: name, kind };
    this.relations.push(made);
    from.relations.push(made);
    from.degree += 1;
    if (to === from) return;
    to.relations.push(made);
    to.degree += 1;
  }

  /** Without a map of pairs, which is slow for many: the links of one node after another, by marks in an array. */
  _groupLinks() {
    const marks = new Array(this.nodes.length).fill(null); // the link from the node in hand to each other one
    for (const node of this.nodes) {
      for (const relation of node.relations) {
        if (relation.from !== node.id) continue;
        const known = marks[relation.to];
        if (known !== null && known.from === node.id) {
          known.relations.push(relation);
          continue;
        }
        const link = { from: node.id, to: relation.to, relations: [relation], twoWay: false };
        marks[link.to] = link;
        this.links.push(link);
        node.links.push(link);
      }
    }
    for (const link of this.links) if (link.to !== link.from) this.nodes[link.to].links.push(link);
    marks.fill(null);
    for (const node of this.nodes) {
      for (const link of node.links) if (link.from === node.id) marks[link.to] = link;
      for (const link of node.links) if (link.from !== node.id) link.twoWay = marks[link.from]?.from === node.id;
    }
  }
}

function asText(value) {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}
