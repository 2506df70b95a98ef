/* The way to the program that serves this page: the one place from which the page sends anything.

   The token comes in the fragment of the first address, which no server sees. It is kept for this tab, so that the page
   can be loaded again, taken out of the address, and sent in a header. */

const RETRY_SECONDS = 1.5;
const SILENCE_SECONDS = 25; // the program gives a sign of life more often

class Connection {
  constructor(token, memory) {
    this._token = token;
    this.memory = memory;
  }

  /** From this page's address, or from what this tab has kept. */
  static open() {
    const given = new URLSearchParams(location.hash.slice(1));
    const place = given.has("token") ? (given.has("open") ? placeOf(given.get("open")) : "#") : null;
    if (place !== null) {
      sessionStorage.setItem("memory-viewer-token", given.get("token"));
      history.replaceState(null, "", place === "#" ? location.pathname : place);
    }
    return new Connection(sessionStorage.getItem("memory-viewer-token") ?? "", sessionStorage.getItem("memory-viewer-memory") ?? "");
  }

  /** Which memories there are. */
  async memories() {
    const answer = await this._ask("/memories");
    if (!answer.memories.some((one) => one.name === this.memory)) this.memory = answer.memories[0].name;
    return answer;
  }

  /** Load the page anew with another memory. */
  change(memory) {
    sessionStorage.setItem("memory-viewer-memory", memory);
    history.replaceState(null, "", location.pathname);
    location.reload();
  }

  graph() {
    return this._ask(`/graph?memory=${encodeURIComponent(this.memory)}`);
  }

  /** Make a change. Throws an Error with a text for the person. */
  edit(edit) {
    return this._ask(`/edit?memory=${encodeURIComponent(this.memory)}`, edit);
  }

  undo(number) {
    return this._ask(`/undo?memory=${encodeURIComponent(this.memory)}`, { number });
  }

  /** Names of the entities that a search of the program finds, best first. */
  async search(query) {
    return (await this._ask(`/search?memory=${encodeURIComponent(this.memory)}`, { query })).names;
  }

  /** The changes in the past that the history knows, the newest first: {time, at, command, bytes}. */
  history() {
    return this._ask(`/history?memory=${encodeURIComponent(this.memory)}`);
  }

  /** The memory as it was before the change of that time. */
  state(time) {
    return this._ask(`/state?memory=${encodeURIComponent(this.memory)}&time=${encodeURIComponent(time)}`);
  }

  /** What two states do not have in common; each is a time, or "now". */
  difference(from, to) {
    return this._ask(`/difference?memory=${encodeURIComponent(this.memory)}&from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`);
  }

  /** Hear of changes for as long as the page is open. `on`: change(change), state(is it connected, text), number(). */
  async follow(on) {
    for (;;) {
      try {
        const answer = await this._fetch(`/changes?memory=${encodeURIComponent(this.memory)}&after=${on.number()}`);
        on.state(true, "");
        await this._read(answer.body.getReader(), on);
        await new Promise((done) => setTimeout(done, 200));
      } catch (error) {
        on.state(false, error.told ? error.message : "");
        await new Promise((done) => setTimeout(done, 1000 * RETRY_SECONDS));
      }
    }
  }

  async _read(reader, on) {
    const decoder = new TextDecoder();
    let pending = "";
    for (;;) {
      let timer;
      const silence = new Promise((_, fail) => (timer = setTimeout(() => fail(new Error("silence")), 1000 * SILENCE_SECONDS)));
      const { done, value } = await Promise.race([reader.read(), silence]).finally(() => clearTimeout(timer));
      if (done) return;
      const lines = (pending + decoder.decode(value, { stream: true })).split("\n");
      pending = lines.pop();
      for (const line of lines) {
        // A mistake of the page's own is no lost connection.
        if (line !== "") await on.change(JSON.parse(line)).catch((error) => setTimeout(() => { throw error; }));
      }
    }
  }

  async _ask(path, body) {
    return (await this._fetch(path, body)).json();
  }

  async _fetch(path, body) {
    const headers = { authorization: `Bearer ${this._token}` };
    if (body !== undefined) headers["content-type"] = "application/json";
    const sent = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) };
    let answer;
    try {
      answer = await fetch(path, { ...sent, cache: "no-store", credentials: "omit", redirect: "error" });
    } catch {
      throw new Error("The program that serves this page does not answer.");
    }
    if (answer.ok) return answer;
    const told = await answer.json().catch(() => ({}));
    throw Object.assign(new Error(told.error ?? `The program answered ${answer.status}.`), { told: true });
  }
}

const connection = Connection.open();
