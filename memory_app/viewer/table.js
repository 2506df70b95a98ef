/* The table view: all entities that search and legend leave, sortable; only the rows in sight exist. */

const ROW_HEIGHT = 44; // as in viewer.css
const SPARE_ROWS = 8; // above and below the visible ones
const COLUMNS = [
  { key: "name", title: "Name", first: 1 },
  { key: "type", title: "Type", first: 1 },
  { key: "observations", title: "Observations", first: -1 }, // the most first: that is what one looks for
  { key: "relations", title: "Relations", first: -1 },
];

class Table {
  /** `on`: choose(id), open(id). */
  constructor(place, model, on) {
    this.model = model;
    this.on = on;
    this.chosen = -1;
    this._active = 0;
    this._rows = [];
    this._sort = { key: "relations", way: -1 };
    this._ranks = new Map();
    this._wanted = () => true;
    this._headers = COLUMNS.map((column) => this._header(column));
    this.body = element("div", { class: "rows", role: "rowgroup" });
    this.scroller = element("div", { class: "scroller" }, this.body);
    this.none = element("p", { class: "none", text: "No entity fits the search and the types chosen.", hidden: true });
    this.grid = element(
      "div",
      { class: "grid", id: "table", role: "grid", tabindex: "0", "aria-label": "Entities", "aria-readonly": "true", "aria-colcount": COLUMNS.length },
      element("div", { role: "rowgroup" }, element("div", { class: "row headings", role: "row", "aria-rowindex": "1" }, ...this._headers)),
      this.scroller,
    );
    place.append(this.grid, this.none);
    this.scroller.addEventListener("scroll", () => this._draw());
    this.grid.addEventListener("keydown", (event) => this._key(event));
    new ResizeObserver(() => this._draw()).observe(this.scroller);
  }

  /** Show the nodes for which `wanted(id)` holds. */
  filter(wanted) {
    this._wanted = wanted;
    this._arrange();
  }

  choose(id) {
    this.chosen = id;
    const at = this._rows.indexOf(id);
    if (at >= 0) this._activate(at);
    else this._draw();
  }

  _header(column) {
    const header = element("div", { role: "columnheader", class: `cell ${column.key}`, "aria-sort": "none" });
    header.append(element("button", { type: "button", onclick: () => this._sortBy(column) }, column.title, element("span", { class: "way", "aria-hidden": "true" })));
    return header;
  }

  _sortBy(column) {
    const way = this._sort.key === column.key ? -this._sort.way : column.first;
    this._sort = { key: column.key, way };
    this._arrange();
  }

  _arrange() {
    const { key, way } = this._sort;
    const ranks = this._rank(key);
    const names = this._rank("name");
    this._rows = this.model.nodes.map((node) => node.id).filter((id) => this._wanted(id));
    this._rows.sort((a, b) => way * (ranks[a] - ranks[b]) || names[a] - names[b]);
    COLUMNS.forEach((column, index) => {
      const sorted = column.key === key ? (way > 0 ? "ascending" : "descending") : "none";
      this._headers[index].setAttribute("aria-sort", sorted);
    });
    this.grid.setAttribute("aria-rowcount", this._rows.length + 1);
    this.body.style.height = `${this._rows.length * ROW_HEIGHT}px`;
    this.none.hidden = this._rows.length > 0;
    this._active = Math.max(0, this._rows.indexOf(this.chosen));
    this.scroller.scrollTop = this._active * ROW_HEIGHT;
    this._draw();
  }

  /** A number for each node by which a column sorts. Comparing names is slow, so that is done once. */
  _rank(key) {
    let ranks = this._ranks.get(key);
    if (ranks !== undefined) return ranks;
    const { nodes } = this.model;
    if (key === "observations") ranks = nodes.map((node) => node.observations.length);
    else if (key === "relations") ranks = nodes.map((node) => node.degree);
    else {
      const text = (node) => (key === "name" ? node.name : node.type.name);
      const collator = new Intl.Collator(undefined, { numeric: true });
      const sorted = [...new Set(nodes.map(text))].sort(collator.compare);
      const places = new Map(sorted.map((value, place) => [value, place]));
      ranks = nodes.map((node) => places.get(text(node)));
    }
    this._ranks.set(key, ranks);
    return ranks;
  }

  _draw() {
    if (this.scroller.clientHeight === 0) return;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW_HEIGHT) - SPARE_ROWS);
    const last = Math.min(this._rows.length, Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / ROW_HEIGHT) + SPARE_ROWS);
    const rows = [];
    for (let at = first; at < last; at++) rows.push(this._row(at));
    this.body.replaceChildren(...rows);
    const active = byId(`row-${this._active}`);
    if (active) this.grid.setAttribute("aria-activedescendant", active.id);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  _row(at) {
    const node = this.model.nodes[this._rows[at]];
    const cell = (key, ...children) => element("div", { class: `cell ${key}`, role: "gridcell" }, ...children);
    const row = element(
      "div",
      {
        id: `row-${at}`,
        class: `row${at === this._active ? " active" : ""}`,
        role: "row",
        "aria-rowindex": at + 2,
        "aria-selected": String(node.id === this.chosen),
        onclick: () => {
          this._activate(at);
          this.on.choose(node.id);
        },
      },
      cell("name", element("bdi", { text: shownText(node.name), title: node.name })),
      cell("type", swatch(node.type), element("bdi", { text: shownText(node.type.name) })),
      cell(
        "observations",
        element("span", { class: "amount", text: number.format(node.observations.length) }),
        element("bdi", { class: "preview", text: (node.observations[0] ?? "").slice(0, 300) }),
      ),
      cell("relations", number.format(node.relations.length)),
    );
    row.style.top = `${at * ROW_HEIGHT}px`;
    return row;
  }

  _activate(at) {
    this._active = Math.min(Math.max(at, 0), this._rows.length - 1);
    const top = this._active * ROW_HEIGHT;
    const { scrollTop, clientHeight } = this.scroller;
    if (top < scrollTop) this.scroller.scrollTop = top;
    else if (top + ROW_HEIGHT > scrollTop + clientHeight) this.scroller.scrollTop = top + ROW_HEIGHT - clientHeight;
    this._draw();
  }

  _key(event) {
    if (event.target !== this.grid || event.ctrlKey || event.metaKey || event.altKey || this._rows.length === 0) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_HEIGHT) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) this._activate(this._active + steps[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.on.open(this._rows[this._active]);
    else return;
    event.preventDefault();
  }
}
