/* The legend: entity types with their colours and types of relations, each of which can be hidden. */

const FIRST_TYPES = 12;
const MORE_TYPES = 50;

class Legend {
  /** `types` are those of entities or of relations: {name, count, index}. `on.change()` is called when some were hidden
      or shown. `open`: whether the list is to be seen at first, where there is room. */
  constructor(place, title, id, types, open, on) {
    this.on = on;
    this.off = new Set(); // of the keys of types
    this._list = element("ul", { id });
    this._more = element("button", { class: "plain more", type: "button", onclick: () => this._grow(MORE_TYPES) });
    this._all = element("button", { class: "plain", type: "button", text: "Show all", hidden: true, onclick: () => this._setOff([]) });
    this._fold = element("button", { class: "fold", type: "button", "aria-expanded": "true", "aria-controls": `${id}-body`, onclick: () => this._toggle() }, title);
    this._amount = element("span", { class: "amount" });
    this._fold.append(this._amount);
    this._body = element("div", { id: `${id}-body`, class: "legend-body" }, this._list, this._more);
    this._place = element("section", { class: "legend" }, element("div", { class: "legend-head" }, this._fold, this._all), this._body);
    place.append(this._place);
    this.replace(types);
    if (!open || window.innerWidth <= 720) this._toggle();
  }

  /** List other types; what is hidden stays hidden. */
  replace(types) {
    this.types = types;
    this._place.hidden = types.length === 0;
    this._amount.textContent = ` ${number.format(types.length)}`;
    const before = this._made ?? 0;
    this._made = 0;
    this._boxes = [];
    this._list.replaceChildren();
    this._grow(Math.max(before, types.length <= FIRST_TYPES + 4 ? types.length : FIRST_TYPES)); // no button for a handful
  }

  isOff(type) {
    return this.off.has(keyOf(type));
  }

  turnOn(type) {
    if (this.isOff(type)) this._setOff(this.types.filter((other) => other !== type && this.isOff(other)));
  }

  /** Hide all but one. */
  only(type) {
    this._setOff(this.types.filter((other) => other !== type));
  }

  _toggle() {
    this._body.hidden = !this._body.hidden;
    this._fold.setAttribute("aria-expanded", String(!this._body.hidden));
  }

  _grow(amount) {
    const first = this._made;
    const types = this.types;
    for (const type of types.slice(this._made, this._made + amount)) this._list.append(this._item(type));
    this._made = Math.min(types.length, this._made + amount);
    this._more.hidden = this._made === types.length;
    this._more.textContent = `${number.format(types.length - this._made)} more`;
    if (first > 0) this._boxes[first]?.focus();
  }

  _item(type) {
    const box = element("input", { type: "checkbox", onchange: () => this._setOne(type, box.checked) });
    box.checked = !this.isOff(type);
    this._boxes.push(box);
    const name = type.missing ? type.name : shownText(type.name);
    return element(
      "li",
      {},
      element(
        "label",
        { title: name },
        box,
        type.colour === undefined ? "" : swatch(type),
        element("bdi", { class: "type-name", text: name }),
        element("span", { class: "amount", text: number.format(type.count) }),
      ),
      element("button", {
        class: "only", type: "button", text: "only", "aria-label": `Only ${name}`,
        onclick: () => this.only(type),
      }),
    );
  }

  _setOne(type, shown) {
    if (shown) this.off.delete(keyOf(type));
    else this.off.add(keyOf(type));
    this._changed();
  }

  _setOff(types) {
    this.off = new Set(types.map(keyOf));
    this._boxes.forEach((box, index) => (box.checked = !this.isOff(this.types[index])));
    if (types.length === 0 && document.activeElement === this._all) this._boxes[0].focus(); // that button goes away
    this._changed();
  }

  _changed() {
    this._all.hidden = this.off.size === 0;
    this.on.change();
  }
}

/** What a type is known by, also in a later model. */
const keyOf = (type) => (type.missing ? "missing" : `type ${type.name}`);
