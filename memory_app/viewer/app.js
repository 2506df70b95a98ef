/* What the page knows at a moment, and who is told when it changes. */

const data = readData();
const model = new Model(data ?? {});
const search = new Search(model.nodes);
const state = { chosen: -1, matches: null, view: "graph" };
const live = byId("live");

const graph = model.nodes.length === 0 ? null : new Graph(byId("graph"), model, makeLayout(), { choose, open, status: showStatus });
const table = new Table(byId("table-view"), model, { choose, open });
const legend = new Legend(byId("legend"), model, { change: filter });
const panel = new Panel(byId("panel"), model, { choose: (id) => choose(id, { move: true, open: true }), close: letGo, focus: refocus, expand });
const searchBox = new SearchBox(model, search, {
  query: setMatches,
  choose: (id) => choose(id, { move: true, open: true }),
  list: () => state.view === "graph",
  leave: () => (state.view === "graph" ? byId("graph") : table.grid).focus(),
});

function readData() {
  try {
    const data = JSON.parse(byId("data").textContent);
    if (data !== null && typeof data === "object") return data;
  } catch {
    // told when the page has started
  }
  return null;
}

function makeLayout() {
  return new Layout(Float64Array.from(model.nodes, (node) => 4.5 + Math.min(17, 1.7 * Math.sqrt(node.degree))));
}

/** Choose an entity, -1 for none. `move`: bring it to the middle; `open`: go to its details; `replace`: no step back. */
function choose(id, { move = false, open: goThere = false, replace = false } = {}) {
  if (id !== state.chosen) {
    state.chosen = id;
    const place = id < 0 ? "#" : `#${id}`;
    if (replace) location.replace(place);
    else location.hash = place;
  }
  if (id < 0) panel.hide();
  else legend.turnOn(model.nodes[id].type); // what one goes to is not left invisible
  graph?.choose(id);
  table.choose(id);
  if (id < 0) return;
  panel.show(id, graph.whole ? -1 : graph.hiddenNeighbours(id));
  graph.reveal(id, move);
  const node = model.nodes[id];
  live.textContent = `${shownText(node.name)}, ${shownText(node.type.name)}, ${count(node.relations.length, "relation", "relations")}, ${count(node.observations.length, "observation", "observations")}`;
  if (goThere) panel.focus();
}

function open(id) {
  choose(id, { open: true });
}

function letGo() {
  const hadFocus = byId("panel").contains(document.activeElement);
  choose(-1);
  if (hadFocus) (state.view === "graph" ? byId("graph") : table.grid).focus();
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

function setMatches(found) {
  state.matches = found === null ? null : new Set(found);
  graph?.setMatches(state.matches);
  fillTable();
  if (found !== null) live.textContent = found.length === 0 ? "Nothing found" : `${count(found.length, "entity", "entities")} found`;
}

function isWanted(id) {
  return (state.matches === null || state.matches.has(id)) && !legend.isOff(model.nodes[id].type);
}

function filter() {
  graph?.setFilter((id) => legend.isOff(model.nodes[id].type));
  fillTable();
}

function fillTable() {
  if (state.view === "table") table.filter(isWanted); // else when it is looked at
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
    fillTable();
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
  if (shown === total) return;
  place.append(element("span", { text: `${number.format(shown)} of ${number.format(total)} shown` }));
  if (graph.whole) return;
  const button = (text, onclick) => {
    const made = element("button", { class: "plain", type: "button", text, onclick });
    place.append(made);
    if (text === focused) made.focus();
  };
  button("Show more", () => graph.showMore());
  if (graph.canBeWhole) button("Show all", () => graph.showAll());
  button("Start again", () => (choose(-1), graph.focus(-1)));
}

/** Light or dark: as the system has it, until the button says otherwise. */
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
  show();
}

function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help-dialog").open) return;
    const typing = event.target instanceof HTMLInputElement && event.target.type === "search";
    if (event.key === "Escape") {
      if (state.chosen >= 0) letGo();
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

/** The browser's own back and forward go through what was chosen. */
function readPlace() {
  const id = /^#\d{1,9}$/.test(location.hash) ? Number(location.hash.slice(1)) : -1;
  const known = id < model.nodes.length ? id : -1;
  if (known !== state.chosen) choose(known, { move: true, replace: true });
}

function notice(text) {
  byId("notice").firstElementChild.textContent = text;
  byId("notice").hidden = false;
}

function start() {
  const counts = [count(model.entityCount, "entity", "entities"), count(model.relations.length, "relation", "relations")];
  byId("counts").textContent = counts.join(" · ");
  setView("graph");
  startTheme();
  startKeys();
  byId("show-graph").addEventListener("click", () => setView("graph"));
  byId("show-table").addEventListener("click", () => setView("table"));
  byId("help").addEventListener("click", () => byId("help-dialog").showModal());
  byId("zoom-in").addEventListener("click", () => graph?.zoom(1.4));
  byId("zoom-out").addEventListener("click", () => graph?.zoom(1 / 1.4));
  byId("zoom-fit").addEventListener("click", () => graph?.fit());
  if (graph === null) {
    notice(data === null ? "The memory in this page cannot be read." : "This memory is empty. What is remembered will show here.");
    byId("graph").tabIndex = -1;
    return;
  }
  graph.focus(-1);
  readPlace();
  window.addEventListener("hashchange", readPlace);
  const prepare = () => search.prepare(8) || setTimeout(prepare, 20);
  setTimeout(prepare, 300);
}

start();
