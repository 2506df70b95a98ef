/* The texts of the picture: names of entities, of groups and of relations, each where there is room for it. Added to
   Drawing, which says what is lit. */

const LABEL_FONT = "12px system-ui, sans-serif";
const STRONG_FONT = "600 13px system-ui, sans-serif";
const LINK_FONT = "11px system-ui, sans-serif";
const LABELS_TRIED = 260; // a frame; what has no room among the best-connected of these has no label
const LINK_LABELS_TRIED = 160;
const ALL_LINK_LABELS = 12; // links; so few have their names drawn even where there is little room
const NAMED_LINKS = 40; // where there are no more, a name is tried at more places of its link, and shortened
const LINK_PLACES = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74]; // shares of a link where its name is tried
const CLOSE_LINK_PLACES = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((step) => [0.5 - 0.04 * step, 0.5 + 0.04 * step]);
const LABEL_EDGE = 3; // pixels between a label and the edge of the canvas
const NODES_KEPT_FREE = 500;
const GROUP_FONT = "600 15px system-ui, sans-serif";
const NAMES_OF_NODES_FROM = 0.9; // the scale of the overview from which entities are named, not groups

Object.assign(Drawing.prototype, {
  /** The names of groups, the largest first, as far as there is room and until the names of entities take over. */
  _drawGroupNames(scene) {
    const context = this.context;
    const { scale, x, y } = scene.camera;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    if (scale > NAMES_OF_NODES_FROM || this._near !== null) return;
    for (const group of scene.overview.groups.slice(0, LABELS_TRIED)) {
      const [atX, atY] = [group.x * scale + x, group.y * scale + y];
      if (atX < 0 || atY < 0 || atX > scene.width || atY > scene.height) continue;
      context.font = group.radius * scale > 40 ? GROUP_FONT : STRONG_FONT;
      const text = cutText(shownText(group.name));
      const width = context.measureText(text).width;
      const inside = Math.max(width / 2 + LABEL_EDGE, Math.min(atX, scene.width - width / 2 - LABEL_EDGE));
      if (this._room.take(inside - width / 2 - 6, atY - 10, width + 12, 20)) this._text(text, inside, atY, this.colours["--text"]);
    }
  },

  /** Names take their room first and are drawn last: a name of a relation that has to be shown lies below them. */
  _drawLabels(scene, lit, quiet) {
    this._names = [];
    this._placeLabels(scene, lit, quiet);
    for (const { font, text, x, y, colour } of this._names) {
      this.context.font = font;
      this._text(text, x, y, colour);
    }
  },

  _placeLabels(scene, lit, quiet) {
    const context = this.context;
    context.lineJoin = "round";
    context.textAlign = "center";
    context.textBaseline = "middle";
    const strong = new Set([scene.chosen, scene.hovered].filter((id) => id >= 0 && scene.isVisible(id)));
    for (const id of strong) this._placeLabel(scene, id, true);
    if (lit.length > 0) this._drawLinkLabels(scene, lit, this.colours["--accent"]);
    if (scene.overview !== null && this._near === null && scene.camera.scale <= NAMES_OF_NODES_FROM) return;
    let tried = 0;
    const labelled = this._near === null ? scene.ids : scene.ids.filter((id) => this._near.has(id));
    for (const id of labelled) { // the best connected come first
      if (strong.has(id)) continue;
      if (tried > LABELS_TRIED) break;
      const [x, y] = this._point(scene, id);
      if (x < 0 || y < 0 || x > scene.width || y > scene.height) continue;
      tried += 1;
      this._placeLabel(scene, id, false);
    }
    if (this._near === null && !this._crowded) this._drawLinkLabels(scene, quiet, this.colours["--muted"]);
  },

  /** Labels do not cover nodes, as far as the nodes in sight are few enough for that. */
  _keepNodesFree(scene, inSight) {
    const boxes = [];
    this._crowded = inSight.length > DOTS_FROM;
    if (this._crowded) return;
    for (const id of inSight) {
      const [x, y] = this._point(scene, id);
      if (x < 0 || y < 0 || x > scene.width || y > scene.height || this._isFaded(id)) continue;
      const radius = this.radius(id, scene);
      boxes.push([x - radius, y - radius, 2 * radius, 2 * radius]);
    }
    this._crowded = boxes.length > NODES_KEPT_FREE;
    if (!this._crowded) for (const box of boxes) this._room.reserve(...box);
  },

  _placeLabel(scene, id, strong) {
    const context = this.context;
    const [x, y] = this._point(scene, id);
    const radius = this.radius(id, scene);
    const hidden = scene.hidden(id);
    context.font = strong ? STRONG_FONT : LABEL_FONT;
    const { text, width } = this._label(id, strong);
    const air = this._crowded && !strong ? 20 : 0; // in a crowd labels keep apart, so that it is seen through them
    const below = [x, y + radius + 10];
    const aside = radius + 5 + width / 2;
    const places = [below, [x, y - radius - 10], [x + aside, y], [x - aside, y]];
    const inside = ([atX]) => atX - width / 2 > LABEL_EDGE && atX + width / 2 < scene.width - LABEL_EDGE;
    const reserve = ([atX, atY]) => this._room.take(atX - width / 2 - air, atY - 7 - air / 2, width + 2 * air, 14 + air);
    // A label that would be cut by the edge is moved in, above or below its node.
    const edge = Math.min(scene.width / 2, width / 2 + LABEL_EDGE);
    const moved = ([atX, atY]) => [Math.min(Math.max(atX, edge), scene.width - edge), atY];
    const free = places.filter(inside).find(reserve) ?? places.slice(0, 2).map(moved).find(reserve);
    if (free === undefined && !strong) return;
    const [atX, atY] = free ?? moved(below);
    this._names.push({ font: context.font, text, x: atX, y: atY, colour: this.colours["--text"] });
    if (hidden === 0) return;
    const amount = `+${number.format(hidden)}`;
    context.font = LINK_FONT;
    const [badgeX, badgeY, half] = [x + radius + 3 * amount.length + 3, y - radius, 3 * amount.length];
    if (this._room.take(badgeX - half, badgeY - 6, 2 * half, 12)) this._names.push({ font: LINK_FONT, text: amount, x: badgeX, y: badgeY, colour: this.colours["--muted"] });
  },

  /** The names of relations, along their links; those of the pointed at first, then the longest, which have most room. */
  _drawLinkLabels(scene, links, colour) {
    this.context.font = LINK_FONT;
    const all = links.length <= ALL_LINK_LABELS;
    const few = links.length <= NAMED_LINKS;
    const paths = [];
    for (const link of links) {
      const path = this._path(scene, link);
      if (path === null) continue;
      const first = link.from === this._second || link.to === this._second ? 1e6 : 0;
      paths.push({ link, path, length: first + Math.hypot(path.x2 - path.x1, path.y2 - path.y1) });
    }
    paths.sort((a, b) => b.length - a.length);
    for (const { link, path } of paths.slice(0, LINK_LABELS_TRIED)) {
      const names = scene.names(link);
      const text = cutText(names.slice(0, 2).join(", ") + (names.length > 2 ? ` +${names.length - 2}` : ""));
      if (this._drawAlong(text, path, colour, few)) continue;
      if (few && this._drawAlong(shortened(text), path, colour, few)) continue;
      if (all && this.context.measureText(text).width < lengthOf(path)) this._textAlong(text, placeOn(path, 0.5), colour);
    }
  },

  /** Draw a text at the first free place of a link; false if there is none. `closely`: more places are tried. */
  _drawAlong(text, path, colour, closely) {
    const width = this.context.measureText(text).width;
    if (width + (closely ? 0 : 10) > lengthOf(path)) return false;
    const places = path.loop ? [0.5] : closely ? CLOSE_LINK_PLACES : LINK_PLACES;
    const free = places.map((share) => placeOn(path, share)).find((place) => this._takeAlong(place, width));
    if (free !== undefined) this._textAlong(text, free, colour);
    return free !== undefined;
  },

  /** Reserve the room of a text that runs along a line: small boxes in a row. All of them or none. */
  _takeAlong({ x, y, angle }, width) {
    const boxes = [];
    const pieces = Math.max(1, Math.ceil(width / 14));
    for (let piece = 0; piece < pieces; piece++) {
      const along = ((piece + 0.5) / pieces - 0.5) * width;
      boxes.push([x + along * Math.cos(angle) - 7, y + along * Math.sin(angle) - 6, 14, 12]);
    }
    if (boxes.some((box) => !this._room.isFree(...box))) return false;
    for (const box of boxes) this._room.reserve(...box);
    return true;
  },

  _textAlong(text, { x, y, angle }, colour) {
    this.context.save();
    this.context.translate(x, y);
    this.context.rotate(angle);
    this._text(text, 0, 0, colour);
    this.context.restore();
  },

  /** A node's label and its width, measured once. */
  _label(id, strong) {
    const key = strong ? -1 - id : id;
    if (!this._widths.has(key)) {
      const text = cutText(shownText(this.model.nodes[id].name));
      this._widths.set(key, { text, width: this.context.measureText(text).width });
    }
    return this._widths.get(key);
  },

  _text(text, x, y, colour) {
    this.context.lineWidth = 4;
    this.context.strokeStyle = this.colours["--canvas"];
    this.context.strokeText(text, x, y);
    this.context.fillStyle = colour;
    this.context.fillText(text, x, y);
  },
});

/** Pixels from one end of a link to the other, as far as a text along it is concerned. */
function lengthOf(path) {
  return path.loop ? Infinity : Math.hypot(path.x2 - path.x1, path.y2 - path.y1);
}

/** About two thirds of a text, for a link that has no room for more. */
function shortened(text) {
  const letters = [...text];
  return letters.length < 6 ? text : `${letters.slice(0, Math.ceil(letters.length * 0.6)).join("").trimEnd()}…`;
}

/** A place on a link's path, and the angle there that keeps a text upright. */
function placeOn(path, share) {
  if (path.loop) return { x: path.mx, y: path.my, angle: 0 };
  const rest = 1 - share;
  const point = (a, c, b) => rest * rest * a + 2 * rest * share * c + share * share * b;
  const slope = (a, c, b) => 2 * rest * (c - a) + 2 * share * (b - c);
  let angle = Math.atan2(slope(path.y1, path.cy, path.y2), slope(path.x1, path.cx, path.x2));
  if (angle > Math.PI / 2) angle -= Math.PI;
  if (angle <= -Math.PI / 2) angle += Math.PI;
  return { x: point(path.x1, path.cx, path.x2), y: point(path.y1, path.cy, path.y2), angle };
}
