/* The search box: results while one types, chosen by mouse or keys (the combobox pattern of the ARIA practices). */

const RESULTS = 40;

class SearchBox {
  /** `on`: query(matches as an array or null), choose(id), leave(). `list()` says whether a list of results is wanted. */
  constructor(model, search, on) {
    this.model = model;
    this.search = search;
    this.on = on;
    this.input = byId("query");
    this.box = byId("results");
    this.options = byId("options");
    this.found = byId("found");
    this._ids = [];
    this._active = -1;
    this._last = "";
    this.input.addEventListener("input", () => this._changed());
    this.input.addEventListener("focus", () => this.input.value !== "" && this._open());
    this.input.addEventListener("blur", () => this.close());
    this.input.addEventListener("keydown", (event) => this._key(event));
    this.box.addEventListener("mousedown", (event) => event.preventDefault()); // keep the focus in the input
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
    this._ids = (found ?? []).slice(0, RESULTS);
    this.on.query(found);
    if (found === null) {
      this.options.replaceChildren();
      this.close();
      return;
    }
    const words = query.trim();
    this.options.replaceChildren(...this._ids.map((id, at) => this._option(id, at, fold(words))));
    const more = found.length - this._ids.length;
    this.found.textContent = found.length === 0 ? "Nothing found" : more > 0 ? `and ${number.format(more)} more: see the table` : count(found.length, "entity", "entities");
    this._active = -1;
    this.box.scrollTop = 0;
    this._open();
  }

  _open() {
    if (!this.on.list() || this._last.trim() === "") return;
    this.box.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
  }

  _option(id, at, folded) {
    const node = this.model.nodes[id];
    const where = this.search.names[id].includes(folded) ? undefined : node.observations.find((text) => fold(text).includes(folded));
    return element(
      "li",
      { id: `option-${at}`, role: "option", "aria-selected": "false", onclick: () => this._take(at) },
      swatch(node.type),
      element("bdi", { class: "option-name", text: shownText(node.name) }),
      element("bdi", { class: "option-type", text: node.type.name }),
      where === undefined ? "" : element("bdi", { class: "option-text", text: excerpt(where, folded) }),
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
    this.close();
    this.on.choose(this._ids[at]);
  }

  _key(event) {
    if (event.isComposing) return; // an input method is at work: Enter and arrows are its own
    const open = !this.box.hidden;
    const amount = this._ids.length;
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

/** The part of a text around a match. Folding can change lengths, so the place is near enough, not exact. */
function excerpt(text, folded) {
  const at = Math.max(0, fold(text).indexOf(folded) - 30);
  const part = text.slice(at, at + 140).replace(/[\ud800-\udbff]$/, "").replace(/^[\udc00-\udfff]/, "");
  return (at > 0 ? "…" : "") + part + (at + 140 < text.length ? "…" : "");
}
