/* Room for texts on the canvas: how long a label may be, and which places are taken. */

const LABEL_LENGTH = 28; // in characters as people count them
const segmenter = typeof Intl.Segmenter === "function" ? new Intl.Segmenter() : null;

/** One line of a text, cut between characters, never inside one. */
function cutText(text) {
  const line = text.slice(0, 20 * LABEL_LENGTH).replace(/\s+/g, " ").trim();
  if (line.length <= LABEL_LENGTH) return line;
  const parts = segmenter === null ? [...line] : Array.from(segmenter.segment(line), (part) => part.segment);
  return parts.length <= LABEL_LENGTH ? line : parts.slice(0, LABEL_LENGTH - 1).join("").trimEnd() + "…";
}

class Room {
  constructor() {
    this._taken = new Map();
  }

  /** Reserve a place for a text; false if something is there already. */
  take(x, y, width, height) {
    if (!this.isFree(x, y, width, height)) return false;
    this.reserve(x, y, width, height);
    return true;
  }

  isFree(x, y, width, height) {
    for (const cell of cellsUnder(x, y, width, height)) {
      for (const other of this._taken.get(cell) ?? []) {
        if (x < other[2] && other[0] < x + width && y < other[3] && other[1] < y + height) return false;
      }
    }
    return true;
  }

  reserve(x, y, width, height) {
    for (const cell of cellsUnder(x, y, width, height)) {
      if (!this._taken.has(cell)) this._taken.set(cell, []);
      this._taken.get(cell).push([x, y, x + width, y + height]);
    }
  }
}

/** The cells of a coarse grid that a box touches: only boxes in the same cells have to be compared. */
function cellsUnder(x, y, width, height) {
  const size = 64;
  const cells = [];
  for (let column = Math.floor(x / size); column <= Math.floor((x + width) / size); column++) {
    for (let row = Math.floor(y / size); row <= Math.floor((y + height) / size); row++) cells.push(column * 65536 + row);
  }
  return cells;
}
