/* A table: all rows that search and legend leave, sortable; only the rows in sight exist. */

const ROW_HEIGHT = 44; // as in viewer.css
const SPARE_ROWS = 8; // above and below the visible ones

/** Entities as rows: the items are nodes. */
const ENTITY_COLUMNS = [
  { key: "name", title: "Name", first: 1, text: (node) => node.name, cell: (node) => [element("bdi", { text: shownText(node.name), title: node.name })] },
  {
    key: "type", title: "Type", first: 1, text: (node) => node.type.name,
    cell: (node) => [swatch(node.type), element("bdi", { text: shownText(node.type.name) })],
  },
  {
    key: "observations", title: "Observations", first: -1, amount: (node) => node.observations.length, // the most first: that is what one looks for
    cell: (node) => [
      element("span", { class: "amount", text: number.format(node.observations.length) }),
      element("bdi", { class: "preview", text: shownPart((node.observations[0] ?? "").slice(0, 300)) }),
    ],
  },
  { key: "relations", title: "Relations", first: -1, amount: (node) => node.degree, cell: (node) => [number.format(node.relations.length)] },
];

/** Relations as rows; `nodes()` are those of the model. */
function relationColumns(nodes) {
  const end = (node) => [swatch(node.type), element("bdi", { text: shownText(node.name), title: node.name })];
  return [
    { key: "from", title: "From", first: 1, text: (one) => nodes()[one.from].name, cell: (one) => end(nodes()[one.from]) },
    { key: "kind", title: "Relation", first: 1, text: (one) => one.type, cell: (one) => [element("bdi", { text: shownText(one.type), title: one.type })] },
    { key: "to", title: "To", first: 1, text: (one) => nodes()[one.to].name, cell: (one) => end(nodes()[one.to]) },
  ];
}

class Table {
  /** `idOf(item)`: the node that a row stands for. `start`: by which column it is sorted at first, and which way.
      `on`: choose(id), open(id). */
  constructor(place, { id, label, columns, items, idOf, start }, on) {
    this.on = on;
    this.chosen = -1;
    this._id = id;
    this._columns = columns;
    this._items = items;
    this._idOf = idOf;
    this._active = 0;
    this._rows = [];
    this._sort = start;
    this._ranks = new Map();
    this._wanted = () => true;
    this._everything = false;
    this._headers = columns.map((column) => this._header(column));
    this.body = element("div", { class: "rows", role: "rowgroup" });
    this.head = element("div", { class: "head-rows", role: "rowgroup" }, element("div", { class: "row headings", role: "row", "aria-rowindex": "1" }, ...this._headers));
    this.none = element("p", { class: "none", text: "Nothing matches the search and the chosen types.", hidden: true });
    this.grid = element(
      "div",
      { class: `grid ${id}`, id, role: "grid", tabindex: "0", "aria-label": label, "aria-readonly": "true", "aria-colcount": columns.length },
      this.head,
      this.body,
    );
    place.append(this.grid, this.none);
    this.grid.addEventListener("scroll", () => this._draw());
    this.grid.addEventListener("keydown", (event) => this._key(event));
    new ResizeObserver(() => this._draw()).observe(this.grid);
  }

  set hidden(value) {
    this.grid.hidden = value;
    if (value) this.none.hidden = true;
  }

  get hidden() {
    return this.grid.hidden;
  }

  /** Show the items for which `wanted(item)` holds, from the first one; `stay`: what is looked at stays in sight. */
  filter(wanted, stay = false) {
    this._wanted = wanted;
    this._arrange();
    if (!stay) this.grid.scrollTop = this._active = 0;
    this._active = Math.max(0, Math.min(this._active, this._rows.length - 1));
    this._draw();
  }

  /** Other items, from the next `filter` on. */
  replace(items) {
    this._items = items;
    this._ranks.clear();
  }

  /** Have all rows exist, as paper needs them, or those in sight alone. */
  showEverything(everything) {
    this._everything = everything;
    this._draw();
  }

  choose(id) {
    this.chosen = id;
    const at = this._rows.findIndex((item) => this._idOf(item) === id);
    if (at >= 0 && this._rows[this._active] !== undefined && this._idOf(this._rows[this._active]) !== id) this._activate(at);
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
    this.filter(this._wanted);
  }

  _arrange() {
    const { key, way } = this._sort;
    const ranks = this._rank(key);
    const first = this._rank(this._columns[0].key);
    const places = this._items.map((_, place) => place).filter((place) => this._wanted(this._items[place]));
    places.sort((a, b) => way * (ranks[a] - ranks[b]) || first[a] - first[b]);
    this._rows = places.map((place) => this._items[place]);
    this._columns.forEach((column, index) => {
      const sorted = column.key === key ? (way > 0 ? "ascending" : "descending") : "none";
      this._headers[index].setAttribute("aria-sort", sorted);
    });
    this.grid.setAttribute("aria-rowcount", this._rows.length + 1);
    this.none.hidden = this._rows.length > 0;
    this.body.style.height = `${this._rows.length * ROW_HEIGHT}px`;
  }

  /** A number for each item by which a column sorts. Comparing names is slow, so that is done once. */
  _rank(key) {
    let ranks = this._ranks.get(key);
    if (ranks !== undefined) return ranks;
    const column = this._columns.find((one) => one.key === key);
    if (column.amount !== undefined) ranks = this._items.map(column.amount);
    else {
      const collator = new Intl.Collator(undefined, { numeric: true });
      const sorted = [...new Set(this._items.map(column.text))].sort(collator.compare);
      const places = new Map(sorted.map((value, place) => [value, place]));
      ranks = this._items.map((item) => places.get(column.text(item)));
    }
    this._ranks.set(key, ranks);
    return ranks;
  }

  /** The height in which rows are seen: what scrolls is the grid itself, which has the focus, below its headings. */
  get _height() {
    return Math.max(0, this.grid.clientHeight - this.head.offsetHeight);
  }

  _draw() {
    if (this._height === 0 && !this._everything) return;
    let [first, last] = [0, this._rows.length];
    if (!this._everything) {
      first = Math.max(0, Math.floor(this.grid.scrollTop / ROW_HEIGHT) - SPARE_ROWS);
      last = Math.min(last, Math.ceil((this.grid.scrollTop + this._height) / ROW_HEIGHT) + SPARE_ROWS);
    }
    const rows = [];
    for (let at = first; at < last; at++) rows.push(this._row(at));
    this.body.replaceChildren(...rows);
    const active = byId(`${this._id}-row-${this._active}`);
    if (active) this.grid.setAttribute("aria-activedescendant", active.id);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  _row(at) {
    const item = this._rows[at];
    const id = this._idOf(item);
    const row = element(
      "div",
      {
        id: `${this._id}-row-${at}`,
        class: `row${at === this._active ? " active" : ""}`,
        role: "row",
        "aria-rowindex": at + 2,
        "aria-selected": String(id === this.chosen),
        onclick: () => {
          this._activate(at);
          this.on.choose(id);
        },
      },
      ...this._columns.map((column) => element("div", { class: `cell ${column.key}`, role: "gridcell" }, ...column.cell(item))),
    );
    row.style.top = `${at * ROW_HEIGHT}px`;
    return row;
  }

  _activate(at) {
    this._active = Math.min(Math.max(at, 0), this._rows.length - 1);
    const top = this._active * ROW_HEIGHT;
    const [scrollTop, height] = [this.grid.scrollTop, this._height];
    if (top < scrollTop) this.grid.scrollTop = top;
    else if (top + ROW_HEIGHT > scrollTop + height) this.grid.scrollTop = top + ROW_HEIGHT - height;
    this._draw();
  }

  _key(event) {
    if (event.target !== this.grid || event.ctrlKey || event.metaKey || event.altKey || this._rows.length === 0) return;
    const page = Math.max(1, Math.floor(this._height / ROW_HEIGHT) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) this._activate(this._active + steps[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.on.open(this._idOf(this._rows[this._active]));
    else return;
    event.preventDefault();
  }
}
