/* The details of what was chosen: an entity with its observations and relations, a way between two entities, all
   relations of one type, or what a change in the past did. */

const FIRST_ITEMS = 100; // of a list; more on request, so that a hub with thousands of relations opens at once
const STEPS = [1, 2, 3]; // how far around an entity one can look

class Panel {
  /** `on`: choose(id), close(), focus(id), expand(id), steps(id, how many), path(id). `edit` adds the means to correct
      what is shown; null where nothing can be changed. */
  constructor(place, model, on, edit) {
    this.place = place;
    this.model = model;
    this.on = on;
    this.edit = edit;
    this.words = []; // to be marked
    this.everything = false; // lists are made whole, for paper
  }

  hide() {
    this.place.hidden = true;
    this.place.replaceChildren();
  }

  /** `offer` is how many neighbours the graph could bring in, or -1 where "show its surroundings" has no meaning. `steps`
      is how far around it is lit. */
  show(id, offer, steps) {
    const node = this.model.nodes[id];
    const outgoing = node.relations.filter((relation) => relation.from === id);
    const incoming = node.relations.filter((relation) => relation.to === id && relation.from !== id);
    this._fill(
      "Chosen entity",
      this._head(node, offer, steps),
      this._observations(node),
      this._relations("Relations from it", outgoing, (relation) => relation.to, "→"),
      this._relations("Relations to it", incoming, (relation) => relation.from, "←"),
      this.edit?.afterRelations(node) ?? "",
    );
    this.place.querySelector("section mark")?.scrollIntoView({ block: "center" });
  }

  /** One of the shortest ways between two entities: the ids along it, null if there is none. */
  showPath(from, to, way) {
    const list = element("ol", { class: "relation-list way-list" });
    for (const [at, id] of (way ?? []).entries()) {
      if (at > 0) list.append(element("li", { class: "verb" }, ...this._between(way[at - 1], id)));
      list.append(element("li", {}, this._end(this.model.nodes[id])));
    }
    const [one, other] = [from, to].map((id) => shownText(this.model.nodes[id].name));
    this._fill(
      "Path between two entities",
      element(
        "div",
        { class: "head" },
        this._closer(),
        element("p", { class: "kind", text: way === null ? "No way" : count(way.length - 1, "step", "steps") }),
        element("h2", { id: "panel-name", tabindex: "-1" }, element("bdi", { text: one }), " – ", element("bdi", { text: other })),
        way === null ? element("p", { class: "facts", text: "No chain of relations leads from one to the other." }) : "",
      ),
      element("section", {}, list),
    );
  }

  /** All relations of a type. */
  showType(type) {
    const relations = this.model.relations.filter((relation) => relation.kind === type);
    const list = element("ul", { class: "relation-list" });
    const items = relations.map((one) => () =>
      element("li", {}, this._end(this.model.nodes[one.from]), element("p", { class: "verb", text: "↓" }), this._end(this.model.nodes[one.to])));
    this._fill(
      "Relations of one type",
      element(
        "div",
        { class: "head" },
        this._closer(),
        element("p", { class: "kind", text: "Type of relations" }),
        element("h2", { id: "panel-name", tabindex: "-1", dir: "auto" }, ...marked(type.name, this.words)),
      ),
      this._section("Relations", items, list, ""),
    );
  }

  /** What a change in the past did, or all changes since: what only the state before it has, and what only the later one. */
  showMoment({ title, command, until, difference, ask, focus }) {
    const select = element("select", { id: "until", onchange: () => ask(select.value) }, ...[["next", "What this change did"], ["now", "What all changes since did"]].map(([value, text]) => element("option", { value, text })));
    select.value = until;
    const { beforeOnly: gone, afterOnly: fresh, types } = difference;
    const sections = [["Gone", gone], ["New", fresh]].flatMap(([word, side]) => this._side(word, side));
    if (types.length > 0) sections.push(this._section("Other types", types.map((one) => () => element("li", {}, this._name(one.name), element("p", { class: "verb" }, element("bdi", { text: shownText(one.before) }), " → ", element("bdi", { text: shownText(one.after) })))), element("ul", { class: "relation-list" }), ""));
    this._fill(
      "What a change did",
      element(
        "div",
        { class: "head" },
        this._closer(),
        element("p", { class: "kind", text: command === null ? "Change in the past" : `Change in the past, by ${command}` }),
        element("h2", { id: "panel-name", tabindex: "-1", text: title }),
        element("label", { class: "until" }, element("span", { class: "unseen", text: "Compare" }), select),
        sections.length === 0 ? element("p", { class: "facts", text: "No differences." }) : "",
      ),
      ...sections,
    );
    if (focus) (until === "next" ? byId("panel-name") : byId("until")).focus({ preventScroll: true });
  }

  /** The sections for what only one of two states has. */
  _side(word, { entities, observations, relations }) {
    const facts = observations.flatMap(({ entityName, contents }) => contents.map((text) => () => element("li", {}, this._name(entityName), element("span", { class: "fact", dir: "auto", text: shownText(text) }))));
    const made = [
      ["entities", entities.map((name) => () => element("li", {}, this._name(name))), "relation-list"],
      ["observations", facts, "relation-list"],
      ["relations", relations.map((one) => () => element("li", {}, this._name(one.from), element("p", { class: "verb" }, "↓ ", element("bdi", { text: shownText(one.relationType) })), this._name(one.to))), "relation-list"],
    ];
    return made.filter(([, items]) => items.length > 0).map(([what, items, look]) => this._section(`${word} ${what}`, items, element("ul", { class: look }), ""));
  }

  /** A name that may be in what is shown: then it leads there. */
  _name(name) {
    const id = this.model.idOf(name);
    return id >= 0 ? this._end(this.model.nodes[id]) : element("p", { class: "elsewhere" }, element("bdi", { text: shownText(name) }));
  }

  focus() {
    byId("panel-name")?.focus({ preventScroll: true });
  }

  _fill(label, ...parts) {
    this.place.setAttribute("aria-label", label);
    this.place.replaceChildren(...parts);
    this.place.hidden = false;
    this.place.scrollTop = 0;
  }

  _head(node, offer, steps) {
    const facts = [count(node.observations.length, "observation", "observations"), count(node.relations.length, "relation", "relations")];
    const buttons = element("div", { class: "actions" });
    const button = (text, onclick) => buttons.append(element("button", { class: "plain", type: "button", text, onclick }));
    if (offer >= 0) button("Show its surroundings", () => this.on.focus(node.id));
    if (offer > 0) button(`Add ${count(Math.min(offer, STEP_SIZE), "neighbour", "neighbours")}`, () => this.on.expand(node.id));
    if (node.links.length > 0) {
      buttons.append(this._steps(node, steps));
      button("Path to …", () => this.on.path(node.id));
    }
    return element(
      "div",
      { class: "head" },
      this._closer(),
      element("p", { class: "kind" }, swatch(node.type), element("span", { dir: "auto" }, ...marked(node.type.name, node.type.missing ? [] : this.words))),
      element("h2", { id: "panel-name", tabindex: "-1", dir: "auto" }, ...marked(node.name, this.words)),
      element("p", { class: "facts", text: node.type.missing ? `Relations mention this name; no entity has it. ${facts[1]}.` : facts.join(" · ") }),
      buttons,
      this.edit?.afterHead(node) ?? "",
    );
  }

  _steps(node, steps) {
    const group = element("span", { class: "steps", role: "group", "aria-label": "Neighbours, how many steps away" }, element("span", { text: "Steps" }));
    for (const far of STEPS) {
      const label = `Up to ${count(far, "step", "steps")} away`;
      group.append(element("button", { type: "button", text: far, "aria-label": label, title: label, "aria-pressed": String(far === steps), onclick: () => this.on.steps(node.id, far) }));
    }
    return group;
  }

  _closer() {
    return element("button", { class: "round close", type: "button", "aria-label": "Close details", title: "Close (Esc)", onclick: () => this.on.close() }, cross());
  }

  _observations(node) {
    if (node.type.missing) return "";
    const list = element("ul", { class: "observation-list" });
    const items = node.observations.map((text) => () => {
      const item = element("li", {}, element("span", { class: "fact", dir: "auto" }, ...marked(text, this.words)));
      this.edit?.onObservation(item, node, text);
      return item;
    });
    const first = this.words.length === 0 ? -1 : node.observations.findIndex((text) => matchesIn(text, this.words).length > 0);
    const made = this._section("Observations", items, list, "Nothing has been observed yet.", first + 1);
    made.append(this.edit?.afterObservations(node) ?? "");
    return made;
  }

  _relations(title, relations, otherEnd, arrow) {
    if (relations.length === 0) return "";
    const list = element("ul", { class: "relation-list" });
    const items = relations.map((relation) => () => {
      const other = this.model.nodes[otherEnd(relation)];
      const item = element(
        "li",
        {},
        element(
          "button",
          { type: "button", class: "relation", onclick: () => this.on.choose(other.id) },
          element("span", { class: "verb" }, element("span", { text: `${arrow} ` }), element("bdi", {}, ...marked(relation.type, this.words))),
          element("span", { class: "end" }, swatch(other.type), element("bdi", { text: shownText(other.name) })),
        ),
      );
      this.edit?.onRelation(item, relation);
      return item;
    });
    return this._section(title, items, list, "");
  }

  /** What relates two neighbours on a way, each relation with its direction. */
  _between(one, other) {
    const between = this.model.nodes[one].relations.filter((relation) => (relation.from === one && relation.to === other) || (relation.from === other && relation.to === one));
    const shown = between.slice(0, 3).flatMap((relation) => [element("span", { text: relation.from === one ? "↓ " : "↑ " }), element("bdi", { text: shownText(relation.type) }), " "]);
    return between.length > 3 ? [...shown, `+${number.format(between.length - 3)}`] : shown;
  }

  _end(node) {
    return element(
      "button",
      { type: "button", class: "relation", onclick: () => this.on.choose(node.id) },
      element("span", { class: "end" }, swatch(node.type), element("bdi", { text: shownText(node.name) })),
    );
  }

  _section(title, items, list, none, least = 0) {
    const made = element(
      "section",
      {},
      element("h3", {}, title, element("span", { class: "amount", text: ` ${number.format(items.length)}` })),
    );
    if (items.length === 0) made.append(element("p", { class: "facts", text: none }));
    else made.append(list);
    growList(made, list, items, this.everything ? items.length : Math.max(FIRST_ITEMS, least));
    return made;
  }
}

/** Fill a list with its first items, and a button for the next ones below it. */
function growList(place, list, items, first) {
  let made = 0;
  const more = element("button", { class: "plain more", type: "button" });
  const grow = (amount) => {
    const before = made;
    list.append(...items.slice(made, made + amount).map((make) => make()));
    made = list.children.length;
    more.textContent = `Show ${number.format(Math.min(FIRST_ITEMS, items.length - made))} more of ${number.format(items.length - made)}`;
    if (made < items.length) list.after(more);
    else more.remove();
    if (before > 0) (list.children[before].querySelector("button") ?? more).focus();
  };
  more.addEventListener("click", () => grow(FIRST_ITEMS));
  grow(first);
}

function cross() {
  const space = "http://www.w3.org/2000/svg";
  const icon = document.createElementNS(space, "svg");
  icon.setAttribute("viewBox", "0 0 24 24");
  icon.setAttribute("class", "icon");
  icon.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", "m7 7 10 10M17 7 7 17");
  icon.append(path);
  return icon;
}
