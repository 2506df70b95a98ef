/* Search as the server does it: on folded text, first for the whole query, then for all of its words. */

const MARKS = /[\u0300-\u036f]/g;
const ASCII = /^[\0-\x7f]*$/;

/** NFKD, case-folded, NFKD, without U+0300 to U+036F, dotless i as i. Two words that fold alike are the same word. */
function fold(text) {
  if (ASCII.test(text)) return text.toLowerCase();
  // Scripts have no case folding. Down, up and down again is it, but for the last sigma: ẞ → ß → SS → ss.
  const folded = text.normalize("NFKD").toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ");
  return folded.normalize("NFKD").replace(MARKS, "").replaceAll("ı", "i");
}

class Search {
  /** Nothing is folded yet; `prepare` does it in small portions, `find` does what is left. */
  constructor(nodes) {
    this.nodes = nodes;
    this.names = [];
    this.texts = [];
  }

  /** Fold for about `milliseconds`; true when all is done. */
  prepare(milliseconds) {
    const end = performance.now() + milliseconds;
    while (this.texts.length < this.nodes.length) {
      const node = this.nodes[this.texts.length];
      const name = fold(node.name);
      this.names.push(name);
      // A query is one line, so it never matches across the line breaks between the texts.
      this.texts.push([name, fold(node.type.name), ...node.observations.map(fold)].join("\n"));
      if (this.texts.length % 64 === 0 && performance.now() > end) return false;
    }
    return true;
  }

  /** The ids of the nodes that match, names before other matches, then the most connected; null for an empty query. */
  find(query) {
    if (query.trim() === "") return null;
    this.prepare(Infinity);
    const folded = fold(query);
    if (folded === "") return this._unfolded(query);
    let found = this._containing([folded]);
    const words = folded.split(/\s+/).filter(Boolean);
    if (found.length === 0) found = this._containing(words);
    const rank = (id) => {
      const at = this.names[id].indexOf(folded.trim());
      return at < 0 ? 3 : at > 0 ? 2 : this.names[id].length === folded.trim().length ? 0 : 1;
    };
    const ranks = new Map(found.map((id) => [id, rank(id)]));
    return found.sort((a, b) => ranks.get(a) - ranks.get(b) || this.nodes[b].degree - this.nodes[a].degree || a - b);
  }

  _containing(parts) {
    const found = [];
    for (let id = 0; id < this.texts.length; id++) {
      if (parts.every((part) => this.texts[id].includes(part))) found.push(id);
    }
    return found;
  }

  _unfolded(query) {
    const has = (text) => text.includes(query);
    return this.nodes.filter((node) => has(node.name) || has(node.type.name) || node.observations.some(has)).map((node) => node.id);
  }
}
