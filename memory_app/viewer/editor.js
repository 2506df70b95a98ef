/* Correcting the memory: what the details offer for it, and the questions that are asked. */

const OFFERED_NAMES = 12;

class Editor {
  /** `on`: send(edit) makes a change and resolves to whether it was made, model(), find(query), done(): editing in place
      has ended. */
  constructor(on) {
    this.on = on;
    this.busy = false; // something is being written in the details: they are not to be filled anew
  }

  afterHead(node) {
    const buttons = element("div", { class: "actions edit-actions" });
    const button = (text, onclick) => buttons.append(element("button", { class: "plain", type: "button", text, onclick }));
    if (node.type.missing) {
      button("Add as an entity", () => this.addEntity(node.name));
      return buttons;
    }
    button("Rename", () => this._rename(node));
    button("Change type", () => this._changeType(node));
    button("Merge", () => this._merge(node));
    button("Delete", () => this._delete(node));
    return buttons;
  }

  onObservation(item, node, text) {
    item.append(
      element(
        "span",
        { class: "item-tools" },
        iconButton("Edit observation", "m5 19 .8-3.6L15.5 5.7l2.800 2.800-9.7 9.7z", () => this._write(item, text, (written) => ({ do: "replace fact", entity: node.name, old: text, new: written }))),
        iconButton("Delete observation", "M6 8h12M10 8V5.5h4V8m-6.5 0 .7 11h7.6l.7-11", () => this.on.send({ do: "delete fact", entity: node.name, text })),
      ),
    );
  }

  afterObservations(node) {
    if (node.type.missing) return "";
    const place = element("div", { class: "adding" });
    place.append(element("button", { class: "plain", type: "button", text: "Add an observation", onclick: () => this._write(place, "", (text) => ({ do: "add fact", entity: node.name, text })) }));
    return place;
  }

  onRelation(item, relation) {
    const nodes = this.on.model().nodes;
    const edit = { do: "delete relation", from: nodes[relation.from].name, to: nodes[relation.to].name, type: relation.type };
    item.append(element("span", { class: "item-tools" }, iconButton("Delete relation", "M6 8h12M10 8V5.5h4V8m-6.5 0 .7 11h7.6l.7-11", () => this.on.send(edit))));
  }

  afterRelations(node) {
    if (node.type.missing) return "";
    return element("div", { class: "adding" }, element("button", { class: "plain", type: "button", text: "Add a relation", onclick: () => this._relate(node) }));
  }

  async addEntity(name = "") {
    const given = await this._ask("New entity", "Add", [
      { name: "name", label: "Name", value: name, required: true },
      { name: "type", label: "Type", value: "", offers: () => this.on.model().types.filter((type) => !type.missing).map((type) => type.name) },
      { name: "fact", label: "Observation", value: "", long: true },
    ]);
    if (given === null) return;
    await this.on.send({ do: "add entity", name: given.name, type: given.type, facts: given.fact === "" ? [] : [given.fact] }, given.name);
  }

  async _rename(node) {
    const given = await this._ask(`Rename ${shownText(node.name)}`, "Rename", [{ name: "to", label: "New name", value: node.name, required: true }], "Its relations follow.");
    if (given !== null) await this.on.send({ do: "rename", name: node.name, to: given.to }, given.to);
  }

  async _changeType(node) {
    const types = () => this.on.model().types.filter((type) => !type.missing).map((type) => type.name);
    const given = await this._ask(`Type of ${shownText(node.name)}`, "Change", [{ name: "type", label: "Type", value: node.type.name, offers: types }]);
    if (given !== null) await this.on.send({ do: "change type", name: node.name, type: given.type });
  }

  async _merge(node) {
    const text = `${count(node.observations.length, "observation", "observations")} and ${count(node.relations.length, "relation", "relations")} move to the other entity, then ${shownText(node.name)} is deleted.`;
    const given = await this._ask(`Merge ${shownText(node.name)} into another`, "Merge", [{ name: "into", label: "Into", value: "", required: true, entities: true }], text);
    if (given !== null) await this.on.send({ do: "merge", name: node.name, into: given.into, seen: node.observations }, given.into);
  }

  async _delete(node) {
    const text = `${count(node.observations.length, "observation", "observations")} and ${count(node.relations.length, "relation", "relations")} are deleted with it.`;
    const given = await this._ask(`Delete ${shownText(node.name)}?`, "Delete", [], text);
    if (given !== null) await this.on.send({ do: "delete entity", name: node.name, seen: node.observations });
  }

  async _relate(node) {
    const given = await this._ask(`Relation of ${shownText(node.name)}`, "Add", [
      { name: "way", label: "Direction", value: "from", choices: [["from", `From ${shownText(node.name)} to the other`], ["to", `From the other to ${shownText(node.name)}`]] },
      { name: "type", label: "Relation", value: "", required: true, offers: () => this.on.model().relationTypes.map((type) => type.name) },
      { name: "other", label: "Other entity", value: "", required: true, entities: true },
    ]);
    if (given === null) return;
    const [from, to] = given.way === "from" ? [node.name, given.other] : [given.other, node.name];
    await this.on.send({ do: "add relation", from, to, type: given.type });
  }

  /** Have a text written in a place of the details; Enter saves it. */
  _write(place, text, edit) {
    this.busy = true;
    const before = [...place.childNodes];
    const area = element("textarea", { rows: "3", "aria-label": text === "" ? "New observation" : "Observation", dir: "auto" });
    area.value = text;
    const leave = () => {
      this.busy = false;
      place.replaceChildren(...before);
      before[before.length - 1].querySelector?.("button")?.focus() ?? before[before.length - 1].focus?.();
      this.on.done();
    };
    const save = async () => {
      const written = area.value.trim();
      if (written === "" || written === text) return leave();
      area.disabled = true;
      if (await this.on.send(edit(written))) leave();
      else {
        area.disabled = false;
        area.focus();
      }
    };
    area.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Escape") leave();
      else if (event.key === "Enter" && !event.shiftKey) save();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    place.replaceChildren(
      area,
      element("p", { class: "actions" }, element("button", { class: "plain", type: "button", text: "Save", onclick: save }), element("button", { class: "plain", type: "button", text: "Cancel", onclick: leave })),
    );
    area.focus();
  }

  /** Ask for some texts in a dialog; null if the person decides otherwise. */
  _ask(title, action, fields, text = "") {
    const dialog = element("dialog", { class: "question", "aria-labelledby": "question-title" });
    const inputs = new Map();
    const form = element("form", { method: "dialog" }, element("h2", { id: "question-title", text: title }), text === "" ? "" : element("p", { text }));
    for (const field of fields) {
      const input = this._input(field, form);
      inputs.set(field.name, input);
      form.append(element("label", {}, element("span", { text: field.label }), input));
    }
    form.append(
      element("p", { class: "actions" }, element("button", { class: "plain", type: "submit", value: "yes", text: action }), element("button", { class: "plain", type: "button", text: "Cancel", onclick: () => dialog.close("") })),
    );
    dialog.append(form);
    document.body.append(dialog);
    return new Promise((answer) => {
      dialog.addEventListener("close", () => {
        dialog.remove();
        answer(dialog.returnValue === "yes" ? Object.fromEntries([...inputs].map(([name, input]) => [name, input.hasAttribute("list") ? input.value : input.value.trim()])) : null);
      });
      dialog.showModal();
    });
  }

  _input(field, form) {
    if (field.choices !== undefined) {
      const select = element("select", {}, ...field.choices.map(([value, text]) => element("option", { value, text })));
      select.value = field.value;
      return select;
    }
    const input = element(field.long ? "textarea" : "input", { dir: "auto", autocomplete: "off", required: field.required === true });
    input.value = field.value;
    if (field.offers === undefined && !field.entities) return input;
    const list = element("datalist", { id: `offers-${field.name}` });
    const fill = (names) => list.replaceChildren(...names.slice(0, OFFERED_NAMES).map((value) => element("option", { value })));
    if (field.offers !== undefined) fill(field.offers());
    else input.addEventListener("input", () => fill((this.on.find(input.value) ?? []).map((id) => this.on.model().nodes[id].name)));
    input.setAttribute("list", list.id);
    form.append(list);
    return input;
  }
}

function iconButton(label, path, onclick) {
  const made = element("button", { type: "button", class: "small", "aria-label": label, title: label, onclick });
  const icon = cross();
  icon.firstElementChild.setAttribute("d", path);
  made.append(icon);
  return made;
}
