/* The timeline: earlier states of the memory, as the history keeps them, and what each change did.

   A place on the slider is a change in the past; what is shown there is the memory as it was before that change. The last
   place is the present. States are asked for when one goes there: each is a whole file. */

class Timeline {
  /** `on`: show(graph, or null for the present), moment(what to tell about a state), mayLeave(), say(error). */
  constructor(on) {
    this.on = on;
    this._changes = []; // the oldest first
    this._at = null; // the `time` of the change before which the memory is shown; null: the present
    this._until = "next"; // what the state that is shown is compared with: "next" or "now"
    this._asked = 0; // the last request; the answers of earlier ones are not shown any more
    this._bar = byId("timeline");
    this._slider = byId("moment");
    this._button = byId("show-timeline");
    this._button.hidden = false;
    this._button.addEventListener("click", () => this.toggle());
    this._slider.addEventListener("input", () => this._tell(Number(this._slider.value)));
    this._slider.addEventListener("change", () => this._go(Number(this._slider.value)));
    byId("earlier").addEventListener("click", () => this._go(Number(this._slider.value) - 1));
    byId("later").addEventListener("click", () => this._go(Number(this._slider.value) + 1));
    byId("what-changed").addEventListener("click", () => this._explain(true));
    byId("to-now").addEventListener("click", () => this._go(this._changes.length));
  }

  get looksBack() {
    return this._at !== null;
  }

  /** The place of what is shown. */
  get _place() {
    const at = this._changes.findIndex((one) => one.time === this._at);
    return at < 0 ? this._changes.length : at;
  }

  async toggle() {
    if (!this._bar.hidden) {
      if (this.looksBack && !(await this._go(this._changes.length))) return;
      this._bar.hidden = true;
      this._button.focus();
    } else {
      this._bar.hidden = false;
      await this.refresh();
      (this._slider.disabled ? byId("moment-text") : this._slider).focus();
    }
    this._button.setAttribute("aria-expanded", String(!this._bar.hidden));
  }

  /** Read the list anew: the history has grown, or was thinned. */
  async refresh() {
    if (this._bar.hidden) return;
    const here = this._changes[this._place];
    try {
      this._changes = (await connection.history()).changes.reverse();
    } catch (error) {
      this.on.say(error.message);
    }
    if (here !== undefined && this._changes[this._place] === undefined) {
      this._changes.push(here); // it was thinned out while it is looked at
      this._changes.sort((one, other) => one.at - other.at);
    }
    this._slider.max = String(this._changes.length);
    this._slider.disabled = this._changes.length === 0;
    this._settle();
  }

  /** Go to a place; false if that is not to be had. */
  async _go(place) {
    if (place < 0 || place > this._changes.length) return false;
    const wanted = this._changes[place]?.time ?? null;
    if (wanted === this._at || !this.on.mayLeave()) {
      this._settle();
      return wanted === this._at;
    }
    const asked = (this._asked += 1);
    this._slider.value = String(place); // from which a next step counts, also while this one is on its way
    let graphThen = null;
    try {
      if (wanted !== null) graphThen = (await connection.state(wanted)).graph;
    } catch (error) {
      if (asked !== this._asked) return false;
      this.on.say(error.message);
      this._settle();
      return false;
    }
    if (asked !== this._asked) return false;
    this._at = wanted;
    this._settle();
    this.on.show(graphThen);
    live.textContent = wanted === null ? "The memory as it is now" : `The memory as it was ${this._text(place)}`;
    if (wanted !== null && window.innerWidth > 720) await this._explain();
    return true;
  }

  /** Tell what differs between the state that is shown and the next one, or the present. */
  async _explain(focus = false) {
    const [asked, place, until] = [this._asked, this._place, this._until];
    const change = this._changes[place];
    if (change === undefined) return;
    const to = until === "now" ? "now" : this._changes[place + 1]?.time ?? "now";
    try {
      const difference = await connection.difference(change.time, to);
      if (asked !== this._asked) return;
      const ask = (other) => {
        this._until = other;
        this._explain(true);
      };
      this.on.moment({ title: whenText(change.at), command: change.command, until, difference, ask, focus });
    } catch (error) {
      this.on.say(error.message);
    }
  }

  /** Have the bar say where one is. */
  _settle() {
    const place = this._place;
    this._slider.value = String(place);
    byId("earlier").disabled = place === 0;
    byId("later").disabled = place === this._changes.length;
    for (const id of ["to-now", "what-changed"]) byId(id).hidden = !this.looksBack;
    this._tell(place);
  }

  _tell(place) {
    const text = this._text(place);
    byId("moment-text").textContent = this._changes.length === 0 ? "No earlier state has been kept yet" : this.looksBack ? `Read only: ${text}` : `The memory ${text}`;
    this._slider.setAttribute("aria-valuetext", text);
  }

  _text(place) {
    const change = this._changes[place];
    if (change === undefined) return "now";
    return `before ${whenText(change.at)}${change.command === null ? "" : ` (${change.command})`}`;
  }
}

const whenText = (milliseconds) => new Date(milliseconds).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
