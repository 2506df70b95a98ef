/* How a scene looks on the canvas. Knows no events and changes nothing but pixels.

   A scene: the model, the layout, `ids` and `links` that are visible, the camera {scale, x, y}, width and height in CSS
   pixels, `chosen` and `hovered` (an id or -1), `matches` (a Set or null), `trail` (nodes and links to lead the eye along, as
   two Sets, or null), `hidden(id)` (how many neighbours of a node are not drawn), `names(link)` (the relation types that
   the legend leaves of a link), `isDrawn(link)`, `overview` (its groups and their links, or null). */

const ARROWS_UP_TO = 1200; // links; more arrows than that are noise
const FADED = 0.16;
const DOTS_FROM = 2600; // nodes in sight: so many are drawn as dots
const LARGEST_DOT = 7; // pixels
const DOT_MARGIN = LARGEST_DOT / 2; // how far beyond a tile a dot may stand that reaches into it

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
