/* All entities at a glance: groups of what is closely related, each around its most connected entity.

   Groups come from label propagation: every node takes the label that most of its neighbours have, a few times over.
   Groups are discs, put side by side; inside one the best connected stand in the middle. Nothing moves afterwards.
   Deterministic: the same graph gives the same picture. Costs a few passes over the links. */

const ROUNDS = 5;
const SMALLEST_GROUP = 4; // smaller ones, and what has no relation, are grouped by their type
const NODE_SPACING = 9;
const GROUP_MARGIN = 11;
const FINENESS = 0.7; // between two places that are tried, in radii of the group
const SPOTS = 8; // free places of which the one nearest to the middle is taken
const GROUP_LINKS = 500; // drawn between groups: the strongest

/** {groups: [{name, x, y, radius, ids, type}], links: [{from, to, amount}]}; sets the places in `layout`. */
function makeOverview(model, layout, aspect) {
  const groups = groupsOf(model);
  const of = new Int32Array(model.nodes.length);
  groups.forEach((group, index) => group.ids.forEach((id) => (of[id] = index)));
  const amounts = new Map();
  for (const link of model.links) {
    const [one, other] = [Math.min(of[link.from], of[link.to]), Math.max(of[link.from], of[link.to])];
    if (one !== other) amounts.set(one * groups.length + other, (amounts.get(one * groups.length + other) ?? 0) + 1);
  }
  const strongest = [...amounts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 3 * groups.length);
  const links = strongest.map(([key, amount]) => ({ from: Math.floor(key / groups.length), to: key % groups.length, amount }));
  placeGroups(groups, links, aspect);
  for (const group of groups) {
    group.ids.forEach((id, place) => {
      const [angle, far] = [place * 2.399963, NODE_SPACING * Math.sqrt(place)];
      layout.x[id] = group.x + far * Math.cos(angle);
      layout.y[id] = group.y + far * Math.sin(angle);
      layout.placed[id] = 1;
    });
  }
  return { groups, links: links.slice(0, GROUP_LINKS) };
}

function groupsOf(model) {
  const { nodes } = model;
  const { starts, others } = adjacency(model);
  const label = Int32Array.from(nodes, (node) => node.id);
  const counts = new Int32Array(nodes.length); // links to each label, of the node in hand; zero in between
  for (let round = 0; round < ROUNDS; round++) {
    let changed = 0;
    for (const id of model.byDegree) {
      let [best, most] = [label[id], 0];
      for (let at = starts[id]; at < starts[id + 1]; at++) {
        const other = label[others[at]];
        const amount = (counts[other] += 1);
        if (amount > most || (amount === most && other === label[id])) [best, most] = [other, amount];
      }
      for (let at = starts[id]; at < starts[id + 1]; at++) counts[label[others[at]]] = 0;
      if (best !== label[id]) {
        label[id] = best;
        changed += 1;
      }
    }
    if (changed === 0) break;
  }
  joinSmall(model, label);
  const found = new Map();
  for (const id of model.byDegree) {
    if (!found.has(label[id])) found.set(label[id], []);
    found.get(label[id]).push(id); // the best connected first
  }
  const groups = [];
  const rest = new Map();
  for (const ids of found.values()) {
    if (ids.length >= SMALLEST_GROUP) groups.push({ ids, name: nodes[ids[0]].name, type: nodes[ids[0]].type });
    else {
      for (const id of ids) {
        if (!rest.has(nodes[id].type)) rest.set(nodes[id].type, []);
        rest.get(nodes[id].type).push(id);
      }
    }
  }
  for (const [type, ids] of rest) groups.push({ ids, name: type.name, type });
  return groups.sort((a, b) => b.ids.length - a.ids.length || a.ids[0] - b.ids[0]);
}

/** The other ends of each node's links, in one array: those of node `id` stand from `starts[id]` on. */
function adjacency({ nodes, links }) {
  const starts = new Int32Array(nodes.length + 1);
  for (const { from, to } of links) {
    starts[from] += 1;
    if (to !== from) starts[to] += 1;
  }
  for (let id = 0, sum = 0; id <= nodes.length; id++) [starts[id], sum] = [sum, sum + starts[id]];
  const [others, at] = [new Int32Array(starts[nodes.length]), starts.slice()];
  for (const { from, to } of links) {
    others[at[from]++] = to;
    if (to !== from) others[at[to]++] = from;
  }
  return { starts, others };
}

/** Have groups that are too small to be seen among so many join the one that they have most relations with. */
function joinSmall(model, label) {
  const { nodes } = model;
  const least = Math.max(SMALLEST_GROUP, Math.round(nodes.length / 2000));
  const sizes = new Int32Array(nodes.length);
  for (const one of label) sizes[one] += 1;
  const ties = new Map(); // of each small group: how many links to each large one
  for (const { from, to } of model.links) {
    for (const [one, other] of [[label[from], label[to]], [label[to], label[from]]]) {
      if (sizes[one] >= least || sizes[other] < least) continue;
      if (!ties.has(one)) ties.set(one, new Map());
      ties.get(one).set(other, (ties.get(one).get(other) ?? 0) + 1);
    }
  }
  for (let id = 0; id < label.length; id++) {
    const to = ties.get(label[id]);
    if (to !== undefined) label[id] = [...to].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0][0];
  }
}

/** Put the groups side by side, the largest first: each as near as there is room to the one with which it has most
    relations of those that have a place, and there as near to the middle. Those that are related to none come around. */
function placeGroups(groups, links, aspect) {
  const tied = new Array(groups.length).fill(null); // to a larger group
  for (const { from, to, amount } of links) if (amount > (tied[to]?.amount ?? 0)) tied[to] = { to: from, amount };
  for (const group of groups) group.radius = NODE_SPACING * Math.sqrt(group.ids.length) + GROUP_MARGIN;
  const discs = new Discs(2 * (groups[groups.length >> 1]?.radius ?? 1));
  const begun = new Map(); // how far around a group everything is taken, as a square
  for (const [index, group] of groups.entries()) {
    const centre = tied[index] === null ? null : groups[tied[index].to];
    const [x, y, inner] = centre === null ? [0, 0, 0] : [centre.x, centre.y, (centre.radius + group.radius) ** 2 / aspect ** 2];
    const start = Math.max(0.5 * inner, (begun.get(centre) ?? 0) - group.radius ** 2);
    let [best, spots] = [Infinity, 0];
    // A sunflower's spiral: points that cover the plane evenly, from the inside out.
    for (let step = 0; spots < SPOTS; step++) {
      const squared = start + step * (group.radius * FINENESS) ** 2;
      const [angle, far] = [(index + step) * 2.399963, Math.sqrt(squared)]; // begun elsewhere each time, or rays would show
      const [atX, atY] = [x + far * Math.cos(angle) * aspect, y + (far * Math.sin(angle)) / aspect];
      if (!discs.isFree(atX, atY, group.radius)) continue;
      if (spots === 0) begun.set(centre, squared);
      spots += 1;
      const out = (atX / aspect) ** 2 + (atY * aspect) ** 2;
      if (out < best) [best, group.x, group.y] = [out, atX, atY];
    }
    discs.put(group);
  }
}

/** Discs on a plane, each listed in all cells of a grid that it may touch. */
class Discs {
  constructor(size) {
    this._size = size;
    this._cells = new Map();
  }

  put(disc) {
    const [left, right, top, bottom] = this._around(disc.x, disc.y, disc.radius);
    for (let row = top; row <= bottom; row++) {
      for (let column = left; column <= right; column++) {
        const key = column * 65536 + row;
        if (this._cells.has(key)) this._cells.get(key).push(disc);
        else this._cells.set(key, [disc]);
      }
    }
  }

  isFree(x, y, radius) {
    const [left, right, top, bottom] = this._around(x, y, radius);
    for (let row = top; row <= bottom; row++) {
      for (let column = left; column <= right; column++) {
        for (const other of this._cells.get(column * 65536 + row) ?? NONE) {
          if ((other.x - x) ** 2 + (other.y - y) ** 2 < (other.radius + radius) ** 2) return false;
        }
      }
    }
    return true;
  }

  _around(x, y, radius) {
    return [x - radius, x + radius, y - radius, y + radius].map((at) => Math.floor(at / this._size));
  }
}

const NONE = [];
