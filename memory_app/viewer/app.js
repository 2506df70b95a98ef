/* What the page knows at a moment, and who is told when it changes. */

let data = null; // of read_graph
let model = null;
let search = null;
let graph = null; // none while the memory is empty
let changeNumber = 0; // of the last change that the data holds
let adopting = false; // a change is being taken in: what is looked at stays in sight
let renamed = null; // by the change that is being taken in
const state = { chosen: -1, matches: null, view: "graph", rows: "entities", steps: 1, pathFrom: -1, path: null, type: null };
const live = byId("live");
let tables, legend, relationLegend, panel, searchBox, editor, changes;

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
  Object.assign(state, { path: null, type: null });
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
  if (state.path !== null) panel.showPath(...state.path);
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
  searchBox.input.placeholder = `Way from ${shownText(model.nodes[id].name)} to …`;
  searchBox.input.focus();
  live.textContent = "Choose where the way is to lead, by a search or in the graph.";
}

function endPath() {
  state.pathFrom = -1;
  searchBox.input.placeholder = "Search the memory";
}

function showPath(from, to) {
  const way = model.path(from, to);
  Object.assign(state, { path: [from, to, way], type: null });
  searchBox.clear();
  setView("graph");
  for (const id of way ?? [from, to]) legend.turnOn(model.nodes[id].type);
  showPanel();
  const nextTo = new Map((way ?? []).map((id, at) => [id, at]));
  graph.follow(trailOf(way ?? [from, to], (link) => Math.abs(nextTo.get(link.from) - nextTo.get(link.to)) === 1));
  graph.fitTo(way ?? [from, to]);
  live.textContent = way === null ? "No chain of relations leads from one to the other." : `The way has ${count(way.length - 1, "step", "steps")}.`;
  panel.focus();
}

/** Show all relations of a type. */
function chooseType(type) {
  Object.assign(state, { type, path: null });
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

/** Light or dark: as the system has it, until the button says otherwise. Paper is light. */
function startTheme() {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const button = byId("theme");
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const show = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    graph?.recolour();
  };
  try {
    const kept = localStorage.getItem("memory-viewer-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch {
    // a browser that keeps nothing for local files
  }
  button.addEventListener("click", () => {
    const wanted = isDark() ? "light" : "dark";
    root.dataset.theme = wanted;
    try {
      localStorage.setItem("memory-viewer-theme", wanted);
    } catch {
      // as above: it then holds for this visit
    }
    show();
  });
  system.addEventListener("change", show);
  window.matchMedia("(forced-colors: active)").addEventListener("change", show);
  let screen;
  window.addEventListener("beforeprint", () => {
    screen = root.dataset.theme;
    root.dataset.theme = "light";
    graph?.recolour(true);
    tables[state.rows].showEverything(state.view === "table");
    panel.everything = true;
    showPanel();
  });
  window.addEventListener("afterprint", () => {
    if (screen === undefined) delete root.dataset.theme;
    else root.dataset.theme = screen;
    tables[state.rows].showEverything(false);
    panel.everything = false;
    showPanel();
    show();
  });
  show();
}

function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") !== null) return;
    const typing = event.target instanceof HTMLTextAreaElement || (event.target instanceof HTMLInputElement && event.target.type !== "checkbox");
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

/** Take changed data in: everything stays where it is and as it is, but for what has changed. `fresh` are the names of
    entities that are new or other than before. */
function adopt(changed, fresh = []) {
  const [before, chosen, type] = [model, state.chosen, state.type?.name];
  data = changed;
  model = new Model(data, before);
  search = new Search(model.nodes);
  const wasName = (name) => (renamed !== null && renamed[1] === name && before.idOf(name) < 0 ? renamed[0] : name);
  const was = model.nodes.map((node) => before.idOf(wasName(node.name)));
  panel.model = model;
  legend.replace(model.types);
  relationLegend.replace(model.relationTypes);
  tables.entities.replace(model.nodes);
  tables.relations.replace(model.relations);
  if (graph !== null) graph.adopt(model, makeLayout(), (id) => was[id]);
  else if (model.nodes.length > 0) {
    graph = newGraph();
    filter();
    graph.focus(-1);
  }
  showCounts();
  adopting = true;
  searchBox.replace(model, search);
  fillTables();
  adopting = false;
  Object.assign(state, { path: null, type: model.relationTypes.find((one) => one.name === type) ?? null });
  state.chosen = chosen < 0 ? -1 : was.indexOf(chosen);
  if (chosen >= 0 && renamed !== null && state.chosen < 0) state.chosen = model.idOf(renamed[1]);
  if (chosen >= 0) keepChoice(before.nodes[chosen].name);
  graph?.glow(fresh.map((name) => model.idOf(name)).filter((id) => id >= 0));
}

/** Have the details show the entity that was chosen as it is by now. */
function keepChoice(name) {
  if (state.chosen < 0) {
    live.textContent = `${shownText(name)} was deleted`;
    letGo();
    return;
  }
  if (model.nodes[state.chosen].name !== name) location.replace(placeOf(model.nodes[state.chosen].name));
  graph.scene.chosen = state.chosen;
  for (const table of Object.values(tables)) table.chosen = state.chosen;
  if (editor?.busy) return; // filled anew when that is done
  const [top, focused] = [byId("panel").scrollTop, byId("panel").contains(document.activeElement)];
  showPanel();
  byId("panel").scrollTop = top;
  if (focused) panel.focus();
}

function showCounts() {
  byId("counts").textContent = [count(model.entityCount, "entity", "entities"), count(model.relations.length, "relation", "relations")].join(" · ");
  const empty = model.nodes.length === 0;
  notice(!empty ? "" : data === null ? "The memory in this page cannot be read." : "This memory is empty. What is remembered will show here.");
  byId("graph").tabIndex = empty ? -1 : 0;
  byId("picture").disabled = empty;
}

/** Get the memory from the program, and go on hearing of its changes. */
async function connect() {
  const { memories, readOnly } = await connection.memories();
  const loaded = await connection.graph();
  changes = new Changes(byId("changes"), byId("toast"), { undo: (number) => send(() => connection.undo(number)) });
  for (const change of loaded.changes) changes.add(change);
  changeNumber = loaded.number;
  if (!readOnly) {
    editor = new Editor({ model: () => model, find: (query) => search.find(query), send: (edit, goTo) => send(() => connection.edit(edit), goTo), done: () => showPanel() });
    byId("add").hidden = false;
    byId("add").addEventListener("click", () => editor.addEntity());
  }
  showSource(memories, loaded.path, readOnly);
  build(loaded.graph);
  connection.follow({ number: () => changeNumber, change: takeIn, state: showConnection });
}

function showSource(memories, path, readOnly) {
  const name = path.split(/[\\/]/).pop();
  document.title = name;
  document.querySelector("h1").textContent = shownText(name);
  byId("source").textContent = shownPart(path) + (readOnly ? " · read-only" : "");
  if (memories.length < 2) return;
  const select = element("select", { "aria-label": "Memory", onchange: () => connection.change(select.value) }, ...memories.map((one) => element("option", { value: one.name, text: shownText(one.name) })));
  select.value = connection.memory;
  document.querySelector("h1").replaceChildren(select);
}

/** A change of the memory, by this page or another program. */
async function takeIn(change) {
  if (change.reload && change.number === undefined) changeNumber = -1;
  if (change.reload) {
    const loaded = await connection.graph();
    changeNumber = loaded.number;
    adopt(loaded.graph);
  } else {
    if (change.number <= changeNumber) return;
    changeNumber = change.number;
    renamed = change.renamed;
    adopt(withChange(data, change), change.entities.map((one) => one.name));
    renamed = null;
  }
  if (change.label === undefined) return;
  changes.add(change);
  taken.set(change.number, change);
  taken.delete(change.number - KEPT_CHANGES);
  waiting.get(change.number)?.(change);
  if (!change.own) live.textContent = change.label;
}

const KEPT_CHANGES = 50;
const taken = new Map(); // the last changes that were taken in, by their numbers
const waiting = new Map(); // for those that this page made and that have not come yet

/** Have the program make a change; true when it is made and shown. `goTo`: the entity to be shown then. */
async function send(make, goTo = null) {
  let made;
  try {
    made = await make();
  } catch (error) {
    changes.say(error.message, null, true);
    return false;
  }
  const change = await new Promise((done) => {
    if (made.number <= changeNumber) return done(taken.get(made.number) ?? null);
    waiting.set(made.number, done);
    setTimeout(() => done(null), 3000); // the stream is gone: the next one tells
  });
  waiting.delete(made.number);
  if (goTo !== null && model.idOf(goTo) >= 0) choose(model.idOf(goTo), { open: true });
  changes.say(change === null ? "Done" : shownText(change.label), change);
  return true;
}

function showConnection(connected, text) {
  byId("banner").hidden = connected;
  byId("banner").textContent = connected ? "" : text || "Not connected: the program that serves this page has ended, or does not answer. What is shown is the last that was known.";
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
