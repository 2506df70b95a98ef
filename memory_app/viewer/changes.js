/* The last changes of the memory, by whomever, each with its undo; and a word about the one that was just made. */

const SHOWN_CHANGES = 20;
const TOAST_SECONDS = 12;

class Changes {
  /** `on.undo(number)`. */
  constructor(place, toast, on) {
    this.on = on;
    this.toast = toast;
    this._list = element("ol", { id: "change-list", hidden: true });
    this._fold = element("button", { class: "fold", type: "button", "aria-expanded": "false", "aria-controls": "change-list", onclick: () => this._toggle() }, "Last changes");
    this._amount = element("span", { class: "amount", text: " 0" });
    this._fold.append(this._amount);
    this._total = 0;
    place.append(element("div", { class: "legend-head" }, this._fold), this._list);
    place.hidden = false;
  }

  add(change) {
    this._total += 1;
    this._amount.textContent = ` ${number.format(this._total)}`;
    const item = element(
      "li",
      {},
      element("time", { datetime: new Date(change.time).toISOString(), text: new Date(change.time).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" }) }),
      element("bdi", { text: shownText(change.label), title: change.own ? "" : "by another program" }),
    );
    if (change.undo) item.append(element("button", { class: "plain", type: "button", text: "Undo", "aria-label": `Undo: ${shownText(change.label)}`, onclick: () => this.on.undo(change.number) }));
    this._list.prepend(item);
    while (this._list.children.length > SHOWN_CHANGES) this._list.lastElementChild.remove();
  }

  /** Say something, with an undo if it can be taken back. */
  say(text, change = null, isError = false) {
    clearTimeout(this._timer);
    this.toast.replaceChildren(element("span", { text }));
    this.toast.classList.toggle("wrong", isError);
    if (change !== null && change.undo) this.toast.append(element("button", { class: "plain", type: "button", text: "Undo", onclick: () => this.on.undo(change.number) }));
    this.toast.hidden = false;
    this._timer = setTimeout(() => (this.toast.hidden = true), 1000 * TOAST_SECONDS);
  }

  _toggle() {
    this._list.hidden = !this._list.hidden;
    this._fold.setAttribute("aria-expanded", String(!this._list.hidden));
  }
}

/** The data of read_graph with a change applied to it. */
function withChange(data, change) {
  const key = (one) => JSON.stringify([one.from, one.to, one.relationType]);
  const gone = new Set(change.gone);
  const fresh = new Map(change.entities.map((one) => [one.name, one]));
  const kept = data.entities.filter((one) => !gone.has(one.name));
  const entities = kept.map((one) => {
    const now = fresh.get(one.name) ?? one;
    fresh.delete(one.name);
    return now;
  });
  const goneRelations = new Set(change.goneRelations.map(key));
  const relations = goneRelations.size === 0 ? data.relations : data.relations.filter((one) => !goneRelations.has(key(one)));
  return { entities: [...entities, ...fresh.values()], relations: [...relations, ...change.relations] };
}
