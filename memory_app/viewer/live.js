/* What a served page does beside showing: it takes changes in, sends those that are made here, and looks back. */

const KEPT_CHANGES = 50;
const taken = new Map(); // the last changes that were taken in, by their numbers
const waiting = new Map(); // for those that this page made and that have not come yet

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
  timeline = new Timeline({ show: lookBack, moment: showMoment, mayLeave, say: (text) => changes.say(text, null, true) });
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

/** A change of the memory, by this page or another program. While an earlier state is looked at it is only noted. */
async function takeIn(change) {
  if (change.reload && change.number === undefined) changeNumber = -1;
  if (change.reload) {
    const loaded = await connection.graph();
    changeNumber = loaded.number;
    data = loaded.graph;
    if (!timeline.looksBack) adopt(data);
  } else {
    if (change.number <= changeNumber) return;
    changeNumber = change.number;
    data = withChange(data, change);
    if (!timeline.looksBack) adopt(data, change.entities.map((one) => one.name), change.renamed);
  }
  if (change.label === undefined) return;
  changes.add(change);
  timeline.refresh();
  taken.set(change.number, change);
  taken.delete(change.number - KEPT_CHANGES);
  waiting.get(change.number)?.(change);
  if (!change.own) live.textContent = change.label;
}

/** Show other data: everything stays where it is and as it is, but for what differs. `fresh` are the names of entities
    that are new or other than before, `renamed` the old and the new name of one. */
function adopt(shown, fresh = [], renamed = null) {
  const [before, chosen, type] = [model, state.chosen, state.type?.name];
  model = new Model(shown, before);
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
    live.textContent = timeline.looksBack ? `${shownText(name)} did not exist` : `${shownText(name)} was deleted`;
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

/** Whether the state that is shown may be left: not while something is being written. */
function mayLeave() {
  if (!editor?.busy) return true;
  changes.say("Save or cancel what you are writing first.", null, true);
  return false;
}

/** Show an earlier state of the memory; null: the present one. Nothing can be changed in the past. */
function lookBack(graphThen) {
  const shown = graphThen ?? data;
  panel.edit = graphThen === null ? editor : null;
  byId("add").hidden = graphThen !== null || editor === undefined;
  document.body.toggleAttribute("data-past", graphThen !== null);
  const fresh = shown.entities.filter((one) => model.idOf(one.name) < 0);
  adopt(shown, fresh.map((one) => one.name));
  if (graphThen === null && state.moment !== null) letGo();
}

/** Have the details say what a change in the past did. */
function showMoment(moment) {
  if (state.chosen >= 0 && !moment.focus) return; // that entity is looked at through time
  if (state.chosen >= 0) choose(-1);
  Object.assign(state, { moment, path: null, type: null });
  showPanel();
}

function showConnection(connected, text) {
  byId("banner").hidden = connected;
  byId("banner").textContent = connected ? "" : text || "Not connected: the program that serves this page has ended, or does not answer. The page shows the last known state.";
}
