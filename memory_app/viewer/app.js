/* What the page knows at a moment, and who is told when it changes. */

let data = null; // of read_graph, as the memory is now; `model` is of what is shown
let model = null;
let search = null;
let graph = null; // none while the memory is empty
let changeNumber = 0; // of the last change that the data holds
let adopting = false; // a change is being taken in: what is looked at stays in sight
const state = { chosen: -1, matches: null, view: "graph", rows: "entities", steps: 1, pathFrom: -1, path: null, type: null, moment: null };
const live = byId("live");
let tables, legend, relationLegend, panel, searchBox, editor, changes, timeline;

/** Make the parts of the page, for the first data. */
function build(first) {
  data = first;
  model = new Model(data ?? {});
  search = new Search(model.nodes);
  if (model.nodes.length > 0) graph = newGraph();
  const row = (id, label, columns, items, idOf, key, way) =>
    new Table(byId("table-view"), { id, label, columns, items, idOf, start: { key, way } }, { choose, open });
  tables = {
    entities: row("table", "Entities", ENTITY_COLUMNS, model.nodes, (node) => node.id, "relations", -1),
    relations: row("relations", "Relations", relationColumns(() => model.nodes), model.relations, (one) => one.from, "kind", 1),
  };
  legend = new Legend(byId("legends"), "Types", "types", model.types, true, { change: filter });
  relationLegend = new Legend(byId("legends"), "Relations", "relation-types", model.relationTypes, false, { change: filter });
  panel = new Panel(byId("panel"), model, { choose: (id) => choose(id, { move: true, open: true }), close: letGo, focus: refocus, expand, steps: lookAround, path: startPath }, editor);
  searchBox = new SearchBox(model, search, {
    query: setMatches,
    choose: (id) => choose(id, { move: true, open: true }),
    chooseType,
    list: () => state.view === "graph" || state.pathFrom >= 0,
    leave: () => (state.view === "graph" ? byId("graph") : tables[state.rows].grid).focus(),
  });
}

function newGraph() {
  return new Graph(byId("graph"), model, makeLayout(), { choose, open, status: showStatus });
}

function readJson(id) {
  try {
    const data = JSON.parse(byId(id).textContent);
    if (data !== null && typeof data === "object") return data;
  } catch {
    // told when the page has started
  }
  return null;
}

function makeLayout() {
  return new Layout(Float64Array.from(model.nodes, (node) => SMALLEST_RADIUS + Math.min(LARGEST_RADIUS - SMALLEST_RADIUS, 1.7 * Math.sqrt(node.degree))));
}

/** Choose an entity, -1 for none. `move`: bring it to the middle; `open`: go to its details; `replace`: no step back. */
function choose(id, { move = false, open: goThere = false, replace = false } = {}) {
  const from = state.pathFrom;
  endPath();
  if (from >= 0 && id >= 0 && id !== from) {
    showPath(from, id);
    return;
  }
  if (id !== state.chosen) {
    state.chosen = id;
    state.steps = 1;
    const place = id < 0 ? "#" : placeOf(model.nodes[id].name);
    if (replace) location.replace(place);
    else location.hash = place;
  }
  Object.assign(state, { path: null, type: null, moment: null });
  if (id < 0) panel.hide();
  else legend.turnOn(model.nodes[id].type); // what one goes to is not left invisible
  graph?.choose(id);
  if (state.steps === 1) graph?.follow(null);
  for (const table of Object.values(tables)) table.choose(id);
  if (id < 0) return;
  showPanel();
  graph.reveal(id, move);
  const node = model.nodes[id];
  live.textContent = `${shownText(node.name)}, ${shownText(node.type.name)}, ${count(node.relations.length, "relation", "relations")}, ${count(node.observations.length, "observation", "observations")}`;
  if (goThere) panel.focus();
}

/** Where an entity is found in this page, also when it is made anew. */
function placeOf(name) {
  return name === "" ? "#/" : `#${encodeURIComponent(name)}`;
}

/** Fill the details with what is chosen. */
function showPanel() {
  if (editor?.busy) editor.busy = false;
  panel.words = searchBox.words;
  if (state.moment !== null) panel.showMoment(state.moment);
  else if (state.path !== null) panel.showPath(...state.path);
  else if (state.type !== null) panel.showType(state.type);
  else if (state.chosen >= 0) panel.show(state.chosen, graph.whole ? -1 : graph.hiddenNeighbours(state.chosen), state.steps);
}

function open(id) {
  choose(id, { open: true });
}

function letGo() {
  const hadFocus = byId("panel").contains(document.activeElement);
  choose(-1);
  panel.hide();
  if (hadFocus) (state.view === "graph" ? byId("graph") : tables[state.rows].grid).focus();
}

function refocus(id) {
  setView("graph");
  graph.focus(id);
  choose(id, { open: true });
}

function expand(id) {
  setView("graph");
  graph.expand(id);
  choose(id, { move: true, open: true });
}

/** Light what is at most so many steps away from an entity. */
function lookAround(id, steps) {
  state.steps = steps;
  setView("graph");
  graph.follow(steps === 1 ? null : trailOf(model.within(id, steps, MOST_AROUND)));
  if (steps > 1) graph.fitTo([...graph.scene.trail.nodes]);
  showPanel();
  panel.place.querySelector(`.steps [aria-pressed="true"]`)?.focus();
  if (steps > 1) live.textContent = `${count(graph.scene.trail.nodes.size - 1, "entity", "entities")} up to ${count(steps, "step", "steps")} away`;
}

/** Some nodes, and the links between them or those that `wanted` takes. */
function trailOf(ids, wanted = () => true) {
  const nodes = new Set(ids);
  const links = new Set();
  for (const id of ids) for (const link of model.nodes[id].links) if (nodes.has(link.from) && nodes.has(link.to) && wanted(link)) links.add(link);
  return { nodes, links };
}

/** Have the person choose where a way from this entity is to lead. */
function startPath(id) {
  state.pathFrom = id;
  searchBox.clear();
  searchBox.input.placeholder = `Path from ${shownText(model.nodes[id].name)} to …`;
  searchBox.input.focus();
  live.textContent = "Choose the other entity, by a search or in the graph.";
}

function endPath() {
  state.pathFrom = -1;
  searchBox.input.placeholder = "Search the memory";
}

function showPath(from, to) {
  const way = model.path(from, to);
  Object.assign(state, { path: [from, to, way], type: null, moment: null });
  searchBox.clear();
  setView("graph");
  for (const id of way ?? [from, to]) legend.turnOn(model.nodes[id].type);
  showPanel();
  const nextTo = new Map((way ?? []).map((id, at) => [id, at]));
  graph.follow(trailOf(way ?? [from, to], (link) => Math.abs(nextTo.get(link.from) - nextTo.get(link.to)) === 1));
  graph.fitTo(way ?? [from, to]);
  live.textContent = way === null ? "No chain of relations leads from one to the other." : `The path has ${count(way.length - 1, "step", "steps")}.`;
  panel.focus();
}

/** Show all relations of a type. */
function chooseType(type) {
  Object.assign(state, { type, path: null, moment: null });
  if (relationLegend.isOff(type)) relationLegend.only(type);
  showPanel();
  const ends = new Set(model.relations.filter((one) => one.kind === type).slice(0, MOST_AROUND).flatMap((one) => [one.from, one.to]));
  graph.follow(trailOf([...ends], (link) => link.relations.some((one) => one.kind === type)));
  graph.fitTo([...ends]);
  live.textContent = `${shownText(type.name)}: ${count(type.count, "relation", "relations")}`;
  panel.focus();
}

function setMatches(found) {
  state.matches = found === null ? null : new Set(found);
  graph?.setMatches(state.matches);
  fillTables();
  if (found !== null) live.textContent = found.length === 0 ? "Nothing found" : `${count(found.length, "entity", "entities")} found`;
}

function isWanted(node) {
  return (state.matches === null || state.matches.has(node.id)) && !legend.isOff(node.type);
}

function isRelationWanted(relation) {
  if (relationLegend.isOff(relation.kind) || [relation.from, relation.to].some((id) => legend.isOff(model.nodes[id].type))) return false;
  if (state.matches === null || state.matches.has(relation.from) || state.matches.has(relation.to)) return true;
  return searchBox.words.length > 0 && fold(relation.type).includes(searchBox.words[0]);
}

function filter() {
  graph?.setFilter((id) => legend.isOff(model.nodes[id].type), (type) => relationLegend.isOff(type));
  fillTables();
}

function fillTables() {
  if (state.view !== "table") return; // else when it is looked at
  tables.entities.hidden = state.rows !== "entities";
  tables.relations.hidden = state.rows !== "relations";
  if (state.rows === "entities") tables.entities.filter(isWanted, adopting);
  else tables.relations.filter(isRelationWanted, adopting);
  for (const rows of Object.keys(tables)) byId(`rows-${rows}`).setAttribute("aria-pressed", String(state.rows === rows));
}

function setRows(rows) {
  state.rows = rows;
  fillTables();
}

function setView(view) {
  state.view = view;
  byId("graph-view").hidden = view !== "graph";
  byId("table-view").hidden = view !== "table";
  document.body.dataset.view = view;
  byId("show-graph").setAttribute("aria-pressed", String(view === "graph"));
  byId("show-table").setAttribute("aria-pressed", String(view === "table"));
  if (view === "table") {
    searchBox.close();
    fillTables();
  } else {
    graph?.draw();
  }
}

function showStatus(shown) {
  const total = model.nodes.length;
  const place = byId("status");
  const focused = place.contains(document.activeElement) ? document.activeElement.textContent : null;
  place.replaceChildren();
  if (focused !== null) byId("graph").focus(); // unless its successor takes the focus
  const overview = graph?.scene.overview ?? null;
  if (shown === total && overview === null) return;
  const text = overview === null || shown < total ? `${number.format(shown)} of ${number.format(total)} shown` : `${count(total, "entity", "entities")} in ${count(overview.groups.length, "group", "groups")}`;
  place.append(element("span", { text }));
  if (graph?.whole !== false) return;
  const button = (text, onclick) => {
    const made = element("button", { class: "plain", type: "button", text, onclick });
    place.append(made);
    if (text === focused) made.focus();
  };
  if (overview !== null) {
    button("Most connected", () => (choose(-1), graph.focus(-1)));
    return;
  }
  if (!graph.canBeWhole) button("Overview", () => graph.showOverview());
  button("Show more", () => graph.showMore());
  if (graph.canBeWhole) button("Show all", () => graph.showAll());
  button("Start again", () => (choose(-1), graph.focus(-1)));
}

function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") !== null) return;
    const typing = event.target instanceof HTMLTextAreaElement || (event.target instanceof HTMLInputElement && !["checkbox", "range"].includes(event.target.type));
    if (event.key === "Escape") {
      if (!byId("panel").hidden) letGo();
      else searchBox.clear();
    } else if (typing) {
      return;
    } else if (event.key === "/") {
      event.preventDefault();
      searchBox.input.focus();
      searchBox.input.select();
    } else if (event.key === "?") {
      byId("help-dialog").showModal();
    } else if (event.key === "t") {
      timeline?.toggle();
    }
  });
}

function startPictures() {
  const dialog = byId("picture-dialog");
  byId("picture").addEventListener("click", () => dialog.showModal());
  for (const kind of ["png", "svg"]) {
    byId(`picture-${kind}`).addEventListener("click", async () => {
      dialog.close();
      setView("graph");
      handOver(await pictureOf(graph, kind), `${document.title.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 60) || "memory"}.${kind}`);
    });
  }
  byId("print").addEventListener("click", () => {
    dialog.close();
    window.print();
  });
}

/** The browser's own back and forward go through what was chosen. */
function readPlace() {
  let name = "";
  try {
    name = location.hash === "#/" ? "" : decodeURIComponent(location.hash.slice(1));
  } catch {
    // no place of ours
  }
  const known = location.hash === "" ? -1 : model.idOf(name);
  if (known !== state.chosen) choose(known, { move: true, replace: true });
}

function notice(text) {
  byId("notice").firstElementChild.textContent = text;
  byId("notice").hidden = text === "";
}

function showCounts() {
  byId("counts").textContent = [count(model.entityCount, "entity", "entities"), count(model.relations.length, "relation", "relations")].join(" · ");
  const empty = model.nodes.length === 0;
  const none = timeline?.looksBack ? "This memory was empty then." : "This memory is empty. Entities will appear here.";
  notice(!empty ? "" : data === null ? "The memory in this page cannot be read." : none);
  byId("graph").tabIndex = empty ? -1 : 0;
  byId("picture").disabled = empty;
}

async function start() {
  document.documentElement.classList.remove("no-script");
  if (connection === null) build(readJson("data"));
  else {
    try {
      await connect();
    } catch (error) {
      notice(error.message);
      return;
    }
  }
  showCounts();
  setView("graph");
  startTheme();
  startKeys();
  startPictures();
  byId("show-graph").addEventListener("click", () => setView("graph"));
  byId("show-table").addEventListener("click", () => setView("table"));
  for (const rows of Object.keys(tables)) byId(`rows-${rows}`).addEventListener("click", () => setRows(rows));
  byId("help").addEventListener("click", () => byId("help-dialog").showModal());
  byId("zoom-in").addEventListener("click", () => graph?.zoom(1.4));
  byId("zoom-out").addEventListener("click", () => graph?.zoom(1 / 1.4));
  byId("zoom-fit").addEventListener("click", () => graph?.fit());
  window.addEventListener("hashchange", readPlace);
  if (graph !== null && !graph.canBeWhole) graph.showOverview();
  else graph?.focus(-1);
  readPlace();
  document.body.dataset.ready = "true";
  const prepare = () => search.prepare(8) || setTimeout(prepare, 20);
  setTimeout(prepare, 300);
}

start();
