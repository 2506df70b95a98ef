/* The camera on the graph: what it looks at, how it gets there, and what room the parts over the canvas leave. Added to
   Graph. */

const LARGEST_SCALE = 3.2; // a handful of entities fills the room, and no node becomes a balloon
const ZOOM_BUTTONS = 62; // pixels of the right side
const LEGENDS = 112; // pixels at the top of a phone, for the folded legends
const BOTTOM = 54; // the status line and the lowest names

Object.assign(Graph.prototype, {
  /** Move the camera to a node, if that is wanted or the node is out of sight. To be called when the details are open. */
  reveal(id, move) {
    this._resize();
    if (this.scene.width === 0) return;
    const free = this._free();
    const x = this.layout.x[id] * this._camera.scale + this._camera.x;
    const y = this.layout.y[id] * this._camera.scale + this._camera.y;
    const inSight = x > free.left && x < this.scene.width - free.right && y > free.top && y < this.scene.height - free.bottom;
    if (inSight && !move) return;
    this._following = true;
    this._aimed = id;
    this._goal = this._around(id);
    this.draw();
  },

  zoom(factor, x = this.scene.width / 2, y = this.scene.height / 2) {
    const from = this._goal ?? this._camera;
    const scale = Math.min(6, Math.max(0.03, from.scale * factor));
    const by = scale / from.scale;
    this._following = false;
    this._goal = { scale, x: x - (x - from.x) * by, y: y - (y - from.y) * by };
    this.draw();
  },

  fit() {
    this.fitTo(null);
  },

  /** Bring some nodes into view, null for all. */
  fitTo(ids) {
    this._following = true;
    this._aimed = -1;
    this._fitted = ids;
    this._goal = this._fitting();
    this.draw();
  },

  _moveCamera() {
    const [now, goal] = [this._camera, this._goal];
    const share = reducedMotion.matches ? 1 : 0.2;
    for (const key of ["scale", "x", "y"]) now[key] += (goal[key] - now[key]) * share;
    const near = Math.abs(now.x - goal.x) + Math.abs(now.y - goal.y) < 0.5 && Math.abs(now.scale / goal.scale - 1) < 0.002;
    if (!near) return;
    Object.assign(now, goal);
    this._goal = null;
  },

  _free() {
    // The legend lies over the canvas where there is room for both, the details over its lower part on a phone.
    const wide = this.scene.width > 720;
    const panel = byId("panel");
    const sheet = panel.hidden || window.innerWidth > 720 ? 0 : panel.offsetHeight;
    return { left: wide ? 232 : 24, right: wide ? ZOOM_BUTTONS : 24, top: wide || this.scene.height < 480 ? 30 : LEGENDS, bottom: Math.min(BOTTOM + sheet, this.scene.height * 0.7) };
  },

  /** How much wider than high the picture should become, for the room that is left. */
  _aspect() {
    const free = this._free();
    const shape = (this.scene.width - free.left - free.right) / (this.scene.height - free.top - free.bottom);
    return Math.sqrt(Math.min(2.2, Math.max(0.5, shape || 1)));
  },

  _fitting() {
    let { left, right, top, bottom } = this.layout.bounds(this._fitted?.filter((id) => this.isVisible(id)) ?? this.scene.ids);
    if (left > right) [left, right, top, bottom] = [-1, 1, -1, 1];
    const free = this._free();
    const width = Math.max(60, this.scene.width - free.left - free.right);
    const height = Math.max(60, this.scene.height - free.top - free.bottom);
    // Names have a fixed size on the screen, so their room does not grow with the scale. Those of groups stand inside.
    const [names, lines] = this.scene.overview === null ? [Math.min(120, width / 4), 50] : [0, 0];
    const scale = Math.min(LARGEST_SCALE, (width - names) / Math.max(1, right - left), (height - lines) / Math.max(1, bottom - top));
    return {
      scale,
      x: free.left + width / 2 - ((left + right) / 2) * scale,
      y: free.top + height / 2 - ((top + bottom) / 2) * scale,
    };
  },

  /** The chosen node in the middle, near enough to read its neighbours' names, if that leaves most of them in sight. */
  _around(id) {
    const { x, y } = this.layout;
    const free = this._free();
    const width = (this.scene.width - free.left - free.right) / 2;
    const height = (this.scene.height - free.top - free.bottom) / 2;
    let scale = 1.5;
    for (const other of this.model.neighbours(id)) {
      if (!this.isVisible(other)) continue;
      scale = Math.min(scale, (width - 50) / Math.abs(x[other] - x[id]), (height - 20) / Math.abs(y[other] - y[id]));
    }
    scale = Math.max(scale, 0.55);
    return { scale, x: free.left + width - x[id] * scale, y: free.top + height - y[id] * scale };
  },

  /** Where the camera goes while nobody holds it. */
  _aim() {
    return this._aimed >= 0 ? this._around(this._aimed) : this._fitting();
  },

  _resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0 || height === 0) return;
    const [oldWidth, oldHeight] = [this.scene.width, this.scene.height];
    if (width === oldWidth && height === oldHeight) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    Object.assign(this.scene, { width, height });
    if (this._following && oldWidth === 0) Object.assign(this._camera, this._aim());
    else if (this._following) this._goal = this._aim();
    else {
      for (const camera of [this._camera, this._goal]) {
        if (camera === null) continue;
        camera.x += (width - oldWidth) / 2;
        camera.y += (height - oldHeight) / 2;
      }
    }
    this.drawing.draw(this.scene); // at once: changing its size has emptied the canvas
    this.draw();
  },
});
