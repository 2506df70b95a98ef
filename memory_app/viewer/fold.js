/* Search as the server does it: on folded text, first for the whole query, then for all of its words. */

const MARKS =
  "[\\u0300-\\u036f" +
  "\\u0591-\\u05bd\\u05bf\\u05c1\\u05c2\\u05c4\\u05c5\\u05c7" +
  "\\u0610-\\u061a\\u0640\\u064b-\\u065f\\u0670\\u06d6-\\u06dc\\u06df-\\u06e4\\u06e7\\u06e8\\u06ea-\\u06ed\\u08d3-\\u08e1\\u08e3-\\u08ff]+";
const BASES = {
  b: "ƀɓƃ", c: "ȼƈɕ", d: "đðɖɗƌȡ", e: "ɇəɛǝ", f: "ƒ", g: "ǥɠɣ", h: "ħɦⱨ", i: "ıɨɩ", j: "ɉȷ", k: "ƙĸⱪ", l: "łƚɫɬⱡȴ", m: "ɱ", n: "ŋɲƞȵ",
  o: "øɔɵ", p: "ƥᵽ", q: "ɋʠ", r: "ɍɽ", s: "ȿʂ", t: "ŧƫƭʈⱦȶ", u: "ʉ", v: "ʋ", w: "ⱳ", y: "ɏƴ", z: "ƶȥɀʐⱬ", ae: "æ", oe: "œ", th: "þ",
};
const LETTERS = new Map(Object.entries(BASES).flatMap(([base, letters]) => [...letters].map((letter) => [letter, base])));
const CHANGED = new RegExp(`${MARKS}|[${[...LETTERS.keys()].join("")}]`, "gu");
const ASCII = /^[\0-\x7f]*$/;
const PIECE = 256;

/** What fold in text.py gives: texts that fold alike are the same. Sorting a run of marks takes the square of its length, so in pieces. */
function fold(text) {
  if (ASCII.test(text)) return text.toLowerCase();
  const whole = text.length <= PIECE ? decomposed(text) : pieces([...text]).map(decomposed).join("");
  return whole.replace(CHANGED, (found) => LETTERS.get(found) ?? "");
}

function decomposed(text) {
  // Scripts have no case folding. Down, up and down again is it, but for the last sigma: ẞ → ß → SS → ss.
  const folded = text.normalize("NFKD").toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ");
  return folded.normalize("NFKD");
}

/** The text in pieces that begin with no mark, unless a run of marks is longer than a piece. */
function pieces(characters) {
  const found = [];
  let start = 0;
  while (characters.length - start > PIECE) {
    let end = start + PIECE;
    while (end > start && isMark(characters[end])) end -= 1;
    if (end === start) end = start + PIECE;
    found.push(characters.slice(start, end).join(""));
    start = end;
  }
  found.push(characters.slice(start).join(""));
  return found;
}

/** Whether normalizing may move what the character becomes to before U+0345, which is of the highest class. */
function isMark(character) {
  const first = String.fromCodePoint(character.normalize("NFKD").codePointAt(0));
  const after = `\u0345${first}`;
  return first === "\u0345" || after.normalize("NFKD") !== after;
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

  /** The ids of the nodes that match, the most relevant first, equals in the file's order; null for an empty query. */
  find(query) {
    if (query.trim() === "") return null;
    this.prepare(Infinity);
    const folded = fold(query);
    if (folded.trim() === "") return this._unfolded(query);
    let found = this._containing([folded]);
    if (found.length === 0 && folded.trim() === "*") return this.nodes.map((node) => node.id);
    const words = folded.split(/\s+/).filter(Boolean);
    if (found.length === 0) found = this._containing(words);
    const ranks = new Map(found.map((id) => [id, this._relevance(id, folded.trim(), words)]));
    return found.sort((a, b) => ranks.get(a) - ranks.get(b) || a - b);
  }

  /** 0 for the most relevant: as `relevance` in queries.py. */
  _relevance(id, folded, words) {
    const name = this.names[id];
    if (name.trim() === folded) return 0;
    if (name.startsWith(folded)) return 1;
    if (name.includes(folded) || words.every((word) => name.includes(word))) return 2;
    if (words.some((word) => name.includes(word))) return 3;
    return fold(this.nodes[id].type.name).includes(folded) ? 4 : 5;
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
