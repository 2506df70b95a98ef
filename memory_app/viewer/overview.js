/* All entities at a glance: groups of what is closely related, each around its most connected entity.

   Groups come from label propagation: every node takes the label that most of its neighbours have, a few times over.
   They are laid out as nodes are; inside a group the best connected stand in the middle. Nothing moves afterwards.
   Deterministic: the same graph gives the same picture. Costs a few passes over the links, and one small layout. */

const ROUNDS = 5;
const SMALLEST_GROUP = 4; // smaller ones, and what has no relation, are grouped by their type
const NODE_SPACING = 9;
const GROUP_MARGIN = 16;
const LAYOUT_WORK = 60000; // groups times steps of their layout: an eighth of a second; a number of steps, so that it is the same each time
const APART_ROUNDS = 8;
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
  const label = Int32Array.from(nodes, (node) => node.id);
  const counts = new Int32Array(nodes.length); // links to each label, of the node in hand; zero in between
  for (let round = 0; round < ROUNDS; round++) {
    let changed = 0;
    for (const id of model.byDegree) {
      let [best, most] = [label[id], 0];
      const { links } = nodes[id];
      for (const link of links) {
        const other = label[link.from === id ? link.to : link.from];
        const amount = (counts[other] += 1);
        if (amount > most || (amount === most && other === label[id])) [best, most] = [other, amount];
      }
      for (const link of links) counts[label[link.from === id ? link.to : link.from]] = 0;
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

function placeGroups(groups, links, aspect) {
  const layout = new Layout(Float64Array.from(groups, (group) => NODE_SPACING * Math.sqrt(group.ids.length) + GROUP_MARGIN));
  layout.aspect = aspect;
  layout.show(groups.map((_, index) => index), links, 1);
  const steps = Math.min(260, Math.ceil(LAYOUT_WORK / Math.max(1, groups.length)));
  for (let step = 0; step < steps && layout.moving; step++) layout.step();
  groups.forEach((group, index) => Object.assign(group, { x: layout.x[index], y: layout.y[index], radius: layout.radii[index] }));
  keepApart(groups);
}

/** Push groups apart that lie over each other, a few times. Large ones, which are few, are compared with all; the others
    with those in the cells of a grid around them. */
function keepApart(groups) {
  const sizes = groups.map((group) => group.radius).sort((a, b) => a - b);
  const limit = 2.5 * sizes[Math.floor(sizes.length / 2)];
  const large = groups.filter((group) => group.radius > limit);
  const small = groups.filter((group) => group.radius <= limit);
  const key = (column, row) => column * 65536 + row;
  for (let round = 0; round < APART_ROUNDS; round++) {
    for (const [at, group] of large.entries()) {
      for (let other = at + 1; other < large.length; other++) pushApart(group, large[other]);
      for (const other of small) pushApart(group, other);
    }
    const grid = new Map();
    for (const group of small) {
      const [column, row] = [Math.floor(group.x / (2 * limit)), Math.floor(group.y / (2 * limit))];
      for (const [dx, dy] of [[0, 0], [-1, 0], [0, -1], [-1, -1], [1, -1], [1, 0], [0, 1], [1, 1], [-1, 1]]) {
        for (const other of grid.get(key(column + dx, row + dy)) ?? []) pushApart(other, group);
      }
      const place = key(column, row);
      if (grid.has(place)) grid.get(place).push(group);
      else grid.set(place, [group]);
    }
  }
}

function pushApart(group, other) {
  const [x, y] = [other.x - group.x || 0.01, other.y - group.y || 0.01];
  const wanted = group.radius + other.radius;
  if (Math.abs(x) >= wanted || Math.abs(y) >= wanted) return;
  const far = Math.sqrt(x * x + y * y);
  if (far >= wanted) return;
  const [share, by] = [other.radius / wanted, (wanted - far) / far]; // the smaller one gives way
  group.x -= x * by * share;
  group.y -= y * by * share;
  other.x += x * by * (1 - share);
  other.y += y * by * (1 - share);
}
