/* The details of the chosen entity: its type, observations and relations. */

const FIRST_ITEMS = 100; // of a list; more on request, so that a hub with thousands of relations opens at once

class Panel {
  /** `on`: choose(id), close(), focus(id), only(type). */
  constructor(place, model, on) {
    this.place = place;
    this.model = model;
    this.on = on;
  }

  hide() {
    this.place.hidden = true;
    this.place.replaceChildren();
  }

  /** `offer` is how many neighbours the graph could bring in, or -1 where "show its surroundings" has no meaning. */
  show(id, offer) {
    const node = this.model.nodes[id];
    const outgoing = node.relations.filter((relation) => relation.from === id);
    const incoming = node.relations.filter((relation) => relation.to === id && relation.from !== id);
    this.place.replaceChildren(
      this._head(node, offer),
      this._observations(node),
      this._relations("Relations from it", outgoing, (relation) => relation.to, "→"),
      this._relations("Relations to it", incoming, (relation) => relation.from, "←"),
    );
    this.place.hidden = false;
    this.place.scrollTop = 0;
  }

  focus() {
    byId("panel-name")?.focus();
  }

  _head(node, offer) {
    const facts = [count(node.observations.length, "observation", "observations"), count(node.relations.length, "relation", "relations")];
    const buttons = element("p", { class: "actions" });
    if (offer >= 0) {
      buttons.append(element("button", { class: "plain", type: "button", text: "Show its surroundings", onclick: () => this.on.focus(node.id) }));
    }
    if (offer > 0) {
      const text = `Add ${count(Math.min(offer, STEP_SIZE), "neighbour", "neighbours")}`;
      buttons.append(element("button", { class: "plain", type: "button", text, onclick: () => this.on.expand(node.id) }));
    }
    return element(
      "div",
      { class: "head" },
      element("button", { class: "round close", type: "button", "aria-label": "Close details", title: "Close (Esc)", onclick: () => this.on.close() }, cross()),
      element("p", { class: "kind" }, swatch(node.type), element("span", { dir: "auto", text: node.type.missing ? node.type.name : shownText(node.type.name) })),
      element("h2", { id: "panel-name", tabindex: "-1", dir: "auto", text: shownText(node.name) }),
      element("p", { class: "facts", text: node.type.missing ? `Relations mention this name; no entity has it. ${facts[1]}.` : facts.join(" · ") }),
      buttons,
    );
  }

  _observations(node) {
    if (node.type.missing) return "";
    const list = element("ul", { class: "observation-list" });
    const items = node.observations.map((text) => () => element("li", { dir: "auto", text: shownText(text) }));
    return this._section("Observations", items, list, "Nothing has been observed yet.");
  }

  _relations(title, relations, otherEnd, arrow) {
    if (relations.length === 0) return "";
    const list = element("ul", { class: "relation-list" });
    const items = relations.map((relation) => () => {
      const other = this.model.nodes[otherEnd(relation)];
      return element(
        "li",
        {},
        element(
          "button",
          { type: "button", onclick: () => this.on.choose(other.id) },
          element("span", { class: "verb" }, element("span", { text: `${arrow} ` }), element("bdi", { text: shownText(relation.type) })),
          element("span", { class: "end" }, swatch(other.type), element("bdi", { text: shownText(other.name) })),
        ),
      );
    });
    return this._section(title, items, list, "");
  }

  _section(title, items, list, none) {
    const made = element(
      "section",
      {},
      element("h3", {}, title, element("span", { class: "amount", text: ` ${number.format(items.length)}` })),
    );
    if (items.length === 0) made.append(element("p", { class: "facts", text: none }));
    else made.append(list);
    growList(made, list, items);
    return made;
  }
}

/** Fill a list with its first items, and a button for the next ones below it. */
function growList(place, list, items) {
  let made = 0;
  const more = element("button", { class: "plain more", type: "button" });
  const grow = () => {
    const first = list.children.length;
    list.append(...items.slice(made, made + FIRST_ITEMS).map((make) => make()));
    made = list.children.length;
    more.textContent = `Show ${number.format(Math.min(FIRST_ITEMS, items.length - made))} more of ${number.format(items.length - made)}`;
    if (made < items.length) place.append(more);
    else more.remove();
    if (first > 0) (list.children[first].querySelector("button") ?? more).focus();
  };
  more.addEventListener("click", grow);
  grow();
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
