/* The search box: results while one types, chosen by mouse or keys (the combobox pattern of the ARIA practices). */

const RESULTS = 40;
const RESULT_TYPES = 3;
const RESULT_NAMES = 5; // results by name before them
const PAUSE_MILLISECONDS = 250; // in typing, after which the program is asked for what comes near

class SearchBox {
  /** `on`: query(matches as an array or null), choose(id), chooseType(type of relations), leave(). `list()` says whether
      a list of results is wanted. */
  constructor(model, search, on) {
    this.model = model;
    this.search = search;
    this.on = on;
    this.input = byId("query");
    this.box = byId("results");
    this.options = byId("options");
    this.found = byId("found");
    this._items = []; // types of relations, then ids of nodes
    this._active = -1;
    this._last = "";
    this.words = []; // of the query, to be marked
    this.input.addEventListener("input", () => this._changed());
    this.input.addEventListener("focus", () => this.input.value !== "" && this._open());
    this.input.addEventListener("blur", () => this.close());
    this.input.addEventListener("keydown", (event) => this._key(event));
    this.box.addEventListener("mousedown", (event) => event.preventDefault()); // keep the focus in the input
  }

  /** Look in another model, and find again what is asked for now. */
  replace(model, search) {
    Object.assign(this, { model, search });
    if (this._last.trim() === "") return;
    const open = !this.box.hidden;
    this._last = "";
    this._changed();
    if (!open) this.close();
  }

  clear() {
    if (this.input.value === "") return false;
    this.input.value = "";
    this._changed();
    return true;
  }

  close() {
    this.box.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this._activate(-1);
  }

  _changed() {
    const query = this.input.value;
    if (query === this._last) return;
    this._last = query;
    const found = this.search.find(query);
    this.words = wordsOf(query);
    this._show(found, connection === null ? "Nothing found. A saved page does not show similar results." : "Nothing found");
    clearTimeout(this._pause);
    if (found?.length === 0 && connection !== null) this._pause = setTimeout(() => this._lookNear(query), PAUSE_MILLISECONDS);
  }

  /** What comes near, as the program that serves the page finds it: no entity holds the words. */
  async _lookNear(query) {
    const names = await connection.search(query).catch(() => []); // without an answer nothing is found
    const ids = names.map((name) => this.model.idOf(name)).filter((id) => id >= 0);
    if (query === this._last && ids.length > 0) this._show(ids, "", "No entity contains these words; the closest are shown");
  }

  /** Show what was found; `nothing` is said where that is nothing, `about` in place of how much it is. */
  _show(found, nothing, about) {
    const types = this.words.length === 0 ? [] : this.model.relationTypes.filter((type) => fold(type.name).includes(this.words[0]));
    const ids = (found ?? []).slice(0, RESULTS);
    // Entities that the query names come before types of relations, those that only mention it after them.
    const named = Math.min(RESULT_NAMES, ids.findLastIndex((id) => this.search.names[id].includes(this.words[0])) + 1);
    this._items = [...ids.slice(0, named), ...types.slice(0, RESULT_TYPES), ...ids.slice(named)];
    this.on.query(found);
    if (found === null) {
      this.options.replaceChildren();
      this.close();
      return;
    }
    this.options.replaceChildren(...this._items.map((item, at) => (typeof item === "number" ? this._option(item, at) : this._typeOption(item, at))));
    const more = found.length - ids.length;
    this.found.textContent = this._items.length === 0 ? nothing : about ? about : more > 0 ? `and ${number.format(more)} more: see the table` : count(found.length, "entity", "entities");
    this._active = -1;
    this.options.scrollTop = 0;
    this._open();
  }

  _open() {
    if (!this.on.list() || this._last.trim() === "") return;
    this.box.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
  }

  _option(id, at) {
    const node = this.model.nodes[id];
    const [whole] = this.words;
    const inName = this.words.length === 0 || matchesIn(node.name, this.words).length > 0;
    const where = inName ? undefined : node.observations.find((text) => fold(text).includes(whole)) ?? node.observations.find((text) => matchesIn(text, this.words).length > 0);
    return element(
      "li",
      { id: `option-${at}`, role: "option", "aria-selected": "false", onclick: () => this._take(at) },
      swatch(node.type),
      element("bdi", { class: "option-name" }, ...marked(node.name, this.words)),
      element("bdi", { class: "option-type" }, ...marked(node.type.name, this.words)),
      where === undefined ? "" : element("bdi", { class: "option-text" }, ...marked(excerpt(where, this.words), this.words)),
    );
  }

  _typeOption(type, at) {
    return element(
      "li",
      { id: `option-${at}`, role: "option", "aria-selected": "false", onclick: () => this._take(at) },
      element("span", { class: "arrow", "aria-hidden": "true", text: "→" }),
      element("bdi", { class: "option-relation" }, ...marked(type.name, this.words)),
      element("span", { class: "option-type", text: count(type.count, "relation", "relations") }),
    );
  }

  _activate(at) {
    const option = (index) => this.options.children[index];
    option(this._active)?.setAttribute("aria-selected", "false");
    this._active = at;
    if (at < 0) {
      this.input.removeAttribute("aria-activedescendant");
      return;
    }
    option(at).setAttribute("aria-selected", "true");
    option(at).scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", `option-${at}`);
  }

  _take(at) {
    const item = this._items[at];
    this.close();
    if (typeof item === "number") this.on.choose(item);
    else this.on.chooseType(item);
  }

  _key(event) {
    if (event.isComposing) return; // an input method is at work: Enter and arrows are its own
    const open = !this.box.hidden;
    const amount = this._items.length;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!open) this._open();
      if (amount === 0 || this.box.hidden) return;
      const step = event.key === "ArrowDown" ? 1 : -1;
      this._activate(this._active < 0 ? (step > 0 ? 0 : amount - 1) : (this._active + step + amount) % amount);
    } else if (event.key === "Enter") {
      if (amount > 0) this._take(Math.max(0, this._active));
    } else if (event.key === "Escape") {
      event.stopPropagation();
      if (open) this.close();
      else if (!this.clear()) this.on.leave();
    } else return;
    event.preventDefault();
  }
}

/** The part of a text around a match. */
function excerpt(text, words) {
  const at = Math.max(0, (matchesIn(text, words)[0]?.[0] ?? 0) - 30);
  const part = text.slice(at, at + 140).replace(/[\ud800-\udbff]$/, "").replace(/^[\udc00-\udfff]/, "");
  return (at > 0 ? "…" : "") + part + (at + 140 < text.length ? "…" : "");
}
