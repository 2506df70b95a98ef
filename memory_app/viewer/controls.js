/* Mouse, touch and keys on the graph: added to Graph, whose state they move. */

Object.assign(Graph.prototype, {
  _listen() {
    const canvas = this.canvas;
    canvas.addEventListener("pointerdown", (event) => this._pointerDown(event));
    canvas.addEventListener("pointermove", (event) => this._pointerMove(event));
    canvas.addEventListener("pointerup", (event) => this._pointerUp(event, true));
    canvas.addEventListener("pointercancel", (event) => this._pointerUp(event, false));
    canvas.addEventListener("pointerleave", () => this._hover(-1));
    canvas.addEventListener("wheel", (event) => this._wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this._key(event));
  },

  /** The topmost node at a place on the canvas, or -1. */
  _nodeAt(x, y, margin) {
    let [found, nearest] = [-1, Infinity];
    const { scale, x: left, y: top } = this._camera;
    const reach = margin + LARGEST_RADIUS * Math.max(1, scale);
    for (const id of this.scene.ids) {
      const [dx, dy] = [this.layout.x[id] * scale + left - x, this.layout.y[id] * scale + top - y];
      if (Math.abs(dx) > reach || Math.abs(dy) > reach) continue; // most of them, at little cost
      const distance = Math.hypot(dx, dy);
      const rim = distance - this.drawing.radius(id, this.scene);
      if (rim <= margin && rim < nearest) [found, nearest] = [id, rim];
    }
    return found;
  },

  _hover(id) {
    if (id === this.scene.hovered) return;
    this.scene.hovered = id;
    this.canvas.style.cursor = id >= 0 ? "pointer" : "";
    this.draw();
  },

  _pointerDown(event) {
    if (event.button !== 0) return;
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this._pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    const margin = event.pointerType === "touch" ? 3 * HIT_MARGIN : HIT_MARGIN;
    if (this._pointers.size === 1) {
      this._gesture = { id: this._nodeAt(event.offsetX, event.offsetY, margin), moved: false, x: event.offsetX, y: event.offsetY };
    } else {
      this._drop();
      this._gesture = { id: -1, moved: true, pinch: true };
    }
  },

  _pointerMove(event) {
    const [x, y] = [event.offsetX, event.offsetY];
    const pointer = this._pointers.get(event.pointerId);
    if (pointer === undefined || this._gesture === null) {
      if (event.pointerType !== "touch") this._hover(this._nodeAt(x, y, HIT_MARGIN));
      return;
    }
    const before = { ...pointer };
    const [one, two] = [...this._pointers.values()];
    const spread = () => Math.hypot(one.x - two.x, one.y - two.y);
    const middle = () => ({ x: (one.x + two.x) / 2, y: (one.y + two.y) / 2 });
    if (this._gesture.pinch && two !== undefined) {
      const [oldSpread, oldMiddle] = [spread(), middle()];
      Object.assign(pointer, { x, y });
      this._pan(middle().x - oldMiddle.x, middle().y - oldMiddle.y);
      this._zoomNow(spread() / Math.max(1, oldSpread), middle().x, middle().y);
      return;
    }
    if (!this._gesture.moved && Math.hypot(x - this._gesture.x, y - this._gesture.y) < 4) return;
    this._gesture.moved = true;
    Object.assign(pointer, { x, y });
    if (this._gesture.id >= 0 && this.scene.overview === null) this._drag(this._gesture.id, x, y); // in the overview nothing moves
    else this._pan(x - before.x, y - before.y);
  },

  _pointerUp(event, done) {
    this._pointers.delete(event.pointerId);
    const gesture = this._gesture;
    if (gesture === null || this._pointers.size > 0) return;
    this._drop();
    if (!done || gesture.moved) return;
    if (gesture.id >= 0) this.expand(gesture.id);
    this.on.choose(gesture.id);
  },

  _drag(id, x, y) {
    const { layout, _camera: camera } = this;
    layout.x[id] = (x - camera.x) / camera.scale;
    layout.y[id] = (y - camera.y) / camera.scale;
    layout.pinned[id] = 1; // it stays where it is put
    this._stop();
    if (!reducedMotion.matches) {
      layout.target = 0.25;
      layout.heat = Math.max(layout.heat, 0.15);
    }
    this.draw();
  },

  _drop() {
    this._gesture = null;
    this.layout.target = 0;
  },

  /** The camera is in somebody's hand: it no longer travels or follows. */
  _stop() {
    this._goal = null;
    this._following = false;
  },

  _pan(dx, dy) {
    this._stop();
    this._camera.x += dx;
    this._camera.y += dy;
    this.draw();
  },

  _zoomNow(factor, x, y) {
    this.zoom(factor, x, y);
    Object.assign(this._camera, this._goal);
    this._stop();
  },

  _wheel(event) {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const strength = event.ctrlKey ? 0.01 : 0.0016; // a pinch on a touchpad arrives as a fine wheel with Ctrl
    this._zoomNow(Math.exp(-Math.max(-400, Math.min(400, event.deltaY * unit)) * strength), event.offsetX, event.offsetY);
  },

  _key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const direction = directions[event.key];
    const chosen = this.scene.chosen;
    if (direction && event.shiftKey) this._pan(-80 * direction[0], -80 * direction[1]);
    else if (direction) this._go(this._towards(direction));
    else if (event.key === "n" || event.key === "p") this._go(this._next(event.key === "n" ? 1 : -1));
    else if (event.key === "Enter" && chosen >= 0) {
      this.expand(chosen);
      this.on.open(chosen);
    } else if (event.key === "+" || event.key === "=") this.zoom(1.3);
    else if (event.key === "-") this.zoom(1 / 1.3);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  },

  _go(id) {
    if (id >= 0) this.on.choose(id, { replace: true, move: true });
  },

  /** The neighbour of the chosen node that lies best in a direction; without a choice the best-connected node. */
  _towards([dx, dy]) {
    const from = this.scene.chosen;
    if (from < 0 || !this.isVisible(from)) return this.scene.ids[0] ?? -1;
    let [found, best] = [-1, Infinity];
    for (const id of this.model.neighbours(from)) {
      if (!this.isVisible(id)) continue;
      const [x, y] = [this.layout.x[id] - this.layout.x[from], this.layout.y[id] - this.layout.y[from]];
      const along = x * dx + y * dy;
      const aside = Math.abs(x * dy - y * dx);
      if (along <= 0 || aside > along * 1.2) continue; // a little more than a quarter each, so that none falls between
      const cost = along + 2 * aside;
      if (cost < best) [found, best] = [id, cost];
    }
    return found;
  },

  /** The next neighbour of the node from which going through its neighbours began. */
  _next(step) {
    const chosen = this.scene.chosen;
    if (chosen < 0) return this.scene.ids[0] ?? -1;
    const tour = this._tour;
    const goesOn = tour !== undefined && tour.ids[tour.at] === chosen;
    const ids = goesOn ? tour.ids : this.model.neighbours(chosen).filter((id) => this.isVisible(id));
    if (ids.length === 0) return -1;
    const at = goesOn ? (tour.at + step + ids.length) % ids.length : step > 0 ? 0 : ids.length - 1;
    this._tour = { ids, at };
    return ids[at];
  },
});
