/* How a scene looks on the canvas. Knows no events and changes nothing but pixels.

   A scene: the model, the layout, `ids` and `links` that are visible, the camera {scale, x, y}, width and height in CSS
   pixels, `chosen` and `hovered` (an id or -1), `matches` (a Set or null), `trail` (nodes and links to lead the eye along, as
   two Sets, or null), `hidden(id)` (how many neighbours of a node are not drawn), `names(link)` (the relation types that
   the legend leaves of a link), `isDrawn(link)`, `overview` (its groups and their links, or null). */

const LABEL_FONT = "12px system-ui, sans-serif";
const STRONG_FONT = "600 13px system-ui, sans-serif";
const LINK_FONT = "11px system-ui, sans-serif";
const LABELS_TRIED = 260; // a frame; what has no room among the best-connected of these has no label
const LINK_LABELS_TRIED = 160;
const ALL_LINK_LABELS = 12; // links; so few have their names drawn even where there is little room
const LABEL_EDGE = 3; // pixels between a label and the edge of the canvas
const NODES_KEPT_FREE = 500;
const ARROWS_UP_TO = 1200; // links; more arrows than that are noise
const FADED = 0.16;
const GROUP_FONT = "600 15px system-ui, sans-serif";
const DOTS_FROM = 2600; // nodes in sight: so many are drawn as dots
const LARGEST_DOT = 7; // pixels
const DOT_MARGIN = LARGEST_DOT / 2; // how far beyond a tile a dot may stand that reaches into it
const NAMES_OF_NODES_FROM = 0.9; // the scale of the overview from which entities are named, not groups

class Drawing {
  constructor(canvas, model) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.model = model;
    this._widths = new Map();
    this._tiles = new Tiles();
    this.readColours();
  }

  /** Draw another model from now on. */
  replace(model) {
    this.model = model;
    this._widths.clear();
    this._tiles.clear();
  }

  /** Take the colours from the style sheet; again after a change between light and dark. */
  readColours() {
    const probe = element("span", { class: "unseen probe" });
    document.body.append(probe);
    const resolved = (name) => {
      probe.style.color = `var(${name})`;
      return getComputedStyle(probe).color;
    };
    this.colours = {};
    for (const name of ["--canvas", "--link", "--text", "--muted", "--accent", "--ghost"]) this.colours[name] = resolved(name);
    for (let index = 0; index < COLOURS; index++) this.colours[`--c${index}`] = resolved(`--c${index}`);
    probe.remove();
    this._tiles.clear();
  }

  /** Whether what was drawn last is for the moment, to be drawn again when the camera rests. */
  get rough() {
    return this._tiled && this._tiles.stretched;
  }

  /** Nodes shrink more slowly than distances, so that they stay visible from afar. */
  radius(id, scene) {
    return Math.max(2, scene.layout.radii[id] * Math.pow(scene.camera.scale, 0.78));
  }

  draw(scene) {
    const ratio = window.devicePixelRatio || 1;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, scene.width, scene.height);
    this._paint(scene, true);
  }

  /** Draw on another context, which has the form of a canvas's. */
  drawOn(context, scene) {
    const own = this.context;
    this.context = context;
    context.fillStyle = this.colours["--canvas"];
    context.fillRect(0, 0, scene.width, scene.height);
    this._paint(scene, false);
    this.context = own;
  }

  /** `tiled`: what is painted already may be used again. A picture for a file is painted anew. */
  _paint(scene, tiled) {
    const context = this.context;
    this._focus(scene);
    const quiet = [];
    const lit = [];
    const inSight = this._inSight(scene);
    const dots = inSight.length > DOTS_FROM;
    this._tiled = dots && tiled && scene.overview !== null;
    if (this._tiled) this._drawTiles(scene, inSight);
    else {
      if (scene.overview !== null) this._drawGroupLinks(scene, this._near === null ? 0.28 : 0.12);
      if (dots) this._drawDots(scene, inSight);
    }
    for (const link of this._links(scene, inSight)) (this._isLit(link) ? lit : quiet).push(link);
    this._drawLinks(scene, quiet, false);
    this._drawLinks(scene, lit, true);
    if (!dots) {
      this._drawNodes(scene, inSight, true);
      this._drawNodes(scene, inSight, false);
    }
    this._drawRings(scene);
    this._room = new Room();
    this._keepNodesFree(scene, inSight);
    if (scene.overview !== null) this._drawGroupNames(scene);
    this._drawLabels(scene, lit, quiet);
    context.globalAlpha = 1;
  }

  /** What the eye should be led to: a chosen or hovered node with its neighbours, else what was searched for. */
  _focus(scene) {
    this._centre = scene.chosen >= 0 ? scene.chosen : scene.hovered;
    this._second = scene.chosen >= 0 && scene.hovered >= 0 ? scene.hovered : -1;
    this._near = null;
    this._trail = scene.trail;
    if (this._trail !== null) {
      this._centre = -1;
      this._near = new Set(this._trail.nodes);
      if (scene.hovered >= 0) this._second = scene.hovered;
    } else if (this._centre >= 0) this._near = new Set([this._centre, ...this.model.neighbours(this._centre)]);
    else if (scene.matches !== null) this._near = scene.matches;
    if (this._second >= 0) this._near.add(this._second);
  }

  _isLit(link) {
    if (this._trail !== null && this._trail.links.has(link)) return true;
    const touches = (id) => id >= 0 && (link.from === id || link.to === id);
    return touches(this._centre) || touches(this._second);
  }

  _isFaded(id) {
    return this._near !== null && !this._near.has(id);
  }

  _point(scene, id) {
    const { scale, x, y } = scene.camera;
    return [scene.layout.x[id] * scale + x, scene.layout.y[id] * scale + y];
  }

  _drawLinks(scene, links, lit) {
    const context = this.context;
    context.beginPath();
    const arrows = [];
    const withArrows = lit || (links.length < ARROWS_UP_TO && scene.camera.scale > 0.55);
    for (const link of links) {
      const path = this._path(scene, link);
      if (path === null) continue;
      context.moveTo(path.x1, path.y1);
      if (path.loop) context.arc(path.cx, path.cy, path.loop, 0, 2 * Math.PI);
      else if (path.bend) context.quadraticCurveTo(path.cx, path.cy, path.x2, path.y2);
      else context.lineTo(path.x2, path.y2);
      if (withArrows && !path.loop) arrows.push(path);
    }
    context.strokeStyle = context.fillStyle = lit ? this.colours["--accent"] : this.colours["--link"];
    context.lineWidth = lit ? 1.5 : 1;
    context.globalAlpha = lit ? 0.85 : this._near !== null ? 0.28 : Math.max(0.4, 0.9 - links.length / 4000);
    context.stroke();
    context.beginPath();
    for (const path of arrows) this._arrow(path, lit ? 7 : 5);
    context.fill();
    context.globalAlpha = 1;
  }

  /** Where a link runs on the screen, rim to rim; null when it is out of sight or has no length. */
  _path(scene, link) {
    const [ax, ay] = this._point(scene, link.from);
    const [bx, by] = this._point(scene, link.to);
    const far = 60;
    if (Math.max(ax, bx) < -far || Math.min(ax, bx) > scene.width + far) return null;
    if (Math.max(ay, by) < -far || Math.min(ay, by) > scene.height + far) return null;
    const startRadius = this.radius(link.from, scene);
    if (link.from === link.to) {
      const loop = startRadius * 0.6 + 3;
      return { loop, cx: ax, cy: ay - startRadius - loop * 0.6, x1: ax + loop, y1: ay - startRadius - loop * 0.6, mx: ax, my: ay - startRadius - loop * 1.6 };
    }
    const distance = Math.hypot(bx - ax, by - ay);
    const endRadius = this.radius(link.to, scene) + 1.5;
    if (distance < startRadius + endRadius + 1) return null;
    const [ux, uy] = [(bx - ax) / distance, (by - ay) / distance];
    const bend = link.twoWay ? Math.min(26, distance * 0.16) : 0;
    const x1 = ax + ux * startRadius;
    const y1 = ay + uy * startRadius;
    const x2 = bx - ux * endRadius - uy * bend * 0.15;
    const y2 = by - uy * endRadius + ux * bend * 0.15;
    const cx = (x1 + x2) / 2 - uy * bend;
    const cy = (y1 + y2) / 2 + ux * bend;
    return { bend, x1, y1, x2, y2, cx, cy, mx: (x1 + x2) / 4 + cx / 2, my: (y1 + y2) / 4 + cy / 2, loop: 0 };
  }

  _arrow(path, size) {
    const angle = Math.atan2(path.y2 - path.cy, path.x2 - path.cx);
    const context = this.context;
    context.moveTo(path.x2, path.y2);
    context.lineTo(path.x2 - size * Math.cos(angle - 0.42), path.y2 - size * Math.sin(angle - 0.42));
    context.lineTo(path.x2 - size * Math.cos(angle + 0.42), path.y2 - size * Math.sin(angle + 0.42));
    context.closePath();
  }

  /** The links to be drawn: in the overview those of what is lit, and of all that is in sight once that is little. */
  _links(scene, inSight) {
    if (scene.overview === null) return scene.links;
    const lit = [this._centre, this._second].filter((id) => id >= 0 && scene.isVisible(id));
    const ids = inSight.length <= DOTS_FROM / 2 ? new Set([...inSight, ...lit]) : new Set(lit);
    const found = new Set(this._trail?.links ?? []);
    for (const id of ids) for (const link of this.model.nodes[id].links) if (scene.isDrawn(link)) found.add(link);
    return [...found];
  }

  _inSight(scene, margin = 80) {
    const { scale, x: left, y: top } = scene.camera;
    const { x, y } = scene.layout;
    const found = [];
    for (const id of scene.ids) {
      const [atX, atY] = [x[id] * scale + left, y[id] * scale + top];
      if (atX > -margin && atY > -margin && atX < scene.width + margin && atY < scene.height + margin) found.push(id);
    }
    return found;
  }

  /** Many nodes from afar: a dot each. */
  _drawDots(scene, ids) {
    if (this._near === null) this._dots(scene, ids, scene.camera);
    else {
      this.context.globalAlpha = FADED * 1.6;
      this._dots(scene, ids.filter((id) => !this._near.has(id)), scene.camera);
      this.context.globalAlpha = 1;
      this._dots(scene, ids.filter((id) => this._near.has(id)), scene.camera);
    }
  }

  /** Group links and dots from their tiles; what the eye is led to is painted over them. */
  _drawTiles(scene, inSight) {
    const context = this.context;
    context.globalAlpha = this._near === null ? 1 : FADED * 1.6;
    this._tiles.draw(context, scene, (onto, camera, width, height) => {
      const own = this.context;
      this.context = onto;
      const near = this._near;
      this._near = null;
      this._drawGroupLinks({ overview: scene.overview, camera }, 0.28);
      this._dots(scene, this._inSight({ ids: scene.ids, layout: scene.layout, camera, width, height }, DOT_MARGIN), camera);
      this._near = near;
      this.context = own;
    });
    context.globalAlpha = 1;
    if (this._near !== null) this._dots(scene, inSight.filter((id) => this._near.has(id)), scene.camera);
  }

  /** Squares, all of a colour at once. */
  _dots(scene, ids, { scale, x: left, y: top }) {
    const context = this.context;
    const { x, y, radii } = scene.layout;
    const byType = new Map();
    for (const id of ids) {
      const type = this.model.nodes[id].type;
      if (!byType.has(type)) byType.set(type, []);
      byType.get(type).push(id);
    }
    for (const [type, some] of byType) {
      context.fillStyle = this.colours[type.colour];
      for (const id of some) {
        const size = Math.max(1.6, Math.min(LARGEST_DOT, radii[id] * scale * 1.4));
        context.fillRect(x[id] * scale + left - size / 2, y[id] * scale + top - size / 2, size, size);
      }
    }
  }

  /** How strongly groups belong together. */
  _drawGroupLinks(scene, alpha) {
    const context = this.context;
    const { scale, x, y } = scene.camera;
    const { groups, links } = scene.overview;
    context.strokeStyle = this.colours["--link"];
    context.globalAlpha = alpha;
    for (const [least, most, width] of [[1, 2, 0.7], [3, 9, 1.6], [10, Infinity, 3.5]]) {
      context.beginPath();
      for (const { from, to, amount } of links) {
        if (amount < least || amount > most) continue;
        context.moveTo(groups[from].x * scale + x, groups[from].y * scale + y);
        context.lineTo(groups[to].x * scale + x, groups[to].y * scale + y);
      }
      context.lineWidth = width;
      context.stroke();
    }
    context.globalAlpha = 1;
  }

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
      if (this._room.take(atX - width / 2 - 6, atY - 10, width + 12, 20)) this._text(text, atX, atY, this.colours["--text"]);
    }
  }

  /** One path for each type: thousands of nodes are a dozen calls. */
  _drawNodes(scene, ids, faded) {
    const context = this.context;
    const groups = new Map();
    for (const id of ids) {
      if (this._isFaded(id) !== faded) continue;
      const [x, y] = this._point(scene, id);
      const radius = this.radius(id, scene);
      const type = this.model.nodes[id].type;
      if (!groups.has(type)) groups.set(type, []);
      groups.get(type).push([x, y, radius]);
    }
    for (const [type, places] of groups) {
      context.beginPath();
      for (const [x, y, radius] of places) trace(context, type.shape, x, y, radius);
      // Faded nodes still hide the links beneath them, or they would look like crossings.
      context.globalAlpha = 1;
      context.fillStyle = context.strokeStyle = this.colours["--canvas"];
      context.lineWidth = 2.5;
      context.setLineDash([]);
      context.stroke();
      context.fill();
      context.globalAlpha = faded ? FADED * 1.6 : 1;
      context.fillStyle = context.strokeStyle = this.colours[type.colour];
      if (type.missing) {
        context.lineWidth = 1.5;
        context.setLineDash([3, 2]);
        context.stroke();
      } else {
        context.fill();
      }
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  _drawRings(scene) {
    const context = this.context;
    context.strokeStyle = this.colours["--accent"];
    if (scene.glow !== null) this._drawGlow(scene);
    for (const [id, width] of [[scene.hovered, 1.5], [scene.chosen, 2.5]]) {
      if (id < 0 || !scene.isVisible(id)) continue;
      const [x, y] = this._point(scene, id);
      context.beginPath();
      context.arc(x, y, this.radius(id, scene) + 4, 0, 2 * Math.PI);
      context.lineWidth = width;
      context.stroke();
    }
  }

  /** What is new has a ring that fades. */
  _drawGlow(scene) {
    const context = this.context;
    const left = Math.max(0, Math.min(1, (scene.glow.end - performance.now()) / 1500));
    context.globalAlpha = 0.75 * left;
    context.lineWidth = 5;
    for (const id of scene.glow.ids) {
      if (!scene.isVisible(id)) continue;
      const [x, y] = this._point(scene, id);
      context.beginPath();
      context.arc(x, y, this.radius(id, scene) + 7, 0, 2 * Math.PI);
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  /** Names take their room first and are drawn last: a name of a relation that has to be shown lies below them. */
  _drawLabels(scene, lit, quiet) {
    this._names = [];
    this._placeLabels(scene, lit, quiet);
    for (const { font, text, x, y, colour } of this._names) {
      this.context.font = font;
      this._text(text, x, y, colour);
    }
  }

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
  }

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
  }

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
  }

  /** The names of relations, along their links; those of the pointed at first, then the longest, which have most room. */
  _drawLinkLabels(scene, links, colour) {
    this.context.font = LINK_FONT;
    const all = links.length <= ALL_LINK_LABELS;
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
      const width = this.context.measureText(text).width;
      const room = path.loop ? Infinity : Math.hypot(path.x2 - path.x1, path.y2 - path.y1);
      if (!all && width + 10 > room) continue;
      const places = path.loop || width > room ? [0.5] : [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74];
      const free = places.map((share) => placeOn(path, share)).find((place) => this._takeAlong(place, width));
      if (free !== undefined) this._textAlong(text, free, colour);
      else if (all && width < room) this._textAlong(text, placeOn(path, 0.5), colour);
    }
  }

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
  }

  _textAlong(text, { x, y, angle }, colour) {
    this.context.save();
    this.context.translate(x, y);
    this.context.rotate(angle);
    this._text(text, 0, 0, colour);
    this.context.restore();
  }

  /** A node's label and its width, measured once. */
  _label(id, strong) {
    const key = strong ? -1 - id : id;
    if (!this._widths.has(key)) {
      const text = cutText(shownText(this.model.nodes[id].name));
      this._widths.set(key, { text, width: this.context.measureText(text).width });
    }
    return this._widths.get(key);
  }

  _text(text, x, y, colour) {
    this.context.lineWidth = 4;
    this.context.strokeStyle = this.colours["--canvas"];
    this.context.strokeText(text, x, y);
    this.context.fillStyle = colour;
    this.context.fillText(text, x, y);
  }
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

/** Add a node's outline to the path: a circle, a square, a diamond or a triangle of about the same area. */
function trace(context, shape, x, y, radius) {
  if (shape === 0 || shape === "ghost") {
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, 2 * Math.PI);
    return;
  }
  const [corners, size, turn] = [null, [4, 1.25, 0.25], [4, 1.25, 0], [3, 1.45, -0.25]][shape];
  for (let corner = 0; corner < corners; corner++) {
    const angle = (corner / corners + turn / (shape === 1 ? 2 : 1)) * 2 * Math.PI;
    const point = [x + size * radius * Math.cos(angle), y + size * radius * Math.sin(angle)];
    if (corner === 0) context.moveTo(...point);
    else context.lineTo(...point);
  }
  context.closePath();
}
